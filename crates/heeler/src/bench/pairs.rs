//! Shares where two jobs may be on one GPU, as Gavel's space sharing: jobs of a few sorts, and jobs
//! that all differ, whole and in groups (POP), against one plain linear programme over every pair
//! of far fewer jobs.

use super::choose::Numbers;
use super::clock::{median, timed};
use super::report::Figure;
use super::{Scope, step};
use anyhow::{Result, ensure};
use heeler_solve::{Beside, Division, Linear, Row, Sharing, Status, in_groups};

const ROUNDS: usize = 3;
const STEPS_MAX: u32 = 200;
const KINDS: usize = 3;
const SORTS: usize = 26;
/// Jobs of the plain programme; it grows with the square of their number.
const PLAIN_JOBS: usize = 96;

/// A way to share among many jobs.
struct Case {
    name: &'static str,
    jobs: usize,
    /// Whether jobs of one sort are worth the same.
    alike: bool,
    groups: usize,
    ratio_max: f64,
}

const CASES: [Case; 4] = [
    Case { name: "pairs of 26 sorts", jobs: 1024, alike: true, groups: 1, ratio_max: 1.0 },
    Case { name: "pairs of 26 sorts, POP 4", jobs: 1024, alike: true, groups: 4, ratio_max: 2.0 },
    Case { name: "pairs, all differ", jobs: 1024, alike: false, groups: 1, ratio_max: 100.0 },
    Case { name: "pairs, all differ, POP 8", jobs: 1024, alike: false, groups: 8, ratio_max: 5.0 },
];

/// CPU time of shares in pairs.
pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let small = problem(scope.of(PLAIN_JOBS), false);
    let mut plain_s = Vec::new();
    for round in 1..=ROUNDS {
        step(&format!("plain pairs: run {round} of {ROUNDS}"));
        let programme = plain(&small.0, &small.1);
        let (answer, seconds) = timed(|| programme.maximise(STEPS_MAX));
        let division = small.0.max_min_in_pairs(&small.1);
        ensure!(answer.status == Status::Optimal && division.is_optimal, "not solved");
        let off = division.level / answer.worth - 1.0;
        ensure!(off.abs() < 1e-5, "levels {} and {}", division.level, answer.worth);
        plain_s.push(seconds);
    }
    let plain_s = median(plain_s);
    CASES.iter().map(|case| case.measure(scope, plain_s)).collect()
}

impl Case {
    fn measure(&self, scope: &Scope, plain_s: f64) -> Result<Figure> {
        let (sharing, beside) = problem(scope.of(self.jobs), self.alike);
        let mut times = Vec::new();
        for round in 1..=ROUNDS {
            step(&format!("{}: run {round} of {ROUNDS}", self.name));
            let (optimal, seconds) = timed(|| solve(&sharing, &beside, self.groups));
            ensure!(optimal, "not solved");
            times.push(seconds);
        }
        let seconds = median(times);
        let figure = Figure::new(self.name.into(), seconds * 1000.0, "ms");
        let peer = "one linear programme over all pairs of 96 jobs";
        Ok(figure.against(peer, seconds / plain_s).at_most(self.ratio_max))
    }
}

fn solve(sharing: &Sharing, beside: &Beside, groups: usize) -> bool {
    let numbers: Vec<u64> = (0..sharing.rows.len() as u64).collect();
    let mut optimal = true;
    in_groups(&numbers, 47, groups, |group, part| {
        let own = Sharing {
            places: sharing.places.iter().map(|places| places * part).collect(),
            rows: group.iter().map(|row| sharing.rows[*row].clone()).collect(),
        };
        let sort_of = group.iter().map(|row| beside.sort_of[*row]).collect();
        let beside = Beside { sort_of, ..beside.clone() };
        let Division { parts, is_optimal, .. } = own.max_min_in_pairs(&beside);
        optimal &= is_optimal;
        parts
    });
    optimal
}

/// Jobs of one GPU each, four to every three GPUs' places, of sorts that go more or less together.
fn problem(jobs: usize, alike: bool) -> (Sharing, Beside) {
    let mut random = Numbers(5);
    let mut rate = |faster: f64| random.between(1.0, faster);
    let sorts: Vec<[f64; KINDS]> = (0..SORTS).map(|_| [rate(5.0), rate(2.5), 1.0]).collect();
    let row = |job: usize| {
        let rates = sorts[job % SORTS];
        let equal: f64 = rates.iter().sum::<f64>() / KINDS as f64;
        let size = if alike { 1.0 } else { 1.0 + (job as f64 * 0.618).fract() };
        Row { size: 1.0, worth: rates.iter().map(|rate| rate / equal / size).collect() }
    };
    let rows: Vec<Row> = (0..jobs).map(row).collect();
    let kept = (0..KINDS * SORTS * SORTS).map(|_| random.between(0.3, 0.95)).collect();
    let places = vec![(jobs as f64 / 4.0).max(1.0).floor(); KINDS];
    let sort_of = (0..jobs).map(|job| Some(job % SORTS)).collect();
    (Sharing { places, rows }, Beside { sort_of, sorts: SORTS, kept })
}

/// Only the level, over every job and every two of them on every kind.
fn plain(sharing: &Sharing, beside: &Beside) -> Linear {
    let jobs = sharing.rows.len();
    let mut columns: Vec<(usize, Option<usize>, usize)> = Vec::new();
    for kind in 0..KINDS {
        for one in 0..jobs {
            columns.push((one, None, kind));
            columns.extend((one + 1..jobs).map(|other| (one, Some(other), kind)));
        }
    }
    let level = columns.len();
    let mut programme = Linear::new(level + 1);
    programme.set_worth(level, 1.0);
    let mut times = vec![Vec::new(); jobs];
    let mut worths = vec![vec![(level, 1.0)]; jobs];
    let mut taken = vec![Vec::new(); KINDS];
    for (at, (one, other, kind)) in columns.into_iter().enumerate() {
        taken[kind].push((at, 1.0));
        let sort = |job: usize| beside.sort_of[job].unwrap_or(0);
        let mut side = |job: usize, with: Option<usize>| {
            let kept = with
                .map_or(1.0, |with| beside.kept[(kind * SORTS + sort(job)) * SORTS + sort(with)]);
            times[job].push((at, 1.0));
            worths[job].push((at, -sharing.rows[job].worth[kind] * kept));
        };
        side(one, other);
        if let Some(other) = other {
            side(other, Some(one));
        }
    }
    for (time, worth) in times.into_iter().zip(worths) {
        programme.at_most(time, 1.0);
        programme.at_most(worth, 0.0);
    }
    for (taken, places) in taken.into_iter().zip(&sharing.places) {
        programme.at_most(taken, *places);
    }
    programme
}
