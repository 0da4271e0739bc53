//! What a job takes of a node, GPU by GPU.

use heeler_model::{Assignment, Demand, Milli, Portion};

/// What a job takes of a node beside the GPU slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grip {
    /// How much of each GPU.
    pub share: Milli,
    /// Memory on each GPU, MB.
    pub gpu_memory_mb: u32,
    /// CPU beside each GPU, thousandths of a core.
    pub cpu_milli: u32,
    /// Host memory beside each GPU, MB.
    pub memory_mb: u32,
}

impl Grip {
    /// Takes nothing.
    pub const NOTHING: Grip =
        Grip { share: Milli(0), gpu_memory_mb: 0, cpu_milli: 0, memory_mb: 0 };

    /// What a job takes that asks for one thing and is given another.
    pub fn of(demand: &Demand, on: &Assignment) -> Grip {
        let Portion { cpu_milli, memory_mb } = on.portion.unwrap_or(demand.portion());
        Grip { share: on.share, cpu_milli, memory_mb, ..Grip::from(demand) }
    }
}

impl From<&Demand> for Grip {
    fn from(demand: &Demand) -> Grip {
        let Demand { share, gpu_memory_mb, cpu_milli, memory_mb, .. } = *demand;
        Grip { share, gpu_memory_mb, cpu_milli, memory_mb }
    }
}
