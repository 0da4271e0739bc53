//! Going through a journal: every record is applied again, and every decision is compared with the
//! one that was taken live.

use anyhow::{Context, Result, anyhow};
use heeler_api::Who;
use heeler_backend::Sign;
use heeler_live::{Ask, Input, Live, Record};
use heeler_model::{NodeId, Time};
use std::path::Path;

/// A node that was not there for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outage {
    pub(super) node: NodeId,
    pub(super) from: Time,
    pub(super) until: Option<Time>,
}

/// What was found on the way.
pub(super) struct Walked {
    /// The state at the end.
    pub(super) live: Live,
    pub(super) records: u64,
    pub(super) orders: u64,
    /// The number of the first record before which another decision had been taken.
    pub(super) differs_before: Option<u64>,
    pub(super) outages: Vec<Outage>,
    /// How often another recipe was put in charge.
    pub(super) recipes: u32,
    pub(super) notes: Vec<String>,
}

/// Go through a journal from as far back as it goes.
pub(super) fn walk(path: &Path) -> Result<Walked> {
    let shown = path.display();
    let contents = heeler_journal::read_left(path).with_context(|| format!("{shown}"))?;
    let mut live = None;
    if let Some((number, bytes)) = &contents.snapshot {
        let saved = serde_json::from_slice(bytes)
            .with_context(|| format!("{shown}: the snapshot at record {number}"))?;
        live = Some(Live::load(saved).map_err(|error| {
            anyhow!("{shown}: the snapshot at record {number} cannot be understood: {error}")
        })?);
    }
    let mut walk = Walk { live, orders: 0, differs_before: None, outages: Vec::new(), recipes: 0 };
    let records = contents.records.len() as u64;
    for (number, bytes) in contents.records {
        let record = heeler_server::decode(&bytes)
            .map_err(|error| anyhow!("{shown}: record {number} cannot be understood: {error}"))?;
        walk.take(number, &record).with_context(|| format!("{shown}: record {number}"))?;
    }
    let live = walk.live.ok_or_else(|| anyhow!("{shown}: the journal is empty"))?;
    Ok(Walked {
        live,
        records,
        orders: walk.orders,
        differs_before: walk.differs_before,
        outages: walk.outages,
        recipes: walk.recipes,
        notes: contents.notes,
    })
}

struct Walk {
    live: Option<Live>,
    orders: u64,
    differs_before: Option<u64>,
    outages: Vec<Outage>,
    recipes: u32,
}

impl Walk {
    fn take(&mut self, number: u64, record: &Record) -> Result<()> {
        if let Some(Input::Opened { epoch, inventory, recipe, seed }) = record.inputs.first() {
            let live = Live::open(*epoch, inventory.clone(), recipe, *seed);
            self.live = Some(live.map_err(|problem| anyhow!("{}", problem.message))?);
        }
        let live = self.live.as_mut().ok_or_else(|| anyhow!("the journal has no beginning"))?;
        if live.digest() != record.digest {
            self.differs_before.get_or_insert(number);
        }
        live.apply(record);
        self.orders += live.decide(record.at).orders.len() as u64;
        live.changes();
        let recipe = |input: &&Input| matches!(input, Input::Asked { ask: Ask::Recipe(_), .. });
        self.recipes += record.inputs.iter().filter(recipe).count() as u32;
        if record.inputs.iter().any(is_of_nodes) {
            self.look_at_nodes();
        }
        Ok(())
    }

    fn look_at_nodes(&mut self) {
        let Some(live) = &self.live else { return };
        let now = live.now();
        for (index, view) in live.nodes().iter().enumerate() {
            let node = NodeId(index as u32);
            let open = self.outages.iter_mut().find(|it| it.node == node && it.until.is_none());
            match (view.state == "down", open) {
                (true, None) => self.outages.push(Outage { node, from: now, until: None }),
                (false, Some(outage)) => outage.until = Some(now),
                _ => {}
            }
        }
    }
}

fn is_of_nodes(input: &Input) -> bool {
    match input {
        Input::Sign(sign) => matches!(sign, Sign::NodeDown { .. } | Sign::NodeUp { .. }),
        Input::Asked { ask, .. } => {
            matches!(ask, Ask::Drain { .. } | Ask::Undrain { .. } | Ask::Lose { .. })
        }
        _ => false,
    }
}

/// Somebody who may see everything.
pub(super) fn everybody() -> Who {
    let role = heeler_api::Role::Admin;
    Who { user: String::new(), uid: None, gid: None, role, tenants: Vec::new() }
}
