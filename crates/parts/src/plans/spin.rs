//! SPIN (Han et al., INFOCOM 2020): a linear programme over jobs, shapes and intervals says when
//! each job should end and in which shape; both are drawn by what it says, and whoever is to end
//! early starts first, as far as its shape is free. Nobody is stopped, so wrong estimates do little
//! harm, and whoever waits is thought of anew in every round.

use super::Reckoning;
use crate::goodput::{Allot, Candidate, Room, Shape, Shapes};
use heeler_engine::{Predict, View};
use heeler_solve::{Linear, Status};
use rand::RngExt;

/// Seconds that are assumed to be left of a job of which nobody can tell.
const UNKNOWN_S: f64 = 3600.0;
/// Steps of the solver.
const STEPS_MAX: u32 = 100;
/// Intervals at most: each is twice as long as all before it.
const INTERVALS_MAX: usize = 16;

/// List scheduling by a rounded linear programme.
pub struct Spin {
    /// When jobs would end.
    pub reckoning: Reckoning,
    /// How many waiting jobs are thought of at once.
    pub window: u32,
}

/// A job that waits: its shapes with the seconds it needs in each.
struct Waiting {
    index: usize,
    shapes: Vec<(Shape, f64)>,
}

/// What the programme has a variable for.
#[derive(Clone, Copy)]
struct Part {
    waiting: usize,
    shape: usize,
    interval: usize,
}

impl Spin {
    fn needs_s(&self, candidate: &Candidate, shape: Shape, all: &Shapes, view: &View) -> f64 {
        self.reckoning.needs_s(candidate, shape, all, view).unwrap_or(UNKNOWN_S)
    }

    /// Those who wait, in order of submission, with what they may have.
    fn waiting(
        &self,
        mut order: Vec<usize>,
        jobs: &[Candidate],
        all: &Shapes,
        view: &View,
    ) -> Vec<Waiting> {
        order.sort_by_key(|index| (jobs[*index].job.submitted, jobs[*index].job.id));
        let mut waiting: Vec<Waiting> = Vec::new();
        for index in order {
            let candidate = &jobs[index];
            let sizes = all.for_job(candidate.job, u32::MAX, view).into_iter();
            let shapes: Vec<(Shape, f64)> =
                sizes.map(|shape| (shape, self.needs_s(candidate, shape, all, view))).collect();
            if !shapes.is_empty() {
                waiting.push(Waiting { index, shapes });
            }
        }
        waiting
    }

    /// How much each job should end in each interval, in each shape.
    fn solve(
        &self,
        waiting: &[Waiting],
        running: &[(usize, f64, f64)],
        ends: &[f64],
        caps: &[u32],
    ) -> Vec<(Part, f64)> {
        let mut parts = Vec::new();
        for (at, job) in waiting.iter().enumerate() {
            for (shape, (_, needs)) in job.shapes.iter().enumerate() {
                let fits = ends.iter().enumerate().filter(|(_, end)| *needs <= **end);
                parts.extend(fits.map(|(interval, _)| Part { waiting: at, shape, interval }));
            }
        }
        let mut programme = Linear::new(parts.len());
        let last = ends.last().copied().unwrap_or(1.0);
        let before = |interval: usize| if interval == 0 { 0.0 } else { ends[interval - 1] };
        for (variable, part) in parts.iter().enumerate() {
            let needs = waiting[part.waiting].shapes[part.shape].1;
            let end = before(part.interval).max(needs);
            programme.set_worth(variable, 2.0 - end / last);
        }
        for at in 0..waiting.len() {
            let own = parts.iter().enumerate().filter(|(_, part)| part.waiting == at);
            programme.at_most(own.map(|(variable, _)| (variable, 1.0)).collect(), 1.0);
        }
        for (kind, cap) in caps.iter().enumerate() {
            for (interval, end) in ends.iter().enumerate() {
                let used = |part: &Part| {
                    let (shape, needs) = waiting[part.waiting].shapes[part.shape];
                    let counts = part.interval <= interval && shape.kind.index() == kind;
                    (f64::from(shape.gpus) * needs / end, counts)
                };
                let held: f64 = running
                    .iter()
                    .filter(|(of, ..)| *of == kind)
                    .map(|(_, gpus, left_s)| gpus * left_s.min(*end) / end)
                    .sum();
                let row = parts.iter().enumerate().filter_map(|(variable, part)| {
                    let (amount, counts) = used(part);
                    counts.then_some((variable, amount))
                });
                programme.at_most(row.collect(), (f64::from(*cap) - held).max(0.0));
            }
        }
        let answer = programme.maximise(STEPS_MAX);
        if answer.status == Status::Impossible {
            return Vec::new();
        }
        parts.into_iter().zip(answer.values).collect()
    }
}

/// Ends of intervals: from the shortest job on, each twice the last, until all work is done.
fn intervals(waiting: &[Waiting], running: &[(usize, f64, f64)]) -> Vec<f64> {
    let quickest = |job: &Waiting| job.shapes.iter().map(|s| s.1).fold(f64::INFINITY, f64::min);
    let slowest = |job: &Waiting| job.shapes.iter().map(|s| s.1).fold(0.0, f64::max);
    let first = waiting.iter().map(quickest).fold(f64::INFINITY, f64::min).max(1.0);
    let held = running.iter().map(|(_, _, left_s)| *left_s).fold(0.0, f64::max);
    let last = waiting.iter().map(slowest).sum::<f64>() + held;
    let mut ends = vec![first];
    while ends[ends.len() - 1] < last && ends.len() < INTERVALS_MAX {
        ends.push(ends[ends.len() - 1] * 2.0);
    }
    let end = ends.last_mut().expect("it has one at least");
    *end = end.max(last);
    ends
}

impl Allot for Spin {
    fn allot(&self, jobs: &[Candidate], view: &View) -> Vec<Option<Shape>> {
        let all = Shapes::of(view);
        let mut given: Vec<Option<Shape>> = jobs.iter().map(|job| job.current).collect();
        let mut room = Room::of(&all, jobs);
        let mut running = Vec::new();
        let mut order: Vec<usize> = Vec::new();
        for (index, candidate) in jobs.iter().enumerate() {
            let Some(shape) = candidate.current else {
                order.push(index);
                continue;
            };
            if !candidate.pinned {
                room.take(candidate, shape);
            }
            let left_s = self.needs_s(candidate, shape, &all, view);
            running.push((shape.kind.index(), f64::from(shape.gpus), left_s));
        }
        if order.is_empty() || room.is_empty() {
            return given;
        }
        let waiting = self.waiting(order, jobs, &all, view);
        let (thought_of, later) = waiting.split_at(waiting.len().min(self.window as usize));
        let ends = intervals(thought_of, &running);
        let said = self.solve(thought_of, &running, &ends, all.up());
        let mut rng = view.rng("plans/spin");
        let mut list: Vec<(usize, usize, Shape)> = Vec::new();
        for (at, job) in thought_of.iter().enumerate() {
            let own = || said.iter().filter(|(part, _)| part.waiting == at);
            let total: f64 = own().map(|(_, much)| much.max(0.0)).sum();
            let mut drawn = rng.random::<f64>() * total;
            let picked = own().find(|(_, much)| {
                drawn -= much.max(0.0);
                drawn < 0.0
            });
            let quickest = || job.shapes.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|s| s.0);
            let (interval, shape) = match picked {
                Some((part, _)) => (part.interval, Some(job.shapes[part.shape].0)),
                None => (ends.len(), quickest()),
            };
            list.extend(shape.map(|shape| (interval, job.index, shape)));
        }
        list.sort_by_key(|(interval, index, _)| {
            (*interval, jobs[*index].job.submitted, jobs[*index].job.id)
        });
        list.extend(later.iter().map(|job| (ends.len(), job.index, job.shapes[0].0)));
        for (_, index, shape) in list {
            if room.has(&jobs[index], shape) {
                room.take(&jobs[index], shape);
                given[index] = Some(shape);
            }
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
        Box::new(Spin { reckoning: self.reckoning.fork(), window: self.window })
    }
}
