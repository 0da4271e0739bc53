//! `heeler events`: what happens, as it happens.

use super::asking::Asking;
use crate::client::{Client, Lines};
use crate::show;
use anyhow::Result;
use clap::Args;
use hyper::Method;
use serde_json::Value;

#[derive(Args)]
pub(crate) struct Events {
    #[command(flatten)]
    asking: Asking,
}

impl Events {
    pub(crate) fn run(&self) -> Result<()> {
        let client = self.asking.client()?;
        client.wait_for(async {
            let mut events = follow(&client).await?;
            while let Some(data) = events.event().await? {
                show::print(&self.line(&data))?;
            }
            Ok(())
        })
    }

    /// An event as a line.
    fn line(&self, data: &str) -> String {
        let Ok(event) = serde_json::from_str::<Value>(data) else { return format!("{data}\n") };
        if self.asking.json {
            return format!("{{\"version\":\"{}\",\"event\":{event}}}\n", heeler_api::VERSION);
        }
        let word = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or("").to_string();
        let Some(job) = event.get("job").and_then(Value::as_u64) else {
            return format!("{data}\n");
        };
        let on = word("on");
        let on = if on.is_empty() { on } else { format!(" on {on}") };
        format!(
            "{} job {job} ({}, {}, {}) {}{on}\n",
            super::words::moment(super::words::now()),
            word("name"),
            word("user"),
            word("tenant"),
            word("state"),
        )
    }
}

/// The stream of events.
pub(crate) async fn follow(client: &Client) -> Result<Lines> {
    Ok(Lines::of(client.send(Method::GET, "/v1/events", None).await?.into_body()))
}
