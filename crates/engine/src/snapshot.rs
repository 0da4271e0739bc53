//! The engine as data, for a restart or a bug report. What can be computed from the rest (indexes,
//! queues) is not stored but computed again.

use crate::engine::Engine;
use crate::fleet::Grip;
use crate::rules::Rules;
use crate::state::{Job, State};
use crate::traits::Policy;
use crate::view::{Detail, View};
use heeler_model::{Cluster, Generation, JobId, NodeId, Placement, Reservation, Time, Transition};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An engine as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    now: Time,
    seed: u64,
    rules: Rules,
    pub(crate) cluster: Cluster,
    down: Vec<NodeId>,
    jobs: Vec<Job>,
    /// How many job numbers were used.
    used: u32,
    clearing: BTreeMap<JobId, (Placement, Generation)>,
    held: BTreeMap<JobId, Transition>,
    reservations: Vec<Reservation>,
    #[serde(default)]
    decided: Option<Time>,
    policy: Value,
}

impl Engine {
    /// The engine as data.
    pub fn snapshot(&self) -> Snapshot {
        let state = &self.state;
        let fleet = state.fleet();
        let mut cluster = fleet.cluster().clone();
        for (index, tenant) in cluster.tenants.iter_mut().enumerate() {
            let now = state.tenants.spec(heeler_model::TenantId(index as u16));
            (tenant.quota, tenant.limit) = (now.quota, now.limit);
        }
        let nodes = (0..cluster.nodes.len() as u32).map(NodeId);
        Snapshot {
            now: state.now,
            seed: state.seed,
            rules: state.rules,
            down: nodes.filter(|node| !fleet.is_up(*node)).collect(),
            cluster,
            jobs: state.jobs.iter().cloned().collect(),
            used: state.jobs.used(),
            clearing: state.clearing.jobs().clone(),
            held: state.held.clone(),
            reservations: state.reservations.clone(),
            decided: state.decided,
            policy: self.policy.save(),
        }
    }

    /// The engine that a snapshot was taken of, with a fresh policy of the same recipe.
    pub fn restore(snapshot: Snapshot, mut policy: Box<dyn Policy>) -> Result<Engine, String> {
        let Snapshot { now, seed, rules, cluster, down, jobs, used, .. } = snapshot;
        let mut state = State::new(Arc::new(cluster), rules, seed);
        state.now = now;
        state.clearing = snapshot.clearing.into();
        state.held = snapshot.held;
        state.reservations = snapshot.reservations;
        state.decided = snapshot.decided;
        state.jobs.reserve_numbers(used);
        for mut job in jobs {
            job.demand = state.class_of(&job.spec.demand);
            if let Some(assignment) = &job.assignment {
                let grip = Grip::of(&job.spec.demand, assignment);
                state.fleet.get_mut().claim_all(&assignment.placement, grip);
            }
            state.remember(job);
        }
        for node in down {
            state.set_up(node, false);
        }
        policy.restore(&snapshot.policy, &View::new(&state, Detail::Reached))?;
        Ok(Engine::from_parts(state, policy))
    }
}
