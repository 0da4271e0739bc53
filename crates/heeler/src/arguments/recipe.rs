//! Which recipe: a built-in name or a file, with some of its knobs set.

use super::pair;
use crate::mistake::Mistake;
use anyhow::Result;
use clap::Args;
use heeler_recipes::Card;
use heeler_sim::suggest;

#[derive(Args, Clone, Debug)]
pub(crate) struct RecipeArguments {
    /// The recipe: a name that `heeler recipes` lists, or a card such as mine.toml; knobs can
    /// follow, as in tiresias:promote=8:lease=10min
    #[arg(long, short, value_name = "RECIPE", default_value = "fifo")]
    recipe: String,
    /// Set a knob of the recipe (`heeler recipes show NAME` lists them); can be repeated
    #[arg(long = "knob", short, value_name = "NAME=VALUE", value_parser = pair)]
    knobs: Vec<(String, String)>,
}

/// A recipe as it was chosen.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// What tables call it.
    pub(crate) label: String,
    /// Its card, with the knobs set.
    pub(crate) card: Card,
}

impl RecipeArguments {
    pub(crate) fn choose(&self) -> Result<Choice> {
        let mut choice = choose_with(&self.recipe, &self.knobs)?;
        for (name, value) in &self.knobs {
            choice.label.push_str(&format!(":{name}={value}"));
        }
        Ok(choice)
    }
}

/// The recipe that a text such as `tiresias:promote=8` names.
pub(crate) fn choose(text: &str) -> Result<Choice> {
    choose_with(text, &[])
}

/// The same with more knobs set.
pub(crate) fn choose_with(text: &str, more: &[(String, String)]) -> Result<Choice> {
    let (name, knobs) = split(text);
    let mut knobs =
        knobs.iter().map(|knob| pair(knob)).collect::<Result<Vec<_>, _>>().map_err(|wrong| {
            Mistake::new(format!("recipe `{text}`: {wrong}"))
                .hint("knobs follow the name as in `tiresias:promote=8`")
        })?;
    knobs.extend(more.iter().cloned());
    let card = match heeler_recipes::find(name) {
        Some(built_in) => Card::read_with(built_in.text, name, &knobs)?,
        None if looks_like_a_file(name) => {
            let content = std::fs::read_to_string(name).map_err(|error| {
                Mistake::new(format!("{name}: cannot be read: {error}")).hint("check the path")
            })?;
            Card::read_with(&content, name, &knobs)?
        }
        None => return Err(no_such_recipe(name).into()),
    };
    let shown = if looks_like_a_file(name) { card.name.as_str() } else { name };
    let label = text.replacen(name, shown, 1);
    Ok(Choice { label, card })
}

/// A name and the knobs behind it. A colon belongs to a value unless a word and `=` follow.
fn split(text: &str) -> (&str, Vec<&str>) {
    let mut starts = vec![];
    for (at, _) in text.match_indices(':') {
        let word: &str = text[at + 1..].split('=').next().unwrap_or("");
        let is_name = !word.is_empty()
            && word.len() < text[at + 1..].len()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if is_name {
            starts.push(at);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let knobs = starts.iter().zip(ends).map(|(start, end)| &text[start + 1..end]).collect();
    (&text[..starts.first().copied().unwrap_or(text.len())], knobs)
}

fn looks_like_a_file(name: &str) -> bool {
    name.ends_with(".toml") || name.contains('/')
}

/// There is no recipe of that name.
pub(crate) fn no_such_recipe(name: &str) -> Mistake {
    let names = heeler_recipes::all().iter().map(|card| card.name);
    Mistake::new(format!("there is no recipe `{name}`")).hint(suggest::hint(name, names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_follow_the_name() {
        assert_eq!(split("fifo"), ("fifo", vec![]));
        assert_eq!(split("a:b=1:c=2 min"), ("a", vec!["b=1", "c=2 min"]));
        assert_eq!(split("a:b=x:y:c=2"), ("a", vec!["b=x:y", "c=2"]));
        let choice = choose("tiresias:promote=8").expect("a recipe");
        assert_eq!(choice.label, "tiresias:promote=8");
        assert!(choose("tiresias:promot=8").is_err());
        assert_eq!(
            choose("tiresia").expect_err("unknown").to_string(),
            "there is no recipe `tiresia`"
        );
    }
}
