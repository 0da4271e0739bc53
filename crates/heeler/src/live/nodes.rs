//! `heeler nodes`, `drain`, `undrain` and `lose`: what jobs run on.

use super::asking::{Asking, Looks};
use super::words;
use crate::client::encode;
use crate::show::{self, Table};
use anyhow::Result;
use clap::Args;
use heeler_api::NodeView;
use serde_json::{Value, json};

#[derive(Args)]
pub(crate) struct Nodes {
    /// One line for each node, as it is anyway.
    #[arg(long = "Node", short = 'N', hide = true)]
    _each: bool,
    #[command(flatten)]
    looks: Looks,
    #[command(flatten)]
    asking: Asking,
}

impl Nodes {
    pub(crate) fn run(&self) -> Result<()> {
        self.looks.note();
        let nodes: Vec<NodeView> = self.asking.client()?.get("/v1/nodes")?;
        self.asking.print("nodes", &nodes, |nodes| table(nodes))
    }
}

/// Nodes as a table.
fn table(nodes: &[NodeView]) -> String {
    let columns =
        ["node", "state", "GPUs>", "kind", "free>", "in use", "CPUs>", "memory>", "jobs", "note"];
    let mut table = Table::prose(&columns);
    for node in nodes {
        let kind = match (node.emulated, node.gpu_memory_mb) {
            (true, _) => format!("{} (emulated)", node.kind),
            (false, 0) => node.kind.clone(),
            (false, mb) => format!("{} {} GB", node.kind, mb / 1024),
        };
        let jobs: Vec<String> = node.jobs.iter().map(ToString::to_string).collect();
        let unknown = |is_known: bool, text: String| if is_known { text } else { "?".into() };
        table.row([
            node.name.clone(),
            node.state.clone(),
            node.gpus.to_string(),
            kind,
            words::gpus(node.free_milli.into()),
            readings(node),
            unknown(node.cpus > 0.0, show::decimal(node.cpus)),
            unknown(node.memory_mb > 0, format!("{} GB", node.memory_mb / 1024)),
            jobs.join(","),
            node.note.clone().unwrap_or_default(),
        ]);
    }
    table.text()
}

/// How busy GPUs say they are.
fn readings(node: &NodeView) -> String {
    let used = node.readings.iter().filter_map(|gpu| gpu.get("use-percent"));
    let used: Vec<String> = used.map(|percent| format!("{percent:.0}%")).collect();
    used.join(" ")
}

const DRAIN_EXAMPLES: &str = "\
Examples:
  heeler drain n0 --note 'new power supply'    what runs there goes on, nothing new starts
  heeler undrain n0";

#[derive(Args)]
#[command(after_help = DRAIN_EXAMPLES)]
pub(crate) struct Drain {
    /// The node, as `heeler nodes` calls it
    node: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    asking: Asking,
}

impl Drain {
    pub(crate) fn run(&self) -> Result<()> {
        let path = format!("/v1/nodes/{}/drain", encode(&self.node));
        let _: Value = match &self.note {
            Some(note) => self.asking.client()?.post(&path, &json!({ "note": note }))?,
            None => self.asking.client()?.act(&path)?,
        };
        self.asking.print("node", &self.node, |node| format!("{node} takes no new jobs\n"))
    }
}

#[derive(Args)]
pub(crate) struct Node {
    /// The node, as `heeler nodes` calls it
    node: String,
    #[command(flatten)]
    asking: Asking,
}

impl Node {
    /// Let jobs start there again.
    pub(crate) fn undrain(&self) -> Result<()> {
        self.act("undrain", "takes jobs again")
    }

    /// Declare it lost.
    pub(crate) fn lose(&self) -> Result<()> {
        self.act("lose", "is taken for lost; what ran there starts again elsewhere if it may")
    }

    fn act(&self, what: &str, done: &str) -> Result<()> {
        let path = format!("/v1/nodes/{}/{what}", encode(&self.node));
        let _: Value = self.asking.client()?.act(&path)?;
        self.asking.print("node", &self.node, |node| format!("{node} {done}\n"))
    }
}
