//! Papers in order: the licence in its file and in every manifest, and a changelog that is open for
//! what comes next.

use super::Problem;
use crate::tree::{Tree, line_of};
use toml::Table;

/// The licence we give.
const LICENCE: &str = "Apache-2.0";

/// Find where the licence is missing.
pub(super) fn check_licence(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let text = tree.text("LICENSE").unwrap_or_default();
    if !text.contains("Apache License") || !text.contains("Version 2.0, January 2004") {
        let message = "this has to be the text of the Apache License, version 2.0";
        problems.push(Problem::new("LICENSE", 1, message));
    }
    let root = tree.text("Cargo.toml").unwrap_or_default();
    let said = root.parse::<Table>().ok();
    let said =
        said.as_ref().and_then(|table| table.get("workspace")?.get("package")?.get("license"));
    if said.and_then(toml::Value::as_str) != Some(LICENCE) {
        let message = format!("[workspace.package] has to say `license = \"{LICENCE}\"`");
        problems.push(Problem::new("Cargo.toml", line_of(root, "[workspace.package]"), message));
    }
    for (_, path, text) in tree.crates() {
        let manifest = text.parse::<Table>().unwrap_or_default();
        let inherits = || manifest.get("package")?.get("license")?.get("workspace")?.as_bool();
        if inherits() != Some(true) {
            let message = "[package] has to say `license.workspace = true`";
            problems.push(Problem::new(path, line_of(text, "[package]"), message));
        }
    }
    problems
}

/// Find whether the changelog can take the next entry.
pub(super) fn check_changelog(tree: &Tree) -> Vec<Problem> {
    match tree.text("CHANGELOG.md") {
        Some(text) if text.lines().any(|line| line.trim_end() == "## Unreleased") => vec![],
        Some(_) => vec![Problem::new(
            "CHANGELOG.md",
            1,
            "add a section `## Unreleased`; what a user will notice is written there",
        )],
        None => {
            vec![Problem::new("CHANGELOG.md", 1, "write one, with a section `## Unreleased`")]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::assert_one;

    fn in_order() -> Tree {
        Tree::of(&[
            ("LICENSE", "Apache License\nVersion 2.0, January 2004\n"),
            ("Cargo.toml", "[workspace.package]\nlicense = \"Apache-2.0\"\n"),
            ("crates/model/Cargo.toml", "[package]\nlicense.workspace = true\n"),
        ])
    }

    #[test]
    fn another_licence_is_found() {
        assert_eq!(check_licence(&in_order()), []);
        let tree = in_order().with("LICENSE", "Permission is hereby granted\n");
        assert_one(&check_licence(&tree), "LICENSE:1", "Apache License, version 2.0");
        let tree = in_order().with("Cargo.toml", "[workspace.package]\nlicense = \"MIT\"\n");
        assert_one(&check_licence(&tree), "Cargo.toml:1", "license = \"Apache-2.0\"");
    }

    #[test]
    fn a_manifest_without_a_licence_is_found() {
        let tree = in_order().with("crates/sim/Cargo.toml", "\n[package]\nname = \"heeler-sim\"\n");
        assert_one(&check_licence(&tree), "crates/sim/Cargo.toml:2", "license.workspace");
    }

    #[test]
    fn a_changelog_without_room_for_the_next_entry_is_found() {
        let tree = Tree::of(&[("CHANGELOG.md", "# Changelog\n\n## 0.1.0\n")]);
        assert_one(&check_changelog(&tree), "CHANGELOG.md:1", "## Unreleased");
        let tree = Tree::of(&[("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n## 0.1.0\n")]);
        assert_eq!(check_changelog(&tree), []);
    }
}
