//! "Did you mean …?": the known word closest to one that is not known.

/// The known word that is at most two slips away from a word, the closest first.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.to_lowercase()), candidate))
        // Of a word of two letters, two slips leave nothing.
        .filter(|(slips, candidate)| *slips <= 2 && *slips < candidate.chars().count())
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// A hint for an unknown word: the closest known one, or all of them.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match closest(word, known.clone()) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None => format!("known are: {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

/// How many letters must be put in, taken out or exchanged (Levenshtein 1965).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let exchanged = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        for (a, b, slips) in
            [("", "abc", 3), ("gpus", "gpu", 1), ("kitten", "sitting", 3), ("same", "same", 0)]
        {
            assert_eq!(distance(a, b), slips, "{a} {b}");
            assert_eq!(distance(b, a), slips, "{b} {a}");
        }
    }

    #[test]
    fn the_closest_known_word_is_suggested() {
        let known = ["gpus", "user", "duration_s"];
        assert_eq!(closest("gpu", known), Some("gpus"));
        assert_eq!(closest("Duration", known), Some("duration_s"));
        assert_eq!(closest("colour", known), None);
        assert_eq!(closest("x", ["y", "id"]), None, "nothing is left of a word that short");
        assert_eq!(hint("colour", known), "known are: gpus, user, duration_s");
    }
}
