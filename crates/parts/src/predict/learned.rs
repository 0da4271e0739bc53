//! Predictors that learn from jobs that have ended. What is said of a job is said when it comes,
//! and stays: so that its place in a queue stands still, and nothing that comes later is used.

use super::judged::seen_s;
use heeler_engine::{Job, Note, Predict, View};
use heeler_model::{JobId, JobSpec, Span, TenantId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// By whose earlier jobs a job is judged: its user's or, where no user is known, its tenant's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(u64);

impl Owner {
    /// Whose a job is.
    pub fn of(spec: &JobSpec) -> Owner {
        match spec.user {
            user if user.is_unknown() => Owner(spec.tenant.0.into()),
            // Behind all tenants, so that a number is one or the other.
            user => Owner(u64::from(u16::MAX) + u64::from(user.0)),
        }
    }
}

impl From<TenantId> for Owner {
    fn from(tenant: TenantId) -> Owner {
        Owner(tenant.0.into())
    }
}

/// What is known of a job when it comes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Whose it is.
    #[serde(alias = "tenant")]
    pub owner: Owner,
    /// What it is called, or what it trains; empty, if neither is known.
    pub name: String,
    /// GPUs it asks for.
    pub gpus: u32,
    /// CPU cores beside each GPU, thousandths.
    pub cpu_milli: u32,
    /// Memory of each GPU, MB.
    pub gpu_memory_mb: u32,
    /// What its owner says of how long it runs, seconds; zero, if nothing.
    pub declared_s: f64,
    /// Seconds since the beginning of a week.
    pub week_s: u32,
    /// Its priority.
    pub priority: i32,
}

/// A week, seconds.
const WEEK_S: u64 = 7 * 86_400;

impl Facts {
    /// What is known of a job.
    pub fn of(job: &Job) -> Facts {
        let spec = &job.spec;
        let model = || if spec.model.0 == 0 { String::new() } else { format!("#{}", spec.model) };
        Facts {
            owner: Owner::of(spec),
            name: spec.name().map_or_else(model, ToString::to_string),
            gpus: spec.demand.asked(),
            cpu_milli: spec.demand.cpu_milli,
            gpu_memory_mb: spec.demand.gpu_memory_mb,
            declared_s: spec.declared.map_or(0.0, Span::secs_f64),
            week_s: (job.submitted.micros() / 1_000_000 % WEEK_S) as u32,
            priority: spec.priority,
        }
    }
}

/// Somebody who learns how long jobs run.
pub trait Learner: Clone + Default + Send + Serialize + DeserializeOwned + 'static {
    /// What has to be remembered of a job until it ends, beside the facts.
    type Noted: Clone + Send + Serialize + DeserializeOwned;

    /// How long a job runs, seconds, if there is a way to tell; and what to remember of it.
    fn guess(&self, facts: &Facts) -> (Option<f64>, Self::Noted);

    /// A job has ended that ran so many seconds.
    fn learn(&mut self, facts: &Facts, noted: &Self::Noted, seconds: f64);
}

/// What was said of a job when it came.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Said<N> {
    micros: Option<u64>,
    noted: N,
}

/// A predictor that learns.
pub struct Learned<L: Learner> {
    learner: L,
    said: BTreeMap<JobId, Said<L::Noted>>,
}

/// What is taken where nothing is known and nothing was declared: the same for all.
const UNKNOWN_S: f64 = 3600.0;

impl<L: Learner> Learned<L> {
    /// Somebody who has seen nothing yet.
    pub fn new(learner: L) -> Learned<L> {
        Learned { learner, said: BTreeMap::new() }
    }

    fn say(&self, job: &Job) -> Said<L::Noted> {
        let facts = Facts::of(job);
        let (guess, noted) = self.learner.guess(&facts);
        let sound = guess.filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        let micros = sound.map(|seconds| (seconds.min(1e12) * 1e6).round() as u64);
        Said { micros, noted }
    }
}

impl<L: Learner> Predict for Learned<L> {
    fn work(&self, job: &Job, _view: &View) -> Option<f64> {
        let micros = match self.said.get(&job.id) {
            Some(said) => said.micros,
            None => self.say(job).micros,
        };
        let declared = || job.spec.declared.map(Span::micros);
        let micros = micros.or_else(declared).unwrap_or((UNKNOWN_S * 1e6) as u64);
        Some(micros as f64 * job.spec.nominal_pace)
    }

    fn observe(&mut self, note: &Note, view: &View) {
        match note {
            Note::Joined(id) if !self.said.contains_key(id) => {
                let said = self.say(view.job(*id));
                self.said.insert(*id, said);
            }
            Note::Left(id) => {
                let job = view.job(*id);
                let said = self.said.remove(id);
                if let (Some(said), Some(seconds)) = (said, seen_s(job)) {
                    self.learner.learn(&Facts::of(job), &said.noted, seconds);
                }
            }
            _ => {}
        }
    }

    fn save(&self) -> Value {
        json!({ "learner": self.learner, "said": self.said })
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        let wrong = |error: serde_json::Error| error.to_string();
        self.learner = serde_json::from_value(saved["learner"].clone()).map_err(wrong)?;
        self.said = serde_json::from_value(saved["said"].clone()).map_err(wrong)?;
        Ok(())
    }

    fn fork(&self) -> Box<dyn Predict> {
        Box::new(Learned { learner: self.learner.clone(), said: self.said.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::{Demand, UserId};

    #[test]
    fn users_are_told_apart_within_a_tenant_and_known_in_all() {
        let owner = |tenant, user| {
            let mut spec = JobSpec::new(Demand::gpus(1));
            (spec.tenant, spec.user) = (TenantId(tenant), UserId(user));
            Owner::of(&spec)
        };
        assert_ne!(owner(1, 1), owner(1, 2));
        assert_eq!(owner(1, 1), owner(2, 1));
        assert_eq!(owner(1, 0), TenantId(1).into(), "nobody is known but the tenant");
        assert_ne!(owner(u16::MAX, 0), owner(0, 1));
    }

    #[test]
    fn what_was_saved_before_users_were_known_is_read() {
        let facts: Facts = serde_json::from_value(json!({
            "tenant": 3, "name": "n", "gpus": 1, "cpu_milli": 0, "gpu_memory_mb": 0,
            "declared_s": 0.0, "week_s": 0, "priority": 0
        }))
        .expect("facts");
        assert_eq!(facts.owner, TenantId(3).into());
    }
}
