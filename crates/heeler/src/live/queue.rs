//! `heeler queue`: jobs that wait and run, and why those that wait do.

use super::asking::{Asking, Looks, selection};
use super::words;
use crate::client::{Client, encode};
use crate::show::{self, Table};
use anyhow::Result;
use clap::Args;
use heeler_api::{Forecast, JobState, JobView};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  heeler queue                      everything that waits or runs
  heeler queue --me -t pending      what you have waiting
  heeler queue -A vision --start    a tenant's jobs, with estimates of when they start
  heeler queue 17                   a job, or all tasks of an array
  heeler queue --watch              again and again";

/// Estimates are asked for at most so many jobs: each is a small simulation.
const ESTIMATES: usize = 20;

/// Jobs that a server lists at once.
const LARGEST_PAGE: usize = 10_000;

#[derive(Args, Default)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Queue {
    /// Only these: 17, 17_3, 1-10, last
    #[arg(value_name = "JOBS")]
    jobs: Vec<String>,
    /// Only those of these users
    #[arg(long, short, value_name = "USER")]
    user: Option<String>,
    /// Only your own
    #[arg(long, conflicts_with = "user")]
    me: bool,
    /// Only those of a tenant
    #[arg(
        long = "account",
        short = 'A',
        visible_alias = "tenant",
        value_name = "TENANT",
        alias = "partition",
        short_alias = 'p'
    )]
    tenant: Option<String>,
    /// Only those in these states: pending (PD), running (R), suspended (S), failed (F) …
    #[arg(long, short = 't', value_name = "STATES", value_parser = words::states)]
    states: Option<std::vec::Vec<JobState>>,
    /// With jobs that are over
    #[arg(long, short)]
    all: bool,
    /// With estimates of when the first of those that wait start
    #[arg(long)]
    start: bool,
    /// Only those of this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// At most so many; with --all, the newest
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1000)]
    limit: usize,
    #[command(flatten)]
    slurm: SlurmQueue,
    /// Show it again every second, until Ctrl-C
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    asking: Asking,
}

/// What squeue takes beside: the jobs, and how they look.
#[derive(Args, Default)]
struct SlurmQueue {
    #[arg(long = "jobs", short = 'j', alias = "job", value_name = "JOBS", hide = true)]
    also: Vec<String>,
    #[command(flatten)]
    looks: Looks,
}

impl Queue {
    pub(crate) fn run(&self) -> Result<()> {
        self.slurm.looks.note();
        let client = self.asking.client()?;
        if !self.watch {
            return self.once(&client);
        }
        loop {
            if std::io::stdout().is_terminal() {
                // Clear the screen and go to its corner.
                show::print("\x1b[2J\x1b[H")?;
            }
            self.once(&client)?;
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    fn once(&self, client: &Client) -> Result<()> {
        let jobs = self.ask(client)?;
        let starts = if self.start { estimates(client, &jobs) } else { BTreeMap::new() };
        self.asking.print("jobs", &jobs, |jobs| {
            let starts = self.start.then_some(&starts);
            let table = table(jobs, starts);
            match (jobs.len() < self.limit, self.all) {
                (true, _) => table,
                (false, true) => format!("… perhaps earlier ones (--limit)\n{table}"),
                (false, false) => format!("{table}… and perhaps more (--limit)\n"),
            }
        })
    }

    /// Jobs that are not over, and with --all as many of the newest of the others as are wanted.
    fn ask(&self, client: &Client) -> Result<Vec<JobView>> {
        let filter = self.filter()?;
        let both = self.all && self.states.is_none() && self.named().is_empty();
        // Pages of jobs that are not over begin with the oldest: the newest are at their end.
        let limit = if both { LARGEST_PAGE } else { self.limit };
        let mut jobs: Vec<JobView> = client.get(&format!("/v1/jobs?limit={limit}{filter}"))?;
        if both {
            let filter = format!("limit={}{filter}", self.limit);
            let over: Vec<JobView> = client.get(&format!("/v1/history?{filter}"))?;
            jobs.extend(over);
            jobs.sort_by_key(|job| job.id);
            jobs.drain(..jobs.len().saturating_sub(self.limit));
        }
        jobs.retain(|job| self.name.as_ref().is_none_or(|name| *name == job.name));
        Ok(jobs)
    }

    fn named(&self) -> Vec<String> {
        self.jobs.iter().chain(&self.slurm.also).cloned().collect()
    }

    fn filter(&self) -> Result<String> {
        let mut asked = String::new();
        let named = self.named();
        if !named.is_empty() {
            asked.push_str(&format!("&ids={}", encode(&selection(&named)?)));
        }
        let user = match self.me {
            true => nix::unistd::User::from_uid(nix::unistd::geteuid())?.map(|user| user.name),
            false => self.user.clone(),
        };
        for (name, value) in [("user", &user), ("tenant", &self.tenant)] {
            if let Some(value) = value {
                asked.push_str(&format!("&{name}={}", encode(value)));
            }
        }
        if let Some(states) = &self.states {
            let names: Vec<&str> = states.iter().map(|state| words::state(*state)).collect();
            asked.push_str(&format!("&state={}", names.join(",")));
        }
        Ok(asked)
    }
}

/// When those that wait are expected to start, for the first of them.
fn estimates(client: &Client, jobs: &[JobView]) -> BTreeMap<u32, f64> {
    let waiting = jobs.iter().filter(|job| job.state == JobState::Pending).take(ESTIMATES);
    let estimate = |job: &JobView| {
        // A job that started meanwhile has no estimate, and needs none.
        let forecast: Forecast = client.get(&format!("/v1/jobs/{}/when", job.id)).ok()?;
        Some((job.id, forecast.starts?))
    };
    waiting.filter_map(estimate).collect()
}

/// Jobs as a table.
pub(crate) fn table(jobs: &[JobView], starts: Option<&BTreeMap<u32, f64>>) -> String {
    if jobs.is_empty() {
        return "no jobs\n".into();
    }
    let mut columns =
        vec!["job", "name", "user", "tenant", "state", "GPUs>", "time>", "on", "reason"];
    if starts.is_some() {
        columns.insert(8, "starts");
    }
    let mut table = Table::prose(&columns);
    for job in jobs {
        let mut row = vec![
            words::label(job),
            job.name.clone(),
            job.user.clone(),
            job.tenant.clone(),
            words::state(job.state).into(),
            job.gpus.to_string(),
            words::clock(job.ran_s),
            job.on.clone().unwrap_or_default(),
            reason(job),
        ];
        if let Some(starts) = starts {
            let at = starts.get(&job.id).map(|at| words::moment(*at));
            row.insert(8, at.unwrap_or_default());
        }
        table.row(row);
    }
    table.text()
}

/// Why a job is not running, in a sentence.
pub(crate) fn reason(job: &JobView) -> String {
    let said = job.reason.as_ref().map(|reason| reason.sentence.clone());
    match job.state {
        JobState::Running | JobState::Starting | JobState::Completed => String::new(),
        // Decisions end when nothing that is left can start.
        JobState::Pending => said.unwrap_or_else(|| "others come first".into()),
        _ => said.or_else(|| job.message.clone()).unwrap_or_default(),
    }
}
