//! Measured rates, and curves between them.

use crate::workload::{Names, Table, TraceError};
use heeler_model::{Cluster, KindId, ModelId};
use std::collections::BTreeMap;
use std::path::Path;

/// A measured rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Measured {
    gpus: u32,
    nodes: u32,
    rate: f64,
}

/// Measured rates by model and kind, in any unit: only how they compare counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaceTable {
    rows: BTreeMap<(ModelId, KindId), Vec<Measured>>,
}

impl PaceTable {
    /// Read a table with the columns `model`, `kind`, `gpus`, `rate` and perhaps `nodes`. Kinds
    /// that the cluster does not have count only where the best is asked for. It is a mistake if no
    /// row is of a model and a kind that occur.
    pub fn read(path: &Path, models: &Names, cluster: &Cluster) -> Result<PaceTable, TraceError> {
        let file = Table::open(path, ',')?;
        file.header().must_have(&["model", "kind", "gpus", "rate"])?;
        let mut table = PaceTable::default();
        let mut elsewhere = Names::default();
        let mut occurs = false;
        file.each(|row| {
            let above_zero = |field: &str, count: u32| match count {
                0 => Err(row.wrong(field, "expected a number above zero, found 0")),
                count => Ok(count),
            };
            let gpus = above_zero("gpus", row.count("gpus")?)?;
            let nodes = above_zero("nodes", row.maybe_count("nodes")?.unwrap_or(1))?;
            let rate = row.positive("rate")?;
            let model = models.find(row.text("model")?).map(|index| ModelId(index as u16));
            let name = row.text("kind")?;
            let kind = cluster.kinds.iter().position(|kind| kind.name == name);
            occurs |= model.is_some() && kind.is_some();
            // Numbers of kinds of the cluster count up from zero, the others down from the last.
            let kind = kind.unwrap_or_else(|| usize::from(u8::MAX) - elsewhere.number(name) % 128);
            if let Some(model) = model {
                table.insert(model, KindId(kind as u8), gpus, nodes, rate);
            }
            Ok(())
        })?;
        match occurs {
            false => Err(TraceError::file(path, "has no row for a model and kind that occur here")
                .hint("models are those of the trace, kinds those of the cluster")),
            true => Ok(table),
        }
    }

    /// Enter a measurement.
    pub fn insert(&mut self, model: ModelId, kind: KindId, gpus: u32, nodes: u32, rate: f64) {
        self.rows.entry((model, kind)).or_default().push(Measured { gpus, nodes, rate });
    }

    /// How fast a model is on some GPUs, relative to how it would be at the size it asked for on
    /// the kind that suits it best.
    pub fn speed(
        &self,
        model: ModelId,
        kind: KindId,
        gpus: u32,
        nodes: u32,
        asked: u32,
    ) -> Option<f64> {
        let of_model = self.rows.range((model, KindId(0))..=(model, KindId(u8::MAX)));
        let best = of_model.filter_map(|((_, kind), rows)| {
            let as_asked = rows.iter().filter(|row| row.gpus == asked).map(|row| row.rate);
            as_asked.reduce(f64::max).or_else(|| self.rate(model, *kind, asked, 1))
        });
        Some(self.rate(model, kind, gpus, nodes)? / best.reduce(f64::max).filter(|b| *b > 0.0)?)
    }

    /// The rate of a model: as measured, or by a curve through what was.
    fn rate(&self, model: ModelId, kind: KindId, gpus: u32, nodes: u32) -> Option<f64> {
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
