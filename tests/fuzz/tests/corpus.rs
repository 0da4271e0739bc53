//! Every target with its corpus and with mutations of it, by a fixed seed. `HEELER_FUZZ_ROUNDS`
//! asks for more mutations, `HEELER_FUZZ_SEED` for others. What breaks a target is printed; put it
//! into the corpus when it is mended.

use heeler_fuzz::{Mutator, TARGETS, Target, target};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Mutations of each target, unless asked for more.
const ROUNDS: u64 = 2_000;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name)
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = std::fs::read_dir(folder(name))
        .unwrap_or_else(|error| panic!("{name} has no corpus: {error}"))
        .map(|entry| entry.expect("a file").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a file")).collect()
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a whole number"))
}

fn run(target: Target, data: &[u8], what: &str) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.one)(data))) {
        let shown = String::from_utf8_lossy(data);
        let mut out = std::io::stderr();
        let told =
            writeln!(out, "*** {} broke on {what}:\n{shown}\n*** as bytes: {data:?}", target.name);
        told.expect("the terminal takes it");
        std::panic::resume_unwind(panic);
    }
}

fn check(name: &str) {
    let target = target(name).expect("a target of that name");
    let corpus = corpus(name);
    assert!(!corpus.is_empty(), "{name} has an empty corpus");
    for (number, data) in corpus.iter().enumerate() {
        run(target, data, &format!("file {number} of its corpus"));
    }
    let seed = from_environment("HEELER_FUZZ_SEED", 1);
    let mut mutator = Mutator::new(seed);
    for round in 0..from_environment("HEELER_FUZZ_ROUNDS", ROUNDS) {
        let data = mutator.mutate(&corpus);
        run(target, &data, &format!("round {round} of seed {seed}"));
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test] fn $name() { check(stringify!($name)); })*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

targets! {
    script yaml words body record report journal cluster recipe service world trace table
}

#[test]
fn every_target_is_tested_and_every_corpus_has_a_target() {
    let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names, TESTED);
    for entry in std::fs::read_dir(folder("")).expect("the corpus") {
        let name = entry.expect("a folder").file_name();
        assert!(names.iter().any(|known| **known == *name), "{name:?} belongs to no target");
    }
}

#[test]
fn the_same_seed_gives_the_same_mutations() {
    let corpus = corpus("script");
    let make = |seed| {
        let mut mutator = Mutator::new(seed);
        (0..50).map(|_| mutator.mutate(&corpus)).collect::<Vec<_>>()
    };
    assert_eq!(make(3), make(3));
    assert_ne!(make(3), make(4));
}
