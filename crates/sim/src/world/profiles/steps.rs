//! How long steps of one model take on one kind of GPU: as measured for a placement and a batch,
//! between batches on a line, and for placements that were not measured between those that were.

use super::between::{Point, Weights, corners};
use crate::workload::{Row, Table, TraceError};
use std::collections::BTreeMap;
use std::path::Path;

/// Seconds of one pass with its exchange, and of the exchange alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTime {
    /// One pass with its exchange.
    pub step_s: f64,
    /// Of that, the exchange.
    pub exchange_s: f64,
}

#[derive(Clone, Copy, Debug)]
struct Measured {
    batch: u32,
    time: StepTime,
}

/// What was measured of a model on a kind of GPU.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// By GPUs of each node, the smallest of all rotations.
    placements: BTreeMap<Vec<u32>, Vec<Measured>>,
    /// By nodes and GPUs, wherever they are.
    scattered: Vec<(u32, u32, Measured)>,
    points: Vec<Point>,
    times: Vec<StepTime>,
    /// The numbers of the points.
    known: BTreeMap<[u32; 3], usize>,
    /// The most nodes over which anything was measured.
    nodes_max: u32,
    /// Which points count at a place, where that was said.
    listed: BTreeMap<[u32; 3], Vec<usize>>,
}

impl Steps {
    /// Read the tables `placements-KIND.csv` and `scalability-KIND.csv` of a folder, or those
    /// without a kind.
    pub fn read(folder: &Path, suffix: &str) -> Result<Steps, TraceError> {
        let mut steps = Steps::default();
        Table::open(&folder.join(format!("placements{suffix}.csv")), ',')?.each(|row| {
            let text = row.text("placement")?;
            let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(10)).collect();
            let digits = digits.filter(|digits| digits.iter().all(|gpus| *gpus > 0));
            let Some(gpus) = digits else {
                let message = format!("expected GPUs of each node as digits, found `{text}`");
                return Err(row.wrong("placement", message));
            };
            let rows = steps.placements.entry(rotated(&gpus)).or_default();
            rows.push(Measured::read(row)?);
            Ok(())
        })?;
        Table::open(&folder.join(format!("scalability{suffix}.csv")), ',')?.each(|row| {
            let (nodes, gpus) = (row.count("num_nodes")?, row.count("num_replicas")?);
            steps.scattered.push((nodes, gpus, Measured::read(row)?));
            Ok(())
        })?;
        for rows in steps.placements.values_mut() {
            rows.sort_by_key(|row| row.batch);
        }
        steps.enter_points();
        Ok(steps)
    }

    /// Means over the placements that count as one point, and what was measured beside.
    fn enter_points(&mut self) {
        let mut sums: BTreeMap<(usize, u32, u32), (f64, f64, f64)> = BTreeMap::new();
        for (gpus, rows) in &self.placements {
            for row in rows {
                let key = (gpus.len(), gpus.iter().sum(), row.batch);
                let sum = sums.entry(key).or_default();
                *sum = (sum.0 + 1.0, sum.1 + row.time.step_s, sum.2 + row.time.exchange_s);
            }
        }
        for ((nodes, gpus, batch), (count, step_s, exchange_s)) in sums {
            self.enter([nodes as u32, gpus, batch]);
            self.times.push(StepTime { step_s: step_s / count, exchange_s: exchange_s / count });
        }
        for (nodes, gpus, row) in self.scattered.clone() {
            self.enter([nodes, gpus, row.batch]);
            self.times.push(row.time);
        }
    }

    fn enter(&mut self, point: [u32; 3]) {
        self.known.entry(point).or_insert(self.points.len());
        self.points.push(point.map(f64::from));
        self.nodes_max = self.nodes_max.max(point[0]);
    }

    /// Seconds of a pass with so many examples on each GPU, given the GPUs of each node. Beyond
    /// what was measured, what was measured next to it; more nodes than were measured are as many
    /// as were.
    pub fn at(&self, gpus: &[u32], batch: u32) -> StepTime {
        if let Some(rows) = self.placements.get(&rotated(gpus)) {
            return on_a_line(rows, batch);
        }
        let place = [(gpus.len() as u32).min(self.nodes_max), gpus.iter().sum(), batch];
        let at = place.map(f64::from);
        let weights = match self.listed.get(&place) {
            Some(listed) => {
                let few: Vec<Point> = listed.iter().map(|index| self.points[*index]).collect();
                let own = |weights: Weights| weights.map(|(few, weight)| (listed[few], weight));
                corners(&few, at).map(own)
            }
            None => corners(&self.points, at),
        };
        match weights {
            Some(corners) => {
                let sum = |part: fn(&StepTime) -> f64| {
                    corners.iter().map(|(index, weight)| part(&self.times[*index]) * weight).sum()
                };
                StepTime {
                    step_s: sum(|time| time.step_s),
                    exchange_s: sum(|time| time.exchange_s),
                }
            }
            None => self.nearest(at),
        }
    }

    /// Say which points count at a place. Says whether all of them were measured.
    pub(super) fn list(&mut self, place: [u32; 3], corners: &[[u32; 3]]) -> bool {
        let found: Option<Vec<usize>> =
            corners.iter().map(|corner| self.known.get(corner).copied()).collect();
        let known = found.filter(|found| !found.is_empty());
        known.map(|found| self.listed.insert(place, found)).is_some()
    }

    fn nearest(&self, at: Point) -> StepTime {
        let far = |point: &Point| (0..3).map(|axis| (point[axis] - at[axis]).powi(2)).sum::<f64>();
        let by_far = |a: &usize, b: &usize| far(&self.points[*a]).total_cmp(&far(&self.points[*b]));
        let nearest = (0..self.points.len()).min_by(by_far);
        nearest.map_or(StepTime { step_s: 1.0, exchange_s: 0.0 }, |index| self.times[index])
    }

    /// Whether anything was measured.
    pub fn is_empty(&self) -> bool {
        self.placements.is_empty()
    }

    /// The fewest and the most examples on one GPU that were measured on some placement.
    pub fn range(&self) -> (u32, u32) {
        let batches = || self.placements.values().flatten().map(|row| row.batch);
        (batches().min().unwrap_or(1), batches().max().unwrap_or(1))
    }

    /// The most examples on one GPU that were measured with those GPUs of each node.
    pub fn most_on(&self, gpus: &[u32]) -> u32 {
        if let Some(rows) = self.placements.get(&rotated(gpus)) {
            return rows.last().map_or(1, |row| row.batch);
        }
        let (nodes, all) = (gpus.len() as u32, gpus.iter().sum());
        let larger = self.scattered.iter().filter(|(n, g, _)| *n >= nodes && *g >= all);
        larger.map(|(_, _, row)| row.batch).max().unwrap_or_else(|| self.range().1)
    }

    /// The most examples on one GPU that were measured with so many GPUs, however they lay.
    pub fn most_with(&self, gpus: u32) -> Option<u32> {
        let same = self.placements.iter().filter(|(placed, _)| placed.iter().sum::<u32>() == gpus);
        same.flat_map(|(_, rows)| rows).map(|row| row.batch).max()
    }

    /// Examples per second on one GPU: the largest batch in the longest time.
    pub fn alone(&self) -> f64 {
        let rows = self.placements.get(&vec![1]).map_or(&[][..], Vec::as_slice);
        let batch = rows.iter().map(|row| row.batch).max().unwrap_or(0);
        let longest = rows.iter().map(|row| row.time.step_s).fold(0.0, f64::max);
        if longest > 0.0 { f64::from(batch) / longest } else { 0.0 }
    }
}

impl Measured {
    fn read(row: &Row<'_>) -> Result<Measured, TraceError> {
        let batch = row.count("local_bsz")?;
        let (step_s, exchange_s) = (row.positive("step_time")?, row.positive("sync_time")?);
        if batch == 0 || step_s <= 0.0 {
            return Err(row.broken("a step has at least one example and takes some time"));
        }
        Ok(Measured { batch, time: StepTime { step_s, exchange_s } })
    }
}

/// GPUs of each node in the smallest of all orders one gets by going round.
fn rotated(gpus: &[u32]) -> Vec<u32> {
    let turn = |start: usize| [&gpus[start..], &gpus[..start]].concat();
    (0..gpus.len()).map(turn).min().unwrap_or_default()
}

/// Between two measurements on the line through them; at the nearer end outside of all.
fn on_a_line(rows: &[Measured], batch: u32) -> StepTime {
    let upper = rows.partition_point(|row| row.batch < batch).min(rows.len() - 1);
    let (low, high) = (&rows[upper.saturating_sub(1)], &rows[upper]);
    if batch >= high.batch || batch <= low.batch || low.batch == high.batch {
        return if batch <= low.batch { low.time } else { high.time };
    }
    let part = f64::from(batch - low.batch) / f64::from(high.batch - low.batch);
    let between = |low: f64, high: f64| low + (high - low) * part;
    StepTime {
        step_s: between(low.time.step_s, high.time.step_s),
        exchange_s: between(low.time.exchange_s, high.time.exchange_s),
    }
}
