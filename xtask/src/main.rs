//! `cargo xtask`: the project's chores, from the command line.

use anyhow::Result;
use std::process::ExitCode;
use xtask::command_line::Chore;
use xtask::{ci, docs, tidy, tree::Tree};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let chore = match Chore::parse(&arguments) {
        Ok(chore) => chore,
        Err(error) => {
            eprintln!("xtask: {error}");
            return ExitCode::from(2);
        }
    };
    match run(&chore) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Do it; says whether all is well.
fn run(chore: &Chore) -> Result<bool> {
    let root = xtask::root();
    match chore {
        Chore::Help(text) => {
            print!("{text}");
            Ok(true)
        }
        Chore::Ci(stages) => ci::run(&root, stages),
        Chore::Tidy { lower } => {
            if *lower {
                let changed = tidy::lower(&Tree::of_repository(&root)?, &root)?;
                println!("ratchet: {changed} entries lowered");
            }
            Ok(tidy::report(&Tree::of_repository(&root)?))
        }
        Chore::Docs(files) => docs::chore(&root, files, false),
        Chore::WriteDocs => docs::chore(&root, &[], true),
    }
}
