//! How training of one model goes with each batch size: progress and gradient statistics epoch by
//! epoch, and between batch sizes on a line.

use crate::workload::{Table, TraceError};
use heeler_solve::goodput::Noise;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, Copy, Debug)]
struct Epoch {
    progress: f64,
    iteration: f64,
    noise: Noise,
}

/// How training goes.
#[derive(Clone, Debug, Default)]
pub struct Curves {
    by_batch: BTreeMap<u32, Vec<Epoch>>,
    /// Progress at the end of each epoch: the least of all batch sizes.
    ends: Vec<f64>,
}

impl Curves {
    /// Read the tables `validation-BATCH.csv` of a folder, of which so many epochs count; as many
    /// as all of them have, if not given.
    pub fn read(folder: &Path, epochs: Option<usize>) -> Result<Curves, TraceError> {
        let mut curves = Curves::default();
        for path in files(folder)? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let batch = name.strip_prefix("validation-").and_then(|batch| batch.parse().ok());
            let Some(batch) = batch.filter(|batch| *batch > 0) else {
                return Err(TraceError::file(&path, "is not named after a batch size")
                    .hint("call it such as `validation-128.csv`"));
            };
            let mut epochs = Vec::new();
            Table::open(&path, ',')?.each(|row| {
                let square = row.positive("grad_sqr")?;
                let noise = Noise { square, variance: row.positive("grad_var")? };
                let (progress, iteration) = (row.positive("progress")?, row.positive("iteration")?);
                epochs.push(Epoch { progress, iteration, noise });
                Ok(())
            })?;
            curves.by_batch.insert(batch, epochs);
        }
        let fewest = curves.by_batch.values().map(Vec::len).min().unwrap_or(0);
        let epochs = epochs.unwrap_or(fewest);
        if fewest < epochs || epochs == 0 {
            let message =
                format!("has {fewest} epochs for some batch size, {} needed", epochs.max(1));
            return Err(TraceError::file(folder, message).hint(
                "look at its tables `validation-BATCH.csv`, or set fewer epochs in the world",
            ));
        }
        let end = |epoch: usize| {
            let all = curves.by_batch.values().map(|epochs| epochs[epoch].progress);
            all.fold(f64::INFINITY, f64::min)
        };
        curves.ends = (0..epochs).map(end).collect();
        Ok(curves)
    }

    /// The smallest and the largest batch size.
    pub fn range(&self) -> (u32, u32) {
        let first = self.by_batch.keys().next().copied().unwrap_or(1);
        (first, self.by_batch.keys().next_back().copied().unwrap_or(1))
    }

    /// All the work, in steps of the smallest batch.
    pub fn work(&self) -> f64 {
        self.ends.last().copied().unwrap_or(0.0)
    }

    /// Progress at the end of each epoch.
    pub fn ends(&self) -> &[f64] {
        &self.ends
    }

    /// Iterations by the end of each epoch with one batch all the time.
    pub fn iterations_by_epoch(&self, batch: u32) -> Vec<f64> {
        (0..self.ends.len()).map(|epoch| self.between(batch, |all| all[epoch].iteration)).collect()
    }

    /// Progress at which the epoch ends in which a job is that has made so much.
    pub fn end_after(&self, done: f64) -> f64 {
        self.ends.get(self.epoch(done)).copied().unwrap_or_else(|| self.work())
    }

    /// The epoch in which a job is that has made so much progress.
    fn epoch(&self, done: f64) -> usize {
        self.ends.partition_point(|end| *end <= done).min(self.ends.len().saturating_sub(1))
    }

    /// How noisy gradients are with a batch, after so much progress.
    pub fn noise(&self, batch: u32, done: f64) -> Noise {
        let epoch = self.epoch(done);
        let square = self.between(batch, |epochs| epochs[epoch].noise.square);
        Noise { square, variance: self.between(batch, |epochs| epochs[epoch].noise.variance) }
    }

    /// Iterations until all is done with one batch all the time.
    pub fn iterations(&self, batch: u32) -> f64 {
        let last = self.ends.len().saturating_sub(1);
        self.between(batch, |epochs| epochs[last].iteration)
    }

    fn between(&self, batch: u32, value: impl Fn(&[Epoch]) -> f64) -> f64 {
        let below = self.by_batch.range(..=batch).next_back();
        let above = self.by_batch.range(batch..).next();
        match (below, above) {
            (Some((low, before)), Some((high, after))) if low < high => {
                // In this form as it was published, so that the last digit is the same.
                let (up, down) = (f64::from(batch - low), f64::from(high - batch));
                (up * value(after) + down * value(before)) / f64::from(high - low)
            }
            (Some((_, epochs)), _) | (None, Some((_, epochs))) => value(epochs),
            (None, None) => 0.0,
        }
    }
}

/// The tables of a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>, TraceError> {
    let unreadable = |error: std::io::Error| {
        TraceError::file(folder, format!("cannot be read: {error}")).hint("check the path")
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("validation-") && name.ends_with(".csv") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
