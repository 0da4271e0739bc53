//! Names: what may be one, and which of several is nearest to a misspelt one.

use heeler_api::Problem;

/// Whether something is a name: letters, digits and `-_.+:@`, and nothing that a path could be.
pub(crate) fn is_name(text: &str, longest: usize) -> bool {
    let fits = !text.is_empty() && text.len() <= longest;
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+:@".contains(&byte);
    fits && text.bytes().all(letter) && !text.starts_with(['.', '-'])
}

/// A problem with a hint at the name that was meant, or at all of a few.
pub(crate) fn with_nearest<'a>(
    problem: Problem,
    wrong: &str,
    names: impl Iterator<Item = &'a str>,
) -> Problem {
    let wrong: String = wrong.chars().take(64).collect();
    let names: Vec<&str> = names.collect();
    let near = names.iter().map(|name| (distance(&wrong, name), *name)).min();
    match near {
        Some((distance, name)) if distance <= 1 + wrong.chars().count() / 3 => {
            problem.hint(format!("did you mean `{name}`?"))
        }
        Some(_) if names.len() <= 12 => problem.hint(format!("there are: {}", names.join(", "))),
        _ => problem,
    }
}

/// How many letters have to be changed, added or left out, whatever their case.
fn distance(one: &str, other: &str) -> usize {
    let letters = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
    let (one, other) = (letters(one), letters(other));
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = before + usize::from(a != b);
            before = row[j + 1];
            row[j + 1] = changed.min(before + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_api::Code;

    #[test]
    fn names_are_no_paths() {
        for good in ["a", "train-7b.v2", "x@y:z+1", "9"] {
            assert!(is_name(good, 128), "{good}");
        }
        for bad in ["", ".", "..", ".hidden", "-rf", "a/b", "a b", "ä", "a\0", "a\n"] {
            assert!(!is_name(bad, 128), "{bad:?}");
        }
        assert!(!is_name(&"a".repeat(129), 128));
    }

    #[test]
    fn the_nearest_name_is_meant() {
        let hint = |wrong: &str| {
            let problem = Problem::new(Code::NotFound, "x");
            with_nearest(problem, wrong, ["A100", "H200", "V100"].into_iter()).hint.unwrap()
        };
        assert_eq!(hint("a10"), "did you mean `A100`?");
        assert_eq!(hint("h200"), "did you mean `H200`?");
        assert_eq!(hint("banana"), "there are: A100, H200, V100");
    }
}
