//! ANDREAS (Filippini et al., FiCloud 2021): which job runs in which shape, or is put off, so that
//! energy and being late cost least together. Found by a randomised greedy search: jobs one after
//! the other, those first that are nearest to being late, each in the shape that costs it least;
//! then again with the order and the choices disturbed at random, and the cheapest of all is taken.
//! Who runs and is put off has to start again, which costs time and energy, so nobody gives way
//! unless that saves more: what is better has to be better than to let everybody go on.

use super::Reckoning;
use crate::goodput::{Allot, Candidate, Room, Shape, Shapes, speed};
use heeler_engine::{Job, Predict, View};
use heeler_model::{Reason, Span, Time};
use rand::RngExt;

/// Seconds that are assumed to be left of a job of which nobody can tell.
const UNKNOWN_S: f64 = 3600.0;

/// Watts of a GPU of which nobody said: then GPU hours are what counts.
const UNKNOWN_WATTS: f64 = 300.0;

/// Energy and being late, together as cheap as can be.
pub struct Andreas {
    /// What a kilowatt hour costs.
    pub energy: f64,
    /// What an hour that a job is late costs, for each GPU it asked for.
    pub late: f64,
    /// How often it is tried with a disturbed order.
    pub tries: u32,
    /// How long a job that is put off waits at least.
    pub round: Span,
    /// When jobs would end.
    pub reckoning: Reckoning,
}

/// What a job could have, and what that would cost.
#[derive(Clone, Copy)]
struct Offer {
    shape: Shape,
    cost: f64,
}

/// A job with its offers, cheapest first, and what it costs to put it off.
struct Row {
    index: usize,
    offers: Vec<Offer>,
    put_off: f64,
    /// Whether it runs.
    runs: bool,
    /// Seconds by which it would be late at best; below zero, to spare.
    pressure: f64,
}

fn due(job: &Job) -> Option<Time> {
    job.spec.deadlines().last().map(|deadline| deadline.at)
}

impl Andreas {
    /// What it costs a job to end so many seconds from now.
    fn lateness(&self, candidate: &Candidate, end_s: f64, view: &View) -> f64 {
        let job = candidate.job;
        // Who has no deadline is late by all the time that it takes, at a tenth of the price.
        let (from, part) = due(job).map_or((job.submitted, 0.1), |due| (due, 1.0));
        let end = view.now() + Span::from_secs_f64(end_s);
        let late_h = end.since(from).secs_f64() / 3600.0;
        late_h * part * self.late * f64::from(job.spec.demand.asked().max(1))
    }

    fn row(&self, index: usize, candidate: &Candidate, shapes: &Shapes, view: &View) -> Row {
        let fleet = view.fleet();
        let mut offers = Vec::new();
        let (mut soonest_s, mut cheapest) = (f64::INFINITY, f64::INFINITY);
        for shape in shapes.for_job(candidate.job, u32::MAX, view) {
            if speed(candidate, shape, shapes, view) <= 0.0 {
                continue;
            }
            let needs = self.reckoning.needs_s(candidate, shape, shapes, view);
            let needs_s = needs.unwrap_or(UNKNOWN_S);
            let watts = match fleet.cluster().kinds[shape.kind.index()].watts {
                0 => UNKNOWN_WATTS,
                watts => f64::from(watts),
            };
            let energy =
                |seconds: f64| watts * f64::from(shape.gpus) * seconds / 3.6e6 * self.energy;
            let cost = energy(needs_s) + self.lateness(candidate, needs_s, view);
            soonest_s = soonest_s.min(needs_s);
            // Whoever is put off starts again, in whatever shape.
            let anew_s = needs_s + self.reckoning.restart_s(candidate.job)
                - self.reckoning.start_s(candidate, shape);
            let later_s = anew_s + self.round.secs_f64();
            cheapest = cheapest.min(energy(anew_s) + self.lateness(candidate, later_s, view));
            offers.push(Offer { shape, cost });
        }
        offers.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.shape.gpus.cmp(&b.shape.gpus)));
        let spare_s = due(candidate.job).map_or(0.0, |due| {
            due.secs_f64() - view.now().secs_f64() - soonest_s.min(UNKNOWN_S * 1e6)
        });
        let runs = candidate.current.is_some();
        Row { index, offers, put_off: cheapest, runs, pressure: -spare_s }
    }

    /// One pass: jobs in an order, each in the cheapest shape that is left and better than to wait,
    /// or in the next one if chance will have it so.
    fn pass(
        &self,
        rows: &[Row],
        order: &[usize],
        jobs: &[Candidate],
        mut room: Room,
        mut chance: impl FnMut() -> bool,
    ) -> (f64, Vec<(usize, Shape)>) {
        let (mut cost, mut given) = (0.0, Vec::new());
        for row in order.iter().map(|at| &rows[*at]) {
            let fits = |offer: &&Offer| room.has(&jobs[row.index], offer.shape);
            let mut fitting = row.offers.iter().filter(fits);
            let (first, second) = (fitting.next(), fitting.next());
            let picked = if chance() { second.or(first) } else { first };
            match picked.filter(|offer| offer.cost <= row.put_off * (1.0 + 1e-9)) {
                Some(offer) => {
                    room.take(&jobs[row.index], offer.shape);
                    given.push((row.index, offer.shape));
                    cost += offer.cost;
                }
                None => cost += if row.put_off.is_finite() { row.put_off } else { 0.0 },
            }
        }
        (cost, given)
    }
}

impl Allot for Andreas {
    fn allot(&self, jobs: &[Candidate], view: &View) -> Vec<Option<Shape>> {
        let shapes = Shapes::of(view);
        let room = Room::of(&shapes, jobs);
        let open = jobs.iter().enumerate().filter(|(_, job)| !job.pinned);
        let mut rows: Vec<Row> =
            open.map(|(index, job)| self.row(index, job, &shapes, view)).collect();
        rows.sort_by(|a, b| b.pressure.total_cmp(&a.pressure).then(a.index.cmp(&b.index)));
        let first: Vec<usize> = (0..rows.len()).collect();
        // Those who run first: nobody stops for what is no better.
        let (mut kept, rest): (Vec<usize>, Vec<usize>) =
            first.iter().partition(|at| rows[**at].runs);
        kept.extend(rest);
        let mut best = self.pass(&rows, &kept, jobs, room.clone(), || false);
        let pressed = self.pass(&rows, &first, jobs, room.clone(), || false);
        if pressed.0 < best.0 * (1.0 - 1e-9) {
            best = pressed;
        }
        let mut random = view.rng("andreas");
        for _ in 0..self.tries {
            let mut order = first.clone();
            // Neighbours change places here and there, so the most pressing stay near the front.
            for at in 1..order.len() {
                if random.random::<f64>() < 0.3 {
                    order.swap(at - 1, at);
                }
            }
            let found =
                self.pass(&rows, &order, jobs, room.clone(), || random.random::<f64>() < 0.1);
            if found.0 < best.0 * (1.0 - 1e-9) {
                best = found;
            }
        }
        let pinned = |candidate: &Candidate| candidate.current.filter(|_| candidate.pinned);
        let mut given: Vec<Option<Shape>> = jobs.iter().map(pinned).collect();
        best.1.into_iter().for_each(|(index, shape)| given[index] = Some(shape));
        given
    }

    fn why(&self, job: &Job, view: &View) -> Option<Reason> {
        let asked = due(job)?;
        (asked < view.now()).then_some(Reason::DeadlineLost { asked })
    }

    fn predictor(&self) -> Option<&dyn Predict> {
        Some(&*self.reckoning.predict)
    }

    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        Some(&mut *self.reckoning.predict)
    }

    fn fork(&self) -> Box<dyn Allot> {
        Box::new(Andreas { reckoning: self.reckoning.fork(), ..*self })
    }
}
