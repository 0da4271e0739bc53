//! What a node has beside its GPUs: CPUs and memory.

use super::{Fleet, Grip};
use heeler_model::{NodeId, Slice};

/// CPUs and memory of a node; below zero where more is asked for than there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    cpu_milli: i64,
    memory_mb: i64,
}

impl Beside {
    /// Take what a job takes beside its GPUs on a node.
    pub fn take(&mut self, slice: Slice, grip: Grip) {
        let times = i64::from(slice.slots.count().max(1));
        self.cpu_milli -= i64::from(grip.cpu_milli) * times;
        self.memory_mb -= i64::from(grip.memory_mb) * times;
    }

    /// Thousandths of a CPU core, and MB of memory.
    pub fn amounts(self) -> (i64, i64) {
        (self.cpu_milli, self.memory_mb)
    }

    /// What there is beyond another amount, to be taken without any GPU.
    pub fn beyond(self, other: Beside) -> Grip {
        // Never more than there is, even where the other is below zero.
        let more = |own: i64, other: i64| {
            u32::try_from(own - other.clamp(0, own.max(0))).unwrap_or(u32::MAX)
        };
        Grip {
            cpu_milli: more(self.cpu_milli, other.cpu_milli),
            memory_mb: more(self.memory_mb, other.memory_mb),
            ..Grip::NOTHING
        }
    }
}

impl Fleet {
    /// What a node has left beside its GPUs.
    pub fn left_beside(&self, node: NodeId) -> Beside {
        let free = &self.nodes[node.index()];
        Beside { cpu_milli: free.cpu_milli as i64, memory_mb: free.memory_mb as i64 }
    }
}
