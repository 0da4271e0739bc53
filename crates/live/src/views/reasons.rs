//! Reasons and placements in words.

use crate::live::Live;
use heeler_api::ReasonView;
use heeler_model::{
    Cluster, JobId, KindSet, Naming, Placement, Reason, TenantId, Tier, Time, Words, render,
};
use std::fmt::Write;

/// `n3[0-3] n7[0]`, with nodes by name.
pub(crate) fn placement_text(placement: &Placement, cluster: &Cluster) -> String {
    let mut text = String::new();
    for slice in placement.slices() {
        if !text.is_empty() {
            text.push(' ');
        }
        let one = Placement::on(slice.node, slice.slots).to_string();
        let slots = one.split_once('[').map_or("]", |(_, slots)| slots);
        match cluster.nodes.get(slice.node.index()) {
            Some(node) if slice.slots.is_empty() => text.push_str(&node.name),
            Some(node) => {
                let _ = write!(text, "{}[{slots}", node.name);
            }
            None => text.push_str(&one),
        }
    }
    text
}

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
        placement_text(placement, &self.inventory.cluster)
    }

    /// A reason in words and in numbers.
    pub fn reason_view(&self, reason: &Reason) -> ReasonView {
        let words = self.dated(reason).unwrap_or_else(|| render(reason, self));
        let tier = match reason.tier() {
            Tier::Never => "never",
            Tier::NotAllowed => "not-allowed",
            Tier::Turn => "turn",
        };
        ReasonView {
            name: reason.name().into(),
            tier: tier.into(),
            sentence: words.sentence,
            hint: words.hint,
            data: serde_json::to_value(reason).unwrap_or_default(),
        }
    }

    /// Reasons with times in them. Times count from the journal's beginning, which means nothing to
    /// people, so they are told how long it is until then.
    fn dated(&self, reason: &Reason) -> Option<Words> {
        let left = |until: Time| until.since(self.now);
        let (sentence, hint) = match *reason {
            Reason::NotBefore { until } => {
                (format!("it may not start for another {}", left(until)), None)
            }
            Reason::RoundNotOver { until } => (
                format!("decisions are taken at the end of a round, next in {}", left(until)),
                None,
            ),
            Reason::Protected { holder, until } => (
                format!(
                    "job {} holds a lease on GPUs it could use for another {}",
                    self.job_name(holder.0),
                    left(until)
                ),
                None,
            ),
            Reason::WouldDelay { job, starts, by } => (
                format!(
                    "it would run {by} into the reservation of job {}, which is to start in {}",
                    self.job_name(job.0),
                    left(starts)
                ),
                Some("declare a shorter run time, if it is shorter".into()),
            ),
            Reason::Leased { from, by } => (
                format!(
                    "its deadline is promised {} from now; leases are reserved for it in {}",
                    left(by),
                    left(from)
                ),
                Some("it may start earlier on GPUs that nobody has reserved".into()),
            ),
            Reason::DeadlineNotFeasible { asked, offered } => (
                format!(
                    "its deadline in {} cannot be promised, and GPUs that are left over go to \
                     others",
                    left(asked)
                ),
                offered.map(|at| format!("the earliest that can be promised is in {}", left(at))),
            ),
            Reason::DeadlineLost { asked } => (
                format!(
                    "it cannot end by its deadline in {} any more, so it comes last",
                    left(asked)
                ),
                Some("without a deadline it would be served as best effort".into()),
            ),
            _ => return None,
        };
        Some(Words { sentence, hint })
    }
}
