//! How fast a job runs on what it is given, in layers: a measured rate if there is one, a curve
//! fitted to measurements of the same model if there are some, otherwise the nominal pace scaled by
//! kind, size and spread.

use heeler_model::{Assignment, Cluster, JobSpec, KindId, Milli, ModelId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
            && let Some(rate) = table.rate(spec.model, kind, gpus, nodes)
        {
            return rate / 1e6;
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

/// A measured rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Measured {
    gpus: u32,
    nodes: u32,
    rate: f64,
}

/// Measured rates by model and kind, units of work per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaceTable {
    rows: BTreeMap<(ModelId, KindId), Vec<Measured>>,
}

impl PaceTable {
    /// Enter a measurement.
    pub fn insert(&mut self, model: ModelId, kind: KindId, gpus: u32, nodes: u32, rate: f64) {
        self.rows.entry((model, kind)).or_default().push(Measured { gpus, nodes, rate });
    }

    /// The rate of a model: as measured, or by a curve through what was.
    pub fn rate(&self, model: ModelId, kind: KindId, gpus: u32, nodes: u32) -> Option<f64> {
        let rows = self.rows.get(&(model, kind))?;
        let exact = rows.iter().find(|row| row.gpus == gpus && row.nodes == nodes);
        if let Some(row) = exact {
            return Some(row.rate);
        }
        // On one node the network does not count; fit each side from its own measurements.
        let same_side = |row: &&Measured| (row.nodes > 1) == (nodes > 1) && row.rate > 0.0;
        let points: Vec<(f64, f64)> = rows
            .iter()
            .filter(same_side)
            .map(|row| (f64::from(row.gpus).ln(), row.rate.ln()))
            .collect();
        let (intercept, slope) = fit_line(&points)?;
        Some((intercept + slope * f64::from(gpus.max(1)).ln()).exp())
    }
}

/// The straight line closest to some points, by least squares. Through a single point it has the
/// slope one: twice the GPUs, twice the rate.
fn fit_line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let together: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let slope = if spread > 0.0 { together / spread } else { 1.0 };
    (!points.is_empty()).then_some((mean_y - slope * mean_x, slope))
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::{Demand, NodeId, Placement, Slice, Slots};
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
        assert_eq!(pace(&model, &spec, &on(&[(0, 4)])), 20.0 / 1e6, "measured");
        let fitted = pace(&model, &spec, &on(&[(0, 2)])) * 1e6;
        assert!((fitted - 200f64.sqrt()).abs() < 1e-9, "on the curve between: {fitted}");
        assert_eq!(pace(&model, &spec, &on(&[(0, 2), (1, 2)])), 0.8, "not measured across nodes");
        spec.extras_mut().rates = vec![7.0];
        assert_eq!(pace(&model, &spec, &on(&[(0, 4)])), 7.0 / 1e6, "the job's own measurement");
    }
}
