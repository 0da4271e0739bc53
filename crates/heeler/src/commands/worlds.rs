//! `heeler worlds`: the worlds that jobs can run in.

use crate::arguments::find_world;
use crate::show;
use anyhow::Result;
use clap::{Args, Subcommand};
use heeler_sim::world::WorldCard;
use serde::Serialize;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Worlds {
    #[command(subcommand)]
    command: Option<What>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    /// List the worlds
    List {
        /// Print JSON for programs
        #[arg(long)]
        json: bool,
    },
    /// Show a world with all its settings
    Show {
        /// A name, or a card such as mine.toml
        world: String,
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
    worlds: Vec<WorldCard>,
}

impl Worlds {
    pub(crate) fn run(&self) -> Result<()> {
        match &self.command {
            None => list(self.json),
            Some(What::List { json }) => list(*json),
            Some(What::Show { world, card: true, .. }) => {
                let card = find_world(world)?;
                let text = match WorldCard::text(&card.name) {
                    Some(text) if card.name == *world => text.to_string(),
                    _ => std::fs::read_to_string(world)?,
                };
                show::print(&text)
            }
            Some(What::Show { world, json: true, .. }) => {
                show::print_json("heeler/world/1", &find_world(world)?)
            }
            Some(What::Show { world, .. }) => show::print(&text(&find_world(world)?)?),
        }
    }
}

fn list(json: bool) -> Result<()> {
    let worlds = WorldCard::names().filter_map(WorldCard::find).collect::<Vec<_>>();
    if json {
        return show::print_json("heeler/worlds/1", &List { worlds });
    }
    let mut table = show::Table::prose(&["world", "summary"]);
    for world in &worlds {
        table.row([&world.name, &world.summary]);
    }
    show::print(&table.text())
}

/// A world with all its settings, those that are not written on its card among them.
fn text(card: &WorldCard) -> Result<String> {
    let value = serde_json::to_value(card)?;
    let mut text = format!("{}\n{}\n", card.name, card.summary);
    for (family, settings) in value.as_object().into_iter().flatten() {
        let Some(settings) = settings.as_object() else { continue };
        text.push_str(&format!("\n{family}\n"));
        for (name, value) in settings {
            let value = match value {
                serde_json::Value::Null => "not set".to_string(),
                serde_json::Value::String(word) => word.clone(),
                other => other.to_string(),
            };
            text.push_str(&format!("  {name:<28} {value}\n"));
        }
    }
    Ok(text)
}
