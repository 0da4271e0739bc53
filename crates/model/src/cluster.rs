//! The cluster as its owner describes it: kinds of GPU, nodes, racks and tenants.

use crate::ids::{KindId, NodeId, RackId, TenantId};
use crate::pairs::Pairs;
use crate::placement::{Placement, Slice, Slots};
use crate::quantity::Milli;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// A kind of GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kind {
    /// Its name, as jobs ask for it.
    pub name: String,
    /// Memory of one GPU, MB; zero when unknown, and then memory is not checked.
    pub memory_mb: u32,
    /// Its speed where no measured table says more: thousandths of the reference kind's.
    pub speed: Milli,
    /// What an hour of one GPU costs, from when on, in order of time; nothing before the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<Price>,
    /// Watts that one GPU takes when it is used; zero when unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub watts: u32,
}

/// Whether a number says nothing; serde wants a function.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What an hour of a GPU costs from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// From when on.
    pub from: Time,
    /// Millionths of whatever money is counted in.
    pub micro: u64,
}

impl Kind {
    /// What an hour of a GPU costs at a time.
    pub fn price_at(&self, at: Time) -> f64 {
        let known = self.prices.iter().rev().find(|price| price.from <= at);
        known.map_or(0.0, |price| price.micro as f64 / 1e6)
    }

    /// What a GPU costs from one time to another.
    pub fn cost(&self, from: Time, until: Time) -> f64 {
        let mut sum = 0.0;
        for (at, price) in self.prices.iter().enumerate() {
            let end = self.prices.get(at + 1).map_or(until, |next| next.from.min(until));
            let span = end.since(price.from.max(from));
            sum += span.secs_f64() / 3600.0 * price.micro as f64 / 1e6;
        }
        sum
    }

    /// When its price changes next after a time.
    pub fn next_price(&self, after: Time) -> Option<Time> {
        self.prices.iter().map(|price| price.from).find(|from| *from > after)
    }
}

/// A node. All its GPUs are of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The kind of its GPUs.
    pub kind: KindId,
    /// How many GPUs; at most 64.
    pub gpus: u32,
    /// The rack it stands in.
    pub rack: RackId,
    /// GPUs joined by NVLink, in groups of so many neighbouring slots (all of them, if zero).
    pub link_group: u32,
    /// CPU cores in thousandths; zero when unknown, and then CPUs are not checked.
    pub cpu_milli: u64,
    /// Host memory, MB; zero when unknown, and then memory is not checked.
    pub memory_mb: u64,
}

impl Node {
    /// All its GPU slots.
    pub const fn slots(&self) -> Slots {
        Slots::first(self.gpus)
    }

    /// The slots joined by NVLink to a given one, itself among them.
    pub const fn linked_with(&self, slot: u32) -> Slots {
        if self.link_group == 0 || self.link_group >= self.gpus {
            return self.slots();
        }
        let start = slot / self.link_group * self.link_group;
        Slots((Slots::first(self.link_group).0) << start).and(self.slots())
    }
}

/// A tenant: a team, a queue, a virtual cluster, or a user below one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// The tenant it is part of.
    pub parent: Option<TenantId>,
    /// Its part of what is shared out by weight.
    pub weight: u32,
    /// GPUs it can always get back.
    pub quota: Option<u32>,
    /// GPUs it can never go beyond.
    pub limit: Option<u32>,
}

impl Tenant {
    /// A tenant with weight one and neither quota nor limit.
    pub fn named(name: impl Into<String>) -> Tenant {
        Tenant { name: name.into(), parent: None, weight: 1, quota: None, limit: None }
    }
}

/// The whole cluster as described.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// Kinds of GPU, by `KindId`.
    pub kinds: Vec<Kind>,
    /// Nodes, by `NodeId`.
    pub nodes: Vec<Node>,
    /// Names of racks, by `RackId`.
    pub racks: Vec<String>,
    /// Tenants, by `TenantId`. The first is who jobs without a tenant belong to.
    pub tenants: Vec<Tenant>,
    /// What was measured of two jobs on the same GPUs.
    #[serde(default, skip_serializing_if = "Pairs::is_empty")]
    pub pairs: Pairs,
}

impl Cluster {
    /// So many equal nodes of so many GPUs, in one rack, for one tenant.
    pub fn uniform(nodes: u32, gpus: u32) -> Cluster {
        let mut cluster = Cluster {
            kinds: Vec::new(),
            nodes: Vec::new(),
            racks: vec!["rack0".into()],
            tenants: vec![Tenant::named("default")],
            pairs: Pairs::default(),
        };
        let kind = cluster.kind_named("gpu");
        for _ in 0..nodes {
            cluster.add_node(kind, gpus, RackId(0));
        }
        cluster
    }

    /// The kind of that name, added if it is new.
    pub fn kind_named(&mut self, name: &str) -> KindId {
        let index = self.kinds.iter().position(|kind| kind.name == name).unwrap_or_else(|| {
            let (name, speed, prices) = (name.into(), Milli::WHOLE, Vec::new());
            self.kinds.push(Kind { name, memory_mb: 0, speed, prices, watts: 0 });
            self.kinds.len() - 1
        });
        KindId(index as u8)
    }

    /// The tenant of that name, added if it is new.
    pub fn tenant_named(&mut self, name: &str) -> TenantId {
        let index = self.tenants.iter().position(|tenant| tenant.name == name);
        let index = index.unwrap_or_else(|| {
            self.tenants.push(Tenant::named(name));
            self.tenants.len() - 1
        });
        TenantId(index as u16)
    }

    /// Add a node of so many GPUs, its CPUs and memory unknown.
    pub fn add_node(&mut self, kind: KindId, gpus: u32, rack: RackId) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let name = format!("n{id}");
        self.nodes.push(Node { name, kind, gpus, rack, link_group: 0, cpu_milli: 0, memory_mb: 0 });
        id
    }

    /// Where GPUs are, with nodes by name: `n3[0-3] n7[0]`, and just the name without GPUs.
    pub fn place_name(&self, placement: &Placement) -> String {
        let one = |slice: &Slice| {
            let text = Placement::on(slice.node, slice.slots).to_string();
            let Some(node) = self.nodes.get(slice.node.index()) else { return text };
            let slots = text.find('[').filter(|_| !slice.slots.is_empty());
            format!("{}{}", node.name, slots.map_or("", |at| &text[at..]))
        };
        placement.slices().iter().map(one).collect::<Vec<_>>().join(" ")
    }

    /// All GPUs.
    pub fn gpus(&self) -> u32 {
        self.nodes.iter().map(|node| node.gpus).sum()
    }

    /// GPUs of one kind.
    pub fn gpus_of(&self, kind: KindId) -> u32 {
        self.nodes.iter().filter(|node| node.kind == kind).map(|node| node.gpus).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_groups_are_neighbouring_slots() {
        let mut cluster = Cluster::uniform(1, 8);
        cluster.nodes[0].link_group = 4;
        assert_eq!(cluster.nodes[0].linked_with(5), Slots(0b1111_0000));
        cluster.nodes[0].link_group = 0;
        assert_eq!(cluster.nodes[0].linked_with(5), Slots(0xff));
    }

    #[test]
    fn prices_change_with_time() {
        let mut cluster = Cluster::uniform(1, 1);
        let price = |hours: u64, micro| Price { from: Time::from_secs(hours * 3600), micro };
        cluster.kinds[0].prices = vec![price(1, 2_000_000), price(3, 500_000)];
        let kind = &cluster.kinds[0];
        let hour = |hours: u64| Time::from_secs(hours * 3600);
        assert_eq!([0, 1, 2, 3, 9].map(|at| kind.price_at(hour(at))), [0.0, 2.0, 2.0, 0.5, 0.5]);
        assert_eq!(kind.cost(hour(0), hour(5)), 2.0 * 2.0 + 2.0 * 0.5);
        assert_eq!(kind.cost(hour(2), hour(4)), 2.0 + 0.5);
        assert_eq!(kind.cost(hour(2), hour(2)), 0.0);
        assert_eq!(kind.next_price(hour(1)), Some(hour(3)));
    }

    #[test]
    fn places_are_named_by_their_nodes() {
        let mut cluster = Cluster::uniform(1, 8);
        cluster.nodes[0].name = "dgx".into();
        let place = |slots| cluster.place_name(&Placement::on(NodeId(0), Slots(slots)));
        assert_eq!(place(0b1011), "dgx[0-1,3]");
        assert_eq!(place(0), "dgx");
        assert_eq!(cluster.place_name(&Placement::on(NodeId(7), Slots(1))), "n7[0]");
    }
}
