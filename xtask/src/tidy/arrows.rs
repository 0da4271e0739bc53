//! Which crate may depend on which. Dependencies point one way, so that the part that decides can
//! be read, tested and replayed without the parts that act. Read from the manifests, not from the
//! code: a crate that is not a dependency cannot be used.

use super::Problem;
use crate::tree::{Tree, line_of};
use toml::{Table, Value};

/// What each crate may use of ours, by folder. The binary may use everything.
const ALLOWED: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("engine", &["model"]),
    ("solve", &[]),
    ("serve", &["model"]),
    ("parts", &["model", "engine", "solve", "serve"]),
    ("recipes", &["model", "engine", "parts", "solve", "serve"]),
    ("sim", &["model", "engine", "parts", "recipes", "solve", "serve"]),
    ("api", &["model"]),
    ("backend", &["model"]),
    ("journal", &[]),
    ("live", &["model", "engine", "recipes", "api", "backend"]),
    ("server", &["model", "engine", "recipes", "sim", "api", "backend", "journal", "live"]),
    ("sys", &[]),
    ("local", &["model", "backend", "sys"]),
    ("kube", &["model", "backend"]),
    ("slurm", &["model", "backend"]),
    ("heeler", &EVERYTHING),
    ("fuzz", &["fuzz"]),
    ("xtask", &[]),
];

const EVERYTHING: [&str; 16] = [
    "model", "engine", "solve", "serve", "parts", "recipes", "sim", "api", "backend", "journal",
    "live", "server", "sys", "local", "kube", "slurm",
];

/// What a crate's tests may use of ours beyond what the crate uses.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] =
    &[("recipes", &["sim"]), ("live", &["sim", "journal"]), ("server", &["local"])];

/// The crates that decide: no clock, no input or output, no threads.
pub(super) const PURE: [&str; 7] =
    ["model", "engine", "solve", "serve", "parts", "recipes", "live"];

/// What the pure crates may use of other people's.
const FOREIGN: [&str; 6] = ["rand", "rand_xoshiro", "serde", "serde_json", "smallvec", "thiserror"];

/// What one pure crate may use besides.
const FOREIGN_FOR: &[(&str, &[&str])] =
    &[("recipes", &["toml"]), ("solve", &["clarabel", "microlp"])];

/// What the tests of pure crates may use besides.
const FOREIGN_IN_TESTS: [&str; 2] = ["insta", "proptest"];

/// What never belongs in the simulator: its time is made up, so nothing in it can wait.
const NEVER_IN_SIM: [&str; 14] = [
    "async-std",
    "async-trait",
    "axum",
    "futures",
    "futures-util",
    "hyper",
    "kube",
    "mio",
    "reqwest",
    "smol",
    "tokio",
    "tonic",
    "tower",
    "ureq",
];

/// Find arrows that are not allowed.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let shared = tree.text("Cargo.toml").and_then(|text| text.parse::<Table>().ok());
    let shared = shared.unwrap_or_default();
    let mut problems = Vec::new();
    for (name, path, text) in tree.crates() {
        match text.parse::<Table>() {
            Ok(manifest) => {
                for arrow in arrows(&manifest, &shared) {
                    if let Some(message) = objection(name, &arrow) {
                        problems.push(Problem::new(path, line_of(text, &arrow.written), message));
                    }
                }
            }
            Err(error) => problems.push(Problem::new(path, 1, format!("not TOML: {error}"))),
        }
        if !ALLOWED.iter().any(|(known, _)| *known == name) {
            let message = "a crate that the plan of the house does not know; say in \
                           xtask/src/tidy/arrows.rs what it may use";
            problems.push(Problem::new(path, 1, message));
        }
    }
    problems
}

/// A dependency.
struct Arrow {
    /// As the manifest writes it.
    written: String,
    /// The package that is meant.
    package: String,
    /// Whether it is for tests only.
    in_tests: bool,
}

fn arrows(manifest: &Table, shared: &Table) -> Vec<Arrow> {
    let for_targets = manifest.get("target").and_then(Value::as_table).into_iter();
    let for_targets = for_targets.flat_map(Table::values).filter_map(Value::as_table);
    let mut arrows = Vec::new();
    for table in std::iter::once(manifest).chain(for_targets) {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (written, value) in table.get(kind).and_then(Value::as_table).into_iter().flatten()
            {
                arrows.push(Arrow {
                    written: written.clone(),
                    package: package(written, value, shared),
                    in_tests: kind == "dev-dependencies",
                });
            }
        }
    }
    arrows
}

/// The package behind a name: a manifest may rename, and so may the workspace.
fn package(written: &str, value: &Value, shared: &Table) -> String {
    let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
    let in_workspace = || shared.get("workspace")?.get("dependencies")?.get(written);
    let value = if inherited { in_workspace().unwrap_or(value) } else { value };
    value.get("package").and_then(Value::as_str).unwrap_or(written).to_owned()
}

/// Why a crate may not have this dependency.
fn objection(name: &str, arrow: &Arrow) -> Option<String> {
    let may = |list: &[(&str, &[&str])], what: &str| {
        list.iter().any(|(known, uses)| *known == name && uses.contains(&what))
    };
    let package = arrow.package.as_str();
    let ours = if package == "heeler" || package == "xtask" { Some(package) } else { None };
    if let Some(other) = package.strip_prefix("heeler-").or(ours) {
        let fine = may(ALLOWED, other) || arrow.in_tests && may(ALLOWED_IN_TESTS, other);
        return (!fine).then(|| {
            let uses =
                ALLOWED.iter().find(|(known, _)| *known == name).map_or(&[][..], |row| row.1);
            let uses = if uses.is_empty() { "nothing of ours".into() } else { uses.join(", ") };
            format!("{name} may not depend on {other}; it may use {uses}")
        });
    }
    if PURE.contains(&name) {
        let fine = FOREIGN.contains(&package)
            || may(FOREIGN_FOR, package)
            || arrow.in_tests && FOREIGN_IN_TESTS.contains(&package);
        return (!fine).then(|| {
            format!(
                "{name} decides and may not depend on {package}; allowed are {}, and {} in tests",
                FOREIGN.join(", "),
                FOREIGN_IN_TESTS.join(", ")
            )
        });
    }
    (name == "sim" && NEVER_IN_SIM.contains(&package))
        .then(|| format!("sim runs in made-up time and may not depend on {package}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::assert_one;

    fn check_one(name: &str, manifest: &str) -> Vec<Problem> {
        check(&Tree::of(&[(&format!("crates/{name}/Cargo.toml"), manifest)]))
    }

    #[test]
    fn an_arrow_against_the_grain_is_found() {
        let problems = check_one("model", "[dependencies]\n\nheeler-engine.workspace = true\n");
        assert_one(&problems, "crates/model/Cargo.toml:3", "model may not depend on engine");
    }

    #[test]
    fn arrows_along_the_grain_are_fine() {
        let manifest = "[dependencies]\nheeler-model = { path = \"../model\" }\nserde = \"1\"\n\
                        [dev-dependencies]\nproptest = \"1\"\n";
        assert_eq!(check_one("engine", manifest), []);
    }

    #[test]
    fn tests_of_recipes_may_simulate_but_recipes_may_not() {
        assert_eq!(check_one("recipes", "[dev-dependencies]\nheeler-sim = \"0.1\"\n"), []);
        let problems = check_one("recipes", "[dependencies]\nheeler-sim = \"0.1\"\n");
        assert_one(&problems, "crates/recipes/Cargo.toml:2", "recipes may not depend on sim");
    }

    #[test]
    fn a_pure_crate_uses_only_what_is_listed() {
        assert_eq!(check_one("recipes", "[dependencies]\ntoml = \"1\"\n"), []);
        let problems = check_one("engine", "[dependencies]\ntoml = \"1\"\n");
        assert_one(&problems, "crates/engine/Cargo.toml:2", "may not depend on toml");
        let problems = check_one("parts", "[dependencies]\nproptest = \"1\"\n");
        assert_one(&problems, "crates/parts/Cargo.toml:2", "may not depend on proptest");
    }

    #[test]
    fn the_simulator_never_waits() {
        let problems = check_one("sim", "[dev-dependencies]\ntokio = \"1\"\n");
        assert_one(&problems, "crates/sim/Cargo.toml:2", "made-up time");
    }

    #[test]
    fn renaming_and_targets_hide_nothing() {
        let manifest = "[target.'cfg(unix)'.build-dependencies]\n\
                        plain = { package = \"heeler-sim\", path = \"../sim\" }\n";
        let problems = check_one("local", manifest);
        assert_one(&problems, "crates/local/Cargo.toml:2", "local may not depend on sim");

        let shared = "[workspace.dependencies]\nplain = { package = \"tokio\", version = \"1\" }\n";
        let tree = Tree::of(&[("Cargo.toml", shared)])
            .with("crates/sim/Cargo.toml", "[dependencies]\nplain.workspace = true\n");
        assert_one(&check(&tree), "crates/sim/Cargo.toml:2", "may not depend on tokio");
    }

    #[test]
    fn nobody_depends_on_the_binary_and_chores_depend_on_nobody() {
        let problems = check_one("server", "[dependencies]\nheeler = \"0.1\"\n");
        assert_one(&problems, "crates/server/Cargo.toml:2", "server may not depend on heeler");
        let tree = Tree::of(&[("xtask/Cargo.toml", "[dependencies]\nheeler-sim = \"0.1\"\n")]);
        assert_one(&check(&tree), "xtask/Cargo.toml:2", "it may use nothing of ours");
    }

    #[test]
    fn a_new_crate_needs_a_place_in_the_plan() {
        assert_one(&check_one("attic", ""), "crates/attic/Cargo.toml:1", "does not know");
    }
}
