//! What may be typed after `cargo xtask`.

use crate::ci::{STAGES, Stage};
use anyhow::{Result, bail};
use std::path::PathBuf;

const HELP: &str = "\
The project's chores.

Usage: cargo xtask CHORE

Chores:
  ci      everything that has to pass, in one command
  tidy    the rules of the house
  docs    the commands that the documentation shows

cargo xtask CHORE --help says more.
";

const CI_HELP: &str = "\
Runs everything that has to pass: fmt, clippy, tidy, test, python, docs.
Needs git and a Rust toolchain; asks rustup for rustfmt and clippy where they are missing.
Where there is no Python, its stage says so loudly and passes.

Usage: cargo xtask ci [--only STAGE,STAGE…]

Options:
  --only STAGE,…    run only these stages, for example --only tidy,test
";

const TIDY_HELP: &str = "\
Checks the rules of the house: who may depend on whom, purity, sizes, words, cards, licence.
The same checks run as tests: cargo test -p xtask

Usage: cargo xtask tidy [--lower]

Options:
  --lower    rewrite xtask/ratchet.toml where an exception has become smaller
";

const DOCS_HELP: &str = "\
Runs the commands shown in README.md, CONTRIBUTING.md and docs/**/*.md and compares what they
print with what is shown.

In a fenced block tagged `console`, each line that starts with `$ ` is a command and the lines
below it are parts of what it prints, in order; `…` stands for anything. A command that should
fail ends in `# exits 2`. A block tagged `console,ignore: needs Slurm` is not run, for that reason.
Blocks of one file share an empty folder with `heeler` on the path; HEELER_REPO is the repository,
HEELER_STATE a folder for a server, which is ended with the file.
Commands that start with `cargo ` run in the repository.

Usage: cargo xtask docs [FILE…]
       cargo xtask docs --write

Options:
  --write    rewrite the pages of docs/reference that are made from the program itself
";

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chore {
    /// Print a text.
    Help(&'static str),
    /// Run these stages.
    Ci(Vec<Stage>),
    /// Check the rules, after lowering the ratchet if so asked.
    Tidy {
        /// Whether to lower it.
        lower: bool,
    },
    /// Run the documentation: these files, or all if there are none.
    Docs(Vec<PathBuf>),
    /// Rewrite the generated pages of the documentation.
    WriteDocs,
}

impl Chore {
    /// Read what was typed.
    pub fn parse(arguments: &[String]) -> Result<Chore> {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let Some((chore, rest)) = arguments.split_first() else { return Ok(Chore::Help(HELP)) };
        let asks_help = rest.iter().any(|word| matches!(*word, "--help" | "-h"));
        match (*chore, rest) {
            ("--help" | "-h" | "help", _) => Ok(Chore::Help(HELP)),
            ("ci", _) if asks_help => Ok(Chore::Help(CI_HELP)),
            ("tidy", _) if asks_help => Ok(Chore::Help(TIDY_HELP)),
            ("docs", _) if asks_help => Ok(Chore::Help(DOCS_HELP)),
            ("ci", []) => Ok(Chore::Ci(STAGES.to_vec())),
            ("ci", ["--only", names]) => stages(names).map(Chore::Ci),
            ("ci", [word]) if word.starts_with("--only=") => stages(&word[7..]).map(Chore::Ci),
            ("tidy", []) => Ok(Chore::Tidy { lower: false }),
            ("tidy", ["--lower"]) => Ok(Chore::Tidy { lower: true }),
            ("docs", ["--write"]) => Ok(Chore::WriteDocs),
            ("docs", files) if !files.iter().any(|file| file.starts_with('-')) => {
                Ok(Chore::Docs(files.iter().map(PathBuf::from).collect()))
            }
            ("ci" | "tidy" | "docs", _) => bail!(
                "`{chore}` does not take `{}`; see cargo xtask {chore} --help",
                rest.join(" ")
            ),
            _ => bail!("there is no chore `{chore}`; there are ci, tidy and docs"),
        }
    }
}

/// The stages of these names, in their usual order.
fn stages(names: &str) -> Result<Vec<Stage>> {
    let names: Vec<_> = names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let all: Vec<_> = STAGES.iter().map(|stage| stage.name()).collect();
    if let Some(unknown) = names.iter().find(|name| !all.contains(name)) {
        bail!("there is no stage `{unknown}`; there are {}", all.join(", "));
    }
    if names.is_empty() {
        bail!("--only needs at least one stage of {}", all.join(", "));
    }
    Ok(STAGES.iter().copied().filter(|stage| names.contains(&stage.name())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Chore, String> {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Chore::parse(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn stages_are_picked_by_name_and_keep_their_order() {
        let picked = Ok(Chore::Ci(vec![Stage::Tidy, Stage::Test]));
        assert_eq!(parse("ci --only test,tidy"), picked);
        assert_eq!(parse("ci --only=tidy,test"), picked);
        assert_eq!(parse("ci"), Ok(Chore::Ci(STAGES.to_vec())));
    }

    #[test]
    fn slips_are_answered_with_what_there_is() {
        let answer = |line: &str| parse(line).unwrap_err();
        assert_eq!(
            answer("ci --only tests"),
            "there is no stage `tests`; there are fmt, clippy, tidy, test, python, docs"
        );
        assert_eq!(answer("tody"), "there is no chore `tody`; there are ci, tidy and docs");
        assert!(answer("ci --only ,").starts_with("--only needs at least one stage"));
        assert!(answer("tidy --raise").contains("does not take `--raise`"));
    }

    #[test]
    fn every_chore_has_help() {
        for chore in ["", "--help", "ci --help", "tidy -h", "docs --help"] {
            assert!(matches!(parse(chore), Ok(Chore::Help(text)) if text.contains("Usage:")));
        }
    }
}
