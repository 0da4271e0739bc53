//! Which groups are put together: the heaviest matching, member by member or, where many are alike
//! and nobody asks which of several equally heavy ones it is, by classes of those that are. Then
//! those stay together who are.

use super::form::{Forming, Group};
use super::known::{Kind, Kinds};
use heeler_engine::View;
use heeler_model::{JobId, Placement};
use heeler_solve::interleave::resources;
use heeler_solve::{heaviest_matching, heaviest_twos};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;

/// Changes of prices after which a matching is taken as it is.
const CHANGES_MAX: usize = 100_000;
/// So few are matched member by member.
const FEW: usize = 12;
/// Classes have so many members on average, or members are matched one by one.
const ALIKE: usize = 2;

/// Groups of one sort, to be put together.
pub(super) struct Pairs<'a> {
    pub(super) groups: &'a [Group],
    /// Where they stand, in order.
    pub(super) line: &'a [usize],
    pub(super) stages: usize,
    pub(super) forming: &'a Forming,
}

/// Groups that are alike.
struct Classes {
    /// By their stages, whoever has come first.
    kinds: Vec<Kind>,
    /// How many there are.
    counts: Vec<u32>,
    /// The class of each group.
    of: Vec<usize>,
}

impl Classes {
    fn of(pairs: &Pairs, known: &Kinds) -> Classes {
        let mut counts = vec![0; known.count()];
        let mut kinds: Vec<Kind> = Vec::new();
        for at in pairs.line {
            let kind = pairs.groups[*at].like;
            if counts[kind] == 0 {
                kinds.push(kind);
            }
            counts[kind] += 1;
        }
        kinds.sort_unstable_by(|one, other| known.compare(*one, *other));
        let mut class = vec![0; known.count()];
        kinds.iter().enumerate().for_each(|(at, kind)| class[*kind] = at);
        let of = pairs.line.iter().map(|at| class[pairs.groups[*at].like]).collect();
        Classes { counts: kinds.iter().map(|kind| counts[*kind]).collect(), kinds, of }
    }
}

impl Pairs<'_> {
    /// With whom each is. In a world with a list that settles ties, member by member.
    pub(super) fn matched(&self, kinds: &mut Kinds, one_by_one: bool, view: &View) -> Matched {
        let classes = Classes::of(self, kinds);
        let few = self.line.len() <= FEW || classes.kinds.len() * ALIKE > self.line.len();
        if one_by_one || few {
            let rounds = self.rounds(&classes.kinds, kinds);
            return heaviest_matching(&self.each(&classes.of, &rounds), CHANGES_MAX).with;
        }
        let asked: Vec<(Kind, u32)> =
            classes.kinds.iter().copied().zip(classes.counts.iter().copied()).collect();
        let twos = match kinds.twos_of(&asked) {
            Some(twos) => twos,
            None => {
                let weights = self.weights_of(&classes.kinds, kinds);
                let twos: Arc<[Two]> = heaviest_twos(&classes.counts, &weights).twos.into();
                kinds.keep_twos(asked, twos.clone());
                twos
            }
        };
        let mut open = vec![vec![0; classes.kinds.len()]; classes.kinds.len()];
        for (one, other, count) in twos.iter() {
            (open[*one][*other], open[*other][*one]) = (*count, *count);
        }
        self.deal(&classes.of, open, view)
    }

    /// How busy resources are with two of these kinds together; nothing, if they are too many.
    fn weights_of(&self, kinds: &[Kind], known: &mut Kinds) -> Vec<Vec<f64>> {
        let slots = resources(self.stages) as f64;
        let mut weights = vec![vec![0.0; kinds.len()]; kinds.len()];
        let rounds = self.rounds(kinds, known);
        for (at, one) in kinds.iter().enumerate() {
            for (place, other) in kinds.iter().enumerate() {
                if let Some(round) = rounds[at][place] {
                    weights[at][place] =
                        (known.used_s(*one) + known.used_s(*other)) / (round * slots);
                }
            }
        }
        weights
    }

    /// How long a round of two classes together takes, if they may be together.
    fn rounds(&self, classes: &[Kind], kinds: &mut Kinds) -> Vec<Vec<Option<f64>>> {
        let most = self.forming.most.min(resources(self.stages));
        let mut rounds = vec![vec![None; classes.len()]; classes.len()];
        for (at, one) in classes.iter().enumerate() {
            for (place, other) in classes.iter().enumerate().skip(at) {
                if kinds.jobs(*one) + kinds.jobs(*other) <= most {
                    let round = kinds.round_s(*one, *other, &self.forming.interleaving);
                    (rounds[at][place], rounds[place][at]) = (round, round);
                }
            }
        }
        rounds
    }

    /// How busy resources are with two groups together; nothing, if they are too many.
    fn each(&self, class_of: &[usize], rounds: &[Vec<Option<f64>>]) -> Vec<Vec<f64>> {
        let slots = resources(self.stages) as f64;
        let mut weights = vec![vec![0.0; self.line.len()]; self.line.len()];
        for (at, one) in self.line.iter().enumerate() {
            // Sums are made from left to right, whatever the sides.
            let used = self.groups[*one].used_s.iter().sum::<f64>();
            for (place, other) in self.line.iter().enumerate().filter(|(place, _)| *place != at) {
                if let Some(round) = rounds[class_of[at]][class_of[place]] {
                    let more = self.groups[*other].used_s.iter();
                    weights[at][place] = more.fold(used, |sum, more| sum + more) / (round * slots);
                }
            }
        }
        weights
    }

    /// Deal out twos of classes to members: first to those who are on the same GPUs, then in order.
    fn deal(&self, class_of: &[usize], mut open: Vec<Vec<u32>>, view: &View) -> Matched {
        let mut with = vec![None; class_of.len()];
        let mut take = |one: usize, other: usize, with: &mut Matched| {
            let (a, b) = (class_of[one], class_of[other]);
            let free =
                one != other && with[one].is_none() && with[other].is_none() && open[a][b] > 0;
            if free {
                open[a][b] -= 1;
                open[b][a] = open[a][b];
                (with[one], with[other]) = (Some(other), Some(one));
            }
            free
        };
        for (at, beside) in self.seated(view) {
            let _ = beside.iter().any(|other| take(at, *other, &mut with));
        }
        let mut pools = vec![VecDeque::new(); open_classes(class_of)];
        for (at, class) in class_of.iter().enumerate().filter(|(at, _)| with[*at].is_none()) {
            pools[*class].push_back(at);
        }
        for at in 0..class_of.len() {
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

    /// Groups whose members share GPUs, each with those behind it on the same GPUs.
    fn seated(&self, view: &View) -> Vec<(usize, SmallVec<[usize; 4]>)> {
        let shared = |id: &JobId| {
            let on = view.state().job(*id).assignment.as_ref()?;
            (!on.share.is_whole()).then_some(&on.placement)
        };
        let fleet = view.fleet();
        let nodes = &fleet.cluster().nodes;
        let most = nodes.iter().map(|node| node.gpus).max().unwrap_or(0) as usize;
        // The last who was found on a GPU that is the first of its placement.
        let mut last: Vec<Option<usize>> = vec![None; nodes.len() * most];
        let mut seated: Vec<(usize, SmallVec<[usize; 4]>)> = Vec::new();
        let mut places: Vec<(&Placement, Option<usize>)> = Vec::new();
        for (at, group) in self.line.iter().enumerate() {
            let Some(on) = self.groups[*group].members.iter().find_map(shared) else { continue };
            let Some(first) = on.slices().first() else { continue };
            let gpu = first.node.index() * most + first.slots.0.trailing_zeros() as usize;
            let mut before = last[gpu];
            last[gpu] = Some(seated.len());
            seated.push((at, SmallVec::new()));
            places.push((on, before));
            while let Some(place) = before {
                if places[place].0 == on {
                    seated[place].1.push(at);
                }
                before = places[place].1;
            }
        }
        seated
    }
}

fn open_classes(class_of: &[usize]) -> usize {
    class_of.iter().max().map_or(0, |last| last + 1)
}

/// So many twos of these two classes.
pub(super) type Two = (usize, usize, u32);

/// With whom each is.
pub(super) type Matched = Vec<Option<usize>>;
