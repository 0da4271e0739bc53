//! The whole state as data, and back.

use crate::accounts::Accounts;
use crate::job::Alarm;
use crate::live::Live;
use crate::nodes::NodeState;
use crate::recipe::InCharge;
use crate::store::{Jobs, SavedJobs};
use crate::tenants::People;
use heeler_backend::Inventory;
use heeler_engine::{Engine, Snapshot};
use heeler_model::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The version of what is saved.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Saved {
    version: u32,
    epoch: u64,
    now: Time,
    inventory: Inventory,
    engine: Snapshot,
    recipe: InCharge,
    people: People,
    nodes: Vec<NodeState>,
    jobs: SavedJobs,
    model_numbers: BTreeMap<String, u16>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    user_numbers: BTreeMap<String, u32>,
    paces: Vec<((u16, u32), f64)>,
    accounts: Accounts,
    digest: u64,
    decisions: u64,
}

/// What is read first.
#[derive(Deserialize)]
struct Version {
    version: u64,
}

fn of_this_version(version: Option<u64>) -> Result<(), String> {
    match version {
        Some(version) if version == u64::from(VERSION) => Ok(()),
        Some(version) => {
            Err(format!("this was saved in version {version}, and {VERSION} is known"))
        }
        None => Err("this has no version".into()),
    }
}

impl Live {
    /// The whole state as data. To be called after a decision, before the next record.
    pub fn save(&self) -> Value {
        serde_json::to_value(self.saved()).expect("the state is plain data with string keys")
    }

    /// The same as JSON text, which takes a fraction of the time.
    pub fn save_text(&self) -> Vec<u8> {
        serde_json::to_vec(&self.saved()).expect("the state is plain data with string keys")
    }

    fn saved(&self) -> Saved {
        Saved {
            version: VERSION,
            epoch: self.epoch,
            now: self.now,
            inventory: self.inventory.clone(),
            engine: self.engine.snapshot(),
            recipe: self.recipe.clone(),
            people: self.people.clone(),
            nodes: self.nodes.clone(),
            jobs: self.jobs.save(),
            model_numbers: self.model_numbers.clone(),
            user_numbers: self.user_numbers.clone(),
            paces: self.paces.iter().map(|(key, pace)| (*key, *pace)).collect(),
            accounts: self.accounts.clone(),
            digest: self.digest,
            decisions: self.decisions,
        }
    }

    /// The state that was saved.
    pub fn load(saved: Value) -> Result<Live, String> {
        let version = saved.get("version").and_then(Value::as_u64);
        of_this_version(version)?;
        Live::loaded(serde_json::from_value(saved).map_err(|error| error.to_string())?)
    }

    /// The state that was saved as JSON text.
    pub fn load_text(saved: &[u8]) -> Result<Live, String> {
        let version: Version = serde_json::from_slice(saved).map_err(|error| error.to_string())?;
        of_this_version(Some(version.version))?;
        Live::loaded(serde_json::from_slice(saved).map_err(|error| error.to_string())?)
    }

    fn loaded(saved: Saved) -> Result<Live, String> {
        let policy = saved.recipe.build().map_err(|problem| problem.message)?;
        let engine = Engine::restore(saved.engine, policy)?;
        let jobs = Jobs::load(saved.jobs)?;
        let mut alarms: BTreeSet<(Time, u32, Alarm)> = BTreeSet::new();
        for job in jobs.all_live() {
            alarms.extend(job.alarms.iter().map(|(at, alarm)| (*at, job.id, *alarm)));
        }
        Ok(Live {
            epoch: saved.epoch,
            now: saved.now,
            seen: saved.now,
            inventory: saved.inventory,
            engine,
            outgrown: false,
            recipe: saved.recipe,
            people: saved.people,
            nodes: saved.nodes,
            jobs,
            model_numbers: saved.model_numbers,
            user_numbers: saved.user_numbers,
            alarms,
            accounts: saved.accounts,
            paces: saved.paces.into_iter().collect(),
            outbox: Vec::new(),
            changes: VecDeque::new(),
            digest: saved.digest,
            decisions: saved.decisions,
        })
    }
}
