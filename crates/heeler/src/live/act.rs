//! `heeler cancel`, `hold`, `release`, `suspend`, `resume`, `requeue`, `signal`, `priority` and
//! `time-limit`: one way to do something to jobs that are named.

use super::asking::{Asking, selection};
use super::words;
use crate::client::encode;
use crate::mistake::Mistake;
use anyhow::Result;
use clap::Args;
use heeler_api::read::{size, time};
use heeler_api::{JobState, JobView};
use serde::Deserialize;
use serde_json::{Value, json};

const NAMES: &str = "\
Jobs are named as 17, 17_3 (a task), 17_[1-4], 1-10, 1,4,7, last (your latest) or all (all of yours
that are not over).";

/// Jobs that can be found at once by who they belong to or what they are called.
const MOST: usize = 10_000;

#[derive(Args)]
#[command(after_help = NAMES)]
pub(crate) struct Jobs {
    /// The jobs
    #[arg(value_name = "JOBS", required = true)]
    jobs: Vec<String>,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Args)]
#[command(after_help = NAMES)]
pub(crate) struct Valued {
    /// The jobs
    #[arg(value_name = "JOBS", required = true)]
    jobs: Vec<String>,
    /// What it should be
    #[arg(value_name = "VALUE", required = true, allow_negative_numbers = true)]
    value: String,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Args)]
#[command(after_help = NAMES)]
pub(crate) struct Signal {
    /// The signal: TERM, USR1, 10
    #[arg(long, short, value_name = "SIGNAL", default_value = "TERM", value_parser = size::signal)]
    signal: i32,
    #[command(flatten)]
    jobs: Jobs,
}

/// Jobs that something was done to, and why it was not done to others.
#[derive(Deserialize)]
struct Acted {
    jobs: Vec<u32>,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Args)]
#[command(after_help = NAMES)]
pub(crate) struct Cancel {
    /// The jobs
    #[arg(value_name = "JOBS", required_unless_present_any = ["user", "name", "states"])]
    jobs: Vec<String>,
    /// Those of a user
    #[arg(long, short, value_name = "USER")]
    user: Option<String>,
    /// Those of this name
    #[arg(long, short, alias = "jobname", value_name = "NAME")]
    name: Option<String>,
    /// Those in these states: pending (PD), running (R) …
    #[arg(long = "state", short = 't', value_name = "STATES", value_parser = words::states)]
    states: Option<std::vec::Vec<JobState>>,
    /// Kill them at once, without the time they have to end by themselves
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    asking: Asking,
}

impl Cancel {
    pub(crate) fn run(self) -> Result<()> {
        let jobs = match (&self.user, &self.name, &self.states) {
            (None, None, None) => self.jobs.clone(),
            _ => self.found()?,
        };
        let jobs = Jobs { jobs, asking: self.asking };
        jobs.act(if self.now { "kill" } else { "cancel" }, "cancelled")
    }

    /// Those that are described and not over.
    fn found(&self) -> Result<Vec<String>> {
        let mut path = format!("/v1/jobs?limit={MOST}");
        if let Some(user) = &self.user {
            path.push_str(&format!("&user={}", encode(user)));
        }
        if !self.jobs.is_empty() {
            path.push_str(&format!("&ids={}", encode(&selection(&self.jobs)?)));
        }
        let mut found: Vec<JobView> = self.asking.client()?.get(&path)?;
        found.retain(|job| {
            let named = self.name.as_ref().is_none_or(|name| *name == job.name);
            let states = self.states.as_ref();
            let wanted = states.is_none_or(|states| states.contains(&job.state));
            named && wanted && !job.state.is_over()
        });
        if found.is_empty() {
            let mistake = Mistake::new("no such job waits or runs");
            return Err(mistake.hint("`heeler queue` lists those that do").into());
        }
        // Neighbours go together, so that many fit into one question.
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for job in found {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == job.id => *last = job.id,
                _ => runs.push((job.id, job.id)),
            }
        }
        Ok(runs.into_iter().map(|(first, last)| format!("{first}-{last}")).collect())
    }
}

impl Jobs {
    /// Do something to them; `done` says what was done.
    pub(crate) fn act(&self, what: &str, done: &str) -> Result<()> {
        self.act_with(what, None, done)
    }

    fn act_with(&self, what: &str, value: Option<Value>, done: &str) -> Result<()> {
        let path = format!("/v1/jobs/{}/{what}", encode(&selection(&self.jobs)?));
        let client = self.asking.client()?;
        let acted: Acted = match value {
            Some(value) => client.post(&path, &json!({ "value": value }))?,
            None => client.act(&path)?,
        };
        for note in &acted.notes {
            eprintln!("note: {note}");
        }
        self.asking.print("jobs", &acted.jobs, |jobs| said(jobs, done))
    }
}

fn said(jobs: &[u32], done: &str) -> String {
    const MANY: usize = 10;
    let mut names: Vec<String> = jobs.iter().take(MANY).map(ToString::to_string).collect();
    if jobs.len() > MANY {
        names.push(format!("… ({} in all)", jobs.len()));
    }
    match jobs.len() {
        // The notes say why.
        0 => String::new(),
        1 => format!("job {} {done}\n", names[0]),
        _ => format!("jobs {} {}\n", names.join(", "), done.replace(" its ", " their ")),
    }
}

impl Signal {
    pub(crate) fn run(&self) -> Result<()> {
        self.jobs.act_with("signal", Some(self.signal.into()), "signalled")
    }
}

impl Valued {
    /// Give them another priority.
    pub(crate) fn priority(self) -> Result<()> {
        let wrong = |_| {
            Mistake::new(format!("expected a whole number, found `{}`", self.value))
                .hint("such as `heeler priority 17 10`")
        };
        let value = self.value.trim().parse::<i32>().map_err(wrong)?;
        self.set("priority", value.into())
    }

    /// Give them another time limit.
    pub(crate) fn time_limit(self) -> Result<()> {
        let value = time::read(&self.value).map_err(Mistake::new)?;
        self.set("time-limit", value.into())
    }

    fn set(self, what: &str, value: Value) -> Result<()> {
        let jobs = Jobs { jobs: self.jobs, asking: self.asking };
        jobs.act_with(what, Some(value), "changed")
    }
}
