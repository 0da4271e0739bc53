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
    pub(super) order: &'a [usize],
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
        let counts = kinds.count(self.order.iter().map(|at| self.groups[*at].like));
        let classes: Vec<Kind> = counts.iter().map(|(kind, _)| *kind).collect();
        let class_of = kinds.classes(&classes, self.order.iter().map(|at| self.groups[*at].like));
        let alike = if classes.len() > MANY_CLASSES { ALIKE_OF_MANY } else { ALIKE };
        if one_by_one || classes.len() * alike > self.order.len() {
            let rounds = self.rounds(&classes, kinds);
            let weights = self.each(&class_of, &rounds);
            return match one_by_one {
                true => heaviest_matching(&weights, CHANGES_MAX).with,
                false => heaviest_from_halves(&weights).with,
            };
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

    /// With whom each of a few is. They come again and again as they are.
    fn few(&self, kinds: &mut Kinds) -> Matched {
        let each: Vec<Kind> = self.order.iter().map(|at| self.groups[*at].like).collect();
        if let Some(with) = kinds.few(&each) {
            return with;
        }
        let mut weights = self.weights_of(&each, kinds);
        weights.iter_mut().enumerate().for_each(|(at, row)| row[at] = 0.0);
        let with = heaviest_matching(&weights, CHANGES_MAX).with;
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
    fn each(&self, class_of: &[usize], rounds: &[Vec<Option<f64>>]) -> Vec<Vec<f64>> {
        let slots = resources(self.stages) as f64;
        let used_s =
            |group: usize| self.groups[group].each(&self.line.jobs).map(|job| job.own.used_s);
        let mut weights = vec![vec![0.0; self.order.len()]; self.order.len()];
        for (at, one) in self.order.iter().enumerate() {
            // Sums are made from left to right, whatever the sides.
            let used = used_s(*one).sum::<f64>();
            for (place, other) in self.order.iter().enumerate().filter(|(place, _)| *place != at) {
                if let Some(round) = rounds[class_of[at]][class_of[place]] {
                    let all = used_s(*other).fold(used, |sum, more| sum + more);
                    weights[at][place] = all / (round * slots);
                }
            }
        }
        weights
    }

    /// Deal out twos of classes to members: first to those who are on the same GPUs, then in order.
    fn deal(&self, class_of: &[usize], mut open: Open) -> Matched {
        let mut with = vec![None; class_of.len()];
        let take = |one: usize, other: usize, open: &mut Open, with: &mut Matched| {
            let free = with[one].is_none() && with[other].is_none();
            let free = free && open.take(class_of[one], class_of[other]);
            if free {
                (with[one], with[other]) = (Some(other), Some(one));
            }
            free
        };
        let behind = self.on_the_same_gpus();
        for at in 0..behind.len() {
            let mut beside = behind[at];
            while let Some(other) = beside {
                if take(at, other, &mut open, &mut with) {
                    break;
                }
                beside = behind[other];
            }
        }
        let mut pools = Pools::new(class_of, open.size);
        for at in 0..class_of.len() {
            if with[at].is_some() {
                continue;
            }
            let class = class_of[at];
            for place in 0..open.with[class].len() {
                let free = |other: usize| other != at && with[other].is_none();
                let Some(first) = pools.first(open.with[class][place], free) else { continue };
                if take(at, first, &mut open, &mut with) {
                    break;
                }
            }
        }
        with
    }

    /// For each group that shares GPUs, the next behind it that is on the same ones.
    fn on_the_same_gpus(&self) -> Vec<Option<usize>> {
        let mut last: Vec<Option<usize>> = vec![None; self.line.seats];
        let mut behind = vec![None; self.order.len()];
        for (at, group) in self.order.iter().enumerate() {
            let Some(seat) = self.groups[*group].seat else { continue };
            if let Some(before) = last[seat as usize].replace(at) {
                behind[before] = Some(at);
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

    fn take(&mut self, one: usize, other: usize) -> bool {
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
    members: Vec<usize>,
    /// Where each class begins and ends among them.
    next: Vec<usize>,
    end: Vec<usize>,
}

impl Pools {
    fn new(class_of: &[usize], classes: usize) -> Pools {
        let mut end = vec![0; classes];
        class_of.iter().for_each(|class| end[*class] += 1);
        let mut sum = 0;
        for end in &mut end {
            sum += std::mem::replace(end, sum);
        }
        let next = end.clone();
        let mut members = vec![0; class_of.len()];
        for (at, class) in class_of.iter().enumerate() {
            members[end[*class]] = at;
            end[*class] += 1;
        }
        Pools { members, next, end }
    }

    /// The first of a class that is free. Whoever was not will not be.
    fn first(&mut self, class: usize, free: impl Fn(usize) -> bool) -> Option<usize> {
        let next = &mut self.next[class];
        while *next < self.end[class] && !free(self.members[*next]) {
            *next += 1;
        }
        (*next < self.end[class]).then(|| self.members[*next])
    }
}

/// So many twos of these two classes.
pub(super) type Two = (usize, usize, u32);

/// With whom each is.
pub(super) type Matched = Vec<Option<usize>>;
