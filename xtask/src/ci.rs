//! Everything that has to pass, in one command, the same on every machine. All stages run even if
//! one fails, so that one look shows all there is to do.

use crate::tree::Tree;
use crate::{cargo, docs, python, tidy};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The code is formatted.
    Fmt,
    /// The code has no warnings.
    Clippy,
    /// The rules of the house hold.
    Tidy,
    /// All tests pass.
    Test,
    /// The Python package's tests pass.
    Python,
    /// The commands in the documentation do what is shown.
    Docs,
}

/// All stages, quick ones first.
pub const STAGES: [Stage; 6] =
    [Stage::Fmt, Stage::Clippy, Stage::Tidy, Stage::Test, Stage::Python, Stage::Docs];

impl Stage {
    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Fmt => "fmt",
            Stage::Clippy => "clippy",
            Stage::Tidy => "tidy",
            Stage::Test => "test",
            Stage::Python => "python",
            Stage::Docs => "docs",
        }
    }

    /// Run it; says whether it passed.
    fn run(self, root: &Path, tally: &mut Tally) -> Result<bool> {
        match self {
            Stage::Fmt => passes(cargo(root).args(["fmt", "--all", "--check"])),
            Stage::Clippy => passes(
                cargo(root)
                    .args(["clippy", "--workspace", "--all-targets"])
                    .args(["--", "-D", "warnings"]),
            ),
            Stage::Tidy => Ok(tidy::report(&Tree::of_repository(root)?)),
            Stage::Test => {
                let mut command = cargo(root);
                command.args(["test", "--workspace", "--no-fail-fast"]);
                count_tests(&mut command, &mut std::io::stdout(), tally)
            }
            Stage::Python => python::run(root, "python3", tally),
            Stage::Docs => docs::chore(root, &[], false),
        }
    }
}

/// How a stage went.
#[derive(Clone, Debug)]
struct Line {
    stage: Stage,
    seconds: f64,
    passed: bool,
}

/// How many tests passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Passed.
    pub passed: u64,
    /// Failed.
    pub failed: u64,
}

/// Run these stages, print a table and the number of tests, and say whether all passed.
pub fn run(root: &Path, stages: &[Stage]) -> Result<bool> {
    need_components(root, stages)?;
    let mut tally = Tally::default();
    let mut lines = Vec::new();
    for stage in stages {
        println!("\n== {} ==", stage.name());
        let started = Instant::now();
        let passed = stage.run(root, &mut tally).unwrap_or_else(|error| {
            eprintln!("{}: {error:#}", stage.name());
            false
        });
        lines.push(Line { stage: *stage, seconds: started.elapsed().as_secs_f64(), passed });
    }
    println!("\n{}", table(&lines));
    let broken: Vec<_> = lines.iter().filter(|line| !line.passed).collect();
    if !broken.is_empty() {
        let names: Vec<_> = broken.iter().map(|line| line.stage.name()).collect();
        println!("ci failed in: {}", names.join(", "));
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(broken.is_empty())
}

fn passes(command: &mut Command) -> Result<bool> {
    let status = command.status().with_context(|| format!("{command:?} could not be started"))?;
    Ok(status.success())
}

/// rustfmt and clippy are parts of a toolchain that may be left out; a test needs clippy too.
fn need_components(root: &Path, stages: &[Stage]) -> Result<()> {
    let parts = [
        ("rustfmt", "fmt", &[Stage::Fmt][..]),
        ("clippy", "clippy", &[Stage::Clippy, Stage::Test][..]),
    ];
    for (component, command, users) in parts {
        if !users.iter().any(|user| stages.contains(user)) || has_command(root, command) {
            continue;
        }
        println!("{component} is missing; asking rustup for it");
        let added = Command::new("rustup").args(["component", "add", component]).status();
        if !added.is_ok_and(|status| status.success()) || !has_command(root, command) {
            bail!(
                "`cargo {command}` does not work here and rustup could not add it; install the \
                 component {component} of your Rust toolchain and try again"
            );
        }
    }
    Ok(())
}

fn has_command(root: &Path, command: &str) -> bool {
    let asked = cargo(root).args([command, "--version"]).output();
    asked.is_ok_and(|told| told.status.success())
}

/// Run tests, pass on what they print as it comes and add up their result lines.
fn count_tests(command: &mut Command, out: &mut dyn Write, tally: &mut Tally) -> Result<bool> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("tests could not be started")?;
    let printed = child.stdout.take().expect("stdout is piped");
    let counted = add_up(printed, out, tally);
    let status = child.wait()?;
    counted?;
    if !status.success() && tally.failed == 0 {
        // A test that does not compile, or a test program that was killed, reports no result.
        tally.failed = 1;
    }
    Ok(status.success())
}

fn add_up(printed: impl Read, out: &mut dyn Write, tally: &mut Tally) -> Result<()> {
    let mut printed = BufReader::new(printed);
    let mut line = Vec::new();
    while printed.read_until(b'\n', &mut line)? > 0 {
        out.write_all(&line)?;
        out.flush()?;
        if let Some(more) = result_line(&String::from_utf8_lossy(&line)) {
            tally.passed += more.passed;
            tally.failed += more.failed;
        }
        line.clear();
    }
    Ok(())
}

/// The numbers in a line such as `test result: ok. 3 passed; 0 failed; 0 ignored; …`.
fn result_line(line: &str) -> Option<Tally> {
    let (_, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
    let count = |word: &str| {
        let part = counts.split("; ").find_map(|part| part.strip_suffix(word))?;
        part.trim().parse().ok()
    };
    Some(Tally { passed: count("passed")?, failed: count("failed")? })
}

fn table(lines: &[Line]) -> String {
    let mut text = String::from("stage    seconds  result\n");
    for line in lines {
        let verdict = if line.passed { "ok" } else { "FAILED" };
        text += &format!("{:<8} {:>7.1}  {verdict}\n", line.stage.name(), line.seconds);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = "test a ... ok\n\
        test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
        test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";

    fn count(script: &str) -> (bool, Tally, String) {
        let (mut out, mut tally) = (Vec::new(), Tally::default());
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("RESULTS", RESULTS);
        let passed = count_tests(&mut command, &mut out, &mut tally).unwrap();
        (passed, tally, String::from_utf8(out).unwrap())
    }

    #[test]
    fn result_lines_are_added_up_and_passed_on() {
        let (passed, tally, out) = count("printf %s \"$RESULTS\"; exit 101");
        assert_eq!((passed, tally), (false, Tally { passed: 5, failed: 1 }));
        assert_eq!(out, RESULTS);
    }

    #[test]
    fn tests_that_never_ran_count_as_a_failure() {
        let (passed, tally, _) = count("exit 101");
        assert_eq!((passed, tally), (false, Tally { passed: 0, failed: 1 }));
        let (passed, tally, _) = count("true");
        assert_eq!((passed, tally), (true, Tally::default()));
    }

    #[test]
    fn other_lines_are_no_results() {
        for line in ["", "test result: unknown", "3 passed; 0 failed", "test result: ok. x passed"]
        {
            assert_eq!(result_line(line), None, "{line:?}");
        }
    }

    #[test]
    fn the_table_names_what_failed() {
        let line = |stage, passed| Line { stage, seconds: 1.25, passed };
        let table = table(&[line(Stage::Fmt, true), line(Stage::Docs, false)]);
        assert_eq!(
            table,
            "stage    seconds  result\nfmt          1.2  ok\ndocs         1.2  FAILED\n"
        );
    }
}
