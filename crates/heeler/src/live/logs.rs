//! `heeler logs`: what a job printed, and what it prints.

use super::asking::{Asking, one};
use super::wait;
use crate::client::{Client, Lines};
use crate::show;
use anyhow::Result;
use clap::Args;
use hyper::Method;
use std::io::Write;
use std::time::Duration;

/// How often a stream that broke off is taken up again before that is a failure.
const AGAIN: u32 = 60;

#[derive(Args)]
pub(crate) struct Logs {
    /// The job: 17, 17_3 or last
    job: String,
    /// Go on as it prints, until it is over
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    asking: Asking,
}

impl Logs {
    pub(crate) fn run(&self) -> Result<()> {
        let client = self.asking.client()?;
        let job = one(&client, &self.job)?.id;
        if self.asking.json {
            let mut text = Vec::new();
            client.wait_for(stream(&client, job, self.follow, &mut text))?;
            return super::asking::print_json("output", &String::from_utf8_lossy(&text));
        }
        client.wait_for(stream(&client, job, self.follow, &mut std::io::stdout()))
    }
}

/// Write what a job prints. A server that goes away meanwhile is waited for.
pub(crate) async fn stream(
    client: &Client,
    job: u32,
    follow: bool,
    to: &mut impl Write,
) -> Result<()> {
    if follow {
        // Before it begins there is nothing to read.
        super::run::begun(client, job).await?;
    }
    let (mut from, mut again) = (0_u64, 0);
    loop {
        match piece(client, job, from, follow, to).await {
            Ok(_) if !follow => return Ok(()),
            Ok(written) => {
                from += written;
                // A server that ends closes its streams, and the job goes on without it.
                let view = wait::until(client, job, |_| true).await?;
                if view.state.is_over() {
                    let rest = piece(client, job, from, false, to).await;
                    return rest.map(|_| ()).map_err(|broken| broken.error);
                }
            }
            Err(Broken { written, error }) => {
                // The output itself is closed: whoever read it has seen enough.
                let closed = error.downcast_ref::<std::io::Error>().is_some();
                let refused = error.downcast_ref::<heeler_api::Problem>().is_some();
                if !follow || closed || refused || again == AGAIN {
                    return Err(error);
                }
                again = if written > 0 { 0 } else { again + 1 };
                from += written;
            }
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// A stream that broke off.
struct Broken {
    /// Bytes that came before.
    written: u64,
    error: anyhow::Error,
}

async fn piece(
    client: &Client,
    job: u32,
    from: u64,
    follow: bool,
    to: &mut impl Write,
) -> Result<u64, Broken> {
    let follow = if follow { "&follow=1" } else { "" };
    let path = format!("/v1/jobs/{job}/logs?stream=out&from={from}{follow}");
    let mut written = 0;
    let mut work = async || -> Result<()> {
        let response = client.send(Method::GET, &path, None).await?;
        note_lost(job, from, response.headers());
        let mut lines = Lines::of(response.into_body());
        while let Some(bytes) = lines.piece().await? {
            to.write_all(&bytes)?;
            to.flush()?;
            written += bytes.len() as u64;
        }
        Ok(())
    };
    match work().await {
        Ok(()) => Ok(written),
        Err(error) => Err(Broken { written, error }),
    }
}

/// Say it if what a job printed first is kept no more.
fn note_lost(job: u32, from: u64, headers: &hyper::HeaderMap) {
    let begins = headers.get("heeler-from").and_then(|value| value.to_str().ok());
    let begins = begins.and_then(|text| text.parse::<u64>().ok());
    if let Some(begins) = begins.filter(|begins| *begins > from) {
        let lost = show::count(begins - from);
        remark(&format!("the first {lost} bytes of job {job} were dropped to keep its log small"));
    }
}

/// Print a line beside what a job prints.
pub(crate) fn remark(text: &str) {
    eprintln!("heeler: {text}");
}
