//! A page for each recipe, and one that shows how faithful they are: from their cards, and from the
//! figures that the comparisons with published programs have seen.

use super::generated::{heading, list, word};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FOLDER: &str = "docs/recipes";

/// Rows of figures by recipe: against what, which, theirs, ours, how near it must be.
type Figures = BTreeMap<String, Vec<[String; 5]>>;

/// The pages: where they belong, and what they should say.
pub(super) fn pages(root: &Path, all: &Value) -> Result<Vec<(PathBuf, String)>> {
    let path = root.join(FOLDER).join("figures.tsv");
    let text = std::fs::read_to_string(&path);
    let figures = figures(&text.with_context(|| format!("{} is missing", path.display()))?);
    let page = |name: &str, text: String| (Path::new(FOLDER).join(format!("{name}.md")), text);
    let recipes = list(all, "recipes").iter();
    let mut pages: Vec<(PathBuf, String)> =
        recipes.map(|it| page(word(it, "name"), recipe(it, &figures))).collect();
    pages.push(page("README", index(all, &figures)));
    Ok(pages)
}

/// Pages of recipes that are not there any more.
pub(super) fn left_over(root: &Path, pages: &[(PathBuf, String)]) -> Vec<PathBuf> {
    let files = std::fs::read_dir(root.join(FOLDER)).into_iter().flatten().flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let found = names.filter(|name| name.ends_with(".md")).map(|name| Path::new(FOLDER).join(name));
    found.filter(|path| !pages.iter().any(|(known, _)| known == path)).collect()
}

fn figures(table: &str) -> Figures {
    let mut figures = Figures::new();
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        if let [recipe, rest @ ..] = columns.as_slice()
            && let Ok(row) = <[&str; 5]>::try_from(rest)
        {
            figures.entry((*recipe).into()).or_default().push(row.map(String::from));
        }
    }
    figures
}

fn index(all: &Value, figures: &Figures) -> String {
    let mut text =
        heading("Recipes", "the cards in `recipes/` and the figures that tests have seen");
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
        text.push_str(&format!("| [{name}]({name}.md) | {row} | {truth} | {summary} |\n"));
    }
    text.push_str(
        "\n## How faithful they are\n\nEach claim is shown by a test. Figures are comparisons with \
         what authors published or what their programs print,\nseen by a test in \
         `tests/reference`, which fails when a figure leaves its tolerance or is not the one \
         below.\n\n\
         | row | recipe | claims | differences | checked against | figure | theirs | ours | \
         tolerance |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for recipe in list(all, "recipes") {
        let name = word(recipe, "name");
        let (claims, differs) = (list(recipe, "claims").len(), list(recipe, "differs").len());
        let start =
            format!("| {} | [{name}]({name}.md) | {claims} | {differs} ", word(recipe, "row"));
        match figures.get(name) {
            None => text.push_str(&format!("{start}| – | | | | |\n")),
            Some(rows) => {
                for (index, row) in rows.iter().enumerate() {
                    let start = if index == 0 { &*start } else { "| | | | " };
                    text.push_str(&format!("{start}| {} |\n", row.join(" | ")));
                }
            }
        }
    }
    text
}

fn recipe(recipe: &Value, figures: &Figures) -> String {
    let name = word(recipe, "name");
    let mut text = heading(name, &format!("`recipes/{name}.toml`"));
    text.push_str(&format!("\n{}\n", word(recipe, "summary")));
    let (row, paper) = (word(recipe, "row"), word(recipe, "paper"));
    if !paper.is_empty() {
        text.push_str(&format!("\nPublished as: {paper}.\n"));
    }
    if !row.is_empty() {
        text.push_str(&format!("\nRow {row} of the catalogue of published systems.\n"));
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
    text.push_str("\n## What it claims\n\nEach with the test that shows it:\n\n");
    for claim in list(recipe, "claims") {
        text.push_str(&format!("- {} (`{}`)\n", word(claim, "text"), word(claim, "test")));
    }
    if let Some(rows) = figures.get(name) {
        text.push_str(
            "\n## Beside what was published\n\n| checked against | figure | theirs | ours | \
             tolerance |\n|---|---|---|---|---|\n",
        );
        for row in rows {
            text.push_str(&format!("| {} |\n", row.join(" | ")));
        }
    }
    if !list(recipe, "differs").is_empty() {
        text.push_str("\n## How it differs\n\n");
    }
    for differs in list(recipe, "differs") {
        text.push_str(&format!("- {}\n", differs.as_str().unwrap_or_default()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_become_pages() {
        let all = serde_json::json!({ "recipes": [{
            "name": "one", "row": "B1", "summary": "Does.", "knows_the_truth": true,
            "parts": [{ "family": "order", "is": "fifo" }],
            "knobs": [{ "name": "k", "value": null, "takes": "a or b", "meaning": "M." }],
            "claims": [{ "text": "It holds.", "test": "it_holds" }],
            "differs": ["Not so."],
        }]});
        let seen = figures("head\none\ttheir trace\tmean JCT, h\t3.82\t3.84\t5 %\n");
        let page = recipe(&list(&all, "recipes")[0], &seen);
        for line in [
            "Made of: order `fifo`.",
            "| `k` | not set | a or b | M. |",
            "- It holds. (`it_holds`)",
            "| their trace | mean JCT, h | 3.82 | 3.84 | 5 % |",
            "- Not so.",
        ] {
            assert!(page.lines().any(|own| own == line), "{line}: {page}");
        }
        let page = index(&all, &seen);
        let line = "| B1 | [one](one.md) | 1 | 1 | their trace | mean JCT, h | 3.82 | 3.84 | 5 % |";
        assert!(page.lines().any(|own| own == line), "{page}");
    }
}
