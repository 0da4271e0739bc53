//! Growing: when nobody waits, running jobs that can use more GPUs get those that are free.

use super::walk::Walk;
use crate::traits::Want;
use heeler_model::{Assignment, JobId, Placement, Run, Slice};

impl<'a> Walk<'a> {
    /// Let running jobs grow into what is free, the first in order first.
    pub(super) fn grow(&mut self) {
        let pipe = self.pipe;
        let Some(resize) = &pipe.parts.resize else { return };
        if self.draft.free_of(heeler_model::KindSet::ANY) == 0 {
            return;
        }
        let running = pipe.queue.running_last_first(self.now(), |_| true);
        let mut ids: Vec<JobId> = running.map(|rank| rank.job).collect();
        ids.reverse();
        for id in ids {
            let job = self.view.state().job(id);
            let leased = job.lease.is_some_and(|until| until > self.now());
            if leased || self.planned.contains_key(&id) {
                continue;
            }
            let Some(assignment) = &job.assignment else { continue };
            let free = self.draft.free_of(job.spec.demand.kinds);
            let mut size = resize.grow(job, free, self.view);
            while let Some(gpus) = size.filter(|gpus| *gpus > assignment.gpus()) {
                if let Some(grown) = self.extended(&assignment.placement, job, gpus) {
                    let grown = Assignment { placement: grown, share: assignment.share };
                    self.plan.run.push(Run { job: id, assignment: grown, lease: None });
                    break;
                }
                size = job.spec.demand.sizes.largest_up_to(gpus - 1);
            }
        }
    }

    /// A placement with more GPUs: those it has, on the same nodes first, then others.
    fn extended(
        &mut self,
        old: &Placement,
        job: &crate::state::Job,
        gpus: u32,
    ) -> Option<Placement> {
        let grip = Walk::grip(job);
        let savepoint = self.draft.savepoint();
        let mut extra = gpus - old.gpus();
        let mut slices = old.slices().to_vec();
        for slice in &mut slices {
            let take = extra.min(self.draft.room(slice.node, grip));
            let more = Slice { node: slice.node, slots: self.draft.slots_for(slice.node, take) };
            self.draft.claim(&Placement::on(more.node, more.slots), grip);
            slice.slots = slice.slots.or(more.slots);
            extra -= more.slots.count();
        }
        if extra > 0 {
            let want = Want { gpus: extra, demand: job.spec.demand, skewed: job.spec.skewed };
            let found = self.pipe.parts.place.place(&want, &self.draft, self.view);
            let fresh =
                found.ok().filter(|_| job.spec.demand.reach == heeler_model::Reach::Cluster);
            let Some(fresh) = fresh else {
                self.draft.back_to(savepoint);
                return None;
            };
            self.draft.claim(&fresh, grip);
            slices.extend_from_slice(fresh.slices());
        }
        Some(merged(slices))
    }
}

/// Slices with those of one node put together.
fn merged(mut slices: Vec<Slice>) -> Placement {
    slices.sort_by_key(|slice| slice.node);
    slices.dedup_by(|next, first| {
        let same = next.node == first.node;
        if same {
            first.slots = first.slots.or(next.slots);
        }
        same
    });
    Placement::new(slices.into_iter().collect())
}
