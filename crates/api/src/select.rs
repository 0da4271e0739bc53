//! How people name jobs: `17`, `17_3`, `17_[1-4]`, `1-10`, `last`, and several with commas.

use serde::{Deserialize, Serialize};

/// One way to name jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selector {
    /// A job, with all its tasks if it is an array.
    Job(u32),
    /// Some tasks of an array.
    Tasks {
        /// The array.
        array: u32,
        /// First and last numbers of the tasks.
        tasks: Vec<(u32, u32)>,
    },
    /// All jobs with numbers in between.
    Range(u32, u32),
    /// The asker's latest.
    Last,
    /// All of the asker's that are not done.
    All,
}

/// Several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Selection(pub Vec<Selector>);

impl std::str::FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Selection, String> {
        let parts = split(text).into_iter().map(one).collect::<Result<Vec<_>, _>>()?;
        if parts.is_empty() {
            return Err(wrong(text));
        }
        Ok(Selection(parts))
    }
}

fn wrong(text: &str) -> String {
    format!("`{text}` names no jobs; try 17, 17_3, 17_[1-4], 1-10, 1,4,7 or last")
}

/// Parts between commas that are not in brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn one(text: &str) -> Result<Selector, String> {
    let text = text.trim();
    let number = |part: &str| part.parse::<u32>().map_err(|_| wrong(text));
    if text.eq_ignore_ascii_case("last") {
        return Ok(Selector::Last);
    }
    if text.eq_ignore_ascii_case("all") {
        return Ok(Selector::All);
    }
    if let Some((array, tasks)) = text.split_once('_') {
        let inner = tasks.strip_prefix('[').and_then(|tasks| tasks.strip_suffix(']'));
        let tasks = inner.unwrap_or(tasks).split(',').map(|part| range(part, text));
        return Ok(Selector::Tasks {
            array: number(array)?,
            tasks: tasks.collect::<Result<_, _>>()?,
        });
    }
    match text.contains('-') {
        true => range(text, text).map(|(first, last)| Selector::Range(first, last)),
        false => Ok(Selector::Job(number(text)?)),
    }
}

fn range(part: &str, whole: &str) -> Result<(u32, u32), String> {
    let number = |part: &str| part.trim().parse::<u32>().map_err(|_| wrong(whole));
    let (first, last) = match part.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(part)?, number(part)?),
    };
    if first > last {
        return Err(format!("`{whole}`: {first} comes after {last}"));
    }
    Ok((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_name_jobs_as_they_are_used_to() {
        let read = |text: &str| text.parse::<Selection>().map(|selection| selection.0);
        assert_eq!(read("17"), Ok(vec![Selector::Job(17)]));
        assert_eq!(read("17_3"), Ok(vec![Selector::Tasks { array: 17, tasks: vec![(3, 3)] }]));
        let tasks = vec![(1, 4), (7, 7)];
        assert_eq!(read("17_[1-4,7]"), Ok(vec![Selector::Tasks { array: 17, tasks }]));
        assert_eq!(read("1-10,last"), Ok(vec![Selector::Range(1, 10), Selector::Last]));
        for wrong in ["", "x", "10-1", "17_", "-", "1,,2", "17_[1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
