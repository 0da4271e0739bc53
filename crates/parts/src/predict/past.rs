//! How long jobs ran that have ended, by who they belonged to, what they were called and how many
//! GPUs they had. Names that were not seen for long are forgotten, so that this stays small.

use super::{Facts, Owner};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Names that are remembered of each owner.
const NAMES_MAX: usize = 256;

/// How long some jobs ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sum {
    pub(super) jobs: u64,
    micros: u64,
}

impl Sum {
    fn add(&mut self, micros: u64) {
        self.jobs += 1;
        self.micros = self.micros.saturating_add(micros);
    }

    /// Together with others.
    pub(super) fn and(self, other: Sum) -> Sum {
        let micros = self.micros.saturating_add(other.micros);
        Sum { jobs: self.jobs + other.jobs, micros }
    }

    /// Mean run time in seconds, if there were any.
    pub(super) fn mean_s(self) -> Option<f64> {
        (self.jobs > 0).then(|| self.micros as f64 / self.jobs as f64 / 1e6)
    }
}

/// Jobs of one owner, of one name, or all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Group {
    pub(super) all: Sum,
    pub(super) by_gpus: BTreeMap<u32, Sum>,
    /// The number of the last job of the group that ended.
    last: u64,
}

impl Group {
    fn add(&mut self, gpus: u32, micros: u64, number: u64) {
        self.all.add(micros);
        self.by_gpus.entry(gpus).or_default().add(micros);
        self.last = number;
    }

    /// Of those with so many GPUs.
    pub(super) fn with(&self, gpus: u32) -> Sum {
        self.by_gpus.get(&gpus).copied().unwrap_or_default()
    }
}

/// Jobs of one owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OfOwner {
    pub(super) jobs: Group,
    pub(super) names: BTreeMap<String, Group>,
}

/// How long jobs ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Past {
    pub(super) all: Group,
    #[serde(alias = "tenants")]
    pub(super) owners: BTreeMap<Owner, OfOwner>,
}

impl Past {
    /// A job has ended.
    pub(super) fn learn(&mut self, facts: &Facts, seconds: f64) {
        let micros = (seconds * 1e6).round().clamp(1.0, 1e18) as u64;
        let number = self.all.all.jobs + 1;
        self.all.add(facts.gpus, micros, number);
        let owner = self.owners.entry(facts.owner).or_default();
        owner.jobs.add(facts.gpus, micros, number);
        if facts.name.is_empty() {
            return;
        }
        owner.names.entry(facts.name.clone()).or_default().add(facts.gpus, micros, number);
        if owner.names.len() > NAMES_MAX {
            let oldest = owner.names.iter().min_by_key(|(_, group)| group.last);
            let oldest = oldest.map(|(name, _)| name.clone()).expect("there are many");
            owner.names.remove(&oldest);
        }
    }

    /// What is known of an owner.
    pub(super) fn owner(&self, owner: Owner) -> Option<&OfOwner> {
        self.owners.get(&owner)
    }

    /// What is known of jobs of that name and owner.
    pub(super) fn named(&self, facts: &Facts) -> Option<&Group> {
        self.owner(facts.owner)?.names.get(&facts.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_were_not_seen_for_long_are_forgotten() {
        let mut past = Past::default();
        let facts = |name: usize| Facts { name: name.to_string(), gpus: 1, ..Facts::default() };
        for name in 0..=NAMES_MAX {
            // The first is run again and again.
            past.learn(&facts(0), 10.0);
            past.learn(&facts(name), 10.0);
        }
        assert!(past.named(&facts(0)).is_some() && past.named(&facts(NAMES_MAX)).is_some());
        assert!(past.named(&facts(1)).is_none());
        assert_eq!(past.owners[&Owner::default()].names.len(), NAMES_MAX);
    }
}
