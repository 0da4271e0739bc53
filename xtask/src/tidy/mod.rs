//! The rules of the house as checks. Each rule is a function from the repository's files to what is
//! wrong with them; `cargo xtask tidy` runs all of them and so does `cargo test`, one test each.

mod arrows;
mod cards;
mod licence;
mod purity;
mod ratchet;
mod size;
mod truth;
mod words;

pub use ratchet::lower;

use crate::tree::Tree;
use std::fmt;

/// Something that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, below the root.
    pub file: String,
    /// Line, counted from one.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl Problem {
    fn new(file: &str, line: usize, message: impl Into<String>) -> Problem {
        Problem { file: file.into(), line, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// What it is called.
    pub name: &'static str,
    /// What it asks, in a sentence.
    pub about: &'static str,
    /// Finds what breaks it.
    pub check: fn(&Tree) -> Vec<Problem>,
}

/// All rules, in the order in which they are checked.
pub const RULES: &[Rule] = &[
    Rule {
        name: "arrows",
        about: "crates depend only on what the plan of the house allows",
        check: arrows::check,
    },
    Rule {
        name: "purity",
        about: "pure crates have no clock, files, threads, environment or randomness",
        check: purity::check,
    },
    Rule {
        name: "truth",
        about: "only the world and the oracle look at what is really so",
        check: truth::check,
    },
    Rule { name: "size", about: "files, functions and lines stay short", check: size::check },
    Rule {
        name: "words",
        about: "no loose ends, no paths of one machine, no code in comments",
        check: words::check_words,
    },
    Rule {
        name: "headers",
        about: "every Rust file begins by saying what it is for",
        check: words::check_headers,
    },
    Rule {
        name: "cards",
        about: "every card is built in and every claim names a test",
        check: cards::check,
    },
    Rule {
        name: "licence",
        about: "Apache-2.0, in the file and in every manifest",
        check: licence::check_licence,
    },
    Rule {
        name: "changelog",
        about: "the changelog has a place for what comes next",
        check: licence::check_changelog,
    },
];

/// Check all rules, print what is wrong and say whether nothing is.
pub fn report(tree: &Tree) -> bool {
    let mut found = 0;
    for rule in RULES {
        let problems = (rule.check)(tree);
        let verdict = if problems.is_empty() { "ok" } else { "BROKEN" };
        println!("{:<10} {verdict:<7} {}", rule.name, rule.about);
        for problem in &problems {
            println!("    {problem}");
        }
        found += problems.len();
    }
    match found {
        0 => println!("tidy: all {} rules hold", RULES.len()),
        1 => println!("tidy: 1 problem"),
        many => println!("tidy: {many} problems"),
    }
    found == 0
}

/// What the tests of all rules need.
#[cfg(test)]
mod tests {
    use super::Problem;

    /// That exactly one thing is wrong, in this place and in words that contain these.
    #[track_caller]
    pub(super) fn assert_one(problems: &[Problem], place: &str, words: &str) {
        let [problem] = problems else { panic!("expected one problem, found {problems:#?}") };
        assert_eq!(format!("{}:{}", problem.file, problem.line), place);
        assert!(problem.message.contains(words), "{words:?} is not in {:?}", problem.message);
    }
}
