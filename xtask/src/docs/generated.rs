//! Pages of the reference that are made from the program itself, so that they cannot be wrong: what
//! it says of its commands, recipes and worlds.

use super::recipes;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The generated pages: where they belong, and what they should say.
pub(super) fn pages(root: &Path, programs: &Path) -> Result<Vec<(PathBuf, String)>> {
    let program = programs.join("heeler");
    let page = |name: &str, text: String| (Path::new("docs/reference").join(name), text);
    let mut pages = vec![
        page("command-line.md", command_line(&program)?),
        page("worlds.md", worlds(&program, &json(&program, "worlds")?)?),
    ];
    pages.extend(recipes::pages(root, &json(&program, "recipes")?)?);
    Ok(pages)
}

/// Those pages that do not say what they should.
pub(super) fn stale(root: &Path, programs: &Path) -> Result<Vec<PathBuf>> {
    let is_stale = |(path, text): &(PathBuf, String)| {
        std::fs::read_to_string(root.join(path)).ok().as_deref() != Some(text)
    };
    let pages = pages(root, programs)?;
    let mut stale = recipes::left_over(root, &pages);
    stale.extend(pages.into_iter().filter(is_stale).map(|(path, _)| path));
    Ok(stale)
}

/// Write the pages.
pub(super) fn write(root: &Path, programs: &Path) -> Result<()> {
    let pages = pages(root, programs)?;
    for path in recipes::left_over(root, &pages) {
        std::fs::remove_file(root.join(path))?;
    }
    for (path, text) in pages {
        let path = root.join(path);
        std::fs::write(&path, text)
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

fn output(program: &Path, words: &[&str]) -> Result<String> {
    let output = Command::new(program).args(words).env_remove("COLUMNS").output()?;
    if !output.status.success() {
        bail!("heeler {} fails: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn json(program: &Path, list: &str) -> Result<Value> {
    Ok(serde_json::from_str(&output(program, &[list, "--json"])?)?)
}

pub(super) fn heading(title: &str, from: &str) -> String {
    format!("# {title}\n\nThis page is made by `cargo xtask docs --write` from {from}.\n")
}

fn command_line(program: &Path) -> Result<String> {
    let mut text = heading("The command line", "what `heeler --help` and its commands print");
    add_help(program, &[], &mut text)?;
    Ok(text)
}

/// The help of a command and of those below it.
fn add_help(program: &Path, words: &[&str], text: &mut String) -> Result<()> {
    let asked = [words, &["--help"]].concat();
    let help = output(program, &asked)?;
    let level = "#".repeat(2 + words.len().min(1));
    let name = std::iter::once("heeler").chain(words.iter().copied()).collect::<Vec<_>>().join(" ");
    let trimmed: Vec<&str> = help.lines().map(str::trim_end).collect();
    text.push_str(&format!(
        "\n{level} {name}\n\n```text\n{}\n```\n",
        trimmed.join("\n").trim_end()
    ));
    for command in commands(&help) {
        add_help(program, &[words, &[command]].concat(), text)?;
    }
    Ok(())
}

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<&str> {
    let mut commands = Vec::new();
    // They may stand in groups, such as `Commands for jobs:`.
    let mut is_listed = false;
    for line in help.lines() {
        if line.trim().is_empty() || !line.starts_with(' ') {
            is_listed = line.starts_with("Commands") && line.ends_with(':');
        } else if let Some(name) = line.strip_prefix("  ").and_then(|rest| rest.split(' ').next())
            && is_listed
            && !name.is_empty()
        {
            commands.push(name);
        }
    }
    commands
}

pub(super) fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn worlds(program: &Path, all: &Value) -> Result<String> {
    let mut text = heading("Worlds", "the cards in `worlds/`");
    text.push_str(
        "\nA world says what starting and stopping cost, how fast jobs run, what breaks, and which \
         odd rules of a\npublished simulator hold. `heeler worlds show NAME --card` prints one to \
         change.\n",
    );
    for world in list(all, "worlds") {
        let (name, summary) = (word(world, "name"), word(world, "summary"));
        let card = output(program, &["worlds", "show", name, "--card"])?;
        // The first two lines are the name and the summary again.
        let settings = card.lines().skip(2).collect::<Vec<_>>().join("\n");
        text.push_str(&format!("\n## {name}\n\n{summary}\n"));
        if !settings.trim().is_empty() {
            text.push_str(&format!("\n```toml\n{}\n```\n", settings.trim()));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_help() {
        let help = "About\n\nCommands:\n  one  This\n  two  That\n         and more\n\nOptions:\n";
        assert_eq!(commands(help), ["one", "two"]);
    }
}
