//! Gangs that have leaves, or have claimed some that others must give up first.

use super::GangId;
use super::cell::CellId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a gang is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GangState {
    /// It has all its leaves.
    Allocated,
    /// It waits for others to give way.
    Preempting,
    /// It has all its leaves, and must give some up.
    BeingPreempted,
}

/// Leaves of each pod, those with the fewest leaves first; none where a leaf is not known any more.
pub(super) type Pods = Vec<Vec<Option<CellId>>>;

/// A gang.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gang {
    /// Its virtual cluster.
    pub cluster: usize,
    /// Its priority as asked for.
    pub priority: i32,
    /// Whether it may lose its guarantee rather than its leaves.
    pub lazy: bool,
    /// What it is about.
    pub state: GangState,
    /// Who took its guarantee, if it lost it.
    pub lost_to: Option<GangId>,
    pub(super) physical: Pods,
    /// Its leaves in its cluster; none without a guarantee.
    pub(super) own: Option<Pods>,
    /// Which of its pods are there.
    pub(super) taken: Vec<bool>,
    /// Pods that asked and wait for others to give way.
    pub(super) asking: BTreeSet<u32>,
}

impl Gang {
    /// Whether it has its leaves by right.
    pub fn is_guaranteed(&self) -> bool {
        self.own.is_some()
    }

    /// All its leaves that are known.
    pub(super) fn leaves(&self) -> Vec<CellId> {
        self.physical.iter().flatten().copied().flatten().collect()
    }

    /// The first pod of so many leaves that is not there yet.
    pub(super) fn missing(&self, leaves: u32) -> Option<usize> {
        let like = |pod: &usize| self.physical[*pod].len() == leaves as usize;
        (0..self.physical.len()).filter(like).find(|pod| !self.taken[*pod])
    }
}

/// Sizes of all pods, fewest leaves first.
pub(super) fn sizes(members: &[(u32, u32)]) -> Vec<u32> {
    let each = members.iter().flat_map(|(pods, leaves)| (0..*pods).map(|_| *leaves));
    let mut sizes: Vec<u32> = each.collect();
    sizes.sort_unstable();
    sizes
}
