//! The documentation's commands are really run: made-up Markdown in a made-up repository, with a
//! shell script in the place of `heeler`.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;
use xtask::docs::{Failure, Report, Setup, files, run};
use xtask::scratch::Scratch;

/// Stands in for the real program.
const HEELER: &str = "#!/bin/sh\necho \"heeler $*\"\n[ \"$1\" != fail ] || exit 2\n";

/// A repository with this README.
fn repository(readme: &str) -> Scratch {
    let place = Scratch::new("repository").unwrap();
    place.write("README.md", readme).unwrap();
    place.write(".ci/run", "#!/usr/bin/env bash\nset -eu\ncd x\ncargo xtask ci\n").unwrap();
    place.write("programs/heeler", HEELER).unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path().join("programs/heeler"), executable).unwrap();
    place
}

fn run_in(place: &Scratch, limit: Duration) -> Report {
    let (root, programs) = (place.path().to_path_buf(), place.path().join("programs"));
    let files = files(&root).unwrap();
    run(&Setup { root, programs, limit }, &files).unwrap()
}

fn run_readme(readme: &str) -> Report {
    run_in(&repository(readme), Duration::from_secs(60))
}

#[track_caller]
fn only_failure(report: Report) -> Failure {
    let [failure] = <[Failure; 1]>::try_from(report.failures).expect("one thing failed");
    failure
}

#[test]
fn commands_that_do_as_shown_pass() {
    let report = run_readme(
        "```console\n$ heeler demo\nheeler d…\n$ heeler fail   # exits 2\n$ ls \"$HEELER_REPO\"\n\
         README.md\n```\n",
    );
    assert_eq!((report.good, report.failures.as_slice()), (3, &[][..]));
}

#[test]
fn another_exit_code_fails() {
    let failure = only_failure(run_readme("Try:\n```console\n$ heeler fail\n```\n"));
    assert_eq!((failure.place.as_str(), failure.command.as_str()), ("README.md:3", "heeler fail"));
    assert_eq!(failure.expected, "exit code 0");
    assert_eq!(failure.got, "exit code 2; it printed\n    | heeler fail");
    let failure = only_failure(run_readme("```console\n$ heeler demo # exits 2\n```\n"));
    assert_eq!(failure.expected, "exit code 2");
}

#[test]
fn another_output_fails() {
    let failure = only_failure(run_readme("```console\n$ heeler demo\nheeler show\n```\n"));
    assert!(failure.expected.contains("`heeler show`"), "{failure}");
    assert!(failure.got.contains("| heeler demo"), "{failure}");
}

#[test]
fn errors_count_as_output() {
    let report =
        run_readme("```console\n$ echo one; echo two >&2; echo three\none\ntwo\nthree\n```\n");
    assert_eq!(report.good, 1, "{:?}", report.failures);
}

#[test]
fn blocks_of_one_file_share_a_folder_and_files_do_not() {
    let readme = "```console\n$ echo 1 > a\n```\nand\n```console\n$ cat a\n1\n```\n";
    let place = repository(readme);
    place.write("docs/deep/guide.md", "```console\n$ cat a # exits 1\n```\n").unwrap();
    assert_eq!(
        files(place.path()).unwrap(),
        [PathBuf::from("README.md"), PathBuf::from("docs/deep/guide.md")]
    );
    let report = run_in(&place, Duration::from_secs(60));
    assert_eq!((report.good, report.failures.as_slice()), (3, &[][..]));
    assert!(!place.path().join("a").exists());
}

#[test]
fn cargo_runs_in_the_repository() {
    let place =
        repository("```console\n$ cargo --version; cat README.md\n…\n$ cargo --version\n```\n");
    let report = run_in(&place, Duration::from_secs(60));
    assert_eq!((report.good, report.failures.as_slice()), (2, &[][..]));
}

#[test]
fn ignored_blocks_are_listed_with_their_reason() {
    let report = run_readme("```console,ignore: needs Slurm\n$ false\n```\n");
    assert_eq!(report.ignored, [("README.md:1".to_owned(), "needs Slurm".to_owned())]);
    assert_eq!((report.good, report.failures.as_slice()), (0, &[][..]));
    let failure = only_failure(run_readme("```console,ignore\n$ false\n```\n"));
    assert!(failure.expected.contains("and a reason"), "{failure}");
}

#[test]
fn the_command_for_everything_is_compared_with_what_the_integration_calls() {
    let readme = "```console\n$ cargo xtask ci\n$ cargo xtask ci --only tidy\n```\n";
    let report = run_readme(readme);
    assert_eq!((report.checked, report.good, report.failures.as_slice()), (2, 0, &[][..]));

    let place = repository("```console\n$ cargo xtask ci\n```\n");
    place.write(".ci/run", "#!/usr/bin/env bash\ncargo test\n").unwrap();
    let failure = only_failure(run_in(&place, Duration::from_secs(60)));
    assert_eq!(failure.got, "`cargo test`");

    let failure = only_failure(run_readme("```console\n$ cargo xtask ci --only teats\n```\n"));
    assert!(failure.got.contains("there is no stage `teats`"), "{failure}");
}

#[test]
fn a_command_that_never_ends_is_stopped() {
    let place = repository("```console\n$ sleep 600\n```\n");
    let failure = only_failure(run_in(&place, Duration::from_millis(200)));
    assert!(failure.got.contains("so it was stopped"), "{failure}");
}

#[test]
fn a_server_in_the_background_is_there_for_the_next_command_and_gone_at_the_end() {
    let place = repository(
        "```console\n$ sleep 600 & echo $! > \"$HEELER_REPO/server\"\n\
         $ kill -0 $(cat \"$HEELER_REPO/server\")\n```\n",
    );
    let report = run_in(&place, Duration::from_secs(60));
    assert_eq!((report.good, report.failures.as_slice()), (2, &[][..]));
    let server = std::fs::read_to_string(place.path().join("server")).unwrap();
    let gone = || {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", server.trim()));
        state.is_err() || state.is_ok_and(|state| state.contains(") Z "))
    };
    // The signal is sent before the run returns; dying takes a moment.
    assert!((0..500).any(|_| gone() || {
        std::thread::sleep(Duration::from_millis(10));
        false
    }));
}
