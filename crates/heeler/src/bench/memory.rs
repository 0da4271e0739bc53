//! Memory that stays with every finished job. Each run is a process of its own, because what a
//! process has once used cannot be told from what it uses.

use super::report::Figure;
use super::{Scope, setup, step};
use anyhow::{Context, Result, bail, ensure};
use heeler_sim::workload::{Arrivals, Generator, TraceJob};
use std::process::Command;

const JOBS_FEW: usize = 200_000;
const JOBS_MANY: usize = 1_000_000;
const LOAD: f64 = 0.8;

/// Bytes that may stay with a finished job.
const TARGET: f64 = 300.0;

/// Bytes per job, of jobs that have names and of jobs that have none.
pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let (few, many) = (scope.of(JOBS_FEW), scope.of(JOBS_MANY));
    let mut figures = Vec::new();
    for (what, named) in [("unnamed jobs", false), ("named jobs", true)] {
        let bytes = child(many, named)? - child(few, named)?;
        let figure = Figure::new(format!("memory {what}"), bytes / (many - few) as f64, "B/job");
        figures.push(figure.at_most(TARGET));
    }
    Ok(figures)
}

/// The most memory that a process uses to simulate so many jobs, in bytes.
fn child(jobs: usize, named: bool) -> Result<f64> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", "--memory-child", &jobs.to_string()]);
    if named {
        command.arg("--memory-child-named");
    }
    step(&format!("memory: {jobs} {} jobs", if named { "named" } else { "unnamed" }));
    let output = command.output().context("this program cannot start itself again")?;
    let told = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    told.trim().parse().with_context(|| format!("expected a number of bytes, got `{told}`"))
}

/// The other side: simulate, and print the most memory that was used.
pub(super) fn run_child(jobs: usize, named: bool) -> Result<()> {
    let setup = setup::philly(setup::PHILLY_NODES, jobs, LOAD, None)?;
    // One by one, so that the jobs to come are not counted.
    let arrivals: Box<dyn Arrivals> = match named {
        true => Box::new(Named { generator: setup.generator, number: 0 }),
        false => Box::new(setup.generator),
    };
    let mut simulation = setup::simulation(&setup::recipe("fifo")?, &setup.cluster, arrivals);
    simulation.run();
    let finished = simulation.records().all().iter().filter(|job| job.ended.is_some()).count();
    ensure!(finished == jobs, "only {finished} of {jobs} jobs finished");
    println!("{}", peak_bytes()?);
    Ok(())
}

fn peak_bytes() -> Result<u64> {
    let file = "/proc/self/status";
    let status = std::fs::read_to_string(file)
        .with_context(|| format!("memory is measured on Linux only: there is no {file}"))?;
    let Some(line) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) else {
        bail!("{file} has no line `VmHWM:`");
    };
    let kib = line.trim().trim_end_matches(" kB").parse::<u64>();
    Ok(kib.with_context(|| format!("expected kilobytes, got `{line}`"))? * 1024)
}

/// Jobs with names like those that traces give them.
#[derive(Clone)]
struct Named {
    generator: Generator,
    number: u32,
}

impl Arrivals for Named {
    fn next_job(&mut self) -> Option<TraceJob> {
        let job = self.generator.next_job()?;
        self.number += 1;
        let name = format!("application_1506638472019_{}", self.number);
        Some(TraceJob { name: Some(name.into()), ..job })
    }

    fn remaining(&self) -> Option<usize> {
        self.generator.remaining()
    }

    fn fork(&self) -> Box<dyn Arrivals> {
        Box::new(self.clone())
    }
}
