//! Where a job runs: GPUs by node and slot.

use crate::ids::NodeId;
use crate::quantity::Milli;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt;

/// The most GPUs a node can have: slots are bits of a word.
pub const GPUS_PER_NODE_MAX: u32 = 64;

/// A set of GPU slots of one node.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Slots(pub u64);

impl Slots {
    /// The first `count` slots.
    pub const fn first(count: u32) -> Slots {
        if count >= 64 { Slots(u64::MAX) } else { Slots((1 << count) - 1) }
    }

    /// Just one slot.
    pub const fn one(slot: u32) -> Slots {
        Slots(1 << slot)
    }

    /// How many.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the slot is among them.
    pub const fn contains(self, slot: u32) -> bool {
        self.0 >> slot & 1 == 1
    }

    /// Those in both.
    #[must_use]
    pub const fn and(self, other: Slots) -> Slots {
        Slots(self.0 & other.0)
    }

    /// Those in either.
    #[must_use]
    pub const fn or(self, other: Slots) -> Slots {
        Slots(self.0 | other.0)
    }

    /// Those of this set that the other lacks.
    #[must_use]
    pub const fn without(self, other: Slots) -> Slots {
        Slots(self.0 & !other.0)
    }

    /// The `count` lowest of them (all, if there are fewer).
    #[must_use]
    pub fn lowest(self, count: u32) -> Slots {
        let mut left = self.0;
        for _ in 0..count {
            left &= left.wrapping_sub(1);
        }
        Slots(self.0 & !left)
    }

    /// The slots in order.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let slot = left.trailing_zeros();
                left &= left - 1;
                slot
            })
        })
    }
}

/// A job's part of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slice {
    /// The node.
    pub node: NodeId,
    /// Its GPUs that the job uses; none for a job that needs only CPUs.
    pub slots: Slots,
}

/// The GPUs of a job, by node, in the order of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Placement {
    slices: SmallVec<[Slice; 1]>,
}

impl Placement {
    /// A placement on one node.
    pub fn on(node: NodeId, slots: Slots) -> Placement {
        Placement { slices: SmallVec::from_buf([Slice { node, slots }]) }
    }

    /// A placement of slices in any order; no node may occur twice.
    pub fn new(mut slices: SmallVec<[Slice; 1]>) -> Placement {
        slices.sort_unstable_by_key(|slice| slice.node);
        Placement { slices }
    }

    /// Its parts, in the order of nodes.
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// How many GPUs.
    pub fn gpus(&self) -> u32 {
        self.slices.iter().map(|slice| slice.slots.count()).sum()
    }

    /// How many nodes.
    pub fn nodes(&self) -> usize {
        self.slices.len()
    }

    /// GPUs per node, largest first. Two placements of one shape run at one pace.
    pub fn shape(&self) -> SmallVec<[u32; 4]> {
        let mut shape: SmallVec<[u32; 4]> =
            self.slices.iter().map(|slice| slice.slots.count()).collect();
        shape.sort_unstable_by(|a, b| b.cmp(a));
        shape
    }

    /// Whether the two use a GPU in common.
    pub fn meets(&self, other: &Placement) -> bool {
        self.slices.iter().any(|mine| {
            other
                .slices
                .iter()
                .any(|theirs| mine.node == theirs.node && !mine.slots.and(theirs.slots).is_empty())
        })
    }
}

/// `n3[0-3] n7[0]`, with slots as ranges.
impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, slice) in self.slices.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            write!(f, "n{}[", slice.node)?;
            let mut slots = slice.slots.iter().peekable();
            let mut first = true;
            while let Some(start) = slots.next() {
                let mut end = start;
                while slots.next_if_eq(&(end + 1)).is_some() {
                    end += 1;
                }
                let comma = if first { "" } else { "," };
                match end - start {
                    0 => write!(f, "{comma}{start}")?,
                    _ => write!(f, "{comma}{start}-{end}")?,
                }
                first = false;
            }
            f.write_str("]")?;
        }
        Ok(())
    }
}

/// CPUs and memory beside each GPU of a job.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Portion {
    /// Thousandths of a CPU core.
    pub cpu_milli: u32,
    /// Host memory, MB.
    pub memory_mb: u32,
}

impl Portion {
    /// Whether there is at least as much of both as in another.
    pub const fn covers(self, other: Portion) -> bool {
        self.cpu_milli >= other.cpu_milli && self.memory_mb >= other.memory_mb
    }

    /// No less of either than in another.
    #[must_use]
    pub fn at_least(self, other: Portion) -> Portion {
        Portion {
            cpu_milli: self.cpu_milli.max(other.cpu_milli),
            memory_mb: self.memory_mb.max(other.memory_mb),
        }
    }

    /// No more of either than in another.
    #[must_use]
    pub fn at_most(self, other: Portion) -> Portion {
        Portion {
            cpu_milli: self.cpu_milli.min(other.cpu_milli),
            memory_mb: self.memory_mb.min(other.memory_mb),
        }
    }
}

/// What a job is given: GPUs, and how much of each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Assignment {
    /// Which GPUs. Equal placements are the same by identity: no restart is needed.
    pub placement: Placement,
    /// How much of each of them.
    pub share: Milli,
    /// CPUs and memory beside each of them, where a recipe gives other than what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portion: Option<Portion>,
}

impl Assignment {
    /// A share of each GPU, with the CPUs and the memory that were asked for.
    pub const fn new(placement: Placement, share: Milli) -> Assignment {
        Assignment { placement, share, portion: None }
    }

    /// Whole GPUs.
    pub const fn whole(placement: Placement) -> Assignment {
        Assignment::new(placement, Milli::WHOLE)
    }

    /// How many GPUs.
    pub fn gpus(&self) -> u32 {
        self.placement.gpus()
    }

    /// Thousandths of a GPU in all.
    pub fn milli(&self) -> u64 {
        u64::from(self.gpus()) * u64::from(self.share.0)
    }

    /// Whether the other runs at the same pace: equal GPUs per node, equal share, and as much
    /// beside it.
    pub fn same_shape(&self, other: &Assignment) -> bool {
        let beside = self.share == other.share && self.portion == other.portion;
        beside && self.placement.shape() == other.placement.shape()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    #[test]
    fn slots_take_the_lowest() {
        assert_eq!(Slots(0b1011_0100).lowest(2), Slots(0b0001_0100));
        assert_eq!(Slots(0b11).lowest(5), Slots(0b11));
        assert_eq!(Slots::first(64).count(), 64);
        assert_eq!(Slots(0b101).iter().collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn placements_compare_by_shape_and_by_identity() {
        let slice = |node, slots| Slice { node: NodeId(node), slots: Slots(slots) };
        let a = Placement::new(smallvec![slice(2, 0b1), slice(0, 0b1111)]);
        let b = Placement::new(smallvec![slice(0, 0b1), slice(1, 0b1111)]);
        assert_ne!(a, b);
        assert_eq!(a.shape(), b.shape());
        assert!(a.meets(&b));
        assert!(!a.meets(&Placement::on(NodeId(2), Slots(0b10))));
        assert_eq!(a.to_string(), "n0[0-3] n2[0]");
    }
}
