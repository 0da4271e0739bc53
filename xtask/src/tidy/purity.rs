//! The crates that decide are pure. Clippy does the finding: each has a `clippy.toml` that bans
//! what would let a clock, a file or chance in. This rule guards the guard: the lists are complete,
//! the lints are on, and no source file opts out.

use super::{Problem, arrows::PURE};
use crate::tree::{Tree, line_of};
use toml::{Table, Value};

/// What the `clippy.toml` of every pure crate has to list, by its key there.
const REQUIRED: &[(&str, &str, &[&str])] = &[
    ("disallowed-types", "std::collections", &["HashMap", "HashSet"]),
    ("disallowed-types", "std::hash", &["RandomState"]),
    ("disallowed-types", "std::time", &["Instant", "SystemTime"]),
    ("disallowed-types", "std::thread", &["Builder", "JoinHandle", "Thread"]),
    ("disallowed-types", "std::sync", &["Barrier", "Condvar", "Mutex", "RwLock"]),
    ("disallowed-types", "std::fs", &["File", "OpenOptions"]),
    ("disallowed-types", "std::net", &["TcpListener", "TcpStream", "UdpSocket"]),
    ("disallowed-types", "std::process", &["Command"]),
    ("disallowed-methods", "std::time", &["Instant::now", "SystemTime::now"]),
    ("disallowed-methods", "std::env", &["args", "args_os", "current_dir", "current_exe"]),
    ("disallowed-methods", "std::env", &["temp_dir", "var", "var_os", "vars", "vars_os"]),
    ("disallowed-methods", "std::fs", &["canonicalize", "copy", "create_dir", "create_dir_all"]),
    ("disallowed-methods", "std::fs", &["exists", "metadata", "read", "read_dir"]),
    ("disallowed-methods", "std::fs", &["read_to_string", "remove_dir", "remove_dir_all"]),
    ("disallowed-methods", "std::fs", &["remove_file", "rename", "write"]),
    ("disallowed-methods", "std::path::Path", &["canonicalize", "exists", "is_dir", "is_file"]),
    ("disallowed-methods", "std::path::Path", &["metadata", "read_dir", "try_exists"]),
    ("disallowed-methods", "std::io", &["stderr", "stdin", "stdout"]),
    ("disallowed-methods", "std::thread", &["available_parallelism", "current", "park", "scope"]),
    ("disallowed-methods", "std::thread", &["sleep", "spawn", "yield_now"]),
    ("disallowed-methods", "std::process", &["abort", "exit", "id"]),
    ("disallowed-methods", "rand", &["fill", "random", "random_bool", "random_iter"]),
    ("disallowed-methods", "rand", &["random_range", "random_ratio", "rng"]),
    ("disallowed-macros", "std", &["dbg", "eprint", "eprintln", "print", "println"]),
];

/// The lints that read those lists, as the workspace's manifest calls them.
const LINTS: [&str; 3] = ["disallowed_macros", "disallowed_methods", "disallowed_types"];

/// What a source file would say to opt out: the lints by name, or a group that contains them.
const OPT_OUTS: [&str; 3] = ["clippy::disallowed_", "clippy::all", "clippy::style"];

/// Find holes in the guard.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = check_levels(tree);
    for (name, path, manifest) in tree.crates().filter(|(name, ..)| PURE.contains(name)) {
        let list = format!("crates/{name}/clippy.toml");
        match tree.text(&list) {
            None => {
                let message = "a pure crate needs this file; copy it from crates/model";
                problems.push(Problem::new(&list, 1, message));
            }
            Some(text) => problems.extend(check_list(&list, text)),
        }
        let lints = manifest.parse::<Table>().unwrap_or_default();
        if lints.get("lints").and_then(|lints| lints.get("workspace")?.as_bool()) != Some(true) {
            let message = "[lints] has to say `workspace = true`, or clippy is not asked";
            problems.push(Problem::new(path, line_of(manifest, "[lints]"), message));
        }
    }
    problems.extend(check_opt_outs(tree));
    problems
}

/// The lints have to be errors for everybody, not only where warnings are denied.
fn check_levels(tree: &Tree) -> Vec<Problem> {
    let text = tree.text("Cargo.toml").unwrap_or_default();
    let manifest = text.parse::<Table>().unwrap_or_default();
    let level = |lint: &str| manifest.get("workspace")?.get("lints")?.get("clippy")?.get(lint);
    let missing = LINTS.iter().filter(|lint| level(lint).and_then(Value::as_str) != Some("deny"));
    let line = line_of(text, "[workspace.lints.clippy]");
    let problem = |lint| {
        let message = format!("[workspace.lints.clippy] has to say `{lint} = \"deny\"`");
        Problem::new("Cargo.toml", line, message)
    };
    missing.map(problem).collect()
}

fn check_list(path: &str, text: &str) -> Vec<Problem> {
    let list = match text.parse::<Table>() {
        Ok(list) => list,
        Err(error) => return vec![Problem::new(path, 1, format!("not TOML: {error}"))],
    };
    let mut problems = Vec::new();
    for (key, module, names) in REQUIRED {
        let entries = list.get(*key).and_then(Value::as_array).into_iter().flatten();
        let listed: Vec<_> =
            entries.filter_map(|entry| entry.get("path").unwrap_or(entry).as_str()).collect();
        for name in *names {
            let wanted = format!("{module}::{name}");
            if !listed.contains(&wanted.as_str()) {
                let message = format!("`{wanted}` has to be listed in {key}");
                problems.push(Problem::new(path, line_of(text, key), message));
            }
        }
    }
    problems
}

/// Tests in `tests/` are not part of the crate that decides: they may read a trace, and say so.
fn check_opt_outs(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for name in PURE {
        let folder = format!("crates/{name}/src/");
        for (path, text) in tree.rust().filter(|(path, _)| path.starts_with(&folder)) {
            for (number, line) in text.lines().enumerate() {
                if let Some(lint) = OPT_OUTS.iter().find(|lint| line.contains(*lint)) {
                    let message = format!(
                        "`{lint}…` opts out of purity; take what you need as an argument, or move \
                         this code to a crate that may act"
                    );
                    problems.push(Problem::new(path, number + 1, message));
                }
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::assert_one;

    const MANIFEST: &str = "[lints]\nworkspace = true\n";
    const LEVELS: &str = "[workspace.lints.clippy]\ndisallowed_macros = \"deny\"\n\
                          disallowed_methods = \"deny\"\ndisallowed_types = \"deny\"\n";

    fn pure() -> Tree {
        Tree::of(&[
            ("Cargo.toml", LEVELS),
            ("crates/model/Cargo.toml", MANIFEST),
            ("crates/model/clippy.toml", include_str!("../../../crates/model/clippy.toml")),
        ])
    }

    #[test]
    fn a_pure_crate_without_the_list_is_found() {
        assert_eq!(check(&pure()), []);
        let tree = pure().with("crates/solve/Cargo.toml", MANIFEST);
        assert_one(&check(&tree), "crates/solve/clippy.toml:1", "needs this file");
    }

    #[test]
    fn an_entry_struck_off_is_found() {
        let list = pure().text("crates/model/clippy.toml").unwrap().to_owned();
        let list: String = list
            .lines()
            .filter(|line| !line.contains("::HashMap"))
            .map(|l| l.to_owned() + "\n")
            .collect();
        let problems = check(&pure().with("crates/model/clippy.toml", &list));
        assert_one(&problems, "crates/model/clippy.toml:5", "`std::collections::HashMap`");
    }

    #[test]
    fn a_lint_that_is_off_is_found() {
        let tree =
            pure().with("Cargo.toml", &LEVELS.replace("types = \"deny\"", "types = \"warn\""));
        assert_one(&check(&tree), "Cargo.toml:1", "disallowed_types");
        let tree = pure().with("crates/model/Cargo.toml", "[package]\n");
        assert_one(&check(&tree), "crates/model/Cargo.toml:1", "workspace = true");
    }

    #[test]
    fn opting_out_is_found_in_sources_and_left_to_tests() {
        let text = "//! x\n#![allow(\n    clippy::disallowed_types\n)]\n";
        let tree = pure().with("crates/model/src/lib.rs", text);
        assert_one(&check(&tree), "crates/model/src/lib.rs:3", "opts out");
        assert_eq!(check(&pure().with("crates/model/tests/traces.rs", text)), []);
    }
}
