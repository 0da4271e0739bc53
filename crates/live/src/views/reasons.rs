//! Reasons and placements in words.

use crate::live::Live;
use heeler_api::ReasonView;
use heeler_model::{
    JobId, KindSet, Naming, Placement, Reason, SECOND_US, TenantId, Time, universal_time,
};

impl Naming for Live {
    fn job(&self, job: JobId) -> String {
        self.job_name(job.0)
    }

    fn tenant(&self, tenant: TenantId) -> String {
        self.people.name(tenant).into()
    }

    fn kinds(&self, kinds: KindSet) -> String {
        let known = &self.inventory.cluster.kinds;
        let names: Vec<&str> =
            kinds.iter(known.len()).map(|kind| known[kind.index()].name.as_str()).collect();
        names.join(" or ")
    }

    fn time(&self, at: Time) -> String {
        universal_time(self.epoch() + at.micros() / SECOND_US)
    }
}

impl Live {
    /// A job's number as people write it: `17`, or `17_3` for a task of an array.
    pub fn job_name(&self, job: u32) -> String {
        match self.jobs.get(job).and_then(|found| found.task.map(|task| (found.head, task))) {
            Some((array, task)) => format!("{array}_{task}"),
            None => job.to_string(),
        }
    }

    /// Where GPUs are, with nodes by name: `n3[0-3]`.
    pub fn place_name(&self, placement: &Placement) -> String {
        self.inventory.cluster.place_name(placement)
    }

    /// A reason in words and in numbers.
    pub fn reason_view(&self, reason: &Reason) -> ReasonView {
        ReasonView::of(reason, self)
    }
}
