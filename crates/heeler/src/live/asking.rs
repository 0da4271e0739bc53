//! What all commands that talk to the server share: where it is, and how answers are printed.

use crate::client::{Client, encode};
use crate::mistake::Mistake;
use crate::show;
use anyhow::Result;
use clap::Args;
use heeler_api::{JobView, Selection};
use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server")]
pub(crate) struct Asking {
    /// Where the server is: the path of a socket, http://host:port or https://host:port [default:
    /// $HEELER_SERVER, or the socket in the state folder]
    #[arg(long, value_name = "ADDRESS")]
    server: Option<String>,
    /// Print JSON for programs
    #[arg(long)]
    pub(crate) json: bool,
}

/// How Slurm's lists may be made to look; ours look one way, and --json has every field.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Looks {
    #[arg(long, short = 'l', hide = true)]
    long: bool,
    #[arg(
        long,
        short = 'o',
        short_alias = 'O',
        alias = "Format",
        value_name = "FORMAT",
        hide = true
    )]
    format: Option<String>,
    #[arg(long, hide = true)]
    noheader: bool,
}

impl Looks {
    /// Say what is ignored.
    pub(crate) fn note(&self) {
        if self.format.is_some() || self.noheader {
            eprintln!("note: -o, --format and --noheader are ignored; --json has every field");
        }
    }
}

impl Asking {
    /// A client of the server.
    pub(crate) fn client(&self) -> Result<Client> {
        Client::open(self.server.as_deref())
    }

    /// Print an answer: as JSON, or as what it says to people.
    pub(crate) fn print<T: Serialize>(
        &self,
        name: &str,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<()> {
        match self.json {
            true => print_json(name, value),
            false => show::print(&text(value)),
        }
    }
}

/// Print JSON in the form that all live commands share: a version, and what was asked for.
pub(crate) fn print_json(name: &str, value: &impl Serialize) -> Result<()> {
    show::print(&json_text([(name, serde_json::to_value(value)?)])?)
}

/// The text of it.
pub(crate) fn json_text<'a>(values: impl IntoIterator<Item = (&'a str, Value)>) -> Result<String> {
    let mut whole = Map::new();
    whole.insert("version".into(), Value::from(heeler_api::VERSION));
    whole.extend(values.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Ok(format!("{}\n", serde_json::to_string_pretty(&whole)?))
}

/// Jobs that people name, as one text.
pub(crate) fn selection(words: &[String]) -> Result<String> {
    let text = words.join(",");
    let checked = text.parse::<Selection>();
    checked.map_err(Mistake::new)?;
    Ok(text)
}

/// The jobs that a text names.
pub(crate) fn named(client: &Client, text: &str) -> Result<Vec<JobView>> {
    text.parse::<Selection>().map_err(Mistake::new)?;
    let jobs: Vec<JobView> = client.get(&format!("/v1/jobs?ids={}", encode(text)))?;
    match jobs.is_empty() {
        false => Ok(jobs),
        true => {
            let mistake = Mistake::new(format!("there is no job `{text}`"));
            Err(mistake.hint("`heeler queue` and `heeler history` list them").into())
        }
    }
}

/// The one job that a text names.
pub(crate) fn one(client: &Client, text: &str) -> Result<JobView> {
    let mut jobs = named(client, text)?;
    match (jobs.len(), jobs.pop()) {
        (1, Some(job)) => Ok(job),
        (count, job) => {
            let name = job.map(|job| super::words::label(&job)).unwrap_or_default();
            let mistake = Mistake::new(format!("`{text}` are {count} jobs, and one is wanted"));
            Err(mistake.hint(format!("name one of its tasks, such as {name}")).into())
        }
    }
}
