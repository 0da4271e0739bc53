//! `heeler recipe` and `heeler server`: what decides, and how the server is.

use super::asking::Asking;
use super::words;
use crate::arguments::{no_such_recipe, pair};
use crate::mistake::Mistake;
use crate::show;
use anyhow::Result;
use clap::{Args, Subcommand};
use heeler_api::{RecipeChange, RecipeView, ServerView};

const EXAMPLES: &str = "\
Examples:
  heeler recipe show
  heeler recipe set tiresias                 jobs go on; the new recipe decides from now on
  heeler recipe set tiresias promote=8 lease=10min
  heeler recipe set ./mine.toml";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Recipe {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Show the recipe that decides
    Show {
        #[command(flatten)]
        asking: Asking,
    },
    /// Let another recipe decide, without stopping jobs
    Set {
        /// A name that `heeler recipes` lists, or a card such as mine.toml
        name: String,
        /// Knobs to set
        #[arg(value_name = "KNOB=VALUE", value_parser = pair)]
        knobs: Vec<(String, String)>,
        #[command(flatten)]
        asking: Asking,
    },
}

impl Recipe {
    pub(crate) fn run(&self) -> Result<()> {
        match &self.command {
            What::Show { asking } => {
                let recipe: RecipeView = asking.client()?.get("/v1/recipe")?;
                asking.print("recipe", &recipe, text)
            }
            What::Set { name, knobs, asking } => {
                let change = change(name, knobs)?;
                let client = asking.client()?;
                let _: serde_json::Value = client.put("/v1/recipe", &change)?;
                let recipe: RecipeView = client.get("/v1/recipe")?;
                asking.print("recipe", &recipe, text)
            }
        }
    }
}

fn change(name: &str, knobs: &[(String, String)]) -> Result<RecipeChange> {
    let knobs = knobs.iter().cloned().collect();
    if name.ends_with(".toml") || name.contains('/') {
        let card = std::fs::read_to_string(name).map_err(|error| {
            Mistake::new(format!("{name}: cannot be read: {error}")).hint("check the path")
        })?;
        return Ok(RecipeChange { name: None, card: Some(card), knobs });
    }
    if heeler_recipes::find(name).is_none() {
        return Err(no_such_recipe(name).into());
    }
    Ok(RecipeChange { name: Some(name.into()), card: None, knobs })
}

fn text(recipe: &RecipeView) -> String {
    let mut text = format!("{} decides since {}\n", recipe.name, words::moment(recipe.since));
    if !recipe.summary.is_empty() {
        text.push_str(&format!("  {}\n", recipe.summary.trim()));
    }
    for (name, value) in &recipe.knobs {
        text.push_str(&format!("  {name} = {value}\n"));
    }
    text
}

#[derive(Args)]
pub(crate) struct Server {
    #[command(flatten)]
    asking: Asking,
}

impl Server {
    pub(crate) fn run(&self) -> Result<()> {
        let client = self.asking.client()?;
        let server: ServerView = client.get("/v1/server")?;
        self.asking.print("server", &server, |server| {
            let jobs: Vec<String> =
                server.jobs.iter().map(|(state, count)| format!("{count} {state}")).collect();
            let used = words::gpus(server.used_milli);
            let mut text = format!(
                "Heeler {} at {}, up since {}\n\n  recipe     {}\n  GPUs       {used} of {} in \
                 use\n  jobs       {}\n  records    {}\n  decisions  {}, digest {}\n",
                server.version,
                client.address(),
                words::moment(server.started),
                server.recipe,
                server.gpus,
                if jobs.is_empty() { "none".into() } else { jobs.join(", ") },
                show::count(server.records),
                show::count(server.decisions),
                server.digest,
            );
            for note in &server.notes {
                text.push_str(&format!("  note       {note}\n"));
            }
            text
        })
    }
}
