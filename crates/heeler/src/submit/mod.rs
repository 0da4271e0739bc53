//! `heeler submit`: hand jobs in, from scripts, YAML files or commands.

mod arguments;
mod gather;
mod send;

pub(crate) use arguments::JobArguments;
pub(crate) use gather::of_command;
pub(crate) use send::send;

use crate::client::Client;
use crate::live::asking::{Asking, json_text};
use crate::live::{forecast_text, wait};
use crate::mistake::Mistake;
use crate::show;
use anyhow::Result;
use clap::Args;
use heeler_api::read::Job;
use heeler_api::{Forecast, Submitted};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  heeler submit --gpus 1 -t 2:00:00 -- python train.py --lr 0.1
  heeler submit train.sh                         a script with #HEELER or #SBATCH lines
  heeler submit train.sh -- --lr 0.1             the script's own arguments after two dashes
  heeler submit -a 0-9%4 --gpus 1 sweep.sh       ten tasks, four at once ($HEELER_TASK)
  heeler submit -d afterok:17 evaluate.sh        after another job
  heeler submit job.yaml                         name, resources, setup, run (as SkyPilot's)
  heeler submit --gpus a100:8 --test-only x.sh   when would it start?
  heeler submit --wait --gpus 1 -- make test     wait, and end with the job's exit code
  heeler submit --gpus 4 --min-gpus 2 --max-gpus 8 --best-effort train.sh";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Submit {
    /// Scripts and YAML files, each a job; `-` is the standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A command with its arguments; with a script, the script's arguments
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,
    /// A line for the shell instead of a script
    #[arg(long, value_name = "LINE", conflicts_with_all = ["files", "command"])]
    wrap: Option<String>,
    #[command(flatten)]
    job: JobArguments,
    /// Hand nothing in; say when it would start
    #[arg(long, help_heading = "What happens then")]
    test_only: bool,
    /// Wait until it is over, and end with its exit code
    #[arg(long, short = 'W', help_heading = "What happens then")]
    wait: bool,
    /// Print the number alone
    #[arg(long, conflicts_with = "json", help_heading = "What happens then")]
    parsable: bool,
    #[command(flatten)]
    asking: Asking,
}

impl Submit {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let jobs = self.jobs()?;
        for note in jobs.iter().flat_map(|job| &job.notes) {
            eprintln!("note: {note}");
        }
        let client = self.asking.client()?;
        if self.test_only {
            self.test(&client, jobs)?;
            return Ok(ExitCode::SUCCESS);
        }
        let submitted = send(&client, jobs)?;
        // Programs get one object, and it says how the jobs ended.
        let told_later = self.wait && self.asking.json;
        if !told_later {
            self.say(&submitted)?;
        }
        if !self.wait {
            return Ok(ExitCode::SUCCESS);
        }
        let numbers: Vec<u32> =
            submitted.iter().flat_map(|one| one.job..one.job + one.tasks.max(1)).collect();
        let views = wait::all(&client, &numbers, self.parsable || told_later)?;
        if told_later {
            let whole = [("submitted", json!(submitted)), ("jobs", json!(views))];
            show::print(&json_text(whole)?)?;
        }
        Ok(ExitCode::from(wait::exit_code(&views)))
    }

    fn jobs(&self) -> Result<Vec<Job>> {
        let given = &self.job.given;
        if let Some(line) = &self.wrap {
            return Ok(vec![gather::of_line(line, given)?]);
        }
        if self.files.is_empty() {
            if self.command.is_empty() {
                let mistake = Mistake::new("there is nothing to run");
                let hint = "name a script or a YAML file, or say `-- command arguments`";
                return Err(mistake.hint(hint).into());
            }
            return Ok(vec![of_command(&self.command, given)?]);
        }
        let of_file = |path: &PathBuf| gather::of_file(path, &self.command, given);
        self.files.iter().map(of_file).collect()
    }

    fn say(&self, submitted: &[Submitted]) -> Result<()> {
        for one in submitted {
            for note in &one.notes {
                eprintln!("note: job {}: {note}", one.job);
            }
        }
        let each = |one: &Submitted| match (self.parsable, one.tasks) {
            (true, _) => format!("{}\n", one.job),
            (false, 0 | 1) if one.again => {
                format!("Job {} had been submitted before with this --once\n", one.job)
            }
            (false, _) if one.again => {
                let tasks = one.tasks;
                format!("Job {} with {tasks} tasks had been submitted before\n", one.job)
            }
            (false, 0 | 1) => format!("Submitted job {}\n", one.job),
            (false, tasks) => format!("Submitted job {} with {tasks} tasks\n", one.job),
        };
        self.asking.print("submitted", &submitted, |all| all.iter().map(each).collect())
    }

    fn test(&self, client: &Client, jobs: Vec<Job>) -> Result<()> {
        let mut forecasts: Vec<(String, Forecast)> = Vec::new();
        for job in jobs {
            let submission = send::with_waits(client, job)?;
            let forecast = client.post("/v1/test-only", &submission)?;
            forecasts.push((submission.name, forecast));
        }
        if self.asking.json {
            let all: Vec<&Forecast> = forecasts.iter().map(|(_, forecast)| forecast).collect();
            return crate::live::asking::print_json("forecasts", &all);
        }
        let each = |(name, forecast): &(String, Forecast)| forecast_text(name, forecast);
        show::print(&forecasts.iter().map(each).collect::<String>())
    }
}

/// The job of a file as it stands.
pub(crate) fn from_file(path: &Path) -> Result<Job> {
    gather::of_file(path, &[], &[])
}
