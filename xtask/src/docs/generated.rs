//! Pages of the reference that are made from the program itself, so that they cannot be wrong: what
//! it says of its commands, recipes and worlds.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The generated pages: where they belong, and what they should say.
pub(super) fn pages(programs: &Path) -> Result<Vec<(PathBuf, String)>> {
    let program = programs.join("heeler");
    let page = |name: &str, text: String| (Path::new("docs/reference").join(name), text);
    Ok(vec![
        page("command-line.md", command_line(&program)?),
        page("recipes.md", recipes(&json(&program, "recipes")?)),
        page("worlds.md", worlds(&program, &json(&program, "worlds")?)?),
    ])
}

/// Those pages that do not say what they should.
pub(super) fn stale(root: &Path, programs: &Path) -> Result<Vec<PathBuf>> {
    let is_stale = |(path, text): &(PathBuf, String)| {
        std::fs::read_to_string(root.join(path)).ok().as_deref() != Some(text)
    };
    let pages = pages(programs)?.into_iter();
    Ok(pages.filter(is_stale).map(|(path, _)| path).collect())
}

/// Write the pages.
pub(super) fn write(root: &Path, programs: &Path) -> Result<()> {
    for (path, text) in pages(programs)? {
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

fn heading(title: &str, from: &str) -> String {
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

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn recipes(all: &Value) -> String {
    let mut text = heading("Recipes", "the cards in `recipes/`");
    text.push_str(
        "\nRows are those of the catalogue of published systems. \"Truth\" says whether a recipe \
         is told how long\njobs really run, as only a simulator can; its knob `predict` or \
         `estimate` changes \
         that.\n\n| recipe | row | truth | what it does |\n|---|---|---|---|\n",
    );
    for recipe in list(all, "recipes") {
        let (name, row) = (word(recipe, "name"), word(recipe, "row"));
        let truth = if recipe["knows_the_truth"] == true { "yes" } else { "" };
        let summary = word(recipe, "summary");
        text.push_str(&format!("| [{name}](#{name}) | {row} | {truth} | {summary} |\n"));
    }
    for recipe in list(all, "recipes") {
        add_recipe(recipe, &mut text);
    }
    text
}

fn add_recipe(recipe: &Value, text: &mut String) {
    text.push_str(&format!("\n## {}\n\n{}\n", word(recipe, "name"), word(recipe, "summary")));
    let paper = word(recipe, "paper");
    if !paper.is_empty() {
        text.push_str(&format!("\nPublished as: {paper}.\n"));
    }
    let parts = list(recipe, "parts").iter();
    let parts: Vec<String> =
        parts.map(|part| format!("{} `{}`", word(part, "family"), word(part, "is"))).collect();
    text.push_str(&format!("\nMade of: {}.\n", parts.join(", ")));
    if !list(recipe, "knobs").is_empty() {
        text.push_str("\n| knob | set to | takes | meaning |\n|---|---|---|---|\n");
    }
    for knob in list(recipe, "knobs") {
        let value = knob["value"].as_str().map_or("not set".into(), |value| format!("`{value}`"));
        let (takes, meaning) = (word(knob, "takes").replace('|', "\\|"), word(knob, "meaning"));
        text.push_str(&format!("| `{}` | {value} | {takes} | {meaning} |\n", word(knob, "name")));
    }
    text.push_str("\nClaims, each with the test that shows it:\n\n");
    for claim in list(recipe, "claims") {
        text.push_str(&format!("- {} (`{}`)\n", word(claim, "text"), word(claim, "test")));
    }
    if !list(recipe, "differs").is_empty() {
        text.push_str("\nDifferences from what was published:\n\n");
    }
    for differs in list(recipe, "differs") {
        text.push_str(&format!("- {}\n", differs.as_str().unwrap_or_default()));
    }
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

    #[test]
    fn recipes_become_a_page() {
        let all = serde_json::json!({ "recipes": [{
            "name": "one", "row": "B1", "summary": "Does.", "knows_the_truth": true,
            "parts": [{ "family": "order", "is": "fifo" }],
            "knobs": [{ "name": "k", "value": null, "takes": "a or b", "meaning": "M." }],
            "claims": [{ "text": "It holds.", "test": "it_holds" }],
            "differs": ["Not so."],
        }]});
        let page = recipes(&all);
        for line in [
            "| [one](#one) | B1 | yes | Does. |",
            "Made of: order `fifo`.",
            "| `k` | not set | a or b | M. |",
            "- It holds. (`it_holds`)",
            "- Not so.",
        ] {
            assert!(page.lines().any(|own| own == line), "{line}: {page}");
        }
    }
}
