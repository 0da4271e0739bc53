//! Cards and what stands behind them. A card that is not built in cannot be found by name, and a
//! claim without a test is a hope.

use super::Problem;
use crate::tree::{Tree, line_of};
use std::collections::BTreeSet;
use toml::{Table, Value};

/// A summary shorter than this says no more than the name.
const SUMMARY_CHARACTERS: usize = 20;

/// Where recipes and worlds are listed.
const LISTS: [(&str, &str); 2] =
    [("recipes", "crates/recipes/src/registry.rs"), ("worlds", "crates/sim/src/world/card.rs")];

/// Find cards that are not built in, say nothing or claim nothing, and claims that no test shows.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (folder, list) in LISTS {
        let listed = tree.text(list).unwrap_or_default();
        for (name, path, _) in tree.inside(folder, ".toml") {
            if !listed.contains(&format!("\"{name}\"")) {
                problems.push(Problem::new(path, 1, format!("add \"{name}\" to {list}")));
            }
        }
    }
    let tests = tests(tree);
    for (_, path, text) in tree.inside("recipes", ".toml") {
        match text.parse::<Table>() {
            Ok(card) => problems.extend(check_card(path, text, &card, &tests)),
            Err(error) => problems.push(Problem::new(path, 1, format!("not TOML: {error}"))),
        }
    }
    problems
}

fn check_card(path: &str, text: &str, card: &Table, tests: &BTreeSet<&str>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let claims = card.get("claim").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for claim in claims {
        let test = claim.get("test").and_then(Value::as_str).unwrap_or_default();
        if !tests.contains(test) {
            let line = line_of(text, &format!("\"{test}\""));
            let message = format!(
                "the claim names the test `{test}`, and there is none; write it in \
                 crates/recipes/tests"
            );
            problems.push(Problem::new(path, line, message));
        }
    }
    let summary = card.get("summary").and_then(Value::as_str).unwrap_or_default();
    if summary.chars().count() < SUMMARY_CHARACTERS {
        let message = "say in `summary` what the recipe does, in a sentence or two";
        problems.push(Problem::new(path, line_of(text, "summary"), message));
    }
    if claims.is_empty() {
        let message = "add a `[[claim]]` with `text` and `test`: what does the paper promise?";
        problems.push(Problem::new(path, 1, message));
    }
    problems
}

/// The names of all test functions in folders of tests. Read line by line, so that tests inside a
/// macro count too.
fn tests(tree: &Tree) -> BTreeSet<&str> {
    let in_tests = |path: &str| path.starts_with("tests/") || path.contains("/tests/");
    let mut names = BTreeSet::new();
    for (_, text) in tree.rust().filter(|(path, _)| in_tests(path)) {
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            if line == "#[test]" {
                is_test = true;
            } else if let Some(rest) = line.strip_prefix("fn ") {
                if is_test && let Some((name, _)) = rest.split_once('(') {
                    names.insert(name);
                }
                is_test = false;
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::assert_one;

    const CARD: &str = "name = \"fifo\"\nsummary = \"First come, first served.\"\n\
                        [[claim]]\ntext = \"in order\"\ntest = \"fifo_keeps_order\"\n";
    const TEST: &str = "//! What.\n#[test]\n#[should_panic]\nfn fifo_keeps_order() {}\n";

    fn complete() -> Tree {
        Tree::of(&[
            ("recipes/fifo.toml", CARD),
            ("worlds/plain.toml", "name = \"plain\"\n"),
            ("crates/recipes/src/registry.rs", "cards![\"fifo\"]"),
            ("crates/sim/src/world/card.rs", "worlds![\"plain\"]"),
            ("crates/recipes/tests/fifo.rs", TEST),
        ])
    }

    #[test]
    fn a_card_that_is_not_built_in_is_found() {
        assert_eq!(check(&complete()), []);
        let tree = complete().with("recipes/lifo.toml", CARD);
        assert_one(&check(&tree), "recipes/lifo.toml:1", "registry.rs");
        let tree = complete().with("worlds/odd.toml", "");
        assert_one(&check(&tree), "worlds/odd.toml:1", "world/card.rs");
    }

    #[test]
    fn a_claim_without_a_test_is_found() {
        let card = CARD.replace("fifo_keeps_order", "fifo_is_fast");
        let tree = complete().with("recipes/fifo.toml", &card);
        assert_one(&check(&tree), "recipes/fifo.toml:5", "`fifo_is_fast`");
        let helper = TEST.replace("#[test]\n", "");
        let tree = complete().with("crates/recipes/tests/fifo.rs", &helper);
        assert_one(&check(&tree), "recipes/fifo.toml:5", "there is none");
    }

    #[test]
    fn a_placeholder_is_found() {
        let tree = complete().with("recipes/fifo.toml", &CARD.replace("First come, ", ""));
        assert_one(&check(&tree), "recipes/fifo.toml:2", "`summary`");
        let silent = &CARD[..CARD.find("[[claim]]").unwrap()];
        let tree = complete().with("recipes/fifo.toml", silent);
        assert_one(&check(&tree), "recipes/fifo.toml:1", "[[claim]]");
    }
}
