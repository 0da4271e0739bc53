//! The repository as text: path to content. Rules read this and not the disk, so that a test can
//! hand them made-up files.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Files by their path below the root, with `/` between folders.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// All text files that git tracks or would track: what is ignored is left out.
    pub fn of_repository(root: &Path) -> Result<Tree> {
        let listed = Command::new("git")
            // A checkout may belong to somebody else, as it does in many containers.
            .args(["-c", "safe.directory=*", "ls-files", "-z"])
            .args(["--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .context("tidy asks git which files there are, and git could not be started")?;
        if !listed.status.success() {
            bail!("git ls-files failed: {}", String::from_utf8_lossy(&listed.stderr).trim());
        }
        let mut tree = Tree::default();
        for path in listed.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            let path = String::from_utf8_lossy(path).into_owned();
            // Files deleted but not yet committed, folders of other repositories and binary
            // files cannot be read as text; none of the rules is about them.
            if let Ok(text) = std::fs::read_to_string(root.join(&path)) {
                tree.files.insert(path, text);
            }
        }
        Ok(tree)
    }

    /// Made-up files.
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let own = |(path, text): &(&str, &str)| (path.to_string(), text.to_string());
        Tree { files: files.iter().map(own).collect() }
    }

    /// The same files and one more, or one replaced.
    pub fn with(mut self, path: &str, text: &str) -> Tree {
        self.files.insert(path.into(), text.into());
        self
    }

    /// What a file says.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// All files with what they say, in order of path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The Rust files.
    pub fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// The files right inside a folder with this ending: their names without it, their paths and
    /// what they say.
    pub fn inside<'a>(
        &'a self,
        folder: &'a str,
        ending: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
        self.files().filter_map(move |(path, text)| {
            let name = path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(ending)?;
            (!name.contains('/')).then_some((name, path, text))
        })
    }

    /// The crates: name of the folder, path of the manifest and what it says.
    pub fn crates(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.files().filter_map(|(path, text)| {
            let folder = path.strip_suffix("/Cargo.toml")?;
            let name = folder.strip_prefix("crates/").unwrap_or(folder);
            (!name.contains('/')).then_some((name, path, text))
        })
    }
}

/// The line, counted from one, on which `needle` first appears; one where it does not.
pub fn line_of(text: &str, needle: &str) -> usize {
    text.find(needle).map_or(1, |at| text[..at].matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_found_by_their_manifests() {
        let tree = Tree::of(&[
            ("Cargo.toml", ""),
            ("crates/model/Cargo.toml", ""),
            ("crates/model/src/lib.rs", ""),
            ("xtask/Cargo.toml", ""),
        ]);
        let names: Vec<_> = tree.crates().map(|(name, ..)| name).collect();
        assert_eq!(names, ["model", "xtask"]);
    }

    #[test]
    fn inside_means_right_inside() {
        let tree = Tree::of(&[("recipes/a.toml", ""), ("recipes/b/c.toml", ""), ("a.toml", "")]);
        let names: Vec<_> = tree.inside("recipes", ".toml").map(|(name, ..)| name).collect();
        assert_eq!(names, ["a"]);
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!(line_of("a\nb\nc", "b"), 2);
        assert_eq!(line_of("a\nb\nc", "z"), 1);
    }
}
