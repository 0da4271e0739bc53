//! How much of a node is asked for: GPUs, CPUs and memory, which may be more than it has.

use heeler_model::{Demand, Node};
use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Mul, SubAssign};

/// What jobs ask of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Load {
    /// Thousandths of GPUs.
    pub gpu_milli: u64,
    /// Thousandths of CPU cores.
    pub cpu_milli: u64,
    /// Host memory, MB.
    pub memory_mb: u64,
}

impl Load {
    /// What a job asks of a node for each GPU it uses there.
    pub fn each(demand: &Demand) -> Load {
        Load {
            gpu_milli: u64::from(demand.share.0),
            cpu_milli: demand.cpu_milli.into(),
            memory_mb: demand.memory_mb.into(),
        }
    }

    /// What a job asks of a node on which it uses so many GPUs.
    pub fn on(self, gpus: u32) -> Load {
        let gpu_milli = self.gpu_milli * u64::from(gpus);
        Load { gpu_milli, ..self * u64::from(gpus.max(1)) }
    }

    /// How many times over a node would be used: one, if everybody can run at once.
    pub fn height(&self, node: &Node) -> u64 {
        // Zero means that a node's CPUs or memory are not known, and then they are not checked.
        let layers = |used: u64, there: u64| if there == 0 { 1 } else { used.div_ceil(there) };
        let gpus = match (self.gpu_milli, node.gpus) {
            (0, _) => 1,
            (_, 0) => u64::MAX,
            (used, gpus) => used.div_ceil(u64::from(gpus) * 1000),
        };
        let beside = layers(self.cpu_milli, node.cpu_milli);
        gpus.max(beside).max(layers(self.memory_mb, node.memory_mb)).max(1)
    }
}

impl Add for Load {
    type Output = Load;
    fn add(mut self, other: Load) -> Load {
        self += other;
        self
    }
}

impl AddAssign for Load {
    fn add_assign(&mut self, other: Load) {
        self.gpu_milli += other.gpu_milli;
        self.cpu_milli += other.cpu_milli;
        self.memory_mb += other.memory_mb;
    }
}

impl SubAssign for Load {
    fn sub_assign(&mut self, other: Load) {
        self.gpu_milli -= other.gpu_milli;
        self.cpu_milli -= other.cpu_milli;
        self.memory_mb -= other.memory_mb;
    }
}

impl Mul<u64> for Load {
    type Output = Load;
    fn mul(self, times: u64) -> Load {
        let Load { gpu_milli, cpu_milli, memory_mb } = self;
        Load {
            gpu_milli: gpu_milli * times,
            cpu_milli: cpu_milli * times,
            memory_mb: memory_mb * times,
        }
    }
}
