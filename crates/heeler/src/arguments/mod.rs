//! Arguments that several commands share: the workload, the cluster, the world and the recipe.

mod generate;
mod reading;
mod recipe;
mod service;
mod setting;
mod world;

pub(crate) use generate::GenerateArguments;
pub(crate) use reading::ReadingArguments;
pub(crate) use recipe::{Choice, RecipeArguments, choose, choose_with, no_such_recipe};
pub(crate) use setting::{DrawArguments, Scene, Setting, SettingArguments};
pub(crate) use world::find_world;

use heeler_model::{Span, Time};

/// A time on the command line.
pub(crate) fn time(text: &str) -> Result<Time, String> {
    text.parse::<Span>().map(|span| Time::ZERO + span)
}

/// A number above zero.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err(format!("expected a number above 0, found `{text}`")),
    }
}

/// `name=value`.
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_string(), value.trim().to_string()))
        }
        _ => Err(format!("expected NAME=VALUE, found `{text}`")),
    }
}
