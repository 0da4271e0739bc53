//! Cards: a recipe as a page of TOML. What it is, where it comes from, which parts it is made of,
//! its knobs, what it claims and how it differs from its paper.

use crate::cells::CellsCard;
use crate::classes::ClassesCard;
use crate::error::CardError;
use crate::grants::GrantsCard;
use crate::groups::GroupsCard;
use crate::leases::LeasesCard;
use crate::policy::PolicyCard;
use crate::portions::PortionsCard;
use crate::power::PowerCard;
use crate::predictors::Told;
use crate::profiled::ProfiledCard;
use crate::rounds::RoundsCard;
use crate::serve::ServeCard;
use crate::shapes::ShapesCard;
use crate::slices::SlicesCard;
use crate::windows::WindowsCard;
use heeler_engine::Policy;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// What a recipe is made of: one table of its card, from which a policy can be built.
pub(crate) trait Made {
    /// The policy that the table describes.
    fn build(&self) -> Box<dyn Policy>;

    /// What it is told of how long jobs run, beside what it sees.
    fn told(&self) -> Told;

    /// The table as it would stand in a card.
    fn words(&self) -> Option<Value>;
}

/// The tables of which a card has one.
const TABLES: [&str; 12] = [
    "policy", "rounds", "leases", "slices", "cells", "shapes", "grants", "windows", "profiled",
    "groups", "portions", "classes",
];

/// A recipe on a page.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Card {
    /// What the recipe is called.
    pub name: String,
    /// Its row in the catalogue of published systems.
    pub row: Option<String>,
    /// Where it was published.
    pub paper: Option<String>,
    /// What it does, in a sentence or two.
    pub summary: String,
    /// What it is made of, if it decides job by job.
    #[serde(default)]
    pub policy: Option<PolicyCard>,
    /// What it is made of, if it shares out time in rounds.
    #[serde(default)]
    pub rounds: Option<RoundsCard>,
    /// What it is made of, if it promises leases to jobs with deadlines.
    #[serde(default)]
    pub leases: Option<LeasesCard>,
    /// What it is made of, if jobs take turns.
    #[serde(default)]
    pub slices: Option<SlicesCard>,
    /// What it is made of, if tenants have virtual clusters of cells.
    #[serde(default)]
    pub cells: Option<CellsCard>,
    /// What it is made of, if it gives every job so many GPUs of a kind, in rounds.
    #[serde(default)]
    pub shapes: Option<ShapesCard>,
    /// What it is made of, if it grants GPUs for a lease to whoever is next.
    #[serde(default)]
    pub grants: Option<GrantsCard>,
    /// What it is made of, if it plans a window of rounds ahead.
    #[serde(default)]
    pub windows: Option<WindowsCard>,
    /// What it is made of, if it tries jobs out first.
    #[serde(default)]
    pub profiled: Option<ProfiledCard>,
    /// What it is made of, if it puts jobs into groups that share their GPUs.
    #[serde(default)]
    pub groups: Option<GroupsCard>,
    /// What it is made of, if it decides what jobs get beside their GPUs.
    #[serde(default)]
    pub portions: Option<PortionsCard>,
    /// What it is made of, if it has jobs of two classes on the same GPUs.
    #[serde(default)]
    pub classes: Option<ClassesCard>,
    /// When it switches nodes off, around what it is made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerCard>,
    /// How it serves models.
    #[serde(default)]
    pub serve: ServeCard,
    /// What can be set.
    #[serde(default)]
    pub knob: Vec<Knob>,
    /// What it promises, each with the test that shows it.
    #[serde(default)]
    pub claim: Vec<Claim>,
    /// How it differs from what was published.
    #[serde(default)]
    pub differs: Vec<Differs>,
}

/// Something that can be set.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Knob {
    /// What it is called on the command line.
    pub name: String,
    /// Where it is in the card, such as `policy.lease`.
    pub at: String,
    /// In which unit, or which words it takes.
    pub unit: String,
    /// What it does.
    pub meaning: String,
    /// Values worth trying when a site looks for what suits it, as on the command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tries: Vec<String>,
}

/// Something the recipe promises.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Claim {
    /// In words.
    pub text: String,
    /// The test that shows it.
    pub test: String,
}

/// A difference from what was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Differs {
    /// In words.
    pub text: String,
}

impl Card {
    /// Read a card. `file` is what errors call it.
    pub fn read(text: &str, file: &str) -> Result<Card, CardError> {
        let card: Card =
            toml::from_str(text).map_err(|error| CardError::in_text(&error, text, file))?;
        if card.made_of().is_none() {
            let names = TABLES.join("]`, `[");
            let message = format!("a card has exactly one of the tables `[{names}]`");
            return Err(CardError::plain(file, message, None));
        }
        Ok(card)
    }

    /// The one table that says what the recipe is made of.
    fn made_of(&self) -> Option<&dyn Made> {
        let tables: [Option<&dyn Made>; TABLES.len()] = [
            self.policy.as_ref().map(|table| table as &dyn Made),
            self.rounds.as_ref().map(|table| table as &dyn Made),
            self.leases.as_ref().map(|table| table as &dyn Made),
            self.slices.as_ref().map(|table| table as &dyn Made),
            self.cells.as_ref().map(|table| table as &dyn Made),
            self.shapes.as_ref().map(|table| table as &dyn Made),
            self.grants.as_ref().map(|table| table as &dyn Made),
            self.windows.as_ref().map(|table| table as &dyn Made),
            self.profiled.as_ref().map(|table| table as &dyn Made),
            self.groups.as_ref().map(|table| table as &dyn Made),
            self.portions.as_ref().map(|table| table as &dyn Made),
            self.classes.as_ref().map(|table| table as &dyn Made),
        ];
        let mut given = tables.into_iter().flatten();
        given.next().filter(|_| given.next().is_none())
    }

    /// The policy that the card describes.
    pub fn build(&self) -> Box<dyn Policy> {
        let policy = self.made_of().expect("a card that was read has just one").build();
        match &self.power {
            Some(power) => power.around(policy),
            None => policy,
        }
    }

    /// Whether the recipe looks at what only a simulator knows.
    pub fn knows_the_truth(&self) -> bool {
        self.made_of().is_some_and(|made| made.told().truth)
    }

    /// Whether it looks at what owners declared of how long their jobs run, if only where nothing
    /// else is known.
    pub fn goes_by_declared(&self) -> bool {
        self.made_of().is_some_and(|made| made.told().declared)
    }

    /// Its parts in words, family by family.
    pub fn parts(&self) -> Vec<(String, String)> {
        let value = self.made_of().and_then(Made::words);
        let table = value.and_then(|value| value.as_table().cloned()).unwrap_or_default();
        let power = self.power.as_ref().and_then(|power| Value::try_from(power).ok());
        let families = table.into_iter().chain(power.map(|power| ("power".to_string(), power)));
        families.map(|(family, part)| (family, plain(&part))).collect()
    }

    /// Read a card and set some of its knobs.
    pub fn read_with(
        text: &str,
        file: &str,
        settings: &[(String, String)],
    ) -> Result<Card, CardError> {
        let card = Card::read(text, file)?;
        if settings.is_empty() {
            return Ok(card);
        }
        let mut table: Table = toml::from_str(text).expect("the card has just been read");
        for (name, value) in settings {
            let knob = card.knob.iter().find(|knob| knob.name == *name);
            let knob = knob.ok_or_else(|| no_such_knob(&card, name, file))?;
            if let Err(error) = set_knob(&mut table, &knob.at, parse(value)) {
                let message = format!("knob `{name}` cannot be `{value}`: {}", error.message());
                let hint = format!("`{name}` takes {}", knob.unit);
                return Err(CardError::plain(file, message, Some(hint)));
            }
        }
        Value::Table(table).try_into().map_err(|error: toml::de::Error| {
            CardError::plain(file, error.message().to_string(), None)
        })
    }

    /// The value a knob has.
    pub fn knob_value(&self, knob: &Knob) -> Option<Value> {
        let card = Value::try_from(self).ok()?;
        knob.at.split('.').try_fold(card, |value, key| value.get(key).cloned())
    }
}

fn no_such_knob(card: &Card, name: &str, file: &str) -> CardError {
    let names: Vec<&str> = card.knob.iter().map(|knob| knob.name.as_str()).collect();
    let hint = match names.as_slice() {
        [] => format!("`{}` has no knobs", card.name),
        names => format!("`{}` has: {}", card.name, names.join(", ")),
    };
    CardError::plain(file, format!("there is no knob `{name}`"), Some(hint))
}

/// A value as it stands on the command line: TOML if it is, otherwise a string.
fn parse(value: &str) -> Value {
    let wrapped: Result<Table, _> = toml::from_str(&format!("value = {value}"));
    match wrapped {
        Ok(mut table) => table.remove("value").unwrap_or_else(|| Value::String(value.into())),
        Err(_) => Value::String(value.into()),
    }
}

/// A value as it stands in a card, but a plain word without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToString::to_string)
}

/// Set a knob of a card. A word alone stands for the part of that name with nothing said of it.
fn set_knob(table: &mut Table, path: &str, value: Value) -> Result<(), toml::de::Error> {
    let check = |table: &Table| -> Result<(), toml::de::Error> {
        let card: Result<Card, _> = Value::Table(table.clone()).try_into();
        card.map(|_| ())
    };
    let word = value.as_str().map(ToString::to_string);
    set(table, path, value);
    let Err(plain) = check(table) else { return Ok(()) };
    let Some(word) = word else { return Err(plain) };
    let part = Table::from_iter([(word, Value::Table(Table::new()))]);
    set(table, path, Value::Table(part));
    check(table).map_err(|error| match error.message().contains("missing field") {
        true => error,
        false => plain,
    })
}

/// Set the value at a dotted path.
fn set(table: &mut Table, path: &str, value: Value) {
    let mut keys: Vec<&str> = path.split('.').collect();
    let last = keys.pop().unwrap_or_default();
    let mut at = table;
    for key in keys {
        let entry = at.entry(key).or_insert_with(|| Value::Table(Table::new()));
        if !entry.is_table() {
            *entry = Value::Table(Table::new());
        }
        at = entry.as_table_mut().expect("made a table a line above");
    }
    at.insert(last.into(), value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_alone_stands_for_a_part_with_its_defaults() {
        let srsf = crate::find("srsf").expect("built in");
        let with = |value: &str| {
            let knobs = [("predict".to_string(), value.to_string())];
            Card::read_with(srsf.text, srsf.name, &knobs)
        };
        let (word, written) = (
            with("mean"),
            with("{ mean = { by = \"user-name-gpus\" } }").expect("as it is written"),
        );
        assert_eq!(format!("{:?}", word.expect("a word")), format!("{written:?}"));
        let message = |value: &str| with(value).expect_err("it cannot be").message;
        assert_eq!(message("noisy"), "knob `predict` cannot be `noisy`: missing field `sigma`");
        let other = message("men");
        assert!(other.contains("unknown variant `men`"), "{other}");
    }

    /// What is worth trying can be tried, and is not what stands there anyway.
    #[test]
    fn values_to_try_are_values() {
        let mut tried = 0;
        for recipe in crate::all() {
            let card = Card::read(recipe.text, recipe.name).expect("a card");
            for knob in &card.knob {
                for value in &knob.tries {
                    let knobs = [(knob.name.clone(), value.clone())];
                    let other = Card::read_with(recipe.text, recipe.name, &knobs);
                    let other = other.unwrap_or_else(|error| panic!("{error}"));
                    assert!(format!("{other:?}").len() > 100);
                    tried += 1;
                }
            }
        }
        assert!(tried > 10, "{tried} values to try");
    }
}
