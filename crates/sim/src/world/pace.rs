//! How fast a job runs on what it is given, in layers: a measured rate if there is one, a curve
//! fitted to measurements of the same model if there are some, otherwise the nominal pace scaled by
//! kind, size and spread. CPUs and memory that differ from what was asked for make it faster or
//! slower, where a profile says so.

use super::PaceTable;
use heeler_model::{Assignment, Cluster, JobSpec, Milli};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How fast jobs run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PaceModel {
    /// Pace grows with GPUs to this power, where nothing was measured.
    pub scaling: f64,
    /// Pace of a job on more nodes than it needs, relative to one on as few as possible.
    pub spread: f64,
    /// The same for jobs of which one tensor dominates.
    pub spread_skewed: f64,
    /// Pace of a job on more racks than one, relative to one rack.
    pub across_racks: f64,
    /// Measured rates.
    #[serde(skip)]
    pub table: Option<Arc<PaceTable>>,
}

impl Default for PaceModel {
    fn default() -> PaceModel {
        PaceModel { scaling: 1.0, spread: 1.0, spread_skewed: 1.0, across_racks: 1.0, table: None }
    }
}

impl PaceModel {
    /// Units of work per microsecond.
    pub fn pace(&self, spec: &JobSpec, on: &Assignment, cluster: &Cluster) -> f64 {
        let fed = spec.appetite().zip(on.portion).map(|(appetite, with)| appetite.pace(with));
        self.as_asked(spec, on, cluster) * fed.unwrap_or(1.0)
    }

    /// The same with the CPUs and the memory that it asked for.
    fn as_asked(&self, spec: &JobSpec, on: &Assignment, cluster: &Cluster) -> f64 {
        let Some(first) = on.placement.slices().first() else { return spec.nominal_pace };
        let kind = cluster.nodes[first.node.index()].kind;
        let gpus = on.gpus();
        let asked = spec.demand.asked();
        let size = match gpus == asked || asked == 0 {
            true => 1.0,
            false => (f64::from(gpus) / f64::from(asked)).powf(self.scaling),
        };
        if let Some(rate) = spec.rates().get(kind.index()) {
            return rate / 1e6 * size * self.spread_factor(spec, on, cluster);
        }
        let nodes = on.placement.nodes() as u32;
        if let Some(table) = &self.table
            && let Some(speed) = table.speed(spec.model, kind, gpus, nodes, asked)
        {
            return spec.nominal_pace * speed;
        }
        let speed = cluster.kinds[kind.index()].speed;
        let speed = if speed == Milli::WHOLE { 1.0 } else { f64::from(speed.0) / 1000.0 };
        spec.nominal_pace * speed * size * self.spread_factor(spec, on, cluster)
    }

    fn spread_factor(&self, spec: &JobSpec, on: &Assignment, cluster: &Cluster) -> f64 {
        let factor = if spec.skewed { self.spread_skewed } else { self.spread };
        let slices = on.placement.slices();
        if slices.len() <= 1 || (factor == 1.0 && self.across_racks == 1.0) {
            return 1.0;
        }
        let node = |index: usize| &cluster.nodes[slices[index].node.index()];
        let largest = (0..slices.len()).map(|index| node(index).gpus).max().unwrap_or(1);
        let needed = on.gpus().div_ceil(largest.max(1)) as usize;
        let spread = if slices.len() > needed { factor } else { 1.0 };
        let racks = (1..slices.len()).any(|index| node(index).rack != node(0).rack);
        spread * if racks { self.across_racks } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::{Demand, KindId, ModelId, NodeId, Placement, Slice, Slots};
    use smallvec::smallvec;

    fn on(nodes: &[(u32, u32)]) -> Assignment {
        let slice =
            |(node, gpus): &(u32, u32)| Slice { node: NodeId(*node), slots: Slots::first(*gpus) };
        let mut slices = smallvec![];
        slices.extend(nodes.iter().map(slice));
        Assignment::whole(Placement::new(slices))
    }

    #[test]
    fn layers_are_asked_in_turn() {
        let cluster = Cluster::uniform(4, 8);
        let mut spec = JobSpec::new(Demand::gpus(4));
        let mut model = PaceModel { scaling: 0.5, spread: 0.8, ..PaceModel::default() };
        let pace =
            |model: &PaceModel, spec: &JobSpec, on: &Assignment| model.pace(spec, on, &cluster);
        assert_eq!(pace(&model, &spec, &on(&[(0, 4)])), 1.0, "nominal");
        assert_eq!(
            pace(&model, &spec, &on(&[(0, 1)])),
            0.5,
            "a quarter of the GPUs, to the power ½"
        );
        assert_eq!(pace(&model, &spec, &on(&[(0, 2), (1, 2)])), 0.8, "spread");
        let mut table = PaceTable::default();
        table.insert(ModelId(0), KindId(0), 1, 1, 10.0);
        table.insert(ModelId(0), KindId(0), 4, 1, 20.0);
        model.table = Some(Arc::new(table));
        assert_eq!(pace(&model, &spec, &on(&[(0, 4)])), 1.0, "measured, as it asked to run");
        assert_eq!(pace(&model, &spec, &on(&[(0, 1)])), 0.5, "measured");
        let fitted = pace(&model, &spec, &on(&[(0, 2)]));
        assert!((fitted - 0.5f64.sqrt()).abs() < 1e-9, "on the curve between: {fitted}");
        assert_eq!(pace(&model, &spec, &on(&[(0, 2), (1, 2)])), 0.8, "not measured across nodes");
        spec.extras_mut().rates = vec![7.0];
        assert_eq!(pace(&model, &spec, &on(&[(0, 4)])), 7.0 / 1e6, "the job's own measurement");
    }
}
