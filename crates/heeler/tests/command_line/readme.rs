//! What the README says there is, counted.

use heeler_sim::workload::Format;
use heeler_sim::world::WorldCard;
use std::collections::BTreeSet;

const README: &str = include_str!("../../../../README.md");

/// Formats that are nobody's research, which it names.
const GENERAL: [&str; 4] = ["csv", "jsonl", "slurm", "swf"];

/// A number below a hundred in words.
fn in_words(number: usize) -> String {
    const ONES: [&str; 20] = [
        "no",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] =
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    match (number / 10, number % 10) {
        (0 | 1, _) => ONES[number].to_string(),
        (tens, 0) => TENS[tens - 2].to_string(),
        (tens, ones) => format!("{}-{}", TENS[tens - 2], ONES[ones]),
    }
}

#[test]
fn the_readme_counts_right() {
    let readme = README.split_whitespace().collect::<Vec<_>>().join(" ");
    let formats = Format::all().filter(|format| !GENERAL.contains(&format.name()));
    let worlds: Vec<WorldCard> = WorldCard::names().filter_map(WorldCard::find).collect();
    let published = worlds.iter().filter(|card| card.summary.contains("published simulator"));
    // A simulator may have several worlds, such as `gavel` and `gavel-perf`.
    let simulators: BTreeSet<&str> =
        published.filter_map(|card| card.name.split('-').next()).collect();
    for said in [
        format!("under {} recipes", in_words(heeler_recipes::all().len())),
        format!("{} research formats", in_words(formats.count())),
        format!("the rules of {} published simulators", in_words(simulators.len())),
    ] {
        assert!(readme.contains(&said), "the README does not say: {said}");
    }
    assert_eq!((in_words(20), in_words(59)), ("twenty".to_string(), "fifty-nine".to_string()));
}
