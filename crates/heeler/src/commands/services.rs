//! `heeler services`: the served models that come along, to try and to start from.

use crate::mistake::Mistake;
use crate::show;
use anyhow::Result;
use clap::{Args, Subcommand};
use heeler_sim::{services, suggest};
use serde::Serialize;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Services {
    #[command(subcommand)]
    command: Option<What>,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum What {
    /// Print the file of a service, to change it
    Show {
        /// Its name
        service: String,
    },
}

#[derive(Serialize)]
struct Line {
    name: &'static str,
    summary: &'static str,
}

impl Services {
    pub(crate) fn run(&self) -> Result<()> {
        match &self.command {
            Some(What::Show { service }) => show::print(find(service)?),
            None => list(self.json),
        }
    }
}

fn find(name: &str) -> Result<&'static str> {
    services::text(name).ok_or_else(|| {
        let hint = suggest::hint(name, services::names());
        Mistake::new(format!("there is no service `{name}`")).hint(hint).into()
    })
}

fn list(json: bool) -> Result<()> {
    let line = |name| {
        let text = services::text(name).unwrap_or_default();
        // The first line of a file says what it is.
        let summary = text.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
        Line { name, summary }
    };
    let lines: Vec<Line> = services::names().map(line).collect();
    if json {
        #[derive(Serialize)]
        struct All<'a> {
            services: &'a [Line],
        }
        return show::print_json("heeler/services/1", &All { services: &lines });
    }
    let mut table = show::Table::prose(&["service", "summary"]);
    for line in &lines {
        table.row([line.name, line.summary]);
    }
    show::print(&table.text())
}
