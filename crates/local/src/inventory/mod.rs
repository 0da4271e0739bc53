//! What this machine has to offer: GPUs found through NVML, or made up.

mod emulate;
mod host;
mod nvml;

pub use emulate::Emulated;
pub(crate) use nvml::Gpus;

use crate::setup::LocalError;
use heeler_backend::Inventory;
use heeler_model::{Assignment, Cluster, RackId, Tenant};
use std::collections::BTreeMap;
use std::path::Path;

/// What GPUs are made up where there are none.
const WITHOUT_GPUS: &str = "8xA100";

/// There where a driver for GPUs is.
const DEVICE: &str = "/dev/nvidia0";

/// This machine's GPUs.
pub(crate) struct Machine {
    pub(crate) cluster: Cluster,
    pub(crate) emulated: bool,
    pub(crate) notes: Vec<String>,
    gpus: Option<Gpus>,
}

/// A job's part of one node, as its processes see it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Part {
    /// The node's name.
    pub(crate) node: String,
    /// Numbers of GPUs on this machine.
    pub(crate) devices: Vec<u32>,
    /// What the driver calls them; none, if they are made up.
    pub(crate) uuids: Vec<String>,
}

impl Machine {
    /// Look at the machine.
    pub(crate) fn find(emulate: Option<&str>) -> Result<Machine, LocalError> {
        if let Some(text) = emulate {
            return Ok(Machine::made_up(&text.parse()?, Vec::new()));
        }
        match Gpus::find() {
            Ok(gpus) => Ok(Machine::real(gpus)),
            Err(message) if Path::new(DEVICE).exists() => Err(LocalError::NoDriver { message }),
            Err(why) => {
                let note = format!("no GPUs were found ({why}); {WITHOUT_GPUS} are emulated");
                Ok(Machine::made_up(&WITHOUT_GPUS.parse()?, vec![note]))
            }
        }
    }

    fn made_up(emulated: &Emulated, notes: Vec<String>) -> Machine {
        let mut cluster = empty();
        // Nodes on one machine share what it has; each says that it has all of it, so that a job
        // that would fit on the machine fits on a node.
        for group in &emulated.0 {
            let kind = cluster.kind_named(&group.kind);
            cluster.kinds[kind.index()].memory_mb = emulate::memory_mb(&group.kind);
            for _ in 0..group.nodes {
                cluster.add_node(kind, group.gpus, RackId(0));
            }
        }
        for node in &mut cluster.nodes {
            (node.cpu_milli, node.memory_mb) = (host::cpu_milli(), host::memory_mb());
        }
        Machine { cluster, emulated: true, notes, gpus: None }
    }

    fn real(gpus: Gpus) -> Machine {
        let mut cluster = empty();
        let kind = cluster.kind_named(&gpus.kind);
        cluster.kinds[kind.index()].memory_mb = gpus.memory_mb;
        let node = cluster.add_node(kind, gpus.count, RackId(0));
        let node = &mut cluster.nodes[node.index()];
        node.name = host::name();
        (node.cpu_milli, node.memory_mb) = (host::cpu_milli(), host::memory_mb());
        let notes = gpus.notes.clone();
        Machine { cluster, emulated: false, notes, gpus: Some(gpus) }
    }

    /// What is said of the machine.
    pub(crate) fn inventory(&self, checkpoints: bool, notes: &[String]) -> Inventory {
        Inventory {
            cluster: self.cluster.clone(),
            emulated: self.emulated,
            checkpoints: checkpoints && !self.emulated,
            notes: self.notes.iter().chain(notes).cloned().collect(),
        }
    }

    /// What each GPU of each node says of itself.
    pub(crate) fn readings(&self) -> Vec<Vec<BTreeMap<String, f64>>> {
        match &self.gpus {
            Some(gpus) => vec![gpus.readings()],
            None => {
                let nothing = |gpus: u32| vec![BTreeMap::new(); gpus as usize];
                self.cluster.nodes.iter().map(|node| nothing(node.gpus)).collect()
            }
        }
    }

    /// A job's GPUs by their numbers on this machine. Emulated nodes are numbered on, so that no
    /// two jobs ever see the same number for different GPUs.
    pub(crate) fn parts(&self, assignment: &Assignment) -> Vec<Part> {
        let part = |slice: &heeler_model::Slice| {
            let before = self.cluster.nodes.iter().take(slice.node.index());
            let first: u32 = before.map(|node| node.gpus).sum();
            let name = self.cluster.nodes.get(slice.node.index()).map(|node| node.name.clone());
            let slots = || slice.slots.iter().map(|slot| (first + slot) as usize);
            let known = self.gpus.as_ref();
            let device = |slot| known.and_then(|gpus| gpus.devices.get(slot).copied());
            let uuid = |slot| known.and_then(|gpus| gpus.uuids.get(slot).cloned());
            Part {
                node: name.unwrap_or_else(|| format!("n{}", slice.node)),
                devices: slots().map(|slot| device(slot).unwrap_or(slot as u32)).collect(),
                uuids: slots().filter_map(uuid).collect(),
            }
        };
        assignment.placement.slices().iter().map(part).collect()
    }
}

fn empty() -> Cluster {
    Cluster {
        racks: vec!["rack0".into()],
        tenants: vec![Tenant::named("default")],
        ..Cluster::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::{NodeId, Placement, Slice, Slots};

    #[test]
    fn emulated_nodes_share_no_numbers() {
        let machine = Machine::find(Some("2x4xA100,1x2xT4")).expect("it makes sense");
        let slices = [(0, 0b11), (2, 0b10)];
        let slices = slices.map(|(node, slots)| Slice { node: NodeId(node), slots: Slots(slots) });
        let parts = machine.parts(&Assignment::whole(Placement::new(slices.into_iter().collect())));
        let part = |node: &str, devices| Part { node: node.into(), devices, uuids: Vec::new() };
        assert_eq!(parts, [part("n0", vec![0, 1]), part("n2", vec![9])]);
        assert_eq!(machine.cluster.kinds.len(), 2);
        assert_eq!(machine.readings().iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 2]);
    }
}
