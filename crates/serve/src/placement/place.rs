//! How models come to groups. AlpaServe's greedy rule simulates the plan so far, and gives the
//! group with the fewest requests a replica of the model with the most requests unserved, until
//! nothing fits any more. Around it is a search over sizes of groups.

use super::{Call, Outcome, Plan, Setup, simulate};
use std::cmp::Reverse;

/// What is left of the memory of each group.
struct Room<'a> {
    setup: &'a Setup,
    left_mb: Vec<u64>,
}

impl Room<'_> {
    fn new<'a>(setup: &'a Setup, plan: &Plan) -> Room<'a> {
        let mut room = Room { setup, left_mb: vec![setup.memory_mb; plan.groups.len()] };
        for (number, group) in plan.groups.iter().enumerate() {
            for model in &group.models {
                room.left_mb[number] -= room.needs(plan, number, *model).unwrap_or(0);
            }
        }
        room
    }

    /// Memory that a model takes on each GPU of a group, if it can be cut for it.
    fn needs(&self, plan: &Plan, group: usize, model: u32) -> Option<u64> {
        let cut = self.setup.models[model as usize].cut(plan.groups[group].gpus)?;
        Some(cut.memory_mb)
    }

    /// Put a replica on a group, if there is none and it fits.
    fn put(&mut self, plan: &mut Plan, group: usize, model: u32) -> bool {
        let fits = self.needs(plan, group, model).filter(|mb| *mb <= self.left_mb[group]);
        let Some(mb) = fits.filter(|_| !plan.groups[group].models.contains(&model)) else {
            return false;
        };
        self.left_mb[group] -= mb;
        plan.groups[group].models.push(model);
        true
    }
}

/// Models in turn on groups in turn, until nothing fits.
pub fn round_robin(setup: &Setup, mut plan: Plan) -> Plan {
    let mut room = Room::new(setup, &plan);
    let (mut group, mut found) = (0, !plan.groups.is_empty());
    while found {
        found = false;
        for model in 0..setup.models.len() as u32 {
            if room.put(&mut plan, group, model) {
                found = true;
                group = (group + 1) % plan.groups.len();
            }
        }
    }
    plan
}

/// Replicas where they are missed most, by simulation on a trace, until nothing fits.
pub fn greedy(setup: &Setup, mut plan: Plan, calls: &[Call]) -> Plan {
    let mut room = Room::new(setup, &plan);
    loop {
        let outcome = simulate(setup, &plan, calls, 0..calls.len());
        if !put_best(setup, &mut plan, &mut room, &outcome) {
            return plan;
        }
    }
}

fn put_best(setup: &Setup, plan: &mut Plan, room: &mut Room<'_>, outcome: &Outcome) -> bool {
    let mut models: Vec<u32> = (0..setup.models.len() as u32).collect();
    let unserved = |model: &u32| outcome.asked[*model as usize] - outcome.good[*model as usize];
    models.sort_by_key(|model| Reverse(unserved(model)));
    let mut groups: Vec<usize> = (0..plan.groups.len()).collect();
    groups.sort_by_key(|group| outcome.sent[*group]);
    groups.into_iter().any(|group| models.iter().any(|model| room.put(plan, group, *model)))
}

/// Every GPU for itself: models are replicated and never cut.
pub fn replicate(setup: &Setup, calls: &[Call]) -> Plan {
    greedy(setup, Plan::empty(setup.gpus, 1), calls)
}

/// The best of greedy plans with groups of one, two, four … GPUs.
pub fn search(setup: &Setup, calls: &[Call]) -> Plan {
    let sizes = (0..32).map(|power| 1 << power).take_while(|size| *size <= setup.gpus);
    let mut best = (f64::NEG_INFINITY, Plan::default());
    for size in sizes {
        let plan = greedy(setup, Plan::empty(setup.gpus, size), calls);
        let score = simulate(setup, &plan, calls, 0..calls.len()).score(&plan);
        if score > best.0 {
            best = (score, plan);
        }
    }
    best.1
}
