//! Among whom something is shared out: tenants, jobs, or studies.

use heeler_engine::{Job, View};
use heeler_model::{JobId, StudyId, TenantId};
use serde::{Deserialize, Serialize};

/// Among whom something is shared out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Among {
    /// Among tenants, by weight.
    #[default]
    Tenants,
    /// Among jobs, whosever they are.
    Jobs,
    /// Among studies; a job that is no trial is for itself.
    Studies,
}

/// One of those among whom something is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Party {
    /// A tenant with all its jobs.
    Tenant(TenantId),
    /// A study with all its trials.
    Study(StudyId),
    /// A job.
    Job(JobId),
}

impl Among {
    /// Which party a job is of.
    pub fn party(self, job: &Job) -> Party {
        match (self, job.spec.study()) {
            (Among::Tenants, _) => Party::Tenant(job.spec.tenant),
            (Among::Studies, Some(study)) => Party::Study(study),
            (Among::Studies | Among::Jobs, _) => Party::Job(job.id),
        }
    }
}

impl Party {
    /// Its part of what is shared out: a tenant's weight, and one for everybody else.
    pub fn weight(self, view: &View) -> i64 {
        match self {
            Party::Tenant(tenant) => i64::from(view.tenants().spec(tenant).weight.max(1)),
            Party::Study(_) | Party::Job(_) => 1,
        }
    }
}
