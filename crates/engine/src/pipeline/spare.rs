//! Sparing jobs a move that is not needed once it is known who stops.

use super::walk::Walk;
use crate::fleet::Grip;
use crate::rules::Starts;
use crate::traits::Want;
use heeler_model::{Reason, Run, Stop};

impl Walk<'_> {
    /// A job that lost its GPUs and found others later in the walk need not move at all if those
    /// who took its GPUs can be placed elsewhere, now that it is known who stops. Says whether the
    /// plan has changed.
    pub(super) fn spare_moves(&mut self) -> bool {
        let state = self.view.state();
        let moves = |run: &Run| state.job(run.job).is_placed();
        // Those who share GPUs were not placed; they must not be placed again.
        let fixed = self.pipe.parts.resize.is_some() || self.shares_change();
        if fixed || !self.plan.run.iter().any(moves) {
            return false;
        }
        self.place_again()
    }

    /// Place all who start once more, in order, where somebody stops and the world has it so.
    pub(super) fn place_together(&mut self) {
        let together = self.view.rules().starts == Starts::Together;
        let fixed = self.pipe.parts.resize.is_some() || self.shares_change();
        if !together || self.plan.stop.is_empty() || fixed {
            return;
        }
        let (order, view) = (&self.pipe.parts.order, self.view);
        self.plan.run.sort_by_key(|run| {
            let job = view.state().job(run.job);
            (order.line(job, view).key, job.submitted, job.id)
        });
        self.place_again();
    }

    /// Place all who start and do not move, now that it is known who stops; who moved stays. Says
    /// whether that can be.
    fn place_again(&mut self) -> bool {
        let state = self.view.state();
        let moves = |run: &Run| state.job(run.job).is_placed();
        self.draft.back_to_start();
        self.give_up_halted();
        for stop in &self.plan.stop {
            let job = state.job(stop.job);
            let placement = &job.assignment.as_ref().expect("a stopped job is placed").placement;
            self.draft.release(placement, Walk::grip(job));
        }
        let mut runs = Vec::new();
        for run in self.plan.run.iter().filter(|run| !moves(run)) {
            let job = state.job(run.job);
            let demand = job.spec.demand;
            let want = Want { gpus: run.assignment.gpus(), demand, ..Want::as_asked(job) };
            let Some(placement) = self.fits(job, &want) else { return false };
            self.draft.claim(&placement, Grip::from(&demand));
            runs.push(Run { assignment: want.met_by(placement), ..run.clone() });
        }
        // Who stops now stops for whoever has the GPUs; those whose GPUs nobody has stay.
        let mut stops = Vec::new();
        for stop in &self.plan.stop {
            let job = state.job(stop.job);
            let placement = &job.assignment.as_ref().expect("a stopped job is placed").placement;
            let by = runs.iter().find(|run| run.assignment.placement.meets(placement));
            if let Some(run) = by {
                stops.push(Stop { reason: Reason::Displaced { by: run.job }, ..*stop });
            } else if !self.view.tenants().have_limits()
                && self.draft.has_room_for(placement, Walk::grip(job))
            {
                self.draft.claim(placement, Walk::grip(job));
            } else {
                return false;
            }
        }
        self.plan.run = runs;
        self.plan.stop = stops;
        self.keep_book_again();
        true
    }

    /// Enter the plan as it is now into the books.
    fn keep_book_again(&mut self) {
        self.planned.clear();
        self.behind.take();
        self.forget_counts();
        self.book_halted();
        let state = self.view.state();
        for stop in self.plan.stop.clone() {
            let job = state.job(stop.job);
            self.planned.insert(stop.job, None);
            self.count(job, -(job.milli() as i64));
        }
        for run in self.plan.run.clone() {
            self.count(state.job(run.job), run.assignment.milli() as i64);
            self.planned.insert(run.job, Some(run.assignment.placement));
        }
    }
}
