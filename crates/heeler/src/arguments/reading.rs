//! How to read a trace: its format, and what the reader must know beside the file.

use crate::mistake::Mistake;
use anyhow::Context;
use clap::Args;
use heeler_model::{Cluster, Span};
use heeler_sim::workload::{Format, Options, Sample, Trace, TraceError, read};
use heeler_sim::world::Quirks;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "How to read the trace")]
pub(crate) struct ReadingArguments {
    /// The format, if it cannot be told from the file (`heeler trace formats` lists them)
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<Format>,
    /// Submit all jobs at time zero, in the order of their submission
    #[arg(long)]
    all_at_once: bool,
    /// Make each user a tenant below theirs, where the trace names both
    #[arg(long)]
    by_user: bool,
    /// Keep jobs that ask for no GPU
    #[arg(long)]
    cpu_jobs: bool,
    /// Let jobs run on any kind of GPU if the cluster has none of the kinds they name
    #[arg(long)]
    any_kind: bool,
    /// Muri: a table of start-up costs by GPUs and model
    #[arg(long, value_name = "FILE")]
    startup: Option<PathBuf>,
    /// Gavel: a table of throughputs by kind, job type and GPUs
    #[arg(long, value_name = "FILE")]
    throughputs: Option<PathBuf>,
    /// Pollux and Sia: the folder of profiles
    #[arg(long, value_name = "FOLDER")]
    pub(crate) profiles: Option<PathBuf>,
    /// Pollux and Sia: let jobs change their size and batch, where the world has measured that
    #[arg(long)]
    adaptive: bool,
    /// Pollux and Sia: let jobs change their size at the batch they asked for
    #[arg(long, conflicts_with = "adaptive")]
    resizable: bool,
    /// Lucid: a table of estimated run times by job
    #[arg(long, value_name = "FILE")]
    estimates: Option<PathBuf>,
    /// PAI: the column of the run time that users declared
    #[arg(long, value_name = "COLUMN")]
    declared: Option<String>,
    /// PAI: draw jobs as its simulator does: COUNT,PER_MINUTE[,SEED]
    #[arg(long, value_name = "N,N[,N]")]
    sample: Option<String>,
    /// SWF: how many processors make one GPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    processors_per_gpu: Option<u32>,
    /// openb: how long pods run where the list has no times
    #[arg(long, value_name = "TIME")]
    run_time: Option<Span>,
}

impl ReadingArguments {
    /// Read a trace for a cluster; `-` is the standard input.
    pub(crate) fn read(&self, path: &Path, cluster: &mut Cluster) -> anyhow::Result<Trace> {
        self.read_in(path, cluster, &Quirks::default())
    }

    /// The same for a world, which may say how jobs are to be understood.
    pub(crate) fn read_in(
        &self,
        path: &Path,
        cluster: &mut Cluster,
        quirks: &Quirks,
    ) -> anyhow::Result<Trace> {
        let options = Options { two_speeds: quirks.two_speeds, ..self.options()? };
        if path != Path::new("-") {
            return Ok(read(path, &options, cluster)?);
        }
        // Readers look at the first line before they begin, and a pipe can be read only once.
        let kept = std::env::temp_dir().join(format!("heeler-{}.trace", std::process::id()));
        let copied = File::create(&kept).and_then(|mut to| io::copy(&mut io::stdin(), &mut to));
        copied.context("the standard input cannot be kept")?;
        let trace = read(&kept, &options, cluster);
        // A file that stays behind does no harm.
        let _ = std::fs::remove_file(&kept);
        Ok(trace.map_err(|error| TraceError { file: "standard input".into(), ..error })?)
    }

    fn options(&self) -> anyhow::Result<Options> {
        Ok(Options {
            format: self.format,
            all_at_once: self.all_at_once,
            by_user: self.by_user,
            cpu_jobs: self.cpu_jobs,
            any_kind: self.any_kind,
            startup: self.startup.clone(),
            throughputs: self.throughputs.clone(),
            profiles: self.profiles.clone(),
            two_speeds: false,
            adaptive: self.adaptive,
            elastic: self.resizable,
            estimates: self.estimates.clone(),
            declared: self.declared.clone(),
            sample: self.sample.as_deref().map(sample).transpose()?,
            processors_per_gpu: self.processors_per_gpu,
            run_time: self.run_time,
        })
    }
}

fn sample(text: &str) -> Result<Sample, Mistake> {
    let wrong = || {
        let message = format!("`--sample {text}`: expected COUNT,PER_MINUTE or with ,SEED");
        Mistake::new(message).hint("Alibaba's own runs are 1000,10,42 and the like")
    };
    let numbers: Result<Vec<u32>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    match numbers.map_err(|_| wrong())?.as_slice() {
        [count, per_minute] => Ok(Sample { count: *count, per_minute: *per_minute, seed: 42 }),
        [count, per_minute, seed] => {
            Ok(Sample { count: *count, per_minute: *per_minute, seed: u64::from(*seed) })
        }
        _ => Err(wrong()),
    }
}
