//! Sia (Subramanya et al., SOSP 2023): in every round, the shapes for all jobs together that make
//! the most of the cluster, by goodput that is normalised job by job and tempered for fairness.

use super::learned::described;
use super::rounds::{Allot, Candidate};
use super::shapes::{Shape, Shapes};
use crate::shares::rate;
use heeler_engine::View;
use heeler_solve::choose::{Chooser, Choosing, Offer, WORK_MAX};

/// No cost is higher than this.
const COST_MAX: f64 = 3000.0;

/// Sia's objective.
#[derive(Clone, Copy, Debug)]
pub struct Sia {
    /// Goodput counts to this power: below zero, jobs that have little gain most.
    pub power: f64,
    /// What it costs to leave a job without GPUs, where one with the least it can use costs one.
    pub penalty: f64,
    /// How many times the most GPUs it has run on a job may be given at once.
    pub scale_up: u32,
    /// To how many decimals costs are rounded.
    pub decimals: i32,
    /// Seconds that it takes to start a job again, if it does not say.
    pub restart_s: f64,
}

impl Sia {
    /// The shapes that a job may be given, and how much it would get done in each, the least being
    /// as many as the GPUs it needs.
    fn row(&self, candidate: &Candidate, shapes: &Shapes, view: &View) -> Vec<(Shape, f64)> {
        let (job, learned) = (candidate.job, candidate.learned);
        let seen = learned.largest().saturating_mul(self.scale_up);
        let (sizes, batch) = (&job.spec.demand.sizes, described(&job.spec));
        // What nothing is known of begins small; who only asks for GPUs may have what it asks for.
        let limit = seen.max(if batch.is_some() { sizes.min } else { sizes.asked });
        let worth = |shape: &Shape| match batch {
            Some(batch) => learned.goodput(batch, *shape, shapes).unwrap_or(1.0),
            None => {
                let part = f64::from(shape.gpus) / f64::from(sizes.asked);
                rate(job, shape.kind, view) * part
            }
        };
        let offered = shapes.for_job(job, limit, view).into_iter();
        let mut row: Vec<(Shape, f64)> =
            offered.map(|shape| (shape, worth(&shape))).filter(|(_, worth)| *worth > 0.0).collect();
        let least = row.iter().map(|(_, worth)| *worth).fold(f64::INFINITY, f64::min);
        for (_, worth) in &mut row {
            *worth *= f64::from(sizes.min.max(1)) / least;
        }
        row
    }

    /// What is left of a shape's worth if the job has to be started again for it: the part of its
    /// age that it would have been running for.
    fn restart_factor(&self, candidate: &Candidate, view: &View) -> f64 {
        let age = view.now().since(candidate.job.submitted).secs_f64();
        let each = candidate.job.spec.restart_s().unwrap_or(self.restart_s);
        match age < each {
            true => 1.0,
            false => (age - f64::from(candidate.restarts) * each).max(0.0) / (age + each),
        }
    }

    fn cost(&self, worth: f64) -> f64 {
        let unit = 10f64.powi(self.decimals);
        let cost = ((worth.powf(self.power) * unit).round_ties_even() / unit).min(COST_MAX);
        if self.power < 0.0 { cost } else { -cost }
    }
}

impl Allot for Sia {
    fn allot(&self, jobs: &[Candidate], view: &View) -> Vec<Option<Shape>> {
        let shapes = Shapes::of(view);
        // Parts of GPUs are counted only where somebody asks for some.
        let whole = jobs.iter().all(|candidate| candidate.job.spec.demand.share.is_whole());
        let unit = if whole { 1 } else { 1000 };
        let mut offered: Vec<Vec<Shape>> = Vec::with_capacity(jobs.len());
        let mut rows = Vec::with_capacity(jobs.len());
        for candidate in jobs {
            let mut row = self.row(candidate, &shapes, view);
            let current = candidate.current;
            let stays = |shape: Shape| current.is_some_and(|current| current.is_like(shape));
            let has = |(shape, _): &(Shape, f64)| stays(*shape);
            let kept = current.filter(|_| candidate.pinned && !row.iter().any(has));
            row.extend(kept.map(|shape| (shape, 1.0)));
            let factor = match current {
                Some(_) => self.restart_factor(candidate, view),
                None => 1.0,
            };
            let share = if whole { 1 } else { candidate.job.spec.demand.share.0.min(1000) };
            let offer = |(shape, worth): &(Shape, f64)| {
                let cost = self.cost(if stays(*shape) { *worth } else { worth * factor });
                Offer { kind: shape.kind.index(), amount: shape.gpus * share, cost }
            };
            let forced = row.iter().position(has).filter(|_| candidate.pinned);
            let offers = row.iter().map(offer).collect();
            rows.push(Chooser { offers, without: self.penalty, forced });
            offered.push(row.into_iter().map(|(shape, _)| shape).collect());
        }
        let capacities = shapes.up().iter().map(|gpus| gpus * unit).collect();
        let chosen = Choosing { capacities, rows }.cheapest(WORK_MAX);
        let picks = chosen.picks.into_iter().zip(offered);
        picks.map(|(pick, shapes)| pick.map(|index| shapes[index])).collect()
    }

    fn fork(&self) -> Box<dyn Allot> {
        Box::new(*self)
    }
}
