//! A shepherd as a program of its own, so that this crate can be tried without the whole binary,
//! whose hidden subcommand does the same.

use std::process::ExitCode;

fn main() -> ExitCode {
    heeler_local::shepherd(std::env::args().skip(1))
}
