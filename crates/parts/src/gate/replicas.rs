//! As many replicas of each service as its load calls for. The others are held back until they are
//! needed, so that what they would use is there for everybody else.

use crate::serve::{Scale, Wanted};
use heeler_engine::{Door, Gate, Job, Note, View};
use heeler_model::{JobId, Reason, ServiceId, Stop};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a service.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Known {
    wanted: Wanted,
    /// How many replicas it could have.
    most: u32,
}

/// Holds back replicas that are not needed.
#[derive(Clone, Debug)]
pub struct Replicas {
    scale: Scale,
    services: BTreeMap<ServiceId, Known>,
    /// Replicas that have GPUs.
    placed: BTreeSet<JobId>,
}

impl Replicas {
    /// A rule for the number of replicas.
    pub fn new(scale: Scale) -> Replicas {
        Replicas { scale, services: BTreeMap::new(), placed: BTreeSet::new() }
    }

    fn wanted(&self, service: ServiceId) -> u32 {
        self.services.get(&service).map_or(self.scale.least, |known| known.wanted.replicas)
    }

    /// Why a replica may not run, if it may not.
    fn refusal(&self, job: &Job) -> Option<Reason> {
        let replica = job.spec.replica()?;
        let wanted = self.wanted(replica.service);
        (replica.index >= wanted).then_some(Reason::NotNeeded { wanted })
    }
}

struct ReplicasDoor<'a>(&'a Replicas);

impl Door for ReplicasDoor<'_> {
    fn ask(&mut self, job: &Job, _milli: u64) -> Result<(), Reason> {
        self.0.refusal(job).map_or(Ok(()), Err)
    }
    fn entered(&mut self, _job: &Job, _milli: u64) {}
    fn left(&mut self, _job: &Job, _milli: u64) {}
}

impl Gate for Replicas {
    fn open<'a>(&'a self, _view: &View<'a>) -> Box<dyn Door + 'a> {
        Box::new(ReplicasDoor(self))
    }

    fn stops(&self, view: &View) -> Vec<Stop> {
        let stop = |id: &JobId| Some(Stop { job: *id, reason: self.refusal(view.job(*id))? });
        self.placed.iter().filter_map(stop).collect()
    }

    fn class(&self, job: &Job) -> u64 {
        job.spec.replica().map_or(0, |replica| u64::from(replica.service.0) + 1)
    }

    fn observe(&mut self, note: &Note, view: &View) -> bool {
        match note {
            Note::Joined(id) => {
                if let Some(replica) = view.job(*id).spec.replica() {
                    let first = Known { wanted: self.scale.first(), most: 0 };
                    let known = self.services.entry(replica.service).or_insert(first);
                    known.most = known.most.max(replica.index + 1);
                }
                false
            }
            Note::Placed(id) if view.job(*id).spec.replica().is_some() => {
                self.placed.insert(*id);
                false
            }
            Note::Paused(id) | Note::Left(id) => {
                self.placed.remove(id);
                false
            }
            Note::Load { service, load } => {
                let Some(known) = self.services.get_mut(service) else { return false };
                let before = known.wanted.replicas;
                known.wanted = self.scale.next(known.wanted, load, known.most, view.now());
                known.wanted.replicas != before
            }
            _ => false,
        }
    }

    fn save(&self) -> Value {
        serde_json::to_value(&self.services).expect("plain data")
    }

    fn restore(&mut self, saved: &Value, view: &View) -> Result<(), String> {
        let replicas = view.jobs().iter().filter(|job| job.spec.replica().is_some());
        self.placed = replicas.filter(|job| job.is_placed()).map(|job| job.id).collect();
        self.services = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn fork(&self) -> Box<dyn Gate> {
        Box::new(self.clone())
    }
}
