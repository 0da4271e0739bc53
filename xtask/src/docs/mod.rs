//! Runs the commands that the documentation shows, so that what a reader copies works.
//!
//! A fenced block tagged `console` holds commands, each on a line that starts with `$ `, and below
//! it what it prints. Blocks of one file share an empty folder in which `heeler` is on the path;
//! commands that start with `cargo ` run in the root of the repository.

mod compare;
mod generated;
mod markdown;
mod recipes;
mod shell;

pub use compare::missing;
pub use markdown::{Block, Shown, Slip, read};

use crate::command_line::Chore;
use crate::scratch::Scratch;
use anyhow::{Context, Result, bail};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A command that takes longer than this has gone astray.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// Where and with what to run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The root of the repository.
    pub root: PathBuf,
    /// The folder that holds the `heeler` to use.
    pub programs: PathBuf,
    /// How long one command may take.
    pub limit: Duration,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many commands were run and did what was shown.
    pub good: usize,
    /// How many commands were only checked, because they would run this very chore again.
    pub checked: usize,
    /// Blocks that are not run: where and why.
    pub ignored: Vec<(String, String)>,
    /// What did not go as shown.
    pub failures: Vec<Failure>,
}

/// A command that did not do what was shown, or a block that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// File and line.
    pub place: String,
    /// The command; empty where the block is at fault.
    pub command: String,
    /// What the documentation says.
    pub expected: String,
    /// What is so.
    pub got: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}: $ {}", self.place, self.command.replace('\n', "\n    "))?;
        writeln!(out, "  expected: {}", self.expected)?;
        write!(out, "  got:      {}", self.got)
    }
}

/// README.md, CONTRIBUTING.md and all Markdown below `docs/`, as far as they exist.
pub fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found: Vec<_> = ["README.md", "CONTRIBUTING.md"].map(PathBuf::from).into();
    found.retain(|file| root.join(file).is_file());
    let mut folders = vec![PathBuf::from("docs")];
    let mut below = Vec::new();
    while let Some(folder) = folders.pop().filter(|folder| root.join(folder).is_dir()) {
        for entry in std::fs::read_dir(root.join(&folder))? {
            let path = folder.join(entry?.file_name());
            if root.join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                below.push(path);
            }
        }
    }
    below.sort();
    found.extend(below);
    Ok(found)
}

/// Build the binary; says in which folder it is. What the tests were built with will do: to build
/// all of it once more as a user gets it takes longer than everything that is tried here.
pub fn build(root: &Path) -> Result<PathBuf> {
    let status = crate::cargo(root).args(["test", "--workspace", "--no-run"]).status()?;
    if !status.success() {
        bail!("heeler does not build, so the documentation cannot be tried");
    }
    let told = crate::cargo(root).args(["metadata", "--format-version=1", "--no-deps"]).output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&told.stdout)?;
    let target = metadata["target_directory"].as_str().context("cargo names no target folder")?;
    Ok(Path::new(target).join("debug"))
}

/// The whole chore, for these files or for all; says whether all went as shown.
pub fn chore(root: &Path, only: &[PathBuf], write: bool) -> Result<bool> {
    let files = if only.is_empty() { files(root)? } else { only.to_vec() };
    if files.is_empty() {
        println!("docs: there is no README.md, CONTRIBUTING.md or docs/ yet");
        return Ok(true);
    }
    let setup = Setup { root: root.to_path_buf(), programs: build(root)?, limit: LIMIT };
    if write {
        generated::write(root, &setup.programs)?;
        println!("docs: wrote the generated pages");
        return Ok(true);
    }
    let mut report = run(&setup, &files)?;
    if only.is_empty() {
        for page in generated::stale(root, &setup.programs)? {
            report.failures.push(Failure {
                place: page.display().to_string(),
                command: "cargo xtask docs --write".into(),
                expected: "a page that says what the program says".into(),
                got: "another text; run the command above".into(),
            });
        }
    }
    Ok(report.print())
}

/// Run what these files show, and print each command as it is done.
pub fn run(setup: &Setup, files: &[PathBuf]) -> Result<Report> {
    let mut report = Report::default();
    for file in files {
        let text = std::fs::read_to_string(setup.root.join(file))
            .with_context(|| format!("{} cannot be read", file.display()))?;
        run_file(setup, &file.display().to_string(), &text, &mut report)?;
    }
    Ok(report)
}

fn run_file(setup: &Setup, file: &str, text: &str, report: &mut Report) -> Result<()> {
    let (blocks, slips) = read(text);
    for slip in slips {
        let place = format!("{file}:{}", slip.line);
        let (expected, got) = (slip.expected.into(), slip.got);
        report.failures.push(Failure { place, command: String::new(), expected, got });
    }
    let place = Scratch::new("docs")?;
    let shell = shell::Shell::new(setup, place.path())?;
    for block in blocks {
        if let Some(reason) = block.ignored {
            report.ignored.push((format!("{file}:{}", block.line), reason));
            continue;
        }
        for shown in &block.commands {
            let started = Instant::now();
            let failure = match own_chore(&shown.command) {
                Some(arguments) => check_own_chore(&setup.root, &arguments),
                None => try_one(&shell, shown)?,
            };
            let verdict = if failure.is_some() { "FAILED" } else { "ok" };
            let (seconds, first) = (started.elapsed().as_secs_f64(), first_line(&shown.command));
            println!("{verdict:<6} {seconds:>6.1} s  {file}:{}  $ {first}", shown.line);
            match failure {
                Some((expected, got)) => report.failures.push(Failure {
                    place: format!("{file}:{}", shown.line),
                    command: shown.command.clone(),
                    expected,
                    got,
                }),
                None if own_chore(&shown.command).is_some() => report.checked += 1,
                None => report.good += 1,
            }
        }
    }
    Ok(())
}

fn first_line(command: &str) -> &str {
    command.lines().next().unwrap_or_default()
}

/// What was expected and what came instead.
type Difference = (String, String);

fn try_one(shell: &shell::Shell, shown: &Shown) -> Result<Option<Difference>> {
    let outcome = shell.run(&shown.command)?;
    if outcome.code != Some(shown.exits) {
        let expected = format!("exit code {}", shown.exits);
        return Ok(Some((expected, format!("{}{}", outcome.end(), outcome.excerpt()))));
    }
    Ok(missing(&shown.output, &outcome.output).map(|line| {
        let expected = format!("a line that contains `{line}`, below those shown before it");
        (expected, format!("no such line{}", outcome.excerpt()))
    }))
}

/// The arguments, where a command is this chore or one that contains it: it would never end.
fn own_chore(command: &str) -> Option<Vec<String>> {
    let words = command.split('#').next().unwrap_or_default().split_whitespace();
    let words: Vec<_> = words.map(str::to_owned).collect();
    match words.as_slice() {
        [cargo, xtask, chore, ..] if cargo == "cargo" && xtask == "xtask" => {
            matches!(chore.as_str(), "ci" | "docs").then(|| words[2..].to_vec())
        }
        _ => None,
    }
}

/// The command that runs everything has to be the one that the continuous integration calls; with
/// options, it has to be one that exists.
fn check_own_chore(root: &Path, arguments: &[String]) -> Option<Difference> {
    if let Err(error) = Chore::parse(arguments) {
        return Some(("a chore that exists".into(), error.to_string()));
    }
    if arguments != ["ci"] {
        return None;
    }
    let script = std::fs::read_to_string(root.join(".ci/run")).unwrap_or_default();
    let told = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let set_up = |line: &&str| line.starts_with("set ") || line.starts_with("cd ");
    let calls = script.lines().map(str::trim).filter(told).filter(|line| !set_up(line));
    let calls: Vec<_> = calls.collect();
    let expected = "cargo xtask ci";
    (calls != [expected]).then(|| {
        let got = format!("`{}`", calls.join("; "));
        (format!("that .ci/run calls exactly `{expected}`"), got)
    })
}

impl Report {
    /// Print what came of it; says whether all went as shown.
    pub fn print(&self) -> bool {
        for failure in &self.failures {
            println!("\n{failure}");
        }
        for (place, reason) in &self.ignored {
            println!("not run {place}: {reason}");
        }
        println!(
            "docs: {} did as shown, {} failed, {} checked without running, {} blocks not run",
            self.good,
            self.failures.len(),
            self.checked,
            self.ignored.len()
        );
        self.failures.is_empty()
    }
}
