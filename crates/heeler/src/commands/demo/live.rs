//! The live half of the demo: one server, four made-up GPUs, three tenants, real processes. One
//! tenant borrows what is idle, its owner wants it back, somebody has to wait; all of it is said as
//! it happens, and why.

use crate::client::{Address, Client};
use crate::show;
use anyhow::{Context, Result, bail};
use heeler_api::{Eviction, Gpus, JobState, JobView, Submission, TenantChange, Usage, Why};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const START: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(100);
/// Everything is over long before.
const END: Duration = Duration::from_secs(120);

pub(super) fn run() -> Result<()> {
    let stage = Stage::open()?;
    show::print(
        "A server with 4 made-up GPUs and real processes. `vision` and `speech` have 2 GPUs each \
         by right,\n`students` take what is left over. The recipe is `capacity`: what is idle is \
         lent, and taken back.\n\n",
    )?;
    for (tenant, quota) in [("vision", 2), ("speech", 2), ("students", 0)] {
        let change = TenantChange { quota: Some(Some(quota)), ..TenantChange::default() };
        let _: Value = stage.client.put(&format!("/v1/tenants/{tenant}"), &change)?;
    }
    let mut story = Story { stage: &stage, begun: Instant::now(), seen: BTreeMap::new() };
    for number in 1..=4 {
        story.submit(&format!("resnet-{number}"), "vision", 1, 5)?;
    }
    story.watch_until(|jobs| {
        jobs.iter().filter(|job| job.state == JobState::Running).count() == 4
    })?;
    story.say("speech wants its own two GPUs, which vision has borrowed")?;
    let wanted = story.submit("whisper", "speech", 2, 4)?;
    let student = story.submit("homework", "students", 1, 2)?;
    story.watch_until(|jobs| is(jobs, wanted, JobState::Running))?;
    story.why(student)?;
    story.watch_until(|jobs| jobs.iter().all(|job| job.state.is_over()))?;
    story.sum_up()
}

fn is(jobs: &[JobView], id: u32, state: JobState) -> bool {
    jobs.iter().any(|job| job.id == id && job.state == state)
}

/// A server of our own, in a folder of our own; both are gone when this is.
struct Stage {
    folder: PathBuf,
    server: Child,
    client: Client,
}

impl Stage {
    fn open() -> Result<Stage> {
        let folder = std::env::temp_dir().join(format!("heeler-demo-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let program = std::env::current_exe().context("finding this very program")?;
        let log = File::create(folder.join("server.log"))?;
        let server = Command::new(program)
            .args(["up", "--emulate", "4xA100", "--recipe", "capacity", "--state"])
            .arg(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("starting a server")?;
        let client = Client::at(Address::Socket(folder.join("heeler.sock")))?;
        let mut stage = Stage { folder, server, client };
        stage.wait()?;
        Ok(stage)
    }

    /// Wait until the server answers.
    fn wait(&mut self) -> Result<()> {
        let begun = Instant::now();
        while self.client.get::<Value>("/v1/server").is_err() {
            if let Some(status) = self.server.try_wait()? {
                bail!("the server ended with {status}:\n{}", said(&self.folder));
            }
            if begun.elapsed() > START {
                bail!("the server does not answer:\n{}", said(&self.folder));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// What the server logged.
fn said(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("server.log")).unwrap_or_default()
}

impl Drop for Stage {
    fn drop(&mut self) {
        let unfinished: Result<Value> = self.client.act("/v1/jobs/all/cancel");
        drop(unfinished);
        let pid = nix::unistd::Pid::from_raw(self.server.id() as i32);
        // It may have ended by itself; then there is nobody to tell.
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        let _ = self.server.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What happens, told as it does.
struct Story<'a> {
    stage: &'a Stage,
    begun: Instant,
    seen: BTreeMap<u32, (JobState, Option<String>)>,
}

impl Story<'_> {
    fn say(&self, text: &str) -> Result<()> {
        show::print(&format!("{:6.1} s  {text}\n", self.begun.elapsed().as_secs_f64()))
    }

    /// Hand in a process that counts for some seconds.
    fn submit(&mut self, name: &str, tenant: &str, gpus: u32, seconds: u32) -> Result<u32> {
        let count = format!(
            "i=0; while [ $i -lt {} ]; do i=$((i+1)); echo step $i; sleep 0.1; done",
            seconds * 10
        );
        let job = Submission {
            name: name.into(),
            tenant: Some(tenant.into()),
            command: vec!["/bin/sh".into(), "-c".into(), count],
            dir: self.stage.folder.display().to_string(),
            gpus: Gpus { count: gpus, ..Gpus::default() },
            expected_s: Some(u64::from(seconds)),
            ..Submission::default()
        };
        let made: Vec<heeler_api::Submitted> = self.stage.client.post("/v1/jobs", &vec![job])?;
        let id = made.first().map(|made| made.job).context("the server names the job")?;
        self.look()?;
        Ok(id)
    }

    /// Say what has changed.
    fn look(&mut self) -> Result<Vec<JobView>> {
        let jobs: Vec<JobView> = self.stage.client.get("/v1/jobs?ids=1-100")?;
        for job in &jobs {
            let now = (job.state, job.on.clone());
            let before = self.seen.insert(job.id, now.clone());
            if before.as_ref() == Some(&now) {
                continue;
            }
            let gpus = if job.gpus == 1 { "1 GPU".into() } else { format!("{} GPUs", job.gpus) };
            let who = format!("{} ({}, {gpus})", job.name, job.tenant);
            let waited = before.is_some_and(|(state, _)| state == JobState::Pending);
            let on = job.on.as_deref().unwrap_or("its GPUs");
            let again = job.preemptions > 0;
            match job.state {
                JobState::Pending if waited => {}
                JobState::Pending if again => self.say(&format!("{who} has left its GPUs"))?,
                JobState::Pending => self.say(&format!("{who} is handed in"))?,
                JobState::Running if again => self.say(&format!("{who} goes on on {on}"))?,
                JobState::Running => self.say(&format!("{who} runs on {on}"))?,
                JobState::Stopping => self.say(&format!("{who} is told to stop"))?,
                state if state.is_over() => self.say(&format!("{who} is done"))?,
                _ => {}
            }
        }
        Ok(jobs)
    }

    fn watch_until(&mut self, over: impl Fn(&[JobView]) -> bool) -> Result<()> {
        while !over(&self.look()?) {
            if self.begun.elapsed() > END {
                bail!("this takes too long; the server says:\n{}", said(&self.stage.folder));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Ask why a job waits.
    fn why(&self, job: u32) -> Result<()> {
        let why: Why = self.stage.client.get(&format!("/v1/jobs/{job}/why"))?;
        let Some(reason) = why.reason else { return Ok(()) };
        self.say(&format!("why does job {job} wait? {}", reason.sentence))?;
        if let Some(hint) = reason.hint {
            show::print(&format!("          {hint}\n"))?;
        }
        Ok(())
    }

    /// What it came to.
    fn sum_up(&self) -> Result<()> {
        let evictions: Vec<Eviction> = self.stage.client.get("/v1/evictions")?;
        for eviction in evictions {
            show::print(&format!("          {}\n", eviction.sentence))?;
        }
        let usage: Usage = self.stage.client.get("/v1/usage")?;
        let sum = |of: fn(&heeler_api::UsageRow) -> f64| usage.rows.iter().map(of).sum::<f64>();
        show::print(&format!(
            "          {:.0} GPU-seconds were of use, {:.1} were lost.\n\n",
            sum(|row| row.useful_gpu_s),
            sum(|row| row.lost_gpu_s)
        ))
    }
}
