//! Comparing a simulation, job by job, with the results that another program has written down.

use super::results;
use crate::record::Record;
use crate::simulation::Simulation;
use crate::workload::{Header, Row, Table, TraceError};
use heeler_model::{JobId, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// How far a simulation agrees with another program's results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Jobs of the other's table.
    pub jobs: usize,
    /// Of those, jobs whose completion time is the same: to a millisecond, or to the digits that
    /// are written down of hours.
    pub equal: usize,
    /// Of those, jobs that are not in the simulation or did not finish there.
    pub missing: usize,
    /// The largest difference, seconds.
    pub largest_difference_s: f64,
    /// Mean completion time of those jobs here, seconds.
    pub mean_here_s: f64,
    /// Mean completion time of those jobs there, seconds.
    pub mean_there_s: f64,
    /// The first jobs that differ: what they are called, here and there, seconds.
    pub first_different: Vec<(String, f64, f64)>,
}

/// What tables call the job and its completion time, and what that is counted in.
const JOB: [&str; 2] = ["job_id", "job"];
const COMPLETION: [&str; 4] = ["JCT", "jct", "jct_s", "completion_s"];
/// What they call its submission and its end, where they have those instead, and how many seconds
/// these are counted in.
const ENDS: [([&str; 2], f64); 2] =
    [(["submit", "finish"], 1.0), (["arrival_h", "finish_h"], 3600.0)];

/// Results are written down rounded; closer than this is the same.
const SAME: Span = Span::from_micros(1_000);

/// Where a table has completion times.
#[derive(Clone, Copy)]
enum Times {
    /// In a column, seconds.
    Column(&'static str),
    /// Between a submission and an end, in so many seconds each.
    Between([&'static str; 2], f64),
}

impl Times {
    fn of(header: &Header, path: &Path) -> Result<Times, TraceError> {
        let column = COMPLETION.iter().find(|name| header.has(&[name]));
        let ends = || ENDS.iter().find(|(names, _)| header.has(names));
        match column {
            Some(name) => Ok(Times::Column(name)),
            None => ends().map(|(names, unit)| Times::Between(*names, *unit)).ok_or_else(|| {
                let pair = |(names, _): &([&str; 2], f64)| names.join(" and ");
                let message = "has no column for the completion time";
                TraceError::file(path, message).hint(format!(
                    "call it {}, or have columns {}",
                    COMPLETION.join(" or "),
                    ENDS.iter().map(pair).collect::<Vec<_>>().join(", or ")
                ))
            }),
        }
    }

    /// The completion time of a row, and how far off it may be for being rounded, seconds.
    fn read(self, row: &Row) -> Result<(f64, f64), TraceError> {
        match self {
            Times::Column(name) => Ok((row.number(name)?, SAME.secs_f64())),
            Times::Between([from, to], unit) => {
                let time = (row.number(to)? - row.number(from)?) * unit;
                let off = match unit > 1.0 {
                    true => (rounding(row.text(from)?) + rounding(row.text(to)?)) * unit,
                    false => 0.0,
                };
                Ok((time, SAME.secs_f64() + off))
            }
        }
    }
}

/// Half of what the last digit of a number stands for.
fn rounding(text: &str) -> f64 {
    let digits = text.split_once('.').map_or(0, |(_, behind)| behind.trim().len());
    0.5 * 10f64.powi(-(digits.min(15) as i32))
}

impl Agreement {
    /// Compare with a table that has a column for the job and one for its completion time, or for
    /// its submission and its end; or with results as JSON.
    pub fn with(simulation: &Simulation, path: &Path) -> Result<Agreement, TraceError> {
        Agreement::with_workload(simulation, path, None)
    }

    /// The same, where results may be of several workloads, for the one that is called like this.
    pub fn with_workload(
        simulation: &Simulation,
        path: &Path,
        workload: Option<&str>,
    ) -> Result<Agreement, TraceError> {
        let jobs = simulation.records().iter().map(|(job, _)| job);
        let names: BTreeMap<String, JobId> = jobs.map(|job| (simulation.name(job), job)).collect();
        let completion = |name: &str| {
            let record = names.get(name).map(|job| &simulation.records()[*job]);
            record.and_then(Record::completion).map(Span::secs_f64)
        };
        let mut agreement = Agreement::default();
        if results::is_json(path) {
            for (name, theirs) in results::read(path, workload)? {
                agreement.enter(&name, completion(&name), theirs, SAME.secs_f64());
            }
        } else {
            agreement.enter_table(path, completion)?;
        }
        let compared = (agreement.jobs - agreement.missing).max(1) as f64;
        agreement.mean_here_s /= compared;
        agreement.mean_there_s /= compared;
        Ok(agreement)
    }

    fn enter_table(
        &mut self,
        path: &Path,
        completion: impl Fn(&str) -> Option<f64>,
    ) -> Result<(), TraceError> {
        let table = Table::open(path, ',')?;
        let header = table.header();
        let column = |names: &[&'static str], what: &str| {
            let found = names.iter().find(|name| header.find(name).is_some());
            found.copied().ok_or_else(|| {
                let message = format!("has no column for the {what}");
                TraceError::file(path, message).hint(format!("call it {}", names.join(" or ")))
            })
        };
        let job_column = column(&JOB, "job")?;
        let times = Times::of(header, path)?;
        table.each(|row| {
            let name = row.text(job_column)?;
            let (theirs, off_s) = times.read(row)?;
            self.enter(name, completion(name), theirs, off_s);
            Ok(())
        })
    }

    /// Add a job; means are sums until all of them are there.
    fn enter(&mut self, name: &str, ours: Option<f64>, theirs: f64, off_s: f64) {
        self.jobs += 1;
        let Some(ours) = ours else {
            self.missing += 1;
            return;
        };
        let difference = (ours - theirs).abs();
        self.mean_here_s += ours;
        self.mean_there_s += theirs;
        if difference <= off_s {
            self.equal += 1;
        } else if self.first_different.len() < 5 {
            self.first_different.push((name.to_string(), ours, theirs));
        }
        self.largest_difference_s = self.largest_difference_s.max(difference);
    }

    /// Whether every job of the table has the same completion time here.
    pub fn is_full(&self) -> bool {
        self.jobs > 0 && self.equal == self.jobs
    }

    /// By which part the mean differs.
    pub fn mean_off(&self) -> f64 {
        (self.mean_here_s / self.mean_there_s - 1.0).abs()
    }
}
