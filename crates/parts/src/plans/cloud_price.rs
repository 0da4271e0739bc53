//! Prices that move (Narayanan et al., DISPA 2020): every job on the kind of GPU on which the work
//! that is left costs least at present prices, and moved when what that saves is more than what
//! moving costs. Spot and on-demand GPUs are kinds with prices of their own.

use super::Reckoning;
use crate::goodput::{Allot, Candidate, Room, Shape, Shapes, speed};
use heeler_engine::{Predict, View};

/// Seconds that are assumed to be left of a job of which nobody can tell.
const UNKNOWN_S: f64 = 3600.0;

/// The cheapest kinds at present prices.
pub struct CloudPrice {
    /// A waiting job takes GPUs that cost up to so many times the cheapest it could have, rather
    /// than wait for those.
    pub patience: f64,
    /// By what part of its cost moving must make a job cheaper, beyond what moving costs.
    pub saving: f64,
    /// When jobs would end.
    pub reckoning: Reckoning,
}

/// A shape that a job may have.
#[derive(Clone, Copy)]
struct Offer {
    shape: Shape,
    /// What the rest of the job would cost, a start included.
    cost: f64,
    needs_s: f64,
    in_time: bool,
}

impl CloudPrice {
    /// What a job may have, of the size it asked for, best first: in time, cheap, fast.
    fn offers(&self, candidate: &Candidate, shapes: &Shapes, view: &View) -> Vec<Offer> {
        let job = candidate.job;
        let asked = job.spec.demand.asked();
        let due = job.spec.deadlines().last().map(|deadline| deadline.at);
        let all = shapes.for_job(job, asked, view).into_iter();
        let largest = all.clone().map(|shape| shape.gpus).max().unwrap_or(0);
        let rates = |shape: &Shape| speed(candidate, *shape, shapes, view) > 0.0;
        let mut offers: Vec<Offer> = all
            .filter(|shape| shape.gpus == largest && rates(shape))
            .map(|shape| {
                let needs = self.reckoning.needs_s(candidate, shape, shapes, view);
                let needs_s = needs.unwrap_or(UNKNOWN_S);
                let kind = shape.kind.index();
                let price = view.fleet().cluster().kinds[kind].price_at(view.now());
                let cost = price * f64::from(shape.gpus) * needs_s / 3600.0;
                let end = view.now() + heeler_model::Span::from_secs_f64(needs_s);
                Offer { shape, cost, needs_s, in_time: due.is_none_or(|due| end <= due) }
            })
            .collect();
        offers.sort_by(|a, b| {
            let late = (!a.in_time).cmp(&!b.in_time);
            late.then(a.cost.total_cmp(&b.cost)).then(a.needs_s.total_cmp(&b.needs_s))
        });
        offers
    }

    /// What a job should have, out of what there is room for.
    fn pick(&self, candidate: &Candidate, offers: &[Offer], room: &Room) -> Option<Shape> {
        let stays = |offer: &&Offer| candidate.current.is_some_and(|c| c.is_like(offer.shape));
        // What it has counts as taken, but not for itself.
        let free = |offer: &&Offer| stays(offer) || room.has(candidate, offer.shape);
        let best = offers.iter().find(free);
        match (offers.iter().find(stays), best) {
            (Some(present), Some(best)) => {
                let saves = best.cost < present.cost * (1.0 - self.saving);
                let must = best.in_time && !present.in_time;
                Some(if saves || must { best.shape } else { present.shape })
            }
            (Some(present), None) => Some(present.shape),
            (None, best) => {
                // They are sorted: the first is the cheapest of those that are in time.
                let fair = |offer: &&Offer| {
                    let first = offers[0];
                    offer.in_time == first.in_time && offer.cost <= first.cost * self.patience
                };
                best.filter(fair).map(|offer| offer.shape).or(candidate.current)
            }
        }
    }
}

impl Allot for CloudPrice {
    fn allot(&self, jobs: &[Candidate], view: &View) -> Vec<Option<Shape>> {
        let shapes = Shapes::of(view);
        let mut room = Room::of(&shapes, jobs);
        let mut order: Vec<usize> = (0..jobs.len()).filter(|at| !jobs[*at].pinned).collect();
        order.sort_by_key(|at| {
            (jobs[*at].current.is_none(), jobs[*at].job.submitted, jobs[*at].job.id)
        });
        // Whoever runs has what it has, until it gives that up for something better.
        for at in &order {
            jobs[*at].current.iter().for_each(|shape| room.take(&jobs[*at], *shape));
        }
        let mut given: Vec<Option<Shape>> = jobs.iter().map(|job| job.current).collect();
        for at in order {
            let offers = self.offers(&jobs[at], &shapes, view);
            let picked = self.pick(&jobs[at], &offers, &room);
            given[at].iter().for_each(|shape| room.give(&jobs[at], *shape));
            picked.iter().for_each(|shape| room.take(&jobs[at], *shape));
            given[at] = picked;
        }
        given
    }

    fn predictor(&self) -> Option<&dyn Predict> {
        Some(&*self.reckoning.predict)
    }

    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        Some(&mut *self.reckoning.predict)
    }

    fn fork(&self) -> Box<dyn Allot> {
        Box::new(CloudPrice { reckoning: self.reckoning.fork(), ..*self })
    }
}
