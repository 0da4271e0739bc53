//! Every file of published results is compared with something, or it is said why not. What was
//! compared stands in the table of figures, which only tests can write.

use heeler_reference::shared;
use std::collections::BTreeSet;
use std::path::Path;

const FOLDERS: [&str; 4] =
    ["gavel/reference", "shockwave/reference", "shockwave/reference_authors", "chronus/reference"];

/// What is compared with nothing, by the beginning or end of its name, and why.
const NOT_COMPARED: [(&str, &str); 3] = [
    ("summary", "the table of all runs, from which their figures are read"),
    ("authors_tables", "printed results of traces that were never stored"),
    ("lp_scaling_", "times and optima of problems that were never stored"),
];

/// A file's name without what it is of: `jct_cs_fifo.csv` and `jobs_SLO.csv` are of `cs_fifo` and
/// `SLO`.
fn run_of(file: &str) -> &str {
    let stem = file.split('.').next().unwrap_or(file);
    stem.strip_prefix("jct_").or_else(|| stem.strip_prefix("jobs_")).unwrap_or(stem)
}

fn compared() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes/figures.tsv");
    let text = std::fs::read_to_string(path).expect("the table of figures");
    let rows = text.lines().skip(1).filter_map(|line| line.split('\t').nth(1));
    rows.map(str::to_string).collect()
}

#[test]
fn every_file_is_compared_with_something() {
    let Some(data) = shared() else { return };
    let compared = compared();
    let (mut missing, mut seen) = (Vec::new(), 0);
    for folder in FOLDERS {
        for entry in std::fs::read_dir(data.join(folder)).expect("a folder") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            let run = run_of(&name);
            let is_left_out =
                |(part, _): &(&str, &str)| run.starts_with(part) || run.ends_with(part);
            if !compared.contains(run) && !NOT_COMPARED.iter().any(is_left_out) {
                missing.push(format!("{folder}/{name}"));
            }
            seen += 1;
        }
    }
    assert!(seen > 80, "only {seen} files");
    missing.sort();
    assert!(missing.is_empty(), "compared with nothing: {missing:#?}");
}

#[test]
fn files_are_known_by_their_runs() {
    let files = ["jct_cs_fifo.csv", "schedule_cs_fifo.csv.gz", "jobs_SLO.csv", "summary.json"];
    assert_eq!(files.map(run_of), ["cs_fifo", "schedule_cs_fifo", "SLO", "summary"]);
}
