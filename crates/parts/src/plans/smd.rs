//! SMD (Yu et al., INFOCOM 2021): in every interval, the numbers of workers for all jobs together
//! that make the sum of utilities largest: a knapsack of several dimensions with one choice for
//! each job.

use super::{Reckoning, Utility};
use crate::goodput::{Allot, Candidate, Shape, Shapes, speed};
use heeler_engine::{Predict, View};
use heeler_solve::choose::{Chooser, Choosing, Offer, WORK_MAX};

/// However late a job is, running it is worth this part of its value.
const LEAST: f64 = 1e-5;
/// A change of shape must gain this part of a job's value, or jobs would change in every round.
const CHANGE: f64 = 0.02;

/// The best sum of utilities in every interval.
pub struct Smd {
    /// What jobs are worth.
    pub utility: Utility,
    /// When jobs would end.
    pub reckoning: Reckoning,
}

impl Smd {
    /// What a job is worth if it had a shape from now on.
    fn worth(&self, candidate: &Candidate, shape: Shape, shapes: &Shapes, view: &View) -> f64 {
        let job = candidate.job;
        let value = Utility::value(&job.spec);
        let part = f64::from(shape.gpus) / f64::from(job.spec.demand.asked().max(1));
        let end = self.reckoning.end(candidate, shape, shapes, view);
        let length = self.reckoning.length_s(candidate, shapes, view);
        let worth = match end.zip(length) {
            Some((end, length_s)) => self.utility.worth(&job.spec, job.submitted, length_s, end),
            // Of whom nobody can tell, as much as of one that ends at its target.
            None => value / 2.0,
        };
        let stays = candidate.current.is_none_or(|has| has.is_like(shape));
        worth + value * (LEAST * part + if stays { CHANGE } else { 0.0 })
    }
}

impl Allot for Smd {
    fn allot(&self, jobs: &[Candidate], view: &View) -> Vec<Option<Shape>> {
        let shapes = Shapes::of(view);
        let whole = jobs.iter().all(|candidate| candidate.job.spec.demand.share.is_whole());
        let unit = if whole { 1 } else { 1000 };
        let (mut rows, mut offered) = (Vec::new(), Vec::new());
        for candidate in jobs {
            let mut sizes = shapes.for_job(candidate.job, u32::MAX, view);
            sizes.retain(|shape| speed(candidate, *shape, &shapes, view) > 0.0);
            let stays = |shape: &Shape| candidate.current.is_some_and(|has| has.is_like(*shape));
            if candidate.pinned && !sizes.iter().any(stays) {
                sizes.extend(candidate.current);
            }
            let share = if whole { 1 } else { candidate.job.spec.demand.share.0.min(1000) };
            let offer = |shape: &Shape| {
                let cost = -self.worth(candidate, *shape, &shapes, view);
                Offer { kind: shape.kind.index(), amount: shape.gpus * share, cost }
            };
            let offers = sizes.iter().map(offer).collect();
            let forced = sizes.iter().position(stays).filter(|_| candidate.pinned);
            rows.push(Chooser { offers, without: 0.0, forced });
            offered.push(sizes);
        }
        let capacities = shapes.up().iter().map(|gpus| gpus * unit).collect();
        let chosen = Choosing { capacities, rows }.cheapest(WORK_MAX);
        let picks = chosen.picks.into_iter().zip(offered);
        picks.map(|(pick, shapes)| pick.map(|index| shapes[index])).collect()
    }

    fn predictor(&self) -> Option<&dyn Predict> {
        Some(&*self.reckoning.predict)
    }

    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        Some(&mut *self.reckoning.predict)
    }

    fn fork(&self) -> Box<dyn Allot> {
        Box::new(Smd { utility: self.utility, reckoning: self.reckoning.fork() })
    }
}
