//! Comparing a simulation, job by job, with the results that another program has written down.

use crate::record::Record;
use crate::simulation::Simulation;
use crate::workload::{Table, TraceError};
use heeler_model::{JobId, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// How far a simulation agrees with another program's results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Jobs of the other's table.
    pub jobs: usize,
    /// Of those, jobs whose completion time is the same to a millisecond.
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
/// What they call its submission and its end, where they have those instead.
const ENDS: [&str; 2] = ["submit", "finish"];

/// Results are written down rounded; closer than this is the same.
const SAME: Span = Span::from_micros(1_000);

impl Agreement {
    /// Compare with a table that has a column for the job and one for its completion time.
    pub fn with(simulation: &Simulation, path: &Path) -> Result<Agreement, TraceError> {
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
        let from_ends = header.has(&ENDS) && COMPLETION.iter().all(|name| !header.has(&[name]));
        let time_column = match from_ends {
            true => ENDS[1],
            false => column(&COMPLETION, "completion time")?,
        };
        let jobs = simulation.records().iter().map(|(job, _)| job);
        let names: BTreeMap<String, JobId> = jobs.map(|job| (simulation.name(job), job)).collect();
        let mut agreement = Agreement::default();
        let (mut here, mut there) = (0.0, 0.0);
        table.each(|row| {
            agreement.jobs += 1;
            let name = row.text(job_column)?;
            let submitted = if from_ends { row.number(ENDS[0])? } else { 0.0 };
            let theirs = row.number(time_column)? - submitted;
            let record = names.get(name).map(|job| &simulation.records()[*job]);
            let Some(ours) = record.and_then(Record::completion) else {
                agreement.missing += 1;
                return Ok(());
            };
            let ours = ours.secs_f64();
            let difference = (ours - theirs).abs();
            here += ours;
            there += theirs;
            if difference <= SAME.secs_f64() {
                agreement.equal += 1;
            } else if agreement.first_different.len() < 5 {
                agreement.first_different.push((name.to_string(), ours, theirs));
            }
            agreement.largest_difference_s = agreement.largest_difference_s.max(difference);
            Ok(())
        })?;
        let compared = (agreement.jobs - agreement.missing).max(1) as f64;
        agreement.mean_here_s = here / compared;
        agreement.mean_there_s = there / compared;
        Ok(agreement)
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
