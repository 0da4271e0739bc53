//! `heeler recipes`: what there is, and what each is made of.

use crate::arguments::choose;
use crate::show;
use anyhow::Result;
use clap::{Args, Subcommand};
use heeler_recipes::Card;
use serde::Serialize;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Recipes {
    #[command(subcommand)]
    command: Option<What>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    /// List the recipes
    List {
        /// Print JSON for programs
        #[arg(long)]
        json: bool,
    },
    /// Show a recipe: its parts, knobs, claims and differences from its paper
    Show {
        /// A name, or a card such as mine.toml; knobs can follow, as in tiresias:promote=8
        recipe: String,
        /// Print the card itself, to change it
        #[arg(long, conflicts_with = "json")]
        card: bool,
        /// Print JSON for programs
        #[arg(long)]
        json: bool,
    },
}

#[derive(Serialize)]
struct List {
    recipes: Vec<Shown>,
}

/// A recipe for programs.
#[derive(Serialize)]
struct Shown {
    name: String,
    row: Option<String>,
    paper: Option<String>,
    summary: String,
    knows_the_truth: bool,
    parts: Vec<Part>,
    knobs: Vec<Knob>,
    claims: Vec<heeler_recipes::Claim>,
    differs: Vec<String>,
}

#[derive(Serialize)]
struct Part {
    family: String,
    is: String,
}

#[derive(Serialize)]
struct Knob {
    name: String,
    value: Option<String>,
    takes: String,
    meaning: String,
}

impl Recipes {
    pub(crate) fn run(&self) -> Result<()> {
        match &self.command {
            None => list(self.json),
            Some(What::List { json }) => list(*json),
            Some(What::Show { recipe, card: true, .. }) => show::print(&text_of(recipe)?),
            Some(What::Show { recipe, json, .. }) => {
                let shown = Shown::of(&choose(recipe)?.card);
                match json {
                    true => show::print_json("heeler/recipe/1", &shown),
                    false => show::print(&shown.text()),
                }
            }
        }
    }
}

fn list(json: bool) -> Result<()> {
    let names = heeler_recipes::all().iter().map(|card| card.name);
    let recipes =
        names.map(|name| Ok(Shown::of(&choose(name)?.card))).collect::<Result<Vec<_>>>()?;
    if json {
        return show::print_json("heeler/recipes/1", &List { recipes });
    }
    let mut table = show::Table::prose(&["recipe", "row", "summary"]);
    for recipe in &recipes {
        let mark = if recipe.knows_the_truth { " *" } else { "" };
        let row = recipe.row.clone().unwrap_or_default();
        table.row([format!("{}{mark}", recipe.name), row, recipe.summary.clone()]);
    }
    show::print(&format!(
        "{}\n* knows how long jobs really run, as only a simulator can; \
         its knob `predict` or `estimate` changes that\n\
         `heeler recipes show NAME` says more\n",
        table.text()
    ))
}

/// The text of a card, built in or in a file.
fn text_of(recipe: &str) -> Result<String> {
    match heeler_recipes::find(recipe) {
        Some(card) => Ok(card.text.to_string()),
        None => {
            choose(recipe)?;
            Ok(std::fs::read_to_string(recipe)?)
        }
    }
}

impl Shown {
    fn of(card: &Card) -> Shown {
        let parts = card.parts().into_iter().map(|(family, is)| Part { family, is });
        let knobs = card.knob.iter().map(|knob| Knob {
            name: knob.name.clone(),
            value: card.knob_value(knob).map(|value| match value.as_str() {
                Some(word) => word.to_string(),
                None => value.to_string(),
            }),
            takes: knob.unit.clone(),
            meaning: knob.meaning.clone(),
        });
        Shown {
            name: card.name.clone(),
            row: card.row.clone(),
            paper: card.paper.clone(),
            summary: card.summary.clone(),
            knows_the_truth: card.knows_the_truth(),
            parts: parts.collect(),
            knobs: knobs.collect(),
            claims: card.claim.clone(),
            differs: card.differs.iter().map(|differs| differs.text.clone()).collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = match &self.row {
            Some(row) => format!("{} (row {row} of the catalogue)\n", self.name),
            None => format!("{}\n", self.name),
        };
        if let Some(paper) = &self.paper {
            text.push_str(&format!("{paper}\n"));
        }
        text.push_str(&format!("\n{}\n", self.summary));
        if self.knows_the_truth {
            text.push_str("It is told how long jobs really run, as only a simulator can.\n");
        }
        text.push_str("\nParts\n");
        for part in &self.parts {
            text.push_str(&format!("  {:<12} {}\n", part.family, part.is));
        }
        if !self.knobs.is_empty() {
            text.push_str("\nKnobs\n");
        }
        for knob in &self.knobs {
            let value = knob.value.as_deref().unwrap_or("not set");
            text.push_str(&format!("  {} = {value}\n", knob.name));
            text.push_str(&format!("      {}\n      takes {}\n", knob.meaning, knob.takes));
        }
        if !self.claims.is_empty() {
            text.push_str("\nClaims, each shown by a test\n");
        }
        for claim in &self.claims {
            text.push_str(&format!("  - {}\n      {}\n", claim.text, claim.test));
        }
        if !self.differs.is_empty() {
            text.push_str("\nDifferences from what was published\n");
        }
        for differs in &self.differs {
            text.push_str(&format!("  - {differs}\n"));
        }
        text
    }
}
