//! Whom to put with whom. While those considered ask for more GPUs than there are, jobs of one size
//! are matched two and two so that the resources they interleave on are busiest, the twos are
//! matched again, and so on until groups are as large as they may be.

use super::candidates::Batch;
use super::known::{Kind, Kinds};
use super::standing::{Line, Standing};
use super::twos::Pairs;
use heeler_engine::{Ties, View};
use heeler_model::{Demand, KindSet, Milli, Sizes};
use heeler_solve::interleave::Interleaving;
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};
use std::cmp::Reverse;

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
    /// Who, by where they stand.
    pub members: SmallVec<[u32; 4]>,
    /// Which groups it is like.
    pub like: Kind,
    /// Which GPUs the first of its members that shares any is on.
    pub seat: Option<u32>,
}

impl Group {
    fn alone(at: u32, line: &Line) -> Group {
        let standing = &line.jobs[at as usize];
        Group { members: smallvec![at], like: standing.own.kind, seat: standing.seat }
    }

    /// Its members.
    pub(super) fn each<'a>(
        &self,
        line: &'a [Standing<'a>],
    ) -> impl Iterator<Item = &'a Standing<'a>> {
        self.members.iter().map(|at| &line[*at as usize])
    }

    /// The first of its members.
    pub(super) fn first<'a>(&self, line: &'a [Standing<'a>]) -> &'a Standing<'a> {
        &line[self.members[0] as usize]
    }

    /// What its members need together.
    pub(super) fn demand(&self, line: &[Standing]) -> Demand {
        let mut demands = self.each(line).map(|standing| standing.job.spec.demand);
        let first = demands.next().expect("groups have members");
        demands.fold(first, |all, demand| together(&all, &demand))
    }

    /// Where the first of its members in order stands.
    fn stands(&self) -> u32 {
        *self.members.iter().min().expect("groups have members")
    }

    /// GPUs of each of its members.
    pub(super) fn gpus(&self, line: &[Standing]) -> u32 {
        self.first(line).own.gpus
    }
}

/// Groups of those considered, as many as fit: where some are undone, those come first who stand
/// first, and otherwise the largest, which matters where matching two and two leaves too many.
pub(super) fn form(
    batches: &[Batch],
    forming: &Forming,
    line: &Line,
    kinds: &mut Kinds,
    view: &View,
) -> Vec<Group> {
    let capacity = i64::from(view.fleet().up_of(KindSet::ANY)) * 1000;
    let asked = |batch: &Batch| {
        let first = batch.jobs.first().map(|at| line.jobs[*at as usize].job);
        let share = first.map_or(0, |job| job.spec.demand.share.0);
        batch.jobs.len() as i64 * i64::from(batch.sort.gpus) * i64::from(share)
    };
    let mut over = batches.iter().map(asked).sum::<i64>() - capacity;
    let mut makers: Vec<Maker> =
        batches.iter().map(|batch| Maker::new(batch, forming, line)).collect();
    if forming.pairing == Pairing::InOrder {
        for maker in &mut makers {
            maker.pair_in_order(&mut over, kinds, view);
        }
    } else {
        // In a world with a list that settles ties, whoever would be put together stands together,
        // though there is room for all: where groups are undone, that decides between equals.
        let lined_up = forming.unpack && view.rules().ties == Ties::Previous;
        for _ in 0..forming.most {
            let before = over;
            for maker in &mut makers {
                if over > 0 || lined_up {
                    maker.pair(&mut over, kinds, view);
                }
            }
            // Once nobody is put together nobody will be.
            if over <= 0 || over == before {
                break;
            }
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    if forming.unpack {
        makers.into_iter().for_each(|maker| maker.unpack(&mut groups, kinds));
        in_line(&mut groups, &line.jobs);
    } else {
        groups.extend(makers.into_iter().flat_map(Maker::into_groups));
        groups.sort_by_key(|group| (Reverse(group.gpus(&line.jobs)), group.stands()));
    }
    let mut room = capacity;
    groups.retain(|group| {
        let first = group.first(&line.jobs);
        let share = if first.own.plain { Milli::WHOLE } else { first.job.spec.demand.share };
        let need = i64::from(first.own.gpus) * i64::from(share.0);
        let fits = need <= room;
        room -= if fits { need } else { 0 };
        fits
    });
    groups
}

/// Groups stand as the first of their members does; of those whose first are level, whoever stood
/// first stays so. Jobs are in line already, so nothing has to be sorted but those who are level.
fn in_line(groups: &mut Vec<Group>, line: &[Standing]) {
    let mut stands: Vec<Option<u32>> = vec![None; line.len()];
    for (place, group) in (0..).zip(&*groups) {
        stands[group.stands() as usize] = Some(place);
    }
    let mut order: Vec<(i64, u32)> = Vec::with_capacity(groups.len());
    let known = stands.iter().zip(line).filter_map(|(place, job)| Some((job.key, (*place)?)));
    order.extend(known);
    for level in order.chunk_by_mut(|(one, _), (other, _)| one == other) {
        level.sort_unstable();
    }
    let mut taken: Vec<Option<Group>> = std::mem::take(groups).into_iter().map(Some).collect();
    groups.extend(order.iter().filter_map(|(_, place)| taken[*place as usize].take()));
}

/// Groups of one sort in the making.
struct Maker<'a> {
    gpus: i64,
    stages: usize,
    /// Those there are, and those that have become part of another.
    groups: Vec<Group>,
    /// Where those there are stand, in order.
    order: Vec<u32>,
    /// Whether all of them need nothing but GPUs.
    plain: bool,
    /// Whether nobody will be put together any more.
    done: bool,
    forming: &'a Forming,
    line: &'a Line<'a>,
}

impl<'a> Maker<'a> {
    fn new(batch: &Batch, forming: &'a Forming, line: &'a Line<'a>) -> Maker<'a> {
        let groups: Vec<Group> = batch.jobs.iter().map(|at| Group::alone(*at, line)).collect();
        let order = (0..groups.len() as u32).collect();
        let plain = batch.jobs.iter().all(|at| line.jobs[*at as usize].own.plain);
        let (gpus, stages) = (i64::from(batch.sort.gpus), batch.sort.stages);
        let done = stages == 0 || forming.most < 2;
        Maker { gpus, stages, groups, order, plain, done, forming, line }
    }

    /// Whether two groups could ever be on the same GPUs.
    fn fit_ever(&self, one: u32, two: u32, view: &View) -> bool {
        if self.plain {
            return true;
        }
        let demand = |group: u32| self.groups[group as usize].demand(&self.line.jobs);
        let demand = together(&demand(one), &demand(two));
        // Whoever could be smaller is not so in a group.
        let demand = Demand { sizes: Sizes::rigid(demand.asked()), ..demand };
        view.fleet().could_ever(&demand).is_ok()
    }

    fn into_groups(self) -> impl Iterator<Item = Group> {
        let Maker { mut groups, order, .. } = self;
        let none = || Group { members: SmallVec::new(), like: 0, seat: None };
        order.into_iter().map(move |at| std::mem::replace(&mut groups[at as usize], none()))
    }

    /// Put groups together two and two, as long as there are more than there is room for.
    fn pair(&mut self, over: &mut i64, kinds: &mut Kinds, view: &View) {
        if self.done || self.order.len() < 2 {
            return;
        }
        let pairs = Pairs {
            groups: &self.groups,
            order: &self.order,
            line: self.line,
            stages: self.stages,
            forming: self.forming,
        };
        let with = pairs.matched(kinds, view.rules().ties == Ties::Previous);
        if with.iter().all(Option::is_none) {
            self.done = true;
            return;
        }
        let before = std::mem::take(&mut self.order);
        self.order.reserve(before.len());
        for ((at, two), with) in (0..).zip(&before).zip(with) {
            match with {
                Some(other) if other > at => {}
                Some(other) => {
                    let one = before[other as usize];
                    self.order.push(one);
                    if *over > 0 && self.fit_ever(one, *two, view) {
                        *over -= self.gpus * 1000;
                        self.merge(one, *two, kinds);
                    } else {
                        self.order.push(*two);
                    }
                }
                None => self.order.push(*two),
            }
        }
    }

    /// Add the groups, without those that are slower than one after the other.
    fn unpack(self, left: &mut Vec<Group>, kinds: &mut Kinds) {
        let (line, interleaving) = (self.line, &self.forming.interleaving);
        for group in self.into_groups() {
            let in_turn_s: f64 = group.each(&line.jobs).map(|job| job.own.alone_s).sum();
            let mut round_s = || kinds.best_s(group.like, interleaving);
            if group.members.len() < 2 || round_s().is_some_and(|round_s| round_s <= in_turn_s) {
                left.push(group);
                continue;
            }
            left.extend(group.members.iter().map(|at| Group::alone(*at, line)));
        }
    }

    /// The second becomes part of the first.
    fn merge(&mut self, one: u32, two: u32, kinds: &mut Kinds) {
        let (one, two) = (one as usize, two as usize);
        let like =
            kinds.merged(self.groups[one].like, self.groups[two].like, &self.forming.interleaving);
        let members = std::mem::take(&mut self.groups[two].members);
        let seat = self.groups[two].seat;
        let one = &mut self.groups[one];
        one.like = like;
        one.seat = one.seat.or(seat);
        one.members.extend_from_slice(&members);
    }

    /// Put those next to each other together, as long as there are more than there is room for.
    fn pair_in_order(&mut self, over: &mut i64, kinds: &mut Kinds, view: &View) {
        if self.stages == 0 {
            return;
        }
        let mut waiting = std::mem::take(&mut self.order).into_iter();
        while let Some(group) = waiting.next() {
            for other in waiting.by_ref().take(self.forming.most.saturating_sub(1)) {
                if *over > 0 && self.fit_ever(group, other, view) {
                    *over -= self.gpus * 1000;
                    self.merge(group, other, kinds);
                } else {
                    self.order.push(other);
                }
            }
            self.order.push(group);
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
