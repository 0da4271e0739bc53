//! What to try: recipes as they are, with one knob at a value worth trying, and with several.

use crate::arguments::{Choice, choose_with};
use crate::commands::compare::choose_all;
use anyhow::Result;
use heeler_engine::stream;
use heeler_model::Time;
use rand::RngExt;
use std::collections::BTreeSet;

/// Draws that come to something tried already, before it is enough.
const TRIES_MAX: usize = 1000;

/// All candidates: the recipes first, then one knob at a time, then so many draws of several.
pub(super) fn candidates(recipes: &[String], draws: usize, seed: u64) -> Result<Vec<Choice>> {
    let mut all: Vec<Choice> = Vec::new();
    let mut labels = BTreeSet::new();
    let mut add = |choice: Choice, all: &mut Vec<Choice>| {
        let new = labels.insert(choice.label.clone());
        if new {
            all.push(choice);
        }
        new
    };
    let plain = choose_all(recipes)?;
    for choice in &plain {
        add(choice.clone(), &mut all);
    }
    let mut several = Vec::new();
    for (text, choice) in recipes.iter().zip(&plain) {
        let tried: Vec<(String, Vec<String>)> = choice
            .card
            .knob
            .iter()
            .filter(|knob| !knob.tries.is_empty() && !text.contains(&format!(":{}=", knob.name)))
            .map(|knob| (knob.name.clone(), knob.tries.clone()))
            .collect();
        for (name, values) in &tried {
            for value in values {
                add(with(text, choice, &[(name.clone(), value.clone())])?, &mut all);
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
        if set.len() > 1 && add(with(text, choice, &set)?, &mut all) {
            left -= 1;
        }
    }
    Ok(all)
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
