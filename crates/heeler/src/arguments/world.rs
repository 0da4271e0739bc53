//! Which world: a built-in name or a file.

use crate::mistake::Mistake;
use anyhow::Result;
use clap::Args;
use heeler_sim::suggest;
use heeler_sim::world::WorldCard;
use std::path::Path;

#[derive(Args, Clone, Debug)]
pub(crate) struct WorldArguments {
    /// The world: a name that `heeler worlds` lists, or a card such as mine.toml
    #[arg(long, value_name = "WORLD", default_value = "plain")]
    pub(crate) world: String,
}

/// The world of that name or in that file.
pub(crate) fn find_world(name: &str) -> Result<WorldCard> {
    if let Some(card) = WorldCard::find(name) {
        return Ok(card);
    }
    if !name.ends_with(".toml") && !name.contains('/') {
        let names: Vec<_> = WorldCard::names().collect();
        let hint = suggest::hint(name, names.iter().copied());
        return Err(Mistake::new(format!("there is no world `{name}`")).hint(hint).into());
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        Mistake::new(format!("{name}: cannot be read: {error}")).hint("check the path")
    })?;
    let mut card = WorldCard::read(&text, name)?;
    // A table that a card names lies beside the card.
    if let (Some(pairs), Some(folder)) = (&mut card.sharing.pairs, Path::new(name).parent()) {
        *pairs = folder.join(&pairs);
    }
    Ok(card)
}
