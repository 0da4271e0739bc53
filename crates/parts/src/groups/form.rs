//! Whom to put with whom. While those considered ask for more GPUs than there are, jobs of one size
//! are matched two and two so that the resources they interleave on are busiest, the twos are
//! matched again, and so on until groups are as large as they may be.

use super::candidates::Batch;
use heeler_engine::View;
use heeler_model::{Demand, JobId, KindSet, Sizes};
use heeler_solve::heaviest_matching;
use heeler_solve::interleave::{Interleaving, Turns, resources};
use serde::{Deserialize, Serialize};

/// Changes of prices after which a matching is taken as it is.
const CHANGES_MAX: usize = 100_000;

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
    pub members: Vec<JobId>,
    /// What they need together.
    pub demand: Demand,
    /// Seconds of an iteration's stages of each.
    used_s: Vec<f64>,
    /// Which groups it is like.
    like: usize,
}

/// Groups of those considered. Where some are undone, those come first who rank first by a key, as
/// many as fit.
pub(super) fn form(
    batches: &[Batch],
    forming: &Forming,
    key: impl Fn(JobId) -> i64,
    view: &View,
) -> Vec<Group> {
    let capacity = i64::from(view.fleet().up_of(KindSet::ANY)) * 1000;
    let asked = |batch: &Batch| {
        let share = batch.jobs.first().map_or(0, |id| view.job(*id).spec.demand.share.0);
        batch.jobs.len() as i64 * i64::from(batch.sort.gpus) * i64::from(share)
    };
    let mut over = batches.iter().map(asked).sum::<i64>() - capacity;
    let mut makers: Vec<Maker> = batches.iter().map(|batch| Maker::new(batch, view)).collect();
    if forming.pairing == Pairing::InOrder {
        for maker in &mut makers {
            maker.pair_in_order(forming.most, &mut over, view);
        }
    } else {
        for _ in 0..forming.most {
            for maker in &mut makers {
                if over > 0 {
                    maker.pair(forming, &mut over, view);
                }
            }
        }
    }
    if !forming.unpack {
        return makers.into_iter().flat_map(|maker| maker.groups).collect();
    }
    let best = Interleaving { turns: Turns::Best, ..forming.interleaving.clone() };
    let mut groups: Vec<Group> =
        makers.into_iter().flat_map(|maker| maker.unpacked(&best, view)).collect();
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
    groups: Vec<Group>,
    /// Stage times of groups that are alike: of each of their members, smallest first.
    kinds: Vec<Vec<&'a [f64]>>,
}

impl<'a> Maker<'a> {
    fn new(batch: &Batch, view: &'a View<'a>) -> Maker<'a> {
        let (gpus, stages) = (i64::from(batch.sort.gpus), batch.sort.stages);
        let mut maker = Maker { gpus, stages, groups: Vec::new(), kinds: Vec::new() };
        for id in &batch.jobs {
            let job = view.state().job(*id);
            let known = job.spec.stages().filter(|_| stages > 0);
            let stages: &[f64] = known.map_or(&[], |known| &known.stage_s);
            let like = maker.kind(vec![stages]);
            let (members, used_s) = (vec![*id], vec![stages.iter().sum()]);
            maker.groups.push(Group { members, demand: job.spec.demand, used_s, like });
        }
        maker
    }

    /// The number of a kind of group.
    fn kind(&mut self, stages: Vec<&'a [f64]>) -> usize {
        let known = self.kinds.iter().position(|kind| *kind == stages);
        known.unwrap_or_else(|| {
            self.kinds.push(stages);
            self.kinds.len() - 1
        })
    }

    /// Put groups together two and two, as long as there are more than there is room for.
    fn pair(&mut self, forming: &Forming, over: &mut i64, view: &View) {
        if self.stages == 0 || self.groups.len() < 2 || forming.most < 2 {
            return;
        }
        let found = heaviest_matching(&self.weights(forming), CHANGES_MAX);
        let mut left: Vec<Option<Group>> = self.groups.drain(..).map(Some).collect();
        let mut groups = Vec::with_capacity(left.len());
        for at in 0..left.len() {
            match found.with[at] {
                Some(other) if other > at => {}
                Some(other) => {
                    let one = left[other].take().expect("nobody is in two twos");
                    let two = left[at].take().expect("nobody is in two twos");
                    if *over > 0 && fits_ever(&one, &two, view) {
                        *over -= self.gpus * 1000;
                        groups.push(self.merge(one, two));
                    } else {
                        groups.extend([one, two]);
                    }
                }
                None => groups.extend(left[at].take()),
            }
        }
        self.groups = groups;
    }

    /// How busy resources are with two groups together; nothing, if they are too many.
    fn weights(&self, forming: &Forming) -> Vec<Vec<f64>> {
        let most = forming.most.min(resources(self.stages));
        let rounds = self.rounds(most, &forming.interleaving);
        let slots = resources(self.stages) as f64;
        let size = self.groups.len();
        let mut weights = vec![vec![0.0; size]; size];
        for (at, one) in self.groups.iter().enumerate() {
            // Sums are made from left to right, whatever the sides.
            let used = one.used_s.iter().sum::<f64>();
            for (place, other) in self.groups.iter().enumerate() {
                let Some(round) = rounds[one.like][other.like] else { continue };
                if at != place {
                    let used = other.used_s.iter().fold(used, |sum, more| sum + more);
                    weights[at][place] = used / (round * slots);
                }
            }
        }
        weights
    }

    /// How long a round of two kinds of group together takes, if they may be together.
    fn rounds(&self, most: usize, interleaving: &Interleaving) -> Vec<Vec<Option<f64>>> {
        let size = self.kinds.len();
        let mut rounds = vec![vec![None; size]; size];
        let mut present = vec![false; size];
        self.groups.iter().for_each(|group| present[group.like] = true);
        for one in (0..size).filter(|one| present[*one]) {
            for other in (one..size).filter(|other| present[*other]) {
                let jobs = [&self.kinds[one][..], &self.kinds[other][..]].concat();
                if jobs.len() <= most {
                    let round = interleaving.round_s(&jobs);
                    (rounds[one][other], rounds[other][one]) = (round, round);
                }
            }
        }
        rounds
    }

    /// The groups, without those that are slower than one after the other.
    fn unpacked(mut self, interleaving: &Interleaving, view: &View) -> Vec<Group> {
        let alone_s = |id: &JobId| view.job(*id).spec.stages().map_or(0.0, |job| job.iteration_s);
        let mut left = Vec::with_capacity(self.groups.len());
        for group in std::mem::take(&mut self.groups) {
            let round_s = interleaving.round_s(&self.kinds[group.like]);
            let in_turn_s: f64 = group.members.iter().map(alone_s).sum();
            if group.members.len() < 2 || round_s.is_some_and(|round_s| round_s <= in_turn_s) {
                left.push(group);
                continue;
            }
            left.extend(group.members.iter().zip(&group.used_s).map(|(id, used_s)| Group {
                members: vec![*id],
                demand: view.job(*id).spec.demand,
                used_s: vec![*used_s],
                like: group.like,
            }));
        }
        left
    }

    fn merge(&mut self, mut one: Group, two: Group) -> Group {
        let mut stages = [&self.kinds[one.like][..], &self.kinds[two.like][..]].concat();
        stages.sort_by(|a, b| a.partial_cmp(b).expect("stage times are numbers"));
        one.like = self.kind(stages);
        one.demand = together(&one.demand, &two.demand);
        one.members.extend(two.members);
        one.used_s.extend(two.used_s);
        one
    }

    /// Put those next to each other together, as long as there are more than there is room for.
    fn pair_in_order(&mut self, most: usize, over: &mut i64, view: &View) {
        if self.stages == 0 {
            return;
        }
        let mut groups: Vec<Group> = Vec::new();
        let mut waiting = std::mem::take(&mut self.groups).into_iter().peekable();
        while let Some(mut group) = waiting.next() {
            for other in waiting.by_ref().take(most.saturating_sub(1)) {
                if *over > 0 && fits_ever(&group, &other, view) {
                    *over -= self.gpus * 1000;
                    group = self.merge(group, other);
                } else {
                    groups.push(other);
                }
            }
            groups.push(group);
        }
        self.groups = groups;
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
