//! What to try: recipes as they are, with one knob at a value worth trying, and with several.

use super::Same;
use crate::arguments::{Choice, choose_with};
use crate::commands::compare::choose_all;
use anyhow::Result;
use heeler_engine::stream;
use heeler_model::Time;
use rand::RngExt;
use std::collections::{BTreeMap, BTreeSet};

/// Draws that come to something tried already, before it is enough.
const TRIES_MAX: usize = 1000;

/// Whom to try.
pub(super) struct Candidates {
    /// All of them, in an order that does not hang on the one in which recipes were named.
    pub(super) left: Vec<Choice>,
    /// What the first recipe that was named is called.
    pub(super) base: String,
    /// Who was left out because another is the same.
    pub(super) same: Vec<Same>,
}

/// Candidates as they are found, each once.
#[derive(Default)]
struct Found {
    all: Vec<Choice>,
    labels: BTreeSet<String>,
    /// What those are called that consist of this.
    made_of: BTreeMap<String, String>,
    same: Vec<Same>,
}

impl Found {
    /// Take up a candidate, unless there is one that is the same. Says whether it was new.
    fn add(&mut self, choice: Choice) -> bool {
        if !self.labels.insert(choice.label.clone()) {
            return false;
        }
        let made_of = format!("{:?}", choice.card);
        if let Some(known) = self.made_of.get(&made_of) {
            self.same.push(Same { recipe: choice.label, as_recipe: known.clone() });
            return false;
        }
        self.made_of.insert(made_of, choice.label.clone());
        self.all.push(choice);
        true
    }
}

/// All candidates: the recipes first, then one knob at a time, then so many draws of several.
pub(super) fn candidates(recipes: &[String], draws: usize, seed: u64) -> Result<Candidates> {
    let mut found = Found::default();
    let plain = choose_all(recipes)?;
    let base = plain[0].clone();
    found.add(base.clone());
    let mut named: Vec<(&String, &Choice)> = recipes.iter().zip(&plain).collect();
    // Of two that are the same the one with fewer words stays.
    named.sort_by_key(|(_, choice)| (choice.label.len(), choice.label.clone()));
    for (_, choice) in &named {
        found.add((*choice).clone());
    }
    let by_name = found.same.len();
    let mut several = Vec::new();
    for (text, choice) in named {
        let tried: Vec<(String, Vec<String>)> = choice
            .card
            .knob
            .iter()
            .filter(|knob| !knob.tries.is_empty() && !text.contains(&format!(":{}=", knob.name)))
            .map(|knob| (knob.name.clone(), knob.tries.clone()))
            .collect();
        for (name, values) in &tried {
            for value in values {
                found.add(with(text, choice, &[(name.clone(), value.clone())])?);
            }
        }
        if tried.len() > 1 {
            several.push((text, choice, tried));
        }
    }
    let mut random = stream(seed, Time::ZERO, "tune/draws");
    let mut left = draws;
    for _ in 0..TRIES_MAX {
        if left == 0 || several.is_empty() {
            break;
        }
        let (text, choice, knobs) = &several[random.random_range(0..several.len())];
        let mut set = Vec::new();
        for (name, values) in knobs {
            // Each knob stays as it is as often as it takes one of its values.
            let at = random.random_range(0..=values.len());
            set.extend(values.get(at).map(|value| (name.clone(), value.clone())));
        }
        if set.len() > 1 && found.add(with(text, choice, &set)?) {
            left -= 1;
        }
    }
    // Nobody asked for the others.
    found.same.truncate(by_name);
    Ok(Candidates { left: found.all, base: base.label, same: found.same })
}

/// A recipe with some of its knobs set, called as it is called without them.
fn with(text: &str, plain: &Choice, knobs: &[(String, String)]) -> Result<Choice> {
    let mut choice = choose_with(text, knobs)?;
    choice.label.clone_from(&plain.label);
    for (name, value) in knobs {
        choice.label.push_str(&format!(":{name}={value}"));
    }
    Ok(choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(recipes: &[&str]) -> Vec<String> {
        let recipes: Vec<String> = recipes.iter().map(ToString::to_string).collect();
        let found = candidates(&recipes, 6, 3).expect("candidates");
        found.left.into_iter().map(|choice| choice.label).collect()
    }

    #[test]
    fn candidates_do_not_hang_on_the_order_of_naming() {
        let mut one = labels(&["fifo", "tiresias", "las", "gandiva", "srtf"]);
        let mut other = labels(&["srtf", "gandiva", "fifo", "las", "tiresias"]);
        assert_eq!((one[0].as_str(), other[0].as_str()), ("fifo", "srtf"));
        one.sort();
        other.sort();
        assert_eq!(one, other);
        assert!(one.len() > 10, "{one:?}");
    }

    #[test]
    fn what_a_card_says_anyway_is_not_another_candidate() {
        let recipes = ["las", "fifo", "las:served=gpu-time"].map(ToString::to_string);
        let found = candidates(&recipes, 0, 1).expect("candidates");
        assert!(found.left.iter().all(|choice| choice.label != "las:served=gpu-time"));
        assert_eq!(found.base, "las");
        let same = Same { recipe: "las:served=gpu-time".into(), as_recipe: "las".into() };
        assert!(found.same.contains(&same), "{:?}", found.same);
    }
}
