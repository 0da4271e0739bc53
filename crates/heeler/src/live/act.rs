//! `heeler cancel`, `hold`, `release`, `suspend`, `resume`, `requeue`, `signal`, `priority` and
//! `time-limit`: one way to do something to jobs that are named.

use super::asking::{Asking, selection};
use crate::client::encode;
use crate::mistake::Mistake;
use anyhow::Result;
use clap::Args;
use heeler_api::read::{size, time};
use serde::Deserialize;
use serde_json::{Value, json};

const NAMES: &str = "\
Jobs are named as 17, 17_3 (a task), 17_[1-4], 1-10, 1,4,7, last (your latest) or all (all of yours
that are not over).";

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

/// Jobs that something was done to.
#[derive(Deserialize)]
struct Acted {
    jobs: Vec<u32>,
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
        0 => "nothing to do\n".into(),
        1 => format!("job {} {done}\n", names[0]),
        _ => format!("jobs {} {done}\n", names.join(", ")),
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
