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
        let running = pipe.queue.running_last_first(self.now(), |group| !group.fixed);
        let mut ids: Vec<JobId> = running.map(|rank| rank.job).collect();
        ids.reverse();
        ids.retain(|id| !self.planned.contains_key(id));
        ids.extend(self.plan.run.iter().map(|run| run.job));
        for id in ids {
            let job = self.view.state().job(id);
            let planned = self.plan.run.iter().position(|run| run.job == id);
            let on = match planned {
                Some(index) => self.plan.run[index].assignment.clone(),
                None => job.assignment.clone().expect("a running job is placed"),
            };
            let fixed = self.is_leased(job) || !self.draft.are_up(&on.placement);
            let free = self.draft.free_of(job.spec.demand.kinds);
            let mut size = resize.grow(job, on.gpus(), free, self.view).filter(|_| !fixed);
            while let Some(gpus) = size.filter(|gpus| *gpus > on.gpus()) {
                let more = i64::from(gpus - on.gpus()) * i64::from(on.share.0);
                let door = self.door.as_mut().map(|door| door.ask(job, more as u64).is_ok());
                let allowed = self.within_limits(job, more).is_ok() && door.unwrap_or(true);
                let grown = allowed.then(|| self.extended(&on.placement, job, gpus)).flatten();
                let Some(placement) = grown else {
                    size = job.spec.demand.sizes.largest_up_to(gpus - 1);
                    continue;
                };
                self.count(job, more);
                if let Some(door) = &mut self.door {
                    door.entered(job, more as u64);
                }
                let assignment = Assignment { placement, ..on.clone() };
                match planned {
                    Some(index) => self.plan.run[index].assignment = assignment,
                    None => self.plan.run.push(Run { job: id, assignment, lease: None }),
                }
                break;
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
            if take == 0 {
                continue;
            }
            let more = Slice { node: slice.node, slots: self.draft.slots_for(slice.node, take) };
            self.draft.claim(&Placement::on(more.node, more.slots), grip);
            slice.slots = slice.slots.or(more.slots);
            extra -= more.slots.count();
        }
        if extra > 0 {
            let mut want = Want { gpus: extra, ..Want::as_asked(job) };
            let kind = self.draft.kind_of(old.slices().first()?.node);
            want.demand.kinds = heeler_model::KindSet::only(kind);
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
