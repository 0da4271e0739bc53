//! How long groups of jobs take, by the stages of their members: jobs of one model come again and
//! again, and so do their groups. Nothing that is kept here changes an answer; it only spares
//! working it out anew in every decision.

use heeler_model::JobId;
use heeler_solve::interleave::{Interleaving, Turns};
use std::collections::BTreeMap;

/// With more kinds of groups, or of two together, everything is forgotten before a decision.
const KINDS_MAX: usize = 4096;
const TWOS_MAX: usize = 1 << 16;

/// The number of a kind of group: those with the same stages.
pub(super) type Kind = usize;

/// What is known of a kind of group.
#[derive(Clone, Debug)]
struct Known {
    /// Stages of its members by their numbers, smallest first.
    members: Vec<usize>,
    /// How long a round takes in the best order, if that was asked for.
    best_s: Option<Option<f64>>,
}

/// Two kinds together.
#[derive(Clone, Copy, Debug)]
struct Together {
    /// How long a round takes, if they may be together.
    round_s: Option<f64>,
    /// The kind of group they make, if that was asked for.
    kind: Option<Kind>,
}

/// Kinds of groups so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds {
    /// Stage times of jobs, and their numbers by the bits of these times.
    stages: Vec<Vec<f64>>,
    by_stages: BTreeMap<Vec<u64>, usize>,
    kinds: Vec<Known>,
    by_members: BTreeMap<Vec<usize>, Kind>,
    twos: BTreeMap<(Kind, Kind), Together>,
    /// The kind of each job by itself, by its place in the table of jobs.
    by_place: Vec<Option<(JobId, Kind)>>,
}

impl Kinds {
    /// Forget all that is known if it is too much. Kinds have other numbers afterwards.
    pub(super) fn tidy(&mut self) {
        if self.kinds.len() > KINDS_MAX || self.twos.len() > TWOS_MAX {
            *self = Kinds::default();
        }
    }

    /// A job by itself, at a place in the table of jobs, by the seconds of its stages.
    pub(super) fn of_job(&mut self, id: JobId, place: usize, stage_s: &[f64]) -> Kind {
        if self.by_place.len() <= place {
            self.by_place.resize(place + 1, None);
        }
        match self.by_place[place] {
            Some((known, kind)) if known == id => kind,
            _ => {
                let kind = self.of(stage_s);
                self.by_place[place] = Some((id, kind));
                kind
            }
        }
    }

    fn of(&mut self, stage_s: &[f64]) -> Kind {
        let bits: Vec<u64> = stage_s.iter().map(|stage| stage.to_bits()).collect();
        let next = self.stages.len();
        let number = *self.by_stages.entry(bits).or_insert(next);
        if number == next {
            self.stages.push(stage_s.to_vec());
        }
        self.kind(vec![number])
    }

    fn kind(&mut self, members: Vec<usize>) -> Kind {
        if let Some(kind) = self.by_members.get(&members) {
            return *kind;
        }
        self.by_members.insert(members.clone(), self.kinds.len());
        self.kinds.push(Known { members, best_s: None });
        self.kinds.len() - 1
    }

    /// How many jobs a group of this kind has.
    pub(super) fn jobs(&self, kind: Kind) -> usize {
        self.kinds[kind].members.len()
    }

    fn stages_of(&self, kind: Kind) -> impl Iterator<Item = &[f64]> {
        self.kinds[kind].members.iter().map(|number| &self.stages[*number][..])
    }

    fn together(&mut self, one: Kind, other: Kind, how: &Interleaving) -> Together {
        let key = (one.min(other), one.max(other));
        if let Some(known) = self.twos.get(&key) {
            return *known;
        }
        let jobs: Vec<&[f64]> = self.stages_of(key.0).chain(self.stages_of(key.1)).collect();
        let found = Together { round_s: how.round_s(&jobs), kind: None };
        self.twos.insert(key, found);
        found
    }

    /// How long a round of two kinds of group together takes, if they may be together.
    pub(super) fn round_s(&mut self, one: Kind, other: Kind, how: &Interleaving) -> Option<f64> {
        self.together(one, other, how).round_s
    }

    /// The kind of group that two make.
    pub(super) fn merged(&mut self, one: Kind, other: Kind, how: &Interleaving) -> Kind {
        let mut found = self.together(one, other, how);
        if let Some(kind) = found.kind {
            return kind;
        }
        let mut members = [&self.kinds[one].members[..], &self.kinds[other].members[..]].concat();
        let stages = |number: &usize| &self.stages[*number];
        members.sort_by(|a, b| stages(a).partial_cmp(stages(b)).expect("stage times are numbers"));
        let kind = self.kind(members);
        found.kind = Some(kind);
        self.twos.insert((one.min(other), one.max(other)), found);
        kind
    }

    /// How long a round of a kind of group takes in the best order.
    pub(super) fn best_s(&mut self, kind: Kind, how: &Interleaving) -> Option<f64> {
        if let Some(known) = self.kinds[kind].best_s {
            return known;
        }
        let best = Interleaving { turns: Turns::Best, ..how.clone() };
        let jobs: Vec<&[f64]> = self.stages_of(kind).collect();
        let found = best.round_s(&jobs);
        self.kinds[kind].best_s = Some(found);
        found
    }
}
