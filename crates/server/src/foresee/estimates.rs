//! How good past estimates were. The first estimate that somebody was given for a job is remembered
//! until the job starts, and then compared with when it did. Kept in a small file of its own: what
//! is lost with it changes no decision.

use heeler_api::{Calibration, Forecast};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::path::Path;

/// Estimates that wait to come true; older jobs' go first.
const OPEN_MAX: usize = 10_000;
/// Whoever starts so much earlier or later than was said, seconds, starts when it was said.
const MOMENT_S: f64 = 1.0;
/// Estimates that have come true or not and still count.
const SCORED_MAX: usize = 1_000;

/// Estimates and what became of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Estimates {
    open: BTreeMap<u32, Given>,
    scored: VecDeque<Scored>,
    /// Whether something changed since it was saved.
    #[serde(skip)]
    changed: bool,
}

/// An estimate, seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Given {
    starts: f64,
    between: (f64, f64),
}

/// How good an estimate was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Scored {
    within: bool,
    off_s: f64,
}

/// Estimates cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: past estimates cannot be {done}: {why}")]
pub struct EstimatesError {
    path: String,
    done: &'static str,
    why: String,
}

impl Estimates {
    /// Remember what somebody is told, and tell how good such estimates were.
    pub fn give(&mut self, forecast: &mut Forecast) {
        forecast.calibration = self.calibration();
        let (Some(starts), Some(between)) = (forecast.starts, forecast.between) else { return };
        if forecast.job == 0 || self.open.contains_key(&forecast.job) {
            return;
        }
        self.open.insert(forecast.job, Given { starts, between });
        if self.open.len() > OPEN_MAX {
            self.open.pop_first();
        }
        self.changed = true;
    }

    /// A job has started, so many seconds after 1970.
    pub fn started(&mut self, job: u32, at: f64) {
        let Some(given) = self.open.remove(&job) else { return };
        // To start a job takes a moment, which nobody holds against what was said.
        let within = (given.between.0 - MOMENT_S..=given.between.1 + MOMENT_S).contains(&at);
        self.scored.push_back(Scored { within, off_s: (at - given.starts).abs() });
        if self.scored.len() > SCORED_MAX {
            self.scored.pop_front();
        }
        self.changed = true;
    }

    /// A job will not start: it was taken back.
    pub fn dropped(&mut self, job: u32) {
        self.changed |= self.open.remove(&job).is_some();
    }

    /// How good estimates were.
    pub fn calibration(&self) -> Calibration {
        let mut off: Vec<f64> = self.scored.iter().map(|scored| scored.off_s).collect();
        off.sort_unstable_by(f64::total_cmp);
        let within = self.scored.iter().filter(|scored| scored.within).count();
        Calibration {
            estimates: off.len() as u32,
            within: within as f64 / off.len().max(1) as f64,
            median_off_s: heeler_sim::metrics::quantile(&off, 0.5),
        }
    }

    /// What was saved; nothing, if nothing was.
    pub fn load(path: &Path) -> Result<Estimates, EstimatesError> {
        let wrong =
            |why: String| EstimatesError { path: path.display().to_string(), done: "read", why };
        match std::fs::read(path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| wrong(error.to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Estimates::default()),
            Err(error) => Err(wrong(error.to_string())),
        }
    }

    /// Save, if something changed. The file is whole or as it was before.
    pub fn save(&mut self, path: &Path) -> Result<(), EstimatesError> {
        if !self.changed {
            return Ok(());
        }
        let text = serde_json::to_vec(self).expect("plain data can be written as JSON");
        let written: std::io::Result<()> =
            heeler_sim::workload::replace_file(path, |out: &mut dyn Write| out.write_all(&text));
        written.map_err(|error| EstimatesError {
            path: path.display().to_string(),
            done: "written",
            why: error.to_string(),
        })?;
        self.changed = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(job: u32, starts: f64, between: (f64, f64)) -> Forecast {
        Forecast { job, starts: Some(starts), between: Some(between), ..Forecast::default() }
    }

    #[test]
    fn the_first_estimate_is_scored_when_the_job_starts() {
        let mut estimates = Estimates::default();
        estimates.give(&mut told(1, 100.0, (90.0, 120.0)));
        estimates.give(&mut told(1, 300.0, (300.0, 300.0)));
        estimates.give(&mut told(2, 100.0, (90.0, 120.0)));
        estimates.give(&mut told(3, 100.0, (90.0, 120.0)));
        estimates.started(1, 110.0);
        estimates.started(2, 150.0);
        estimates.dropped(3);
        estimates.started(3, 100.0);
        let mut next = told(4, 1.0, (1.0, 1.0));
        estimates.give(&mut next);
        let expected = Calibration { estimates: 2, within: 0.5, median_off_s: 10.0 };
        assert_eq!(next.calibration, expected);
    }

    #[test]
    fn they_outlive_the_server() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("estimates.json");
        let mut estimates = Estimates::load(&path).expect("none yet");
        estimates.give(&mut told(1, 100.0, (90.0, 120.0)));
        estimates.save(&path).expect("written");
        let mut again = Estimates::load(&path).expect("read");
        again.started(1, 95.0);
        assert_eq!(again.calibration().within, 1.0);
        std::fs::write(&path, "{").expect("written");
        assert!(Estimates::load(&path).is_err(), "what is torn is said to be");
    }
}
