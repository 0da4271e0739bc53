//! Handing jobs in: once each, however often the connection breaks.

use crate::client::{Address, Client, NoServer};
use crate::live::asking;
use crate::mistake::Mistake;
use anyhow::Result;
use heeler_api::read::{Job, depend::Wait};
use heeler_api::{Code, Dependency, Problem, Selector, Submission, Submitted};
use std::time::Duration;

/// Jobs in one request.
const BATCH: usize = 500;

/// How often handing in is tried.
const TRIES: u32 = 5;

/// Hand jobs in.
pub(crate) fn send(client: &Client, jobs: Vec<Job>) -> Result<Vec<Submitted>> {
    let mut submissions = Vec::with_capacity(jobs.len());
    let named: Vec<String> = jobs.iter().filter_map(|job| job.tenant_at.clone()).collect();
    for job in jobs {
        submissions.push(with_waits(client, job)?);
    }
    let mut submitted = Vec::with_capacity(submissions.len());
    for batch in submissions.chunks_mut(BATCH) {
        for submission in batch.iter_mut().filter(|submission| submission.once.is_none()) {
            submission.once = Some(key()?);
        }
        submitted.extend(hand_in(client, batch).map_err(|error| placed(error, &named))?);
    }
    Ok(submitted)
}

/// A refusal of a tenant, with the line of the file that names it.
fn placed(error: anyhow::Error, named: &[String]) -> anyhow::Error {
    let problem = error.downcast_ref::<Problem>();
    let Some(problem) = problem.filter(|one| one.field.as_deref() == Some("tenant")) else {
        return error;
    };
    let is_it = |place: &&String| {
        let name = place.trim_end_matches('`').rsplit(' ').next().unwrap_or_default();
        problem.message.contains(&format!("`{name}`"))
    };
    let Some(place) = named.iter().find(is_it) else { return error };
    let hint = "Slurm's partitions are tenants here: `heeler tenant list` shows them; -A TENANT on \
                the command line goes before the file";
    Mistake::new(format!("{place}: {}", problem.message)).hint(hint).into()
}

/// What a client on another machine says of itself and no job should believe.
const AT_HOME: [&str; 9] = [
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "MAIL",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "HOSTNAME",
];

/// A key that nobody else has, so that one hand-in that is repeated is still one job.
fn key() -> Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("this machine has no random numbers: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn hand_in(client: &Client, batch: &[Submission]) -> Result<Vec<Submitted>> {
    let mut tries = 1;
    loop {
        match client.post("/v1/jobs", &batch) {
            Err(error) if tries < TRIES && may_pass(&error) => {
                std::thread::sleep(Duration::from_millis(100 << tries));
                tries += 1;
            }
            done => return done,
        }
    }
}

/// Whether something may go well if it is tried again. Nobody being there at all is said at once.
fn may_pass(error: &anyhow::Error) -> bool {
    let code = error.downcast_ref::<Problem>().map(|problem| problem.code);
    let passes = matches!(code, Some(Code::Unavailable | Code::Busy));
    passes || (error.is::<hyper::Error>() && !error.is::<NoServer>())
}

/// A job with the numbers of those it waits for.
pub(crate) fn with_waits(client: &Client, job: Job) -> Result<Submission> {
    let mut submission = job.submission;
    if matches!(client.address(), Address::Network { .. }) {
        // The server knows whom a job runs as, and where they are at home there.
        submission.env.retain(|name, _| !AT_HOME.contains(&name.as_str()));
    }
    for Wait { when, jobs } in job.waits {
        let text = match &jobs {
            Selector::Job(job) => job.to_string(),
            Selector::Tasks { array, tasks } => {
                let tasks: Vec<String> =
                    tasks.iter().map(|(first, last)| format!("{first}-{last}")).collect();
                format!("{array}_[{}]", tasks.join(","))
            }
            _ => "last".into(),
        };
        let named = asking::named(client, &text).map_err(|error| {
            match error.downcast_ref::<Problem>().map(|problem| problem.code) {
                Some(Code::NotFound) => Mistake::new(format!("`--dependency`: no job `{text}`"))
                    .hint("`heeler queue --all` lists them")
                    .into(),
                _ => error,
            }
        })?;
        submission.after.extend(named.iter().map(|view| Dependency { when, job: view.id }));
    }
    Ok(submission)
}
