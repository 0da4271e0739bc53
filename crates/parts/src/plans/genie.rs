//! GENIE (Chen et al., TPDS 2020): whoever may wait the shortest and still end in time is first, in
//! the cheapest shape in which it would, by how fast it was measured to be; those who have no
//! deadline take what is left.

use super::Reckoning;
use crate::goodput::{Allot, Candidate, Room, Shape, Shapes, speed};
use heeler_engine::{Job, Predict, View};
use heeler_model::{Reason, Time};

/// Who is first among those who may still end in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgent {
    /// Who may wait the shortest.
    ShortestAllowance,
    /// Who has the earliest deadline.
    EarliestDeadline,
}

/// The cheapest shapes that keep deadlines, the most urgent job first.
pub struct Genie {
    /// Who is first.
    pub first: Urgent,
    /// When jobs would end.
    pub reckoning: Reckoning,
}

/// The last deadline of a job.
fn due(job: &Job) -> Option<Time> {
    job.spec.deadlines().last().map(|deadline| deadline.at)
}

impl Genie {
    /// The shapes in which a job would end in time, cheapest first: few GPUs, then slow ones. What
    /// it has comes first, if it is among them.
    fn in_time(&self, candidate: &Candidate, shapes: &Shapes, view: &View) -> Vec<Shape> {
        let Some(due) = due(candidate.job) else { return Vec::new() };
        let meets = |shape: &Shape| {
            self.reckoning.end(candidate, *shape, shapes, view).is_some_and(|end| end <= due)
        };
        let offered = shapes.for_job(candidate.job, u32::MAX, view);
        let mut sizes: Vec<Shape> = offered.into_iter().filter(meets).collect();
        let has = |shape: &Shape| candidate.current.is_some_and(|current| current.is_like(*shape));
        sizes.sort_by(|a, b| {
            let rate = |shape: &Shape| speed(candidate, *shape, shapes, view);
            let (first, second) = ((!has(a), a.gpus), (!has(b), b.gpus));
            first.cmp(&second).then(rate(a).total_cmp(&rate(b)))
        });
        sizes
    }

    /// How urgent a job is that would end in time in these shapes: smaller is more so.
    fn urgency(&self, job: &Candidate, sizes: &[Shape], shapes: &Shapes, view: &View) -> i64 {
        let due = due(job.job).unwrap_or(Time::MAX).micros() as i64;
        let ends = sizes.iter().filter_map(|shape| self.reckoning.end(job, *shape, shapes, view));
        let soonest = ends.min().unwrap_or(view.now()).micros() as i64;
        match self.first {
            Urgent::ShortestAllowance => due - soonest,
            Urgent::EarliestDeadline => due,
        }
    }

    /// What a job asked for or less, on its fastest kind first.
    fn best_effort(&self, candidate: &Candidate, shapes: &Shapes, view: &View) -> Vec<Shape> {
        let asked = candidate.job.spec.demand.asked();
        let mut sizes = shapes.for_job(candidate.job, asked, view);
        sizes.sort_by(|a, b| {
            let rate = |shape: &Shape| speed(candidate, *shape, shapes, view);
            b.gpus.cmp(&a.gpus).then(rate(b).total_cmp(&rate(a)))
        });
        let has = candidate.current.filter(|shape| shape.gpus <= asked);
        has.into_iter().chain(sizes).collect()
    }
}

impl Allot for Genie {
    fn allot(&self, jobs: &[Candidate], view: &View) -> Vec<Option<Shape>> {
        let shapes = Shapes::of(view);
        let mut room = Room::of(&shapes, jobs);
        let mut order: Vec<(bool, bool, i64, usize, Vec<Shape>)> = Vec::new();
        for (at, candidate) in jobs.iter().enumerate().filter(|(_, job)| !job.pinned) {
            let sizes = self.in_time(candidate, &shapes, view);
            let dated = !sizes.is_empty();
            let by = if dated { self.urgency(candidate, &sizes, &shapes, view) } else { 0 };
            let sizes = if dated { sizes } else { self.best_effort(candidate, &shapes, view) };
            // Who runs is not stopped for somebody of the same sort.
            order.push((!dated, candidate.current.is_none(), by, at, sizes));
        }
        order.sort_by_key(|(late, waits, by, at, _)| {
            (*late, *waits, *by, jobs[*at].job.submitted, jobs[*at].job.id)
        });
        let pinned = |candidate: &Candidate| candidate.current.filter(|_| candidate.pinned);
        let mut given: Vec<Option<Shape>> = jobs.iter().map(pinned).collect();
        for (_, _, _, at, sizes) in order {
            given[at] = sizes.into_iter().find(|shape| room.has(&jobs[at], *shape));
            given[at].iter().for_each(|shape| room.take(&jobs[at], *shape));
        }
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
        Box::new(Genie { first: self.first, reckoning: self.reckoning.fork() })
    }
}
