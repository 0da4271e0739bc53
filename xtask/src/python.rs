//! The tests of the Python package, with whatever Python this machine has. They need nothing beside
//! it, and test PyTorch where it is installed.

use crate::ci::Tally;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Run them with this Python; says whether they passed. Where there is none, that is said loudly.
pub(crate) fn run(root: &Path, program: &str, tally: &mut Tally) -> Result<bool> {
    if !root.join("python/tests").is_dir() || !is_there(program) {
        println!("*** SKIPPED: the Python package was not tested: no {program} here ***");
        return Ok(true);
    }
    let mut command = Command::new(program);
    command.args(["-m", "unittest", "discover", "-s", "python/tests"]).current_dir(root);
    let mut child =
        command.stderr(Stdio::piped()).spawn().context("Python could not be started")?;
    let told = BufReader::new(child.stderr.take().expect("stderr is piped"));
    let mut seen = Seen::default();
    for line in told.split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        eprintln!("{line}");
        seen.take(&line);
    }
    let passed = child.wait()?.success();
    // Tests that could not even be loaded are no tests, but they failed.
    let failed = if passed { 0 } else { seen.failed.max(1) };
    tally.passed += seen.ran.saturating_sub(failed + seen.skipped);
    tally.failed += failed;
    Ok(passed)
}

fn is_there(program: &str) -> bool {
    let asked = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

/// What unittest says at its end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    ran: u64,
    failed: u64,
    skipped: u64,
}

impl Seen {
    /// Take up a line such as `Ran 75 tests in 18.3s` or `FAILED (failures=1, skipped=6)`.
    fn take(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("Ran ") {
            self.ran = rest.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
        }
        let verdict = line.strip_prefix("OK (").or_else(|| line.strip_prefix("FAILED ("));
        let Some(counts) = verdict.and_then(|rest| rest.strip_suffix(')')) else { return };
        for (what, count) in counts.split(", ").filter_map(|part| part.split_once('=')) {
            let count: u64 = count.parse().unwrap_or(0);
            match what {
                "failures" | "errors" => self.failed += count,
                "skipped" => self.skipped += count,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn run_tests(text: &str, program: &str) -> (bool, Tally) {
        let place = Scratch::new("python").unwrap();
        place.write("python/tests/test_it.py", text).unwrap();
        let mut tally = Tally::default();
        (run(place.path(), program, &mut tally).unwrap(), tally)
    }

    #[test]
    fn lines_of_unittest_are_read() {
        let mut seen = Seen::default();
        for line in ["..F.s", "Ran 75 tests in 18.347s", "FAILED (failures=1, errors=2, skipped=6)"]
        {
            seen.take(line);
        }
        assert_eq!(seen, Seen { ran: 75, failed: 3, skipped: 6 });
    }

    #[test]
    fn without_python_it_passes_and_counts_nothing() {
        let tests = "raise SystemExit(1)\n";
        assert_eq!(run_tests(tests, "no-such-python"), (true, Tally::default()));
    }

    #[test]
    fn what_fails_is_counted() {
        if !is_there("python3") {
            eprintln!("*** SKIPPED: no python3 here ***");
            return;
        }
        let tests = "import unittest\nclass It(unittest.TestCase):\n    \
                     def test_a(self): pass\n    def test_b(self): self.fail()\n";
        let (passed, tally) = run_tests(tests, "python3");
        assert_eq!((passed, tally), (false, Tally { passed: 1, failed: 1 }));
        let (passed, tally) = run_tests(&tests.replace("self.fail()", "pass"), "python3");
        assert_eq!((passed, tally), (true, Tally { passed: 2, failed: 0 }));
    }
}
