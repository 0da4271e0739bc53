//! `heeler run`: hand a command in, show what it prints as if it ran here, and end as it does.

use super::asking::Asking;
use super::logs::{self, remark};
use super::{queue, terminal, wait, words};
use crate::client::Client;
use crate::submit::{JobArguments, of_command, send};
use anyhow::{Context, Result};
use clap::Args;
use heeler_api::{Code, JobState, JobView, Problem};
use hyper::Method;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  heeler run --gpus 1 python train.py
  heeler run --gpus 1 --pty bash          a shell on a GPU
  heeler run --gpus 4 -n 4 python ddp.py  one process for each GPU
Ctrl-C cancels the job; a second one leaves it to itself. The job reads nothing from here unless it
has this terminal (--pty). With --json, how it ended goes to the standard error.";

/// A job that waits longer than this says why.
const PATIENCE: Duration = Duration::from_millis(1500);

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// The command with its arguments
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<String>,
    /// Give it this terminal
    #[arg(long)]
    pty: bool,
    #[command(flatten)]
    job: JobArguments,
    #[command(flatten)]
    asking: Asking,
}

impl Run {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let mut job = of_command(&self.command, &self.job.given)?;
        if self.pty {
            terminal::check()?;
            job.submission.terminal = true;
        }
        let client = self.asking.client()?;
        let submitted = send(&client, vec![job])?;
        let number = submitted.first().context("the server took the job and said nothing")?.job;
        if std::io::stderr().is_terminal() {
            remark(&format!("job {number}"));
        }
        let view = client.wait_for(async {
            match self.pty {
                true => terminal::follow(&client, number).await,
                false => follow(&client, number).await,
            }
        })?;
        if view.state != JobState::Completed {
            remark(&wait::ended(&view));
        }
        if self.asking.json {
            // The standard output is the job's.
            eprint!("{}", super::asking::json_text([("job", serde_json::json!(view))])?);
        }
        Ok(ExitCode::from(words::exit_code(&view)))
    }
}

/// Show what a job prints until it is over; Ctrl-C cancels it.
async fn follow(client: &Client, job: u32) -> Result<JobView> {
    let work = async {
        show(client, job).await?;
        wait::until(client, job, |view| view.state.is_over()).await
    };
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        asked = tokio::signal::ctrl_c() => asked?,
    }
    remark(&format!("cancelling job {job}; Ctrl-C again to leave it to itself"));
    cancel(client, job).await?;
    tokio::select! {
        done = &mut work => done,
        asked = tokio::signal::ctrl_c() => {
            asked?;
            remark(&format!("job {job} was left to itself"));
            std::process::exit(130)
        }
    }
}

/// Show what it prints. A job that printed nothing may have no file to read.
async fn show(client: &Client, job: u32) -> Result<()> {
    match logs::stream(client, job, true, &mut std::io::stdout()).await {
        Err(error) if is_missing(&error) => Ok(()),
        done => done,
    }
}

fn is_missing(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Problem>().is_some_and(|problem| problem.code == Code::NotFound)
}

async fn cancel(client: &Client, job: u32) -> Result<()> {
    let path = format!("/v1/jobs/{job}/cancel");
    let _: serde_json::Value = client.ask(Method::POST, &path, None).await?;
    Ok(())
}

/// Wait until a job has begun, or is over; say why, if that takes long.
pub(crate) async fn begun(client: &Client, job: u32) -> Result<JobView> {
    let since = Instant::now();
    let mut said = String::new();
    wait::until(client, job, |view| {
        let reason = queue::reason(view);
        if since.elapsed() > PATIENCE && !reason.is_empty() && reason != said {
            remark(&format!("job {job} waits: {reason}"));
            said = reason;
        }
        view.state == JobState::Running || view.state.is_over()
    })
    .await
}
