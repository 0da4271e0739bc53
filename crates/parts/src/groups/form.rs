//! Whom to put with whom. While those considered ask for more GPUs than there are, jobs of one size
//! are matched two and two so that the resources they interleave on are busiest, the twos are
//! matched again, and so on until groups are as large as they may be.

use super::candidates::Batch;
use super::known::{Kind, Kinds};
use super::twos::Pairs;
use heeler_engine::{Ties, View};
use heeler_model::{Demand, JobId, KindSet, Sizes};
use heeler_solve::interleave::Interleaving;
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

/// Who is put with whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pairing {
    /// So that resources are busiest.
    #[default]
    Matching,
    /// Those next to each other in the order.
    InOrder,
}

/// How groups are formed.
#[derive(Clone, Debug, PartialEq)]
pub struct Forming {
    /// How many jobs a group may have.
    pub most: usize,
    /// Who is put with whom.
    pub pairing: Pairing,
    /// Whether groups that are slower than one after the other are undone.
    pub unpack: bool,
    /// How groups run.
    pub interleaving: Interleaving,
}

/// Jobs that share their GPUs.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Who.
    pub members: SmallVec<[JobId; 4]>,
    /// What they need together.
    pub demand: Demand,
    /// Seconds of an iteration's stages of each.
    pub used_s: SmallVec<[f64; 4]>,
    /// Which groups it is like.
    pub like: Kind,
}

/// Groups of those considered. Where some are undone, those come first who rank first by a key, as
/// many as fit.
pub(super) fn form(
    batches: &[Batch],
    forming: &Forming,
    kinds: &mut Kinds,
    key: impl Fn(JobId) -> i64,
    view: &View,
) -> Vec<Group> {
    let capacity = i64::from(view.fleet().up_of(KindSet::ANY)) * 1000;
    let asked = |batch: &Batch| {
        let share = batch.jobs.first().map_or(0, |id| view.job(*id).spec.demand.share.0);
        batch.jobs.len() as i64 * i64::from(batch.sort.gpus) * i64::from(share)
    };
    let mut over = batches.iter().map(asked).sum::<i64>() - capacity;
    let mut makers: Vec<Maker> =
        batches.iter().map(|batch| Maker::new(batch, forming, kinds, view)).collect();
    if forming.pairing == Pairing::InOrder {
        for maker in &mut makers {
            maker.pair_in_order(&mut over, kinds, view);
        }
    } else {
        for _ in 0..forming.most {
            let before = over;
            for maker in &mut makers {
                if over > 0 {
                    maker.pair(&mut over, kinds, view);
                }
            }
            // Once nobody is put together nobody will be.
            if over <= 0 || over == before {
                break;
            }
        }
    }
    if !forming.unpack {
        return makers.into_iter().flat_map(Maker::into_groups).collect();
    }
    let mut groups: Vec<Group> = Vec::new();
    for maker in makers {
        maker.unpack(&mut groups, kinds, view);
    }
    groups.sort_by_cached_key(|group| group.members.iter().map(|id| key(*id)).min());
    let mut room = capacity;
    groups.retain(|group| {
        let need = i64::from(group.demand.asked()) * i64::from(group.demand.share.0);
        let fits = need <= room;
        room -= if fits { need } else { 0 };
        fits
    });
    groups
}

/// Groups of one sort in the making.
struct Maker<'a> {
    gpus: i64,
    stages: usize,
    /// Those there are, and those that have become part of another.
    groups: Vec<Group>,
    /// Where those there are stand, in order.
    line: Vec<usize>,
    forming: &'a Forming,
}

impl<'a> Maker<'a> {
    fn new(batch: &Batch, forming: &'a Forming, kinds: &mut Kinds, view: &View) -> Maker<'a> {
        let stages = batch.sort.stages;
        let group = |id: &JobId| {
            let job = view.job(*id);
            let known = job.spec.stages().filter(|_| stages > 0);
            let stage_s: &[f64] = known.map_or(&[], |known| &known.stage_s);
            let used_s = smallvec![stage_s.iter().sum()];
            let place = view.jobs().place(*id).expect("the job is not done");
            let like = kinds.of_job(*id, place, stage_s);
            Group { members: smallvec![*id], demand: job.spec.demand, used_s, like }
        };
        let groups: Vec<Group> = batch.jobs.iter().map(group).collect();
        let line = (0..groups.len()).collect();
        Maker { gpus: i64::from(batch.sort.gpus), stages, groups, line, forming }
    }

    fn into_groups(self) -> impl Iterator<Item = Group> {
        let mut groups: Vec<Option<Group>> = self.groups.into_iter().map(Some).collect();
        self.line.into_iter().filter_map(move |at| groups[at].take())
    }

    /// Put groups together two and two, as long as there are more than there is room for.
    fn pair(&mut self, over: &mut i64, kinds: &mut Kinds, view: &View) {
        if self.stages == 0 || self.line.len() < 2 || self.forming.most < 2 {
            return;
        }
        let pairs = Pairs {
            groups: &self.groups,
            line: &self.line,
            stages: self.stages,
            forming: self.forming,
        };
        let with = pairs.matched(kinds, view.rules().ties == Ties::Previous, view);
        let before = std::mem::take(&mut self.line);
        for (at, two) in before.iter().enumerate() {
            match with[at] {
                Some(other) if other > at => {}
                Some(other) => {
                    let one = before[other];
                    self.line.push(one);
                    if *over > 0 && fits_ever(&self.groups[one], &self.groups[*two], view) {
                        *over -= self.gpus * 1000;
                        self.merge(one, *two, kinds);
                    } else {
                        self.line.push(*two);
                    }
                }
                None => self.line.push(*two),
            }
        }
    }

    /// Add the groups, without those that are slower than one after the other.
    fn unpack(self, left: &mut Vec<Group>, kinds: &mut Kinds, view: &View) {
        let alone_s = |id: &JobId| view.job(*id).spec.stages().map_or(0.0, |job| job.iteration_s);
        let interleaving = &self.forming.interleaving;
        for group in self.into_groups() {
            let in_turn_s: f64 = group.members.iter().map(alone_s).sum();
            let mut round_s = || kinds.best_s(group.like, interleaving);
            if group.members.len() < 2 || round_s().is_some_and(|round_s| round_s <= in_turn_s) {
                left.push(group);
                continue;
            }
            left.extend(group.members.iter().zip(&group.used_s).map(|(id, used_s)| Group {
                members: smallvec![*id],
                demand: view.job(*id).spec.demand,
                used_s: smallvec![*used_s],
                like: group.like,
            }));
        }
    }

    /// The second becomes part of the first.
    fn merge(&mut self, one: usize, two: usize, kinds: &mut Kinds) {
        let two = self.groups[two].clone();
        let one = &mut self.groups[one];
        one.like = kinds.merged(one.like, two.like, &self.forming.interleaving);
        one.demand = together(&one.demand, &two.demand);
        one.members.extend(two.members);
        one.used_s.extend(two.used_s);
    }

    /// Put those next to each other together, as long as there are more than there is room for.
    fn pair_in_order(&mut self, over: &mut i64, kinds: &mut Kinds, view: &View) {
        if self.stages == 0 {
            return;
        }
        let mut waiting = std::mem::take(&mut self.line).into_iter();
        while let Some(group) = waiting.next() {
            for other in waiting.by_ref().take(self.forming.most.saturating_sub(1)) {
                if *over > 0 && fits_ever(&self.groups[group], &self.groups[other], view) {
                    *over -= self.gpus * 1000;
                    self.merge(group, other, kinds);
                } else {
                    self.line.push(other);
                }
            }
            self.line.push(group);
        }
    }
}

/// What two groups on the same GPUs need.
fn together(one: &Demand, two: &Demand) -> Demand {
    Demand {
        gpu_memory_mb: one.gpu_memory_mb.saturating_add(two.gpu_memory_mb),
        cpu_milli: one.cpu_milli.saturating_add(two.cpu_milli),
        memory_mb: one.memory_mb.saturating_add(two.memory_mb),
        ..*one
    }
}

/// Whether two groups could ever be on the same GPUs.
fn fits_ever(one: &Group, two: &Group, view: &View) -> bool {
    let demand = together(&one.demand, &two.demand);
    // Whoever could be smaller is not so in a group.
    let demand = Demand { sizes: Sizes::rigid(demand.asked()), ..demand };
    let free = demand.gpu_memory_mb == 0 && demand.cpu_milli == 0 && demand.memory_mb == 0;
    free || view.fleet().could_ever(&demand).is_ok()
}
