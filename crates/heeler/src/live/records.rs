//! `heeler history`, `usage`, `evictions` and `audit`: what was.

use super::asking::{Asking, Looks, selection};
use super::words;
use crate::client::encode;
use crate::mistake::Mistake;
use crate::show::{self, Table};
use anyhow::Result;
use clap::Args;
use heeler_api::read::time;
use heeler_api::{AuditView, Eviction, JobView, Usage};
use jiff::Zoned;

const EXAMPLES: &str = "\
Examples:
  heeler history --since 2026-12-24     what ended since then
  heeler history 17 20-25               these jobs, over or not";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct History {
    /// Only these: 17, 17_3, 1-10, last
    #[arg(value_name = "JOBS")]
    jobs: Vec<String>,
    #[arg(long = "jobs", short = 'j', alias = "job", value_name = "JOBS", hide = true)]
    slurm_jobs: Vec<String>,
    /// Only those that ended since then: 9:00, today, 2026-12-24
    #[arg(long, short = 'S', alias = "starttime", value_name = "WHEN")]
    since: Option<String>,
    /// Only those of a user
    #[arg(long, short, value_name = "USER")]
    user: Option<String>,
    /// Only those of a tenant
    #[arg(long = "account", short = 'A', visible_alias = "tenant", value_name = "TENANT")]
    tenant: Option<String>,
    /// The latest so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    limit: usize,
    #[command(flatten)]
    looks: Looks,
    #[command(flatten)]
    asking: Asking,
}

/// The latest moment of this description that has passed: times of day are usually to come.
fn past(text: &str) -> Result<f64, Mistake> {
    let now = Zoned::now();
    let at = time::instant(text, &now).map_err(Mistake::new)?;
    let day = 86_400;
    let is_time = text.contains(':') && !text.contains('-');
    Ok(if is_time && i64::try_from(at).is_ok_and(|at| at > now.timestamp().as_second()) {
        at.saturating_sub(day) as f64
    } else {
        at as f64
    })
}

impl History {
    pub(crate) fn run(&self) -> Result<()> {
        self.looks.note();
        let since = self.since.as_deref().map(past).transpose()?;
        let mut path = format!("/v1/history?limit={}", self.limit);
        let named: Vec<String> = self.jobs.iter().chain(&self.slurm_jobs).cloned().collect();
        if !named.is_empty() {
            path.push_str(&format!("&ids={}", encode(&selection(&named)?)));
        }
        for (name, value) in [("user", &self.user), ("tenant", &self.tenant)] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", encode(value)));
            }
        }
        let mut jobs: Vec<JobView> = self.asking.client()?.get(&path)?;
        jobs.retain(|job| since.is_none_or(|since| job.ended.is_none_or(|ended| ended >= since)));
        self.asking.print("jobs", &jobs, |jobs| history(jobs))
    }
}

fn history(jobs: &[JobView]) -> String {
    let columns = [
        "job",
        "name",
        "user",
        "tenant",
        "state",
        "exit>",
        "GPUs>",
        "submitted",
        "waited>",
        "ran>",
        "GPU-h>",
        "lost>",
    ];
    let mut table = Table::new(&columns);
    for job in jobs {
        let exit = match (job.exit_code, job.exit_signal) {
            (_, Some(signal)) => format!("sig {signal}"),
            (Some(code), None) => code.to_string(),
            (None, None) => String::new(),
        };
        let waited = job.started.or(job.ended).map(|at| words::clock(at - job.submitted));
        table.row([
            words::label(job),
            job.name.clone(),
            job.user.clone(),
            job.tenant.clone(),
            words::state(job.state).into(),
            exit,
            job.gpus.to_string(),
            words::moment(job.submitted),
            waited.unwrap_or_default(),
            words::clock(job.ran_s),
            words::gpu_hours(job.gpu_s),
            words::gpu_hours(job.lost_gpu_s),
        ]);
    }
    table.text()
}

#[derive(Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    asking: Asking,
}

impl Asked {
    /// GPU time by tenant and user.
    pub(crate) fn usage(&self) -> Result<()> {
        let usage: Usage = self.asking.client()?.get("/v1/usage")?;
        self.asking.print("usage", &usage, usage_text)
    }

    /// Who was stopped for whom.
    pub(crate) fn evictions(&self) -> Result<()> {
        let evictions: Vec<Eviction> = self.asking.client()?.get("/v1/evictions")?;
        self.asking.print("evictions", &evictions, |evictions| {
            let mut table = Table::prose(&["when", "job>", "by>", "lost>", "what happened"]);
            for one in evictions {
                table.row([
                    words::moment(one.at),
                    one.job.to_string(),
                    one.by.map(|by| by.to_string()).unwrap_or_default(),
                    format!("{} GPU-h", words::gpu_hours(one.lost_gpu_s)),
                    one.sentence.clone(),
                ]);
            }
            table.text()
        })
    }

    /// Who changed what.
    pub(crate) fn audit(&self) -> Result<()> {
        let entries: Vec<AuditView> = self.asking.client()?.get("/v1/audit")?;
        self.asking.print("audit", &entries, |entries| {
            let mut table = Table::prose(&["when", "who", "did", "what"]);
            for one in entries {
                table.row([
                    words::moment(one.at),
                    one.user.clone(),
                    one.what.clone(),
                    one.detail.clone(),
                ]);
            }
            table.text()
        })
    }
}

fn usage_text(usage: &Usage) -> String {
    let columns = ["tenant", "user", "jobs>", "useful GPU-h>", "lost GPU-h>", "useful>"];
    let mut table = Table::new(&columns);
    let (mut useful, mut lost) = (0.0, 0.0);
    for row in &usage.rows {
        useful += row.useful_gpu_s;
        lost += row.lost_gpu_s;
        let all = row.useful_gpu_s + row.lost_gpu_s;
        let part = if all > 0.0 { show::percent(row.useful_gpu_s / all) } else { String::new() };
        table.row([
            row.tenant.clone(),
            row.user.clone(),
            show::count(row.jobs.into()),
            words::gpu_hours(row.useful_gpu_s),
            words::gpu_hours(row.lost_gpu_s),
            part,
        ]);
    }
    let there = usage.capacity_gpu_s;
    let busy = if there > 0.0 { (useful + lost) / there } else { 0.0 };
    format!(
        "Since {}: {} of {} GPU-hours used ({}), of them {} lost.\n\n{}",
        words::moment(usage.since),
        words::gpu_hours(useful + lost),
        words::gpu_hours(there),
        show::percent(busy),
        words::gpu_hours(lost),
        table.text()
    )
}
