//! `heeler show`: everything about a job.

use super::asking::{Asking, named, selection};
use super::words;
use crate::show::{self, Table};
use anyhow::Result;
use clap::Args;
use heeler_api::{JobView, Submission};

#[derive(Args)]
pub(crate) struct Show {
    /// The jobs: 17, 17_3, 1-10, last
    #[arg(value_name = "JOBS", required = true)]
    jobs: Vec<String>,
    #[command(flatten)]
    asking: Asking,
}

impl Show {
    pub(crate) fn run(&self) -> Result<()> {
        let client = self.asking.client()?;
        let mut jobs = named(&client, &selection(&self.jobs)?)?;
        if let [job] = jobs.as_mut_slice() {
            *job = client.get(&format!("/v1/jobs/{}", job.id))?;
        }
        self.asking.print("jobs", &jobs, |jobs| match jobs.as_slice() {
            [job] => whole(job),
            jobs => super::queue::table(jobs, None),
        })
    }
}

/// Everything about a job.
fn whole(job: &JobView) -> String {
    let mut text = format!("Job {} ({})\n\n", words::label(job), job.name);
    for (name, value) in facts(job).into_iter().filter(|(_, value)| !value.is_empty()) {
        text.push_str(&format!("  {name:<12} {value}\n"));
    }
    if !job.attempts.is_empty() {
        text.push_str(&format!("\n{}", attempts(job)));
    }
    text
}

fn facts(job: &JobView) -> Vec<(&'static str, String)> {
    let said = |at: Option<f64>| at.map(words::moment).unwrap_or_default();
    let class = serde_json::to_value(job.class).ok();
    let class = class.and_then(|value| value.as_str().map(str::to_string)).unwrap_or_default();
    let kinds =
        if job.kinds.is_empty() { String::new() } else { format!(" {}", job.kinds.join("/")) };
    let reason = job.reason.as_ref().map(|reason| match &reason.hint {
        Some(hint) => format!("{}; {hint}", reason.sentence),
        None => reason.sentence.clone(),
    });
    let exit = match (job.exit_code, job.exit_signal) {
        (_, Some(signal)) => format!("signal {signal}"),
        (Some(code), None) => format!("code {code}"),
        (None, None) => String::new(),
    };
    let limit = job.time_limit_s.map(|s| format!(" of {}", words::clock(s as f64)));
    let progress = job.progress.map(show::percent).unwrap_or_default();
    let steps = job.steps.map(|(steps, pace)| {
        format!("{} steps, {} a second", show::count(steps), show::decimal(pace))
    });
    let mut facts = vec![
        ("state", words::state(job.state).to_string()),
        ("reason", reason.unwrap_or_default()),
        ("message", job.message.clone().unwrap_or_default()),
        ("exit", exit),
        ("user", job.user.clone()),
        ("tenant", job.tenant.clone()),
        ("class", format!("{class}, priority {}", job.priority)),
        ("GPUs", format!("{}{kinds}", job.gpus)),
        ("on", job.on.clone().unwrap_or_default()),
        ("submitted", words::moment(job.submitted)),
        ("started", said(job.started)),
        ("ended", said(job.ended)),
        ("ran", format!("{}{}", words::clock(job.ran_s), limit.unwrap_or_default())),
        ("progress", progress),
        ("steps", steps.unwrap_or_default()),
        ("loss", job.loss.map(show::decimal).unwrap_or_default()),
        ("GPU-hours", gpu_hours(job)),
        ("stopped", times(job.preemptions, "for others")),
        ("restarted", times(job.restarts, "after failing or being lost")),
        ("output", job.output.clone().unwrap_or_default()),
    ];
    if let Some(submission) = &job.submission {
        facts.extend(handed_in(submission));
    }
    facts
}

fn gpu_hours(job: &JobView) -> String {
    let lost = words::gpu_hours(job.lost_gpu_s);
    format!("{}, of them lost {lost}", words::gpu_hours(job.gpu_s))
}

fn times(count: u32, what: &str) -> String {
    match count {
        0 => String::new(),
        1 => format!("once {what}"),
        count => format!("{count} times {what}"),
    }
}

fn handed_in(submission: &Submission) -> Vec<(&'static str, String)> {
    let command = match &submission.script {
        Some(script) => {
            let first = script.lines().next().unwrap_or("").trim_start_matches("#!");
            let words = shell_words::join(&submission.command);
            format!("a script of {} lines by {first} {words}", script.lines().count())
        }
        None => shell_words::join(&submission.command),
    };
    let after: Vec<String> = submission.after.iter().map(|wait| wait.job.to_string()).collect();
    let at = |at: Option<u64>| at.map(|at| words::moment(at as f64)).unwrap_or_default();
    vec![
        ("command", command),
        ("folder", submission.dir.clone()),
        ("waits for", after.join(", ")),
        ("not before", at(submission.begin)),
        ("finish by", at(submission.deadline)),
    ]
}

fn attempts(job: &JobView) -> String {
    let columns = ["attempt>", "on", "GPUs>", "from", "until", "end", "start>", "stop>", "lost>"];
    let mut table = Table::new(&columns);
    for attempt in &job.attempts {
        let seconds = |s: Option<f64>| s.map(show::seconds).unwrap_or_default();
        table.row([
            attempt.generation.to_string(),
            attempt.on.clone(),
            attempt.gpus.to_string(),
            words::moment(attempt.from),
            attempt.until.map(words::moment).unwrap_or_default(),
            attempt.end.clone().unwrap_or_default(),
            seconds(attempt.start_s),
            seconds(attempt.stop_s),
            format!("{} GPU-h", words::gpu_hours(attempt.lost_gpu_s)),
        ]);
    }
    table.text()
}
