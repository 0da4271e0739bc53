//! Choosing a configuration for each of a thousand jobs, as Sia does in every round, against only
//! relaxing the same choice to a linear programme.

use super::clock::{median, timed};
use super::report::Figure;
use super::{Scope, step};
use anyhow::{Result, ensure};
use heeler_solve::choose::{Chooser, Choosing, Offer, WORK_MAX};
use heeler_solve::{Linear, Status};

const JOBS: usize = 1_024;
const ROUNDS: usize = 5;
/// What it costs not to run.
const WITHOUT: f64 = 1.1;
/// Decimals of costs: as Sia rounds them, and nearly unrounded.
const DECIMALS: [(&str, i32); 2] = [("rounded", 2), ("exact", 9)];
const STEPS_MAX: u32 = 200;

/// CPU time of a choice.
pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let jobs = scope.of(JOBS);
    let mut figures = Vec::new();
    for (name, decimals) in DECIMALS {
        let choosing = instance(jobs, decimals);
        let relaxed = relaxation(&choosing);
        let (mut times_ms, mut ratios) = (Vec::new(), Vec::new());
        for round in 1..=ROUNDS {
            step(&format!("choose {name}: run {round} of {ROUNDS}"));
            let (chosen, seconds) = timed(|| choosing.cheapest(WORK_MAX));
            let (bound, peer_seconds) = timed(|| relaxed.maximise(STEPS_MAX));
            ensure!(chosen.is_optimal, "{name}: a gap of {} is left", chosen.gap());
            ensure!(bound.status == Status::Optimal, "{name}: the relaxation was not solved");
            let relaxed_cost = WITHOUT * jobs as f64 - bound.worth;
            ensure!(chosen.cost >= relaxed_cost - 1e-6, "{} {relaxed_cost}", chosen.cost);
            times_ms.push(seconds * 1000.0);
            ratios.push(seconds / peer_seconds);
        }
        let figure = Figure::new(format!("choose {name}"), median(times_ms), "ms");
        figures.push(figure.against("its linear relaxation", median(ratios)).at_most(0.2));
    }
    Ok(figures)
}

/// Jobs on 16-node types of 4 and 8 GPUs, 29 configurations each, a GPU for every job: a third of a
/// thousand and twenty-four on the slowest kind, a quarter on the fastest.
fn instance(jobs: usize, decimals: i32) -> Choosing {
    let slow = [1, 2, 4].into_iter().chain((2..=16).map(|nodes| nodes * 4));
    let configurations: Vec<(usize, u32)> = slow
        .map(|gpus| (0, gpus))
        .chain([1, 2, 4, 8, 16].map(|gpus| (1, gpus)))
        .chain([1, 2, 4, 8, 16, 24].map(|gpus| (2, gpus)))
        .collect();
    let mut random = Numbers(1);
    let rows = (0..jobs).map(|_| row(&configurations, decimals, &mut random)).collect();
    let part = |eighths: usize| (jobs * eighths / 8) as u32;
    Choosing { capacities: vec![part(3), part(2), part(3)], rows }
}

/// A job that gains by more and by better GPUs, some more than others, up to a size of its own.
fn row(configurations: &[(usize, u32)], decimals: i32, random: &mut Numbers) -> Chooser {
    let speeds = [1.0, random.between(2.0, 6.0), random.between(1.2, 2.5)];
    let loss = random.between(0.02, 0.4);
    let most = 1 << (random.between(0.0, 7.0) as u32);
    let now = random.between(0.0, configurations.len() as f64) as usize;
    let restart = random.between(0.6, 1.0);
    let offers = configurations.iter().enumerate().filter(|(_, (_, gpus))| *gpus <= most);
    let offer = |(index, (kind, gpus)): (usize, &(usize, u32))| {
        let many = f64::from(*gpus);
        let speed = speeds[*kind] * many / (1.0 + loss * (many - 1.0));
        let goodput = if index == now { speed } else { restart * speed };
        let scale = 10f64.powi(decimals);
        let cost = (goodput.powf(-0.5) * scale).round() / scale;
        Offer { kind: *kind, amount: *gpus, cost }
    };
    Chooser { offers: offers.map(offer).collect(), without: WITHOUT, forced: None }
}

/// The same with parts of offers: an upper bound of what can be saved.
fn relaxation(choosing: &Choosing) -> Linear {
    let count = choosing.rows.iter().map(|row| row.offers.len()).sum();
    let mut programme = Linear::new(count);
    let mut used = vec![Vec::new(); choosing.capacities.len()];
    let mut variable = 0;
    for row in &choosing.rows {
        let begin = variable;
        for offer in &row.offers {
            programme.set_worth(variable, row.without - offer.cost);
            used[offer.kind].push((variable, f64::from(offer.amount)));
            variable += 1;
        }
        programme.at_most((begin..variable).map(|own| (own, 1.0)).collect(), 1.0);
    }
    for (used, capacity) in used.into_iter().zip(&choosing.capacities) {
        programme.at_most(used, f64::from(*capacity));
    }
    programme
}

/// Numbers that look random and are the same everywhere (Steele et al., SplitMix, 2014).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        low + (high - low) * (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}
