//! The recipe in charge, as a card with its knobs, and how another takes its place.

use crate::ask::Done;
use crate::live::Live;
use heeler_api::{Code, Problem, RecipeChange, RecipeView, Who};
use heeler_engine::Policy;
use heeler_model::{Cluster, Time};
use heeler_recipes::{Card, CardError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes of a card.
const CARD_MAX: usize = 64 << 10;
/// Knobs by which recipes say who tells them how long jobs run.
const PREDICTORS: [&str; 2] = ["predict", "estimate"];

/// The recipe in charge. The whole card is kept, so that a newer program decides as this one did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InCharge {
    pub(crate) name: String,
    card: String,
    knobs: BTreeMap<String, String>,
    since: Time,
}

impl InCharge {
    /// A built-in recipe with its own knobs.
    pub(crate) fn built_in(name: &str, since: Time) -> Result<InCharge, Problem> {
        let change = RecipeChange { name: Some(name.into()), ..RecipeChange::default() };
        InCharge::chosen(&change, since)
    }

    /// What somebody wants in charge.
    pub(crate) fn chosen(change: &RecipeChange, since: Time) -> Result<InCharge, Problem> {
        let text = match (&change.name, &change.card) {
            (Some(name), None) => built_in(name)?.to_string(),
            (None, Some(card)) if card.len() > CARD_MAX => {
                let message = format!("a card has at most {CARD_MAX} bytes");
                return Err(Problem::new(Code::TooLarge, message).at("card"));
            }
            (None, Some(card)) => card.clone(),
            _ => {
                let message = "a recipe has either a name or a card";
                return Err(Problem::new(Code::Invalid, message).at("name"));
            }
        };
        let mut chosen =
            InCharge { name: String::new(), card: text, knobs: change.knobs.clone(), since };
        let mut card = chosen.read()?;
        // Nobody here knows how long jobs really run, so what their owners say stands in for it.
        if card.knows_the_truth() {
            let knob = card.knob.iter().find(|knob| PREDICTORS.contains(&knob.name.as_str()));
            if let Some(knob) = knob.filter(|knob| !chosen.knobs.contains_key(&knob.name)) {
                chosen.knobs.insert(knob.name.clone(), "declared".into());
                card = chosen.read()?;
            }
        }
        if card.knows_the_truth() {
            let message = format!("`{}` needs an oracle, which only a simulation has", card.name);
            let problem = Problem::new(Code::Invalid, message).at("knobs");
            return Err(problem.hint("set its `predict` or `estimate` to declared"));
        }
        chosen.name = card.name;
        Ok(chosen)
    }

    fn read(&self) -> Result<Card, Problem> {
        let knobs: Vec<(String, String)> = self.knobs.clone().into_iter().collect();
        Card::read_with(&self.card, "card", &knobs).map_err(|error| problem(&error))
    }

    /// Whether what it remembers is laid out by tenant, so that it cannot learn of another.
    pub(crate) fn is_by_tenant(&self) -> bool {
        self.read().is_ok_and(|card| card.cells.is_some())
    }

    /// A fresh policy.
    pub(crate) fn build(&self) -> Result<Box<dyn Policy>, Problem> {
        Ok(self.read()?.build())
    }
}

fn problem(error: &CardError) -> Problem {
    let problem = Problem::new(Code::Invalid, error.to_string()).at("card");
    match &error.hint {
        Some(hint) => problem.hint(hint.clone()),
        None => problem,
    }
}

fn built_in(name: &str) -> Result<&'static str, Problem> {
    heeler_recipes::find(name).map(|card| card.text).ok_or_else(|| {
        let problem = Problem::new(Code::NotFound, format!("there is no recipe `{name}`"));
        let names = heeler_recipes::all().iter().map(|card| card.name);
        crate::check::with_nearest(problem.at("name"), name, names)
    })
}

impl Live {
    pub(crate) fn change_recipe(
        &mut self,
        who: &Who,
        change: &RecipeChange,
    ) -> Result<Done, Problem> {
        let chosen = InCharge::chosen(change, self.now)?;
        let policy = chosen.build()?;
        self.grow();
        self.recipe = chosen;
        self.engine.adopt(policy);
        let knobs = self.recipe.knobs.iter().map(|(name, value)| format!(" {name}={value}"));
        let detail: String = std::iter::once(self.recipe.name.clone()).chain(knobs).collect();
        self.note(who, "recipe", detail);
        Ok(Done::Changed)
    }

    /// The recipe in charge.
    pub fn recipe(&self) -> RecipeView {
        let summary = self.recipe.read().map(|card| card.summary).unwrap_or_default();
        RecipeView {
            name: self.recipe.name.clone(),
            knobs: self.recipe.knobs.clone(),
            summary,
            since: self.seconds(self.recipe.since),
        }
    }

    /// The engine on a larger cluster, with a policy that remembers nothing. First in, first out
    /// stands in while the cluster grows, because it has nothing to remember.
    pub(crate) fn begin_anew(&mut self, cluster: Cluster) {
        let plain = || InCharge::built_in("fifo", Time::ZERO).and_then(|recipe| recipe.build());
        let (first, second) = (plain(), plain());
        let (first, second) = (first.expect("fifo is built in"), second.expect("fifo is built in"));
        self.engine.stand_in(first);
        self.engine = self.engine.rebuilt(cluster, second).expect("fifo remembers nothing");
        self.engine.adopt(self.recipe.build().expect("the recipe in charge was built before"));
    }

    /// The card of the recipe in charge, with its knobs set.
    pub fn card(&self) -> Result<Card, Problem> {
        self.recipe.read()
    }

    /// The policy of another recipe, for "what if".
    pub fn policy_of(&self, change: &RecipeChange) -> Result<Box<dyn Policy>, Problem> {
        InCharge::chosen(change, self.now)?.build()
    }

    /// The recipe in charge with what differs, as another policy of the same kind, for "what if".
    pub fn policy(&self) -> Box<dyn Policy> {
        self.recipe.build().expect("the recipe in charge was built before")
    }
}
