//! How long groups of jobs take, by the stages of their members: jobs of one model come again and
//! again, and so do their groups. Nothing that is kept here changes an answer; it only spares
//! working it out anew in every decision.

use super::candidates::Sort;
use super::twos::{Matched, Two};
use heeler_engine::Job;
use heeler_model::{Demand, JobId};
use heeler_solve::interleave::{Interleaving, Turns};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// With more kinds of groups, or of two together, everything is forgotten before a decision.
const KINDS_MAX: usize = 4096;
const TWOS_MAX: usize = 1 << 20;
/// With more matchings than this, all of them are forgotten before a decision.
const MATCHINGS_MAX: usize = 1 << 12;

/// The number of a kind of group: those with the same stages.
pub(super) type Kind = u32;

/// What never changes of a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    /// The number of those it may be put together with.
    pub sort: u32,
    /// What kind of group it is by itself.
    pub kind: Kind,
    /// GPUs.
    pub gpus: u32,
    /// Whether it needs nothing but GPUs, and these to itself.
    pub plain: bool,
    /// Seconds of an iteration's stages.
    pub used_s: f64,
    /// Seconds of an iteration.
    pub alone_s: f64,
}

/// What is known of a kind of group.
#[derive(Clone, Debug)]
struct Known {
    /// Stages of its members by their numbers, smallest first.
    members: Vec<usize>,
    /// Seconds of all their stages.
    used_s: f64,
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
    /// By the smaller and by how much larger the other is.
    twos: Vec<Vec<Option<Together>>>,
    /// Room that is kept for them.
    places: usize,
    /// Which twos are heaviest of so many of these kinds.
    matchings: BTreeMap<Vec<(Kind, u32)>, Arc<[Two]>>,
    /// Who is with whom of a few of these kinds, in order.
    few: BTreeMap<Vec<Kind>, Matched>,
    /// Kinds by their stages alone, and where each stands among them.
    in_order: Vec<Kind>,
    ranks: Vec<u32>,
    /// Who may be put together.
    sorts: Vec<Sort>,
    by_sort: BTreeMap<Sort, u32>,
    /// What is known of each job, by its place in the table of jobs.
    by_place: Vec<Option<(JobId, Own)>>,
    /// Where each kind was seen first; nothing between questions.
    seen: Vec<u32>,
}

impl Kinds {
    /// Forget all that is known if it is too much. Kinds have other numbers afterwards.
    pub(super) fn tidy(&mut self) {
        if self.kinds.len() > KINDS_MAX || self.places > TWOS_MAX {
            *self = Kinds::default();
        }
        if self.matchings.len() > MATCHINGS_MAX {
            self.matchings.clear();
        }
        if self.few.len() > MATCHINGS_MAX {
            self.few.clear();
        }
    }

    /// Those that may be put together under a number.
    pub(super) fn sort(&self, number: u32) -> Sort {
        self.sorts[number as usize]
    }

    /// How many there are of each kind, by stages alone, since numbers tell only who was seen
    /// first; and where the kind of each is among them.
    pub(super) fn count(
        &mut self,
        kinds: impl Iterator<Item = Kind>,
    ) -> (Vec<(Kind, u32)>, Vec<u32>) {
        // A kind is counted from one on where it was seen; nothing says that it was not.
        self.seen.resize(self.kinds.len(), 0);
        let mut found: Vec<(Kind, u32)> = Vec::new();
        let mut class_of: Vec<u32> = Vec::with_capacity(kinds.size_hint().0);
        for kind in kinds {
            let seen = &mut self.seen[kind as usize];
            if *seen == 0 {
                found.push((kind, 0));
                *seen = found.len() as u32;
            }
            found[*seen as usize - 1].1 += 1;
            class_of.push(*seen - 1);
        }
        let mut order: Vec<u32> = (0..found.len() as u32).collect();
        order.sort_unstable_by_key(|at| self.ranks[found[*at as usize].0 as usize]);
        let mut stands: Vec<u32> = vec![0; found.len()];
        for (place, at) in (0..).zip(&order) {
            stands[*at as usize] = place;
        }
        found.iter().for_each(|(kind, _)| self.seen[*kind as usize] = 0);
        class_of.iter_mut().for_each(|class| *class = stands[*class as usize]);
        (order.into_iter().map(|at| found[at as usize]).collect(), class_of)
    }

    /// Seconds of all stages of a group of this kind.
    pub(super) fn used_s(&self, kind: Kind) -> f64 {
        self.kinds[kind as usize].used_s
    }

    /// The heaviest twos of so many of these kinds, if they are known.
    pub(super) fn twos_of(&self, asked: &[(Kind, u32)]) -> Option<Arc<[Two]>> {
        self.matchings.get(asked).cloned()
    }

    /// Keep the heaviest twos of so many of these kinds.
    pub(super) fn keep_twos(&mut self, asked: Vec<(Kind, u32)>, twos: Arc<[Two]>) {
        self.matchings.insert(asked, twos);
    }

    /// With whom each of a few of these kinds is, if that is known.
    pub(super) fn few(&self, asked: &[Kind]) -> Option<Matched> {
        self.few.get(asked).cloned()
    }

    /// Keep with whom each of a few of these kinds is.
    pub(super) fn keep_few(&mut self, asked: Vec<Kind>, with: Matched) {
        self.few.insert(asked, with);
    }

    /// What never changes of a job, at a place in the table of jobs.
    pub(super) fn of_job(&mut self, job: &Job, place: usize) -> Own {
        if self.by_place.len() <= place {
            self.by_place.resize(place + 1, None);
        }
        match self.by_place[place] {
            Some((known, own)) if known == job.id => own,
            _ => {
                let own = self.own(job);
                self.by_place[place] = Some((job.id, own));
                own
            }
        }
    }

    fn own(&mut self, job: &Job) -> Own {
        let sort = Sort::of(job);
        let known = job.spec.stages().filter(|_| sort.stages > 0);
        let stage_s: &[f64] = known.map_or(&[], |known| &known.stage_s);
        let next = self.sorts.len() as u32;
        let number = *self.by_sort.entry(sort).or_insert(next);
        if number == next {
            self.sorts.push(sort);
        }
        let demand = &job.spec.demand;
        let bare = Demand { sizes: demand.sizes, kinds: demand.kinds, ..Demand::gpus(0) };
        Own {
            sort: number,
            kind: self.of(stage_s),
            gpus: demand.asked(),
            plain: *demand == bare,
            used_s: stage_s.iter().sum(),
            alone_s: job.spec.stages().map_or(0.0, |stages| stages.iteration_s),
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
        self.by_members.insert(members.clone(), self.kinds.len() as Kind);
        let stages = members.iter().flat_map(|number| &self.stages[*number]);
        let used_s = stages.sum();
        self.kinds.push(Known { members, used_s, best_s: None });
        let kind = (self.kinds.len() - 1) as Kind;
        let at = self.in_order.partition_point(|other| self.compare(*other, kind).is_lt());
        self.in_order.insert(at, kind);
        self.ranks.push(0);
        for (rank, kind) in self.in_order.iter().enumerate().skip(at) {
            self.ranks[*kind as usize] = rank as u32;
        }
        kind
    }

    fn compare(&self, one: Kind, other: Kind) -> Ordering {
        let order = self.stages_of(one).partial_cmp(self.stages_of(other));
        order.expect("stage times are numbers")
    }

    /// How many jobs a group of this kind has.
    pub(super) fn jobs(&self, kind: Kind) -> usize {
        self.kinds[kind as usize].members.len()
    }

    fn stages_of(&self, kind: Kind) -> impl Iterator<Item = &[f64]> {
        self.kinds[kind as usize].members.iter().map(|number| &self.stages[*number][..])
    }

    fn together(&mut self, one: Kind, other: Kind, how: &Interleaving) -> Together {
        if let Some(known) = *self.two(one, other) {
            return known;
        }
        let (first, last) = (one.min(other), one.max(other));
        let round_s = {
            let both = self.stages_of(first).chain(self.stages_of(last));
            how.round_s(&both.collect::<SmallVec<[&[f64]; 4]>>())
        };
        let found = Together { round_s, kind: None };
        *self.two(one, other) = Some(found);
        found
    }

    /// Where it stands what two kinds are together.
    fn two(&mut self, one: Kind, other: Kind) -> &mut Option<Together> {
        let (first, more) = (one.min(other) as usize, one.abs_diff(other) as usize);
        if self.twos.len() <= first {
            self.twos.resize(first + 1, Vec::new());
        }
        let row = &mut self.twos[first];
        if row.len() <= more {
            self.places += more + 1 - row.len();
            row.resize(more + 1, None);
        }
        &mut row[more]
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
        let mut members =
            [&self.kinds[one as usize].members[..], &self.kinds[other as usize].members[..]]
                .concat();
        let stages = |number: &usize| &self.stages[*number];
        members.sort_by(|a, b| stages(a).partial_cmp(stages(b)).expect("stage times are numbers"));
        let kind = self.kind(members);
        found.kind = Some(kind);
        *self.two(one, other) = Some(found);
        kind
    }

    /// How long a round of a kind of group takes in the best order.
    pub(super) fn best_s(&mut self, kind: Kind, how: &Interleaving) -> Option<f64> {
        if let Some(known) = self.kinds[kind as usize].best_s {
            return known;
        }
        let best = Interleaving { turns: Turns::Best, ..how.clone() };
        let jobs: Vec<&[f64]> = self.stages_of(kind).collect();
        let found = best.round_s(&jobs);
        self.kinds[kind as usize].best_s = Some(found);
        found
    }
}
