//! Arrays as Slurm writes them: `0-15`, `1,4,7`, `0-20:5`, and `%4` for how many run at once.

use crate::Array;

/// The most tasks an array can have.
pub const MOST_TASKS: usize = 100_000;

/// The tasks that a text names.
pub fn read(text: &str) -> Result<Array, String> {
    let (tasks, most) = match text.trim().split_once('%') {
        Some((tasks, most)) => (tasks, Some(most)),
        None => (text.trim(), None),
    };
    let most = match most {
        None => None,
        Some(most) => match most.trim().parse::<u32>() {
            Ok(most) if most > 0 => Some(most),
            _ => return Err(format!("expected a number above 0 after `%`, found `{most}`")),
        },
    };
    let mut indices = Vec::new();
    for part in tasks.split(',') {
        add(part.trim(), &mut indices)?;
    }
    indices.sort_unstable();
    if let Some(twice) = indices.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("task {} is named twice", twice[0]));
    }
    Ok(Array { indices, most })
}

fn add(part: &str, indices: &mut Vec<u32>) -> Result<(), String> {
    let wrong = || {
        let shapes = "0-15, 1,4,7, 0-20:5 or 1-100%4 (at most 4 at once)";
        format!("expected tasks such as {shapes}, found `{part}`")
    };
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
    let (range, step) = match part.split_once(':') {
        Some((range, step)) => (range, number(step)?),
        None => (part, 1),
    };
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None if part.contains(':') => return Err(wrong()),
        None => (number(range)?, number(range)?),
    };
    if first > last {
        return Err(format!("`{part}`: {first} comes after {last}"));
    }
    if step == 0 {
        return Err(format!("`{part}`: a step of 0 never ends"));
    }
    let count = ((last - first) / step) as usize + 1;
    if indices.len() + count > MOST_TASKS {
        return Err(format!("an array has at most {MOST_TASKS} tasks"));
    }
    indices.extend((first..=last).step_by(step as usize));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(text: &str) -> Vec<u32> {
        read(text).expect(text).indices
    }

    #[test]
    fn arrays_are_written_as_in_slurm() {
        assert_eq!(indices("0-3"), [0, 1, 2, 3]);
        assert_eq!(indices("1,3,5-7"), [1, 3, 5, 6, 7]);
        assert_eq!(indices("1-10:4"), [1, 5, 9]);
        assert_eq!(indices("7"), [7]);
        let limited = read("1-10:2%3").expect("an array");
        assert_eq!((limited.indices, limited.most), (vec![1, 3, 5, 7, 9], Some(3)));
    }

    #[test]
    fn odd_arrays_are_refused() {
        for (text, says) in [
            ("", "expected tasks"),
            ("a", "expected tasks"),
            ("5:2", "expected tasks"),
            ("1-", "expected tasks"),
            ("3-1", "3 comes after 1"),
            ("1-4:0", "never ends"),
            ("1-4%0", "above 0 after `%`"),
            ("1-4%x", "above 0 after `%`"),
            ("1,2,1", "task 1 is named twice"),
            ("0-4294967295", "at most"),
        ] {
            let wrong = read(text).expect_err(text);
            assert!(wrong.contains(says), "{text}: {wrong}");
        }
    }
}
