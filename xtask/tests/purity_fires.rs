//! Shows that the ban on clocks, hash maps and the rest really bites: a small crate with the
//! `clippy.toml` of a pure crate and the workspace's lints does not get past clippy.

use std::process::Command;
use toml::{Table, Value};
use xtask::scratch::Scratch;

/// What clippy says of a crate with this code, and whether it passes.
fn clippy(code: &str) -> (bool, String) {
    let root = xtask::root();
    let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
    let workspace: Table = read("Cargo.toml").parse().unwrap();
    let lints = workspace["workspace"]["lints"].clone();
    let manifest = Table::from_iter([
        ("package".to_owned(), toml::toml! { name = "tiny" edition = "2024" }.into()),
        ("workspace".to_owned(), Value::Table(Table::new())),
        ("lints".to_owned(), lints),
    ]);
    let place = Scratch::new("purity").unwrap();
    place.write("Cargo.toml", &manifest.to_string()).unwrap();
    place.write("clippy.toml", &read("crates/model/clippy.toml")).unwrap();
    place.write("src/lib.rs", &format!("//! Tiny.\n{code}\n")).unwrap();
    let told = Command::new(env!("CARGO"))
        .args(["clippy", "--offline", "--color=never"])
        .current_dir(place.path())
        .env("CARGO_TARGET_DIR", place.path().join("target"))
        .output()
        .unwrap();
    (told.status.success(), String::from_utf8_lossy(&told.stderr).into_owned())
}

#[test]
fn a_pure_crate_passes() {
    let (passes, told) = clippy(
        "/// Counts.\npub fn count(of: &[u8]) -> std::collections::BTreeMap<u8, u32> {\n    \
         let mut counts = std::collections::BTreeMap::new();\n    \
         of.iter().for_each(|one| *counts.entry(*one).or_default() += 1);\n    counts\n}",
    );
    assert!(passes && !told.contains("warning"), "{told}");
}

#[test]
fn an_impure_crate_does_not() {
    let (passes, told) = clippy(
        "/// Does all that is banned.\npub fn impure() {\n    \
         let mut seen = std::collections::HashMap::new();\n    \
         seen.insert(std::time::Instant::now(), std::env::var(\"HOME\"));\n    \
         std::thread::spawn(|| println!(\"{:?}\", std::fs::read(\"x\")));\n    \
         std::process::exit(1);\n}",
    );
    assert!(!passes, "{told}");
    for banned in [
        "error: use of a disallowed type `std::collections::HashMap`",
        "error: use of a disallowed type `std::time::Instant`",
        "error: use of a disallowed method `std::time::Instant::now`",
        "error: use of a disallowed method `std::env::var`",
        "error: use of a disallowed method `std::thread::spawn`",
        "error: use of a disallowed macro `std::println`",
        "error: use of a disallowed method `std::fs::read`",
        "error: use of a disallowed method `std::process::exit`",
    ] {
        assert!(told.contains(banned), "{banned:?} is not in\n{told}");
    }
}
