//! Which groups are put together: the heaviest matching, member by member or, where many are alike
//! and nobody asks which of several equally heavy ones it is, by classes of those that are. Then
//! those stay together who are.

use super::form::{Forming, Group};
use super::known::{Kind, Kinds};
use super::standing::Line;
use heeler_solve::interleave::resources;
use heeler_solve::{heaviest_from_halves, heaviest_matching, heaviest_twos};
use smallvec::SmallVec;
use std::sync::Arc;

/// Changes of prices after which a matching is taken as it is.
const CHANGES_MAX: usize = 100_000;
/// So few are matched member by member.
const FEW: usize = 12;
/// Classes have so many members on average, or members are matched one by one; where classes are
/// many, they have to have more, since matching them takes longer than their members do.
const ALIKE: usize = 2;
const ALIKE_OF_MANY: usize = 4;
const MANY_CLASSES: usize = 100;

/// Groups of one sort, to be put together.
pub(super) struct Pairs<'a> {
    pub(super) groups: &'a [Group],
    /// Which of them there are, in order.
    pub(super) order: &'a [u32],
    pub(super) line: &'a Line<'a>,
    pub(super) stages: usize,
    pub(super) forming: &'a Forming,
}

impl Pairs<'_> {
    /// With whom each is. In a world with a list that settles ties, member by member.
    pub(super) fn matched(&self, kinds: &mut Kinds, one_by_one: bool) -> Matched {
        if self.order.len() <= FEW && !one_by_one {
            return self.few(kinds);
        }
        let (counts, class_of) = kinds.count(self.order.iter().map(|at| self.like(*at)));
        let classes: Vec<Kind> = counts.iter().map(|(kind, _)| *kind).collect();
        let alike = if classes.len() > MANY_CLASSES { ALIKE_OF_MANY } else { ALIKE };
        if one_by_one || classes.len() * alike > self.order.len() {
            let rounds = self.rounds(&classes, kinds);
            let weights = self.each(&class_of, &rounds);
            return narrow(&match one_by_one {
                true => heaviest_matching(&weights, CHANGES_MAX).with,
                false => heaviest_from_halves(&weights).with,
            });
        }
        let twos = match kinds.twos_of(&counts) {
            Some(twos) => twos,
            None => {
                let weights = self.weights_of(&classes, kinds);
                let numbers: Vec<u32> = counts.iter().map(|(_, count)| *count).collect();
                let twos: Arc<[Two]> = heaviest_twos(&numbers, &weights).twos.into();
                kinds.keep_twos(counts, twos.clone());
                twos
            }
        };
        self.deal(&class_of, Open::new(classes.len(), &twos))
    }

    fn like(&self, group: u32) -> Kind {
        self.groups[group as usize].like
    }

    /// With whom each of a few is. They come again and again as they are.
    fn few(&self, kinds: &mut Kinds) -> Matched {
        let each: Vec<Kind> = self.order.iter().map(|at| self.like(*at)).collect();
        if let Some(with) = kinds.few(&each) {
            return with;
        }
        let mut weights = self.weights_of(&each, kinds);
        weights.iter_mut().enumerate().for_each(|(at, row)| row[at] = 0.0);
        let with = narrow(&heaviest_matching(&weights, CHANGES_MAX).with);
        kinds.keep_few(each, with.clone());
        with
    }

    /// How busy resources are with two of these kinds together; nothing, if they are too many.
    fn weights_of(&self, kinds: &[Kind], known: &mut Kinds) -> Vec<Vec<f64>> {
        let slots = resources(self.stages) as f64;
        let mut weights = vec![vec![0.0; kinds.len()]; kinds.len()];
        self.each_round(kinds, known, |(at, place), (one, other), round, known| {
            let busy = (known.used_s(one) + known.used_s(other)) / (round * slots);
            (weights[at][place], weights[place][at]) = (busy, busy);
        });
        weights
    }

    /// How long a round of two classes together takes, if they may be together.
    fn rounds(&self, classes: &[Kind], kinds: &mut Kinds) -> Vec<Vec<Option<f64>>> {
        let mut rounds = vec![vec![None; classes.len()]; classes.len()];
        self.each_round(classes, kinds, |(at, place), _, round, _| {
            (rounds[at][place], rounds[place][at]) = (Some(round), Some(round));
        });
        rounds
    }

    /// Call with every two classes that may be together: where they stand, which they are and how
    /// long a round of both takes.
    fn each_round(
        &self,
        classes: &[Kind],
        kinds: &mut Kinds,
        mut call: impl FnMut((usize, usize), (Kind, Kind), f64, &Kinds),
    ) {
        let most = self.forming.most.min(resources(self.stages));
        for (at, one) in classes.iter().enumerate() {
            for (place, other) in classes.iter().enumerate().skip(at) {
                if kinds.jobs(*one) + kinds.jobs(*other) > most {
                    continue;
                }
                if let Some(round) = kinds.round_s(*one, *other, &self.forming.interleaving) {
                    call((at, place), (*one, *other), round, kinds);
                }
            }
        }
    }

    /// How busy resources are with two groups together; nothing, if they are too many.
    fn each(&self, class_of: &[u32], rounds: &[Vec<Option<f64>>]) -> Vec<Vec<f64>> {
        let slots = resources(self.stages) as f64;
        let used_s = |group: u32| {
            self.groups[group as usize].each(&self.line.jobs).map(|job| job.own.used_s)
        };
        let mut weights = vec![vec![0.0; self.order.len()]; self.order.len()];
        for (at, one) in self.order.iter().enumerate() {
            // Sums are made from left to right, whatever the sides.
            let used = used_s(*one).sum::<f64>();
            for (place, other) in self.order.iter().enumerate().filter(|(place, _)| *place != at) {
                if let Some(round) = rounds[class_of[at] as usize][class_of[place] as usize] {
                    let all = used_s(*other).fold(used, |sum, more| sum + more);
                    weights[at][place] = all / (round * slots);
                }
            }
        }
        weights
    }

    /// Deal out twos of classes to members: first to those who are on the same GPUs, then in order.
    fn deal(&self, class_of: &[u32], mut open: Open) -> Matched {
        let mut with: Matched = vec![None; class_of.len()];
        let take = |one: u32, other: u32, open: &mut Open, with: &mut Matched| {
            let (a, b) = (one as usize, other as usize);
            let free = with[a].is_none() && with[b].is_none();
            let free = free && open.take(class_of[a], class_of[b]);
            if free {
                (with[a], with[b]) = (Some(other), Some(one));
            }
            free
        };
        let behind = self.on_the_same_gpus();
        for (at, next) in (0..).zip(&behind) {
            let mut beside = *next;
            while let Some(other) = beside {
                if take(at, other, &mut open, &mut with) {
                    break;
                }
                beside = behind[other as usize];
            }
        }
        let mut pools = Pools::new(class_of, open.size);
        for (at, class) in (0..).zip(class_of) {
            if with[at as usize].is_some() {
                continue;
            }
            for place in 0..open.with[*class as usize].len() {
                let beside = open.with[*class as usize][place];
                let free = |other: u32| other != at && with[other as usize].is_none();
                let Some(first) = pools.first(beside, free) else { continue };
                if take(at, first, &mut open, &mut with) {
                    break;
                }
            }
        }
        with
    }

    /// For each group that shares GPUs, the next behind it that is on the same ones.
    fn on_the_same_gpus(&self) -> Vec<Option<u32>> {
        let mut last: Vec<Option<u32>> = vec![None; self.line.seats];
        let mut behind = vec![None; self.order.len()];
        for (at, group) in (0..).zip(self.order) {
            let Some(seat) = self.groups[*group as usize].seat else { continue };
            if let Some(before) = last[seat as usize].replace(at) {
                behind[before as usize] = Some(at);
            }
        }
        behind
    }
}

/// Twos of classes that are still to be dealt out.
struct Open {
    size: usize,
    /// How many, by class and class.
    left: Vec<u32>,
    /// With which classes each is, in order.
    with: Vec<SmallVec<[usize; 4]>>,
}

impl Open {
    fn new(size: usize, twos: &[Two]) -> Open {
        let mut open = Open { size, left: vec![0; size * size], with: vec![SmallVec::new(); size] };
        for (one, other, count) in twos {
            open.left[one * size + other] = *count;
            open.left[other * size + one] = *count;
            open.with[*one].push(*other);
            if one != other {
                open.with[*other].push(*one);
            }
        }
        open.with.iter_mut().for_each(|with| with.sort_unstable());
        open
    }

    fn take(&mut self, one: u32, other: u32) -> bool {
        let (one, other) = (one as usize, other as usize);
        let left = self.left[one * self.size + other];
        if left > 0 {
            self.left[one * self.size + other] = left - 1;
            self.left[other * self.size + one] = left - 1;
        }
        left > 0
    }
}

/// Members by class, in order, without those at the front that were taken.
struct Pools {
    members: Vec<u32>,
    /// Where each class begins and ends among them.
    next: Vec<u32>,
    end: Vec<u32>,
}

impl Pools {
    fn new(class_of: &[u32], classes: usize) -> Pools {
        let mut end = vec![0; classes];
        class_of.iter().for_each(|class| end[*class as usize] += 1);
        let mut sum = 0;
        for end in &mut end {
            sum += std::mem::replace(end, sum);
        }
        let next = end.clone();
        let mut members = vec![0; class_of.len()];
        for (at, class) in (0..).zip(class_of) {
            let end = &mut end[*class as usize];
            members[*end as usize] = at;
            *end += 1;
        }
        Pools { members, next, end }
    }

    /// The first of a class that is free. Whoever was not will not be.
    fn first(&mut self, class: usize, free: impl Fn(u32) -> bool) -> Option<u32> {
        let next = &mut self.next[class];
        let rest = &self.members[*next as usize..self.end[class] as usize];
        let first = rest.iter().position(|member| free(*member)).unwrap_or(rest.len());
        *next += first as u32;
        rest.get(first).copied()
    }
}

/// So many twos of these two classes.
pub(super) type Two = (usize, usize, u32);

/// With whom each is.
pub(super) type Matched = Vec<Option<u32>>;

fn narrow(with: &[Option<usize>]) -> Matched {
    with.iter().map(|with| with.map(|with| with as u32)).collect()
}
