//! Jobs whose iterations go through the same resources one after another (storage, CPU, GPU,
//! network), interleaved so that each resource serves one of them at a time: how long a round takes
//! in which all do one iteration, and how busy that keeps the resources (Muri, Zhao et al., SIGCOMM
//! 2022).

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// In which order the jobs of a group take their turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turns {
    /// The order that makes a round shortest.
    #[default]
    Best,
    /// The one that makes it longest, to see what the order is worth.
    Worst,
}

/// How groups run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Interleaving {
    /// In which order.
    pub turns: Turns,
    /// How much longer than the stages alone say a round takes of two jobs, of three, and so on; a
    /// larger group is taken as the last.
    pub slowdown: Vec<f64>,
}

impl Default for Interleaving {
    fn default() -> Interleaving {
        // What was measured of groups (1.33, 1.5 and 1.37), by what was measured of one (1.015).
        let slowdown = vec![1.33 / 1.015, 1.5 / 1.015, 1.37 / 1.015];
        Interleaving { turns: Turns::Best, slowdown }
    }
}

/// Resources where three stages are given: the first then covers storage and CPU.
const RESOURCES: usize = 4;
/// Over how many rounds a round of such jobs is told.
const ROUNDS: usize = 2;
/// Rounds that differ by less than this part are alike.
const ALIKE: f64 = 1e-3;

/// How many resources jobs with so many stages take turns on.
pub fn resources(stages: usize) -> usize {
    if stages + 1 == RESOURCES { RESOURCES } else { stages }
}

impl Interleaving {
    /// How long a round of several jobs takes, by the seconds of their stages. There is no answer
    /// for jobs with different numbers of stages, for more jobs than there are resources, and where
    /// no stage takes time.
    pub fn round_s(&self, jobs: &[&[f64]]) -> Option<f64> {
        let stages = jobs.first()?.len();
        let alike = jobs.iter().all(|job| job.len() == stages);
        if !alike || jobs.len() < 2 || jobs.len() > resources(stages) {
            return None;
        }
        let better = |one: f64, other: f64| match self.turns {
            Turns::Best => one.min(other),
            Turns::Worst => one.max(other),
        };
        let mut found = match self.turns {
            Turns::Best => f64::INFINITY,
            Turns::Worst => 0.0,
        };
        let mut order: SmallVec<[usize; RESOURCES]> = (0..jobs.len()).collect();
        each_order(&mut order, 0, &mut |order| found = better(found, in_order(jobs, order)));
        if let ([one, other], 3) = (jobs, stages) {
            // The input of one beside all else of the other.
            let apart = one[0].max(other[1] + other[2]) + other[0].max(one[1] + one[2]);
            found = better(found, apart);
        }
        let slowdown = self.slowdown.get(jobs.len() - 2).or(self.slowdown.last());
        let round = found * slowdown.copied().unwrap_or(1.0);
        (round > 0.0 && round.is_finite()).then_some(round)
    }

    /// The part of the resources' time that a group uses.
    pub fn busy(&self, jobs: &[&[f64]]) -> Option<f64> {
        let round = self.round_s(jobs)?;
        Some(used_s(jobs) / (round * resources(jobs[0].len()) as f64))
    }
}

/// How many iterations of another job pass until a job has done one that only uses what the other
/// leaves idle: input, GPU and network, one after another, as Muri's published program counts them
/// for AntMan. There is no answer but for three stages each, and where the other leaves no gap.
pub fn turns_beside(own: &[f64], other: &[f64]) -> Option<f64> {
    let (&[input, gpu, network], &[other_input, other_gpu, other_network]) = (own, other) else {
        return None;
    };
    let gaps = [other_gpu + other_network, other_input + other_network, other_input + other_gpu];
    if gaps.iter().any(|gap| gap.is_nan() || *gap <= 0.0) {
        return None;
    }
    // What is left of a gap after the last of a stage is a head start for the next.
    let mut turns = (input / gaps[0]).floor();
    let (mut gpu, mut network) = (gpu, network);
    let into = input % gaps[0];
    if into > 0.0 {
        turns += 1.0;
        gpu -= gpu.min(other_network).min(gaps[0] - into);
    }
    turns += (gpu / gaps[1]).floor();
    let into = gpu % gaps[1];
    if into > 0.0 {
        turns += 1.0;
        if into < other_input {
            network -= network.min(gaps[2] - into);
        }
    }
    turns += (network / gaps[2]).floor();
    turns += f64::from(u8::from(network % gaps[2] > other_input));
    Some(turns)
}

/// The seconds of all stages of some jobs.
pub fn used_s(jobs: &[&[f64]]) -> f64 {
    jobs.iter().map(|job| job.iter().sum::<f64>()).sum()
}

/// Call with every order of some numbers.
fn each_order(order: &mut [usize], from: usize, call: &mut impl FnMut(&[usize])) {
    if from == order.len() {
        return call(order);
    }
    for at in from..order.len() {
        order.swap(from, at);
        each_order(order, from + 1, call);
        order.swap(from, at);
    }
}

/// How long a round takes in an order.
fn in_order(jobs: &[&[f64]], order: &[usize]) -> f64 {
    let stages = jobs[0].len();
    if resources(stages) != stages {
        return with_long_input(jobs, order);
    }
    // In each step every job is at another resource; the longest of them makes the step.
    let at = |step: usize, place: usize| (step + stages - place) % stages;
    let longest = |step: usize| {
        order.iter().enumerate().map(|(place, job)| jobs[*job][at(step, place)]).fold(0.0, f64::max)
    };
    (0..stages).map(longest).sum()
}

/// How long a round takes where the first of three stages covers two of four steps: steps follow
/// each other as soon as those are done that end with them, for some rounds from a standstill.
fn with_long_input(jobs: &[&[f64]], order: &[usize]) -> f64 {
    // Of each place: its input, and what else takes the step that it is in.
    let mut input = [f64::NEG_INFINITY; RESOURCES];
    let mut gpu = [f64::NEG_INFINITY; RESOURCES];
    let mut network = [f64::NEG_INFINITY; RESOURCES];
    for (place, job) in order.iter().enumerate() {
        [input[place], gpu[place], network[place]] = [jobs[*job][0], jobs[*job][1], jobs[*job][2]];
    }
    let mut ends = [0.0f64; RESOURCES * ROUNDS + 1];
    for step in 0..RESOURCES * ROUNDS {
        let at = |further: usize| (step + further) % RESOURCES;
        let longer = network[at(1)].max(gpu[at(2)]);
        let mut end = (ends[step] + longer).max(0.0);
        if step > 0 {
            end = end.max(ends[step - 1] + input[at(3)]);
        }
        ends[step + 1] = end;
        if step >= RESOURCES {
            let this = ends[step + 1] - ends[step + 1 - RESOURCES];
            let last = ends[step] - ends[step - RESOURCES];
            let alike = (this - last).abs() <= ALIKE * this.abs().max(last.abs());
            if alike && this > 0.0 {
                return this;
            }
        }
    }
    ends[RESOURCES * ROUNDS] - ends[RESOURCES * (ROUNDS - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Interleaving {
        Interleaving { slowdown: vec![1.0], ..Interleaving::default() }
    }

    #[test]
    fn jobs_that_need_different_things_fit_into_each_other() {
        // One loads for three seconds and computes for one, the other the other way round.
        let (loads, computes) = ([3.0, 1.0], [1.0, 3.0]);
        let together: [&[f64]; 2] = [&loads, &computes];
        assert_eq!(plain().round_s(&together), Some(4.0));
        assert_eq!(plain().busy(&together), Some(1.0));
        let alike: [&[f64]; 2] = [&loads, &loads];
        assert_eq!(plain().round_s(&alike), Some(6.0), "no better than one after the other");
        let three: [&[f64]; 3] = [&loads, &loads, &computes];
        assert_eq!(plain().round_s(&three), None, "two resources serve two");
    }

    #[test]
    fn who_gives_way_uses_what_is_idle() {
        let other = [0.5, 0.25, 0.25];
        // All of its input fits beside one iteration, and the rest into what is left of the gap.
        assert_eq!(turns_beside(&[0.25, 0.25, 0.25], &other), Some(1.0));
        // Its input takes two gaps of half a second; what is left of the second is enough.
        assert_eq!(turns_beside(&[0.75, 0.25, 0.25], &other), Some(2.0));
        // Its GPU stage takes two gaps of three quarters once its input has filled one.
        assert_eq!(turns_beside(&[0.5, 1.0, 0.0], &other), Some(3.0));
        // Its network stage needs one more where the other is busy with input all the while.
        assert_eq!(turns_beside(&[0.5, 0.75, 0.625], &other), Some(3.0));
        assert_eq!(turns_beside(&[1.0; 2], &other), None, "three stages each");
        assert_eq!(turns_beside(&[1.0; 3], &[0.0, 0.0, 1.0]), None, "it leaves no gap");
    }

    #[test]
    fn the_order_matters_with_more_than_two() {
        let jobs: [&[f64]; 3] = [&[3.0, 1.0, 1.0, 1.0], &[1.0, 1.0, 3.0, 1.0], &[1.0; 4]];
        let best = plain().round_s(&jobs);
        let worst = Interleaving { turns: Turns::Worst, ..plain() }.round_s(&jobs);
        assert_eq!((best, worst), (Some(6.0), Some(8.0)));
        let slower = Interleaving { slowdown: vec![2.0, 1.5], ..Interleaving::default() };
        assert_eq!(slower.round_s(&jobs), Some(9.0));
    }

    #[test]
    fn three_stages_are_on_four_resources() {
        // All of it is input: one is read while the other is made ready.
        let input: [&[f64]; 2] = [&[2.0, 0.0, 0.0], &[2.0, 0.0, 0.0]];
        assert_eq!(plain().round_s(&input), Some(2.0));
        // One's input beside all else of the other.
        let beside: [&[f64]; 2] = [&[2.0, 0.0, 0.0], &[0.0, 1.0, 1.0]];
        assert_eq!(plain().round_s(&beside), Some(2.0));
        let four: [&[f64]; 4] = [&[1.0, 1.0, 1.0]; 4];
        assert_eq!(plain().round_s(&four), Some(4.0), "each resource serves four in turn");
        assert_eq!(plain().busy(&four), Some(0.75));
        let nothing: [&[f64]; 2] = [&[0.0; 3]; 2];
        assert_eq!(plain().round_s(&nothing), None);
    }
}
