//! `heeler why` and `heeler when` of jobs on the server: the reason, what would help, and when it
//! will start.

use super::asking::{Asking, one};
use super::words;
use crate::client::Client;
use crate::show;
use anyhow::Result;
use clap::Args;
use heeler_api::{Calibration, Forecast, JobView, Why};

/// Why a job waits; all that wait, if none is named.
pub(crate) fn why(asking: &Asking, job: Option<&str>) -> Result<()> {
    let client = asking.client()?;
    let Some(job) = job else { return everybody(asking, &client) };
    let job = one(&client, job)?;
    let why: Why = client.get(&format!("/v1/jobs/{}/why", job.id))?;
    asking.print("why", &why, |why| why_text(&job, why))
}

fn everybody(asking: &Asking, client: &Client) -> Result<()> {
    let jobs: Vec<JobView> = client.get("/v1/jobs?state=pending,held,suspended")?;
    asking.print("jobs", &jobs, |jobs| super::queue::table(jobs, None))
}

fn why_text(job: &JobView, why: &Why) -> String {
    let gpus = if job.gpus == 1 { "one GPU".into() } else { format!("{} GPUs", job.gpus) };
    let mut text = format!(
        "Job {} ({}, {gpus}, tenant {}) is {}\n\n",
        words::label(job),
        job.name,
        job.tenant,
        words::state(job.state)
    );
    let mut line = |name: &str, value: &str| text.push_str(&format!("  {name:<8}  {value}\n"));
    if let Some(reason) = &why.reason {
        line("why", &reason.sentence);
        if let Some(hint) = &reason.hint {
            line("", hint);
        }
    }
    if let Some((seconds, decisions)) = why.noted.filter(|(seconds, _)| *seconds >= 1.0) {
        let since = show::seconds(seconds);
        let times = match decisions {
            1 => "one decision".into(),
            more => format!("{} decisions", show::count(more.into())),
        };
        line("so since", &format!("{since}, in {times}"));
    }
    if let Some(on) = &why.on {
        line("on", on);
    }
    if let Some(at) = why.reserved {
        line("at last", &format!("{} (promised)", words::moment(at)));
    }
    for help in &why.helps {
        let stops: Vec<String> = help.stops.iter().map(ToString::to_string).collect();
        let stops = match stops.is_empty() {
            true => String::new(),
            false => format!(", stopping {}", stops.join(", ")),
        };
        line("helps", &format!("{}: would start now on {}{stops}", help.change, help.on));
    }
    if why.reason.is_none() && why.on.is_none() {
        line("why", &why.state);
    }
    text
}

#[derive(Args)]
pub(crate) struct When {
    /// The job: 17, 17_3 or last
    job: String,
    #[command(flatten)]
    asking: Asking,
}

impl When {
    pub(crate) fn run(&self) -> Result<()> {
        let client = self.asking.client()?;
        let job = one(&client, &self.job)?;
        let forecast: Forecast = client.get(&format!("/v1/jobs/{}/when", job.id))?;
        self.asking.print("forecast", &forecast, |forecast| {
            let what = format!("Job {} ({})", words::label(&job), job.name);
            forecast_text(&what, forecast)
        })
    }
}

/// A forecast in words.
pub(crate) fn forecast_text(what: &str, forecast: &Forecast) -> String {
    let now = words::now();
    let later = |at: f64| format!("{} (in {})", words::moment(at), show::seconds(at - now));
    if let Some(why) = &forecast.never {
        return format!("{what} cannot start as things are: {why}\n");
    }
    let mut text = match forecast.starts {
        None => format!("{what}: when it starts cannot be told\n"),
        Some(at) if at <= now + 1.0 => format!("{what} starts now, or has started\n"),
        Some(at) => format!("{what} most likely starts at {}\n", later(at)),
    };
    if let Some((first, last)) = forecast.between.filter(|(first, last)| last - first > 1.0) {
        let (first, last) = (words::moment(first), words::moment(last));
        text.push_str(&format!("  between   {first} and {last}, in eight of ten futures\n"));
    }
    if let Some(at) = forecast.ends.filter(|at| *at > now) {
        text.push_str(&format!("  ends      {}\n", later(at)));
    }
    for assumed in &forecast.assumes {
        text.push_str(&format!("  assumes   {assumed}\n"));
    }
    text.push_str(&calibration_text(&forecast.calibration));
    text
}

fn calibration_text(calibration: &Calibration) -> String {
    match calibration.estimates {
        0 => "  record    no earlier estimate has come true or not yet\n".into(),
        count => format!(
            "  record    {} of {count} earlier estimates held; half were less than {} off\n",
            show::percent(calibration.within),
            show::seconds(calibration.median_off_s)
        ),
    }
}
