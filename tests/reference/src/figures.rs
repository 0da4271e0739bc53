//! The figures that show how faithful recipes are. Whoever compares one with what was published says
//! so here; it must be within its tolerance, and it must be the figure that stands in
//! `docs/recipes/figures.tsv`, of which the pages of the documentation are made. So nothing can be
//! claimed there that no test has seen.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recipes/figures.tsv");
const HEAD: &str = "recipe\tagainst\tfigure\ttheirs\tours\ttolerance\n";

/// How near is near enough.
#[derive(Clone, Copy, Debug)]
pub enum Within {
    /// The same, but for rounding where it was written down.
    Equal,
    /// A part of the published figure.
    Part(f64),
    /// So much more or less, in the figure's own unit.
    By(f64),
    /// At most the published figure.
    NotMore,
    /// At least the published figure.
    NotLess,
}

impl Within {
    fn holds(self, ours: f64, theirs: f64) -> bool {
        match self {
            Within::Equal => (ours - theirs).abs() <= 1e-6 * theirs.abs().max(1.0),
            Within::Part(part) => (ours - theirs).abs() <= part * theirs.abs(),
            Within::By(most) => (ours - theirs).abs() <= most,
            Within::NotMore => ours <= theirs,
            Within::NotLess => ours >= theirs,
        }
    }

    fn words(self) -> String {
        match self {
            Within::Equal => "equal".into(),
            Within::Part(part) => format!("{} %", number(part * 100.0)),
            Within::By(most) => format!("± {}", number(most)),
            Within::NotMore => "at most theirs".into(),
            Within::NotLess => "at least theirs".into(),
        }
    }
}

/// Four digits, without zeros that say nothing.
fn number(value: f64) -> String {
    let digits = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    let places = (3.0 - digits).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.places$}");
    let short =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    short.into()
}

/// A recipe's figure beside the published one.
pub fn shows(
    recipe: &str,
    against: &str,
    figure: &str,
    (ours, theirs): (f64, f64),
    within: Within,
) {
    println!("{recipe}, {against}, {figure}: {ours} here, {theirs} there");
    assert!(
        within.holds(ours, theirs),
        "{recipe}, {against}, {figure}: {ours} here and {theirs} there is not within {}",
        within.words()
    );
    let key = format!("{recipe}\t{against}\t{figure}");
    let value = format!("{}\t{}\t{}", number(theirs), number(ours), within.words());
    let path = Path::new(TABLE);
    let write = std::env::var_os("HEELER_WRITE_FIGURES").is_some();
    let options = OpenOptions::new().read(true).write(write).create(write).open(path);
    let mut file = options.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // Tests of other programs run at the same time.
    file.lock().expect("the table can be locked");
    let mut rows = read(&mut file);
    if write {
        rows.insert(key, value);
        store(&mut file, &rows);
        return;
    }
    let stands = rows.get(&key);
    assert!(
        stands == Some(&value),
        "{}: `{key}` should be `{value}` and is {stands:?}; write it with \
         HEELER_WRITE_FIGURES=1 cargo test -p heeler-reference, then cargo xtask docs --write",
        path.display()
    );
}

fn read(file: &mut File) -> BTreeMap<String, String> {
    let mut text = String::new();
    file.read_to_string(&mut text).expect("the table is text");
    let row = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        (columns.len() == 6).then(|| (columns[..3].join("\t"), columns[3..].join("\t")))
    };
    text.lines().skip(1).filter_map(row).collect()
}

fn store(file: &mut File, rows: &BTreeMap<String, String>) {
    let lines = rows.iter().map(|(key, value)| format!("{key}\t{value}\n"));
    let text = HEAD.to_string() + &lines.collect::<String>();
    file.set_len(0).and_then(|()| file.rewind()).expect("the table can be written");
    file.write_all(text.as_bytes()).expect("the table can be written");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_are_kept_and_said() {
        assert!(Within::Part(0.05).holds(1.05, 1.0) && !Within::Part(0.05).holds(1.06, 1.0));
        assert!(Within::By(2.0).holds(6.0, 8.0) && !Within::By(2.0).holds(5.9, 8.0));
        assert!(Within::Equal.holds(3.0000001, 3.0) && !Within::Equal.holds(3.1, 3.0));
        assert!(Within::NotMore.holds(0.9, 1.0) && !Within::NotLess.holds(0.9, 1.0));
        assert_eq!(Within::Part(0.015).words(), "1.5 %");
    }

    #[test]
    fn numbers_have_four_digits() {
        assert_eq!(
            [3.8244, 17.405, 33207.66, 0.0095, 2.0].map(number),
            ["3.824", "17.41", "33208", "0.0095", "2"]
        );
    }
}
