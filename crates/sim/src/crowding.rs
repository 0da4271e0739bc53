//! Training jobs that are in each other's way on the network: where a world says so, a job on
//! several nodes is slower while another such job is on one of them. Who is, is looked at when a
//! decision has been taken, and stays so until the next one.

use crate::simulation::Simulation;
use heeler_model::{JobId, NodeId};
use std::collections::BTreeMap;

impl Simulation {
    /// Look again who is in whose way.
    pub(crate) fn look_for_crowds(&mut self) {
        let profiles = self.world.profiles.as_ref();
        if profiles.is_none_or(|profiles| profiles.settings().interference <= 0.0) {
            return;
        }
        let crowded = self.crowded();
        let changed = |(job, now): &(JobId, bool)| self.trainees[job].crowded != *now;
        for (job, now) in crowded.into_iter().filter(changed).collect::<Vec<_>>() {
            self.trainees.get_mut(&job).expect("looked at above").crowded = now;
            if self.engine.state().job(job).is_placed() {
                let record = &mut self.records[job];
                record.useful_milli += record.useful_since_start(self.now);
                record.done = record.done_at(self.now);
                let progress = self.stretch(job);
                self.engine.observe(self.now, progress);
            }
        }
    }

    /// Every training job, and whether another is in its way.
    fn crowded(&self) -> Vec<(JobId, bool)> {
        let spread = |job: &JobId| {
            let on = self.engine.state().job(*job).assignment.as_ref();
            let slices = on.map_or(&[][..], |on| on.placement.slices());
            slices.iter().map(|slice| slice.node).filter(|_| slices.len() > 1).collect()
        };
        let jobs: Vec<(JobId, Vec<NodeId>)> =
            self.trainees.keys().map(|job| (*job, spread(job))).collect();
        let mut on_node: BTreeMap<NodeId, u32> = BTreeMap::new();
        for node in jobs.iter().flat_map(|(_, nodes)| nodes) {
            *on_node.entry(*node).or_default() += 1;
        }
        let crowded = |nodes: &[NodeId]| nodes.iter().any(|node| on_node[node] > 1);
        jobs.iter().map(|(job, nodes)| (*job, crowded(nodes))).collect()
    }
}
