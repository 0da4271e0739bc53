//! Worlds as cards: which rules, costs and paces a name stands for.

use super::{Costs, Failures, PaceModel, Quirks, Sharing, TrainingSettings, World};
use crate::losses::LossReports;
use heeler_engine::Rules;
use serde::{Deserialize, Serialize};

/// A world on a page.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WorldCard {
    /// What the world is called.
    pub name: String,
    /// What it is for.
    pub summary: String,
    /// Where decisions differ.
    #[serde(default)]
    pub rules: Rules,
    /// Where the world differs.
    #[serde(default)]
    pub quirks: Quirks,
    /// What transitions cost.
    #[serde(default)]
    pub costs: Costs,
    /// How fast jobs run.
    #[serde(default)]
    pub pace: PaceModel,
    /// What happens to jobs that share a GPU.
    #[serde(default)]
    pub sharing: Sharing,
    /// What breaks.
    #[serde(default)]
    pub failures: Option<Failures>,
    /// Whether jobs report losses.
    #[serde(default)]
    pub losses: Option<LossReports>,
    /// What is said of training jobs; such a world needs profiles of them.
    #[serde(default)]
    pub training: Option<TrainingSettings>,
}

/// What is wrong with a world card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct WorldError {
    /// The card.
    pub file: String,
    /// Line, counted from one.
    pub line: usize,
    /// Column, counted from one.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

macro_rules! worlds {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../worlds/", $name, ".toml")))),*]
    };
}

/// The worlds that are built in, by name.
const BUILT_IN: &[(&str, &str)] = worlds![
    "plain",
    "everyday",
    "tiresias",
    "muri",
    "antman",
    "gavel",
    "gavel-perf",
    "shockwave",
    "lucid",
    "lucid-preemptive",
    "chronus",
    "blox",
    "synergy",
    "synergy-static",
    "gandiva",
    "sia",
    "pollux",
    "losses",
];

impl WorldCard {
    /// A world without costs, failures and odd rules.
    pub fn plain(name: &str) -> WorldCard {
        WorldCard {
            name: name.into(),
            summary: String::new(),
            rules: Rules::default(),
            quirks: Quirks::default(),
            costs: Costs::default(),
            pace: PaceModel::default(),
            sharing: Sharing::default(),
            failures: None,
            losses: None,
            training: None,
        }
    }

    /// Read a card. `file` is what errors call it.
    pub fn read(text: &str, file: &str) -> Result<WorldCard, WorldError> {
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start).min(text.len());
            let before = &text[..start];
            WorldError {
                file: file.into(),
                line: before.matches('\n').count() + 1,
                column: start - before.rfind('\n').map_or(0, |newline| newline + 1) + 1,
                message: error.message().trim().replace('\n', "; "),
            }
        })
    }

    /// The text of the built-in world of that name.
    pub fn text(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// The built-in world of that name.
    pub fn find(name: &str) -> Option<WorldCard> {
        let text = WorldCard::text(name)?;
        Some(WorldCard::read(text, name).expect("built-in worlds are tested"))
    }

    /// The names of the built-in worlds.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The world.
    pub fn world(&self) -> World {
        World {
            rules: self.rules,
            quirks: self.quirks,
            costs: self.costs,
            pace: self.pace.clone(),
            sharing: self.sharing.clone(),
            failures: self.failures,
            losses: self.losses,
            profiles: None,
        }
    }
}
