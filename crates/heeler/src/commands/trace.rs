//! `heeler trace`: describe, convert, generate and cut traces.

use super::describe;
use crate::arguments::{GenerateArguments, ReadingArguments, positive, time};
use crate::mistake::Mistake;
use crate::show;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use heeler_model::{Cluster, Time};
use heeler_sim::workload::{
    Arrivals, Cut, Format, Generator, Shape, Share, Trace as Jobs, Workload, WriteError, cut, write,
};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct Trace {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Say what a trace is like, with plots
    Describe(Describe),
    /// Write a trace in Heeler's own format: .csv or .jsonl, packed if .gz follows
    Convert(Convert),
    /// Write generated jobs to a trace
    Generate(Generate),
    /// Write a part of a trace: by time, tenant, size, chance or number; closer together or apart
    Cut(CutTrace),
    /// List the formats that can be read
    Formats,
}

#[derive(Args)]
struct Describe {
    /// The trace
    trace: PathBuf,
    /// The cluster it is meant for, to tell its load and what is too large for it
    #[arg(long, short, value_name = "CLUSTER")]
    cluster: Option<String>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: ReadingArguments,
}

#[derive(Args)]
struct Convert {
    /// The trace to read
    from: PathBuf,
    /// The trace to write
    to: PathBuf,
    /// A cluster, if the trace can only be read for one
    #[arg(long, short, value_name = "CLUSTER")]
    cluster: Option<String>,
    #[command(flatten)]
    reading: ReadingArguments,
}

#[derive(Args)]
struct Generate {
    /// philly, helios, pai or llm
    shape: Shape,
    /// The trace to write
    to: PathBuf,
    /// The cluster the load is meant for
    #[arg(long, short, value_name = "CLUSTER", default_value = "16x8")]
    cluster: String,
    /// GPU time that jobs ask for, relative to what the cluster has while they come
    #[arg(long, value_name = "X", value_parser = positive, default_value_t = 0.8)]
    load: f64,
    /// Where all random numbers begin
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    generated: GenerateArguments,
}

#[derive(Args)]
struct CutTrace {
    /// The trace to read
    from: PathBuf,
    /// The trace to write
    to: PathBuf,
    /// Leave out jobs submitted before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    after: Option<Time>,
    /// Leave out jobs submitted at this time or later
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Time>,
    /// Keep only jobs of this tenant and those below it; can be repeated
    #[arg(long = "tenant", value_name = "NAME")]
    tenants: Vec<String>,
    /// Keep only jobs that ask for so many GPUs: 4, 1..8, 8.., ..8
    #[arg(long, value_name = "RANGE", value_parser = range)]
    gpus: Option<RangeInclusive<u32>>,
    /// Keep so many jobs, drawn by chance: 500 or 10%
    #[arg(long, value_name = "N or N%")]
    keep: Option<Share>,
    /// Keep so many of the first jobs
    #[arg(long, value_name = "N")]
    first: Option<usize>,
    /// Let the first job come at time zero
    #[arg(long)]
    from_zero: bool,
    /// Let jobs come so many times as fast
    #[arg(long, value_name = "X", value_parser = positive)]
    faster: Option<f64>,
    /// The seed of chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    reading: ReadingArguments,
}

impl Trace {
    pub(crate) fn run(&self) -> Result<()> {
        match &self.command {
            What::Describe(describe) => describe.run(),
            What::Convert(convert) => convert.run(),
            What::Generate(generate) => generate.run(),
            What::Cut(cut) => cut.run(),
            What::Formats => formats(),
        }
    }
}

impl Describe {
    fn run(&self) -> Result<()> {
        let (trace, cluster) = load(&self.trace, &self.reading, self.cluster.as_deref())?;
        let description = heeler_sim::workload::describe(&trace, &cluster);
        if self.json {
            return show::print_json("heeler/trace/1", &description);
        }
        show::print(&describe::text(&self.trace, &trace, &description))
    }
}

impl Convert {
    fn run(&self) -> Result<()> {
        let (trace, cluster) = load(&self.from, &self.reading, self.cluster.as_deref())?;
        save(&self.to, &trace, &cluster)
    }
}

impl Generate {
    fn run(&self) -> Result<()> {
        let mut cluster = heeler_sim::cluster::read(&self.cluster)?;
        let options = self.generated.options(self.shape, cluster.gpus(), self.load, self.seed);
        let mut generator = Generator::new(&options)?;
        generator.add_tenants_to(&mut cluster);
        let models = generator.models().clone();
        let jobs = std::iter::from_fn(|| generator.next_job()).collect();
        let trace = Jobs { workload: Workload::new(jobs), models, ..Jobs::default() };
        save(&self.to, &trace, &cluster)
    }
}

impl CutTrace {
    fn run(&self) -> Result<()> {
        let (trace, cluster) = load(&self.from, &self.reading, None)?;
        let what = Cut {
            from: self.after,
            until: self.until,
            tenants: self.tenants.clone(),
            gpus: self.gpus.clone(),
            sample: self.keep,
            first: self.first,
            from_zero: self.from_zero,
            load: self.faster,
            seed: self.seed,
        };
        let part = cut(&trace, &cluster, &what)?;
        if part.jobs().is_empty() {
            let mistake = Mistake::new(format!("nothing of {} is left", self.from.display()));
            return Err(mistake.hint("`heeler trace describe` says what it holds").into());
        }
        save(&self.to, &part, &cluster)
    }
}

/// Read a trace for a cluster, or for itself.
fn load(path: &Path, reading: &ReadingArguments, cluster: Option<&str>) -> Result<(Jobs, Cluster)> {
    let mut cluster = match cluster {
        Some(text) => heeler_sim::cluster::read(text)?,
        None => Cluster::uniform(0, 0),
    };
    let trace = reading.read(path, &mut cluster)?;
    Ok((trace, cluster))
}

fn save(path: &Path, trace: &Jobs, cluster: &Cluster) -> Result<()> {
    write(path, None, trace, cluster).map_err(|error| match error {
        WriteError::Io(error) => {
            anyhow::Error::new(error).context(format!("{} cannot be written", path.display()))
        }
        other => anyhow::Error::new(other),
    })?;
    let count = show::count(trace.jobs().len() as u64);
    for (what, tally) in [("left out", &trace.skipped), ("assumed", &trace.assumed)] {
        if !tally.is_empty() {
            eprintln!("note: {what}: {tally}");
        }
    }
    show::print(&format!("wrote {count} jobs to {}\n", path.display())).context("standard output")
}

fn formats() -> Result<()> {
    let mut table = show::Table::prose(&["format", "what it is"]);
    for format in Format::all() {
        table.row([format.name(), format.help()]);
    }
    show::print(&table.text())
}

/// `4`, `1..8`, `8..`, `..8`; both ends included.
fn range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let wrong = || format!("expected a number of GPUs or a range such as 1..8, found `{text}`");
    let number = |part: &str, missing: u32| match part {
        "" => Ok(missing),
        part => part.parse::<u32>().map_err(|_| wrong()),
    };
    match text.split_once("..") {
        None => text.parse().map(|gpus| gpus..=gpus).map_err(|_| wrong()),
        Some((low, high)) => {
            let range = number(low, 0)?..=number(high.trim_start_matches('='), u32::MAX)?;
            if range.is_empty() { Err(wrong()) } else { Ok(range) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges_include_their_ends() {
        assert_eq!(range("4"), Ok(4..=4));
        assert_eq!(range("1..8"), Ok(1..=8));
        assert_eq!(range("8.."), Ok(8..=u32::MAX));
        assert_eq!(range("..8"), Ok(0..=8));
        assert!(range("8..1").is_err() && range("x").is_err() && range("").is_err());
    }
}
