//! The words of each family, as the concepts list them: all there are, and no others.

use heeler_recipes::{Card, find};
use std::collections::BTreeSet;
use toml::Table;

const CONCEPTS: &str = include_str!("../../../../docs/concepts/README.md");

const FAMILIES: [&str; 9] =
    ["order", "gate", "allocate", "place", "fit", "preempt", "resize", "cadence", "estimate"];

/// What stands between backticks.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// The words of a family: a card with one that does not exist is answered with those that do.
fn words(family: &str) -> BTreeSet<String> {
    let mut card: Table = find("fifo").expect("a card").text.parse().expect("a table");
    let policy = card["policy"].as_table_mut().expect("its parts");
    policy.insert(family.to_string(), "nonsense".into());
    let text = toml::to_string(&card).expect("a table");
    let error = Card::read(&text, "wrong").expect_err("there is no such word").to_string();
    let (_, expected) = error.split_once("expected").unwrap_or_else(|| panic!("{error}"));
    quoted(expected)
}

/// The text without what stands in parentheses.
fn outside(text: &str) -> String {
    let mut depth = 0u32;
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(letter),
            _ => {}
        }
    }
    out
}

/// The rows of the first table behind a text, each as its cells.
fn rows(behind: &str) -> Vec<Vec<&'static str>> {
    let (_, rest) = CONCEPTS.split_once(behind).unwrap_or_else(|| panic!("{behind}"));
    let lines = rest.lines().skip_while(|line| !line.starts_with('|'));
    let table = lines.take_while(|line| line.starts_with('|')).skip(2);
    table.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

#[test]
fn the_concepts_list_every_word_of_every_family() {
    let families = rows("These are the words:");
    let placements: BTreeSet<String> =
        rows("## Placements").iter().flat_map(|row| quoted(row[0])).collect();
    for family in FAMILIES {
        let listed = match family {
            "place" => placements.clone(),
            _ => {
                let row = families.iter().find(|row| quoted(row[0]).contains(family));
                quoted(&outside(row.unwrap_or_else(|| panic!("no row for {family}"))[1]))
            }
        };
        assert_eq!(listed, words(family), "{family}");
    }
    let told: BTreeSet<String> =
        rows("## Truth and estimates").iter().flat_map(|row| quoted(row[0])).collect();
    assert_eq!(told, words("estimate"), "what predictors say");
}
