//! What changed about a job, for event streams and metrics.

use crate::job::Job;
use crate::tenants::People;
use heeler_api::JobState;
use heeler_model::{Cluster, Time};
use serde::{Deserialize, Serialize};

/// A job is doing something else than before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Change {
    /// When.
    pub at: Time,
    /// The job.
    pub job: u32,
    /// What people call it.
    pub name: String,
    /// Who handed it in.
    pub user: String,
    /// Whose quota it uses.
    pub tenant: String,
    /// What it does now.
    pub state: JobState,
    /// Where it runs.
    pub on: Option<String>,
    /// Seconds since it was handed in.
    pub age_s: f64,
    /// Seconds from being handed in until it first had GPUs.
    pub waited_s: Option<f64>,
}

impl Change {
    pub(crate) fn of(job: &Job, at: Time, people: &People, cluster: &Cluster) -> Change {
        let waited = job.first_started.map(|first| first.since(job.submitted).secs_f64());
        let on =
            job.attempt.as_ref().map(|attempt| cluster.place_name(&attempt.assignment.placement));
        Change {
            at,
            job: job.id,
            name: job.submission.name.clone(),
            user: job.user.clone(),
            tenant: people.name(job.tenant).into(),
            state: job.state(),
            on,
            age_s: at.since(job.submitted).secs_f64(),
            waited_s: waited,
        }
    }
}
