//! `cargo bench`: runs `heeler bench` as it was just built, with the options given after `--`.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let (marks, options): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|option| option == "--bench");
    if marks.is_empty() {
        // `cargo test --all-targets` runs this too, and has no time for it.
        return ExitCode::SUCCESS;
    }
    let status = Command::new(env!("CARGO_BIN_EXE_heeler")).arg("bench").args(options).status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("heeler cannot be run: {error}");
            ExitCode::FAILURE
        }
    }
}
