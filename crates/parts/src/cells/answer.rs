//! What is asked of cells, and what they answer.

use super::GangId;
use std::fmt;

/// A pod of a gang asks for its leaves; the first pod that does so decides for the whole gang.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The virtual cluster.
    pub cluster: &'a str,
    /// From 0 to 1000; below that, without a guarantee.
    pub priority: i32,
    /// Whether the gang, when it must give way to another of its cluster, may go on without a
    /// guarantee for as long as nobody needs its very GPUs.
    pub lazy: bool,
    /// Only in this cell.
    pub pinned: Option<&'a str>,
    /// Only on leaves of this type.
    pub leaf_type: Option<&'a str>,
    /// Only in this chain.
    pub chain: Option<&'a str>,
    /// The gang.
    pub gang: GangId,
    /// Its pods: so many, of so many leaves each.
    pub members: &'a [(u32, u32)],
    /// Which pod asks, as the one who asks counts them,
    pub pod: u32,
    /// and how many leaves it has.
    pub leaves: u32,
}

/// Whether others may be told to give way now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Only look.
    Filtering,
    /// Claim the leaves of whoever has to give way.
    Preempting,
}

/// One pod of a gang: a node and its leaves there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundPod {
    /// The node.
    pub node: String,
    /// Leaves by their number on the node; none where a leaf is not known any more.
    pub slots: Vec<u32>,
    /// For each leaf the type of the owned cell it is used as a part of; none without a guarantee.
    pub roots: Vec<Option<String>>,
}

/// Where a whole gang goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The chain.
    pub chain: String,
    /// Its pods, those with the fewest leaves first.
    pub pods: Vec<BoundPod>,
    /// Which of them the pod that asked is.
    pub index: usize,
}

impl Binding {
    /// Where the pod that asked goes.
    pub fn pod(&self) -> &BoundPod {
        &self.pods[self.index]
    }
}

/// Why a gang has to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// What is free or may be taken does not suffice.
    TooFewCells,
    /// It would suffice if a node were healthy.
    BadNode(String),
    /// It would suffice if a node were among those suggested.
    NotSuggested(String),
    /// Its cluster has the cells, but they can only be had on bad nodes, or on others than
    /// suggested.
    Unmapped,
}

/// What a request is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go there.
    Bind(Binding),
    /// Wait for these gangs to give way.
    Preempt(Vec<GangId>),
    /// Wait.
    Wait(Shortage),
}

/// A request that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such virtual cluster.
    NoSuchCluster(String),
    /// The cluster has no such pinned cell.
    NoSuchPin(String),
    /// A pinned cell is for gangs with a guarantee.
    PinWithoutGuarantee(String),
    /// A priority out of range.
    Priority(i32),
    /// The pod is not one of the gang, or all those like it are there already.
    NotOfTheGang(GangId),
    /// Nobody, or not this cluster, has leaves of that type.
    NoSuchLeaf(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoSuchCluster(name) => write!(f, "there is no virtual cluster `{name}`"),
            Refusal::NoSuchPin(name) => write!(f, "no cell is pinned as `{name}` here"),
            Refusal::PinWithoutGuarantee(name) => {
                write!(f, "`{name}` is not for gangs without a guarantee")
            }
            Refusal::Priority(priority) => write!(f, "priority {priority} is not from -1 to 1000"),
            Refusal::NotOfTheGang(gang) => write!(f, "gang {gang} has no such pod to place"),
            Refusal::NoSuchLeaf(name) => write!(f, "there are no leaves `{name}` here"),
        }
    }
}

impl std::error::Error for Refusal {}
