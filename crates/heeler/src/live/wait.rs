//! Waiting for jobs to be over, through restarts of the server.

use super::logs::remark;
use super::words;
use crate::client::{Client, NoServer};
use anyhow::Result;
use heeler_api::{Code, JobView, Problem};
use hyper::Method;
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);

/// How long a server may be away while somebody waits for a job.
const AWAY: Duration = Duration::from_secs(300);

/// Ask about a job until it is as wanted. The first questions come quickly, later ones slowly.
pub(crate) async fn until(
    client: &Client,
    job: u32,
    mut is_there: impl FnMut(&JobView) -> bool,
) -> Result<JobView> {
    let (mut pause, mut away) = (FIRST, Duration::ZERO);
    loop {
        let path = format!("/v1/jobs/{job}");
        match client.ask::<JobView>(Method::GET, &path, None).await {
            Ok(view) if is_there(&view) => return Ok(view),
            Ok(_) => away = Duration::ZERO,
            Err(error) if is_away(&error) && away < AWAY => {
                if away.is_zero() {
                    remark("the server is away; waiting for it to come back");
                }
                away += pause;
            }
            Err(error) => return Err(error),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST);
    }
}

/// Whether a server may come back that was not there.
fn is_away(error: &anyhow::Error) -> bool {
    let code = error.downcast_ref::<Problem>().map(|problem| problem.code);
    let passes = matches!(code, Some(Code::Unavailable | Code::Busy));
    passes || error.is::<NoServer>() || error.is::<hyper::Error>()
}

/// Wait for all, and say how each ended.
pub(crate) fn all(client: &Client, jobs: &[u32], quiet: bool) -> Result<Vec<JobView>> {
    let mut views = Vec::with_capacity(jobs.len());
    for job in jobs {
        let view = client.wait_for(until(client, *job, |view| view.state.is_over()))?;
        if !quiet {
            remark(&ended(&view));
        }
        views.push(view);
    }
    Ok(views)
}

/// The largest exit code of jobs that are over.
pub(crate) fn exit_code(views: &[JobView]) -> u8 {
    views.iter().map(words::exit_code).max().unwrap_or(0)
}

/// How a job ended, in a line.
pub(crate) fn ended(view: &JobView) -> String {
    let how = match (view.exit_code, view.exit_signal) {
        (_, Some(signal)) => format!(" by signal {signal}"),
        (Some(code), None) if code != 0 => format!(" with exit code {code}"),
        _ => String::new(),
    };
    let more = view.message.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
    let (name, state) = (words::label(view), words::state(view.state));
    format!("job {name} {state}{how} after {}{more}", words::clock(view.ran_s))
}
