//! Which groups are put together: the heaviest matching, member by member or, where many are alike
//! and nobody asks which of several equally heavy ones it is, by classes of those that are. Then
//! those stay together who are.

use super::form::{Forming, Group};
use super::known::{Kind, Kinds};
use heeler_engine::View;
use heeler_model::{JobId, Placement};
use heeler_solve::interleave::resources;
use heeler_solve::{heaviest_matching, heaviest_twos};
use std::collections::{BTreeMap, VecDeque};

/// Changes of prices after which a matching is taken as it is.
const CHANGES_MAX: usize = 100_000;
/// So few are matched member by member.
const FEW: usize = 12;
/// Classes have so many members on average, or members are matched one by one.
const ALIKE: usize = 2;

/// Groups of one sort, to be put together.
pub(super) struct Pairs<'a> {
    pub(super) groups: &'a [Group],
    pub(super) stages: usize,
    pub(super) forming: &'a Forming,
}

impl Pairs<'_> {
    /// With whom each is. In a world with a list that settles ties, member by member.
    pub(super) fn matched(&self, kinds: &mut Kinds, one_by_one: bool, view: &View) -> Matched {
        let mut classes: Vec<(Kind, usize)> = Vec::new();
        let mut class_of = Vec::with_capacity(self.groups.len());
        let mut numbers: BTreeMap<Kind, usize> = BTreeMap::new();
        for (at, group) in self.groups.iter().enumerate() {
            let class = *numbers.entry(group.like).or_insert_with(|| {
                classes.push((group.like, at));
                classes.len() - 1
            });
            class_of.push(class);
        }
        let few = self.groups.len() <= FEW || classes.len() * ALIKE > self.groups.len();
        let rounds = self.rounds(&classes, kinds);
        if one_by_one || few {
            return heaviest_matching(&self.each(&class_of, &rounds), CHANGES_MAX).with;
        }
        let mut counts = vec![0; classes.len()];
        class_of.iter().for_each(|class| counts[*class] += 1);
        let members: Vec<usize> = classes.iter().map(|(_, at)| *at).collect();
        let weights = self.weights(&members, &|one, other| rounds[one][other]);
        let mut open = vec![vec![0; classes.len()]; classes.len()];
        for (one, other, count) in heaviest_twos(&counts, &weights).twos {
            (open[one][other], open[other][one]) = (count, count);
        }
        deal(&class_of, open, self.groups, view)
    }

    /// How long a round of two classes together takes, if they may be together.
    fn rounds(&self, classes: &[(Kind, usize)], kinds: &mut Kinds) -> Vec<Vec<Option<f64>>> {
        let most = self.forming.most.min(resources(self.stages));
        let mut rounds = vec![vec![None; classes.len()]; classes.len()];
        for (at, (one, _)) in classes.iter().enumerate() {
            for (place, (other, _)) in classes.iter().enumerate().skip(at) {
                if kinds.jobs(*one) + kinds.jobs(*other) <= most {
                    let round = kinds.round_s(*one, *other, &self.forming.interleaving);
                    (rounds[at][place], rounds[place][at]) = (round, round);
                }
            }
        }
        rounds
    }

    /// How busy resources are with two groups together; nothing, if they are too many.
    fn weights(
        &self,
        members: &[usize],
        round: &dyn Fn(usize, usize) -> Option<f64>,
    ) -> Vec<Vec<f64>> {
        let slots = resources(self.stages) as f64;
        let mut weights = vec![vec![0.0; members.len()]; members.len()];
        for (at, one) in members.iter().enumerate() {
            // Sums are made from left to right, whatever the sides.
            let used = self.groups[*one].used_s.iter().sum::<f64>();
            for (place, other) in members.iter().enumerate() {
                if let Some(round) = round(at, place) {
                    let more = self.groups[*other].used_s.iter();
                    weights[at][place] = more.fold(used, |sum, more| sum + more) / (round * slots);
                }
            }
        }
        weights
    }

    fn each(&self, class_of: &[usize], rounds: &[Vec<Option<f64>>]) -> Vec<Vec<f64>> {
        let members: Vec<usize> = (0..self.groups.len()).collect();
        let round = |one: usize, other: usize| match one == other {
            true => None,
            false => rounds[class_of[one]][class_of[other]],
        };
        self.weights(&members, &round)
    }
}

/// With whom each is.
pub(super) type Matched = Vec<Option<usize>>;

/// Deal out twos of classes to members: first to those who are on the same GPUs, then in order.
fn deal(class_of: &[usize], mut open: Vec<Vec<u32>>, groups: &[Group], view: &View) -> Matched {
    let mut with = vec![None; groups.len()];
    let mut take = |one: usize, other: usize, with: &mut Matched| {
        let (a, b) = (class_of[one], class_of[other]);
        let free = one != other && with[one].is_none() && with[other].is_none() && open[a][b] > 0;
        if free {
            open[a][b] -= 1;
            open[b][a] = open[a][b];
            (with[one], with[other]) = (Some(other), Some(one));
        }
        free
    };
    for together in seated(groups, view).values() {
        for (at, one) in together.iter().enumerate() {
            let _ = together[at + 1..].iter().any(|other| take(*one, *other, &mut with));
        }
    }
    let classes = class_of.iter().max().map_or(0, |last| last + 1);
    let mut pools = vec![VecDeque::new(); classes];
    for (at, class) in class_of.iter().enumerate().filter(|(at, _)| with[*at].is_none()) {
        pools[*class].push_back(at);
    }
    for at in 0..groups.len() {
        if with[at].is_some() {
            continue;
        }
        for pool in &mut pools {
            while pool.front().is_some_and(|first| *first == at || with[*first].is_some()) {
                pool.pop_front();
            }
            if let Some(first) = pool.front()
                && take(at, *first, &mut with)
            {
                break;
            }
        }
    }
    with
}

/// Groups by the GPUs that their members share.
fn seated<'a>(groups: &[Group], view: &View<'a>) -> BTreeMap<&'a Placement, Vec<usize>> {
    let mut seated: BTreeMap<&Placement, Vec<usize>> = BTreeMap::new();
    let shared = |id: &JobId| {
        let on = view.state().job(*id).assignment.as_ref()?;
        (!on.share.is_whole()).then_some(&on.placement)
    };
    for (at, group) in groups.iter().enumerate() {
        if let Some(placement) = group.members.iter().find_map(shared) {
            seated.entry(placement).or_default().push(at);
        }
    }
    seated.retain(|_, together| together.len() > 1);
    seated
}
