//! What a job asks for: a set of admissible sizes, and what each of its GPUs must offer.

use crate::placement::Portion;
use crate::quantity::{KindSet, Milli};
use serde::{Deserialize, Serialize};

/// Which sizes between the smallest and the largest a job can run at.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Every number of GPUs.
    #[default]
    Any,
    /// 1, 2, 4, 8 …
    PowersOfTwo,
    /// Whole replicas, or whole nodes, of so many GPUs.
    MultiplesOf(u32),
}

/// The numbers of GPUs a job can run on. A rigid gang has just one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Sizes {
    /// What the user asked for.
    pub asked: u32,
    /// The fewest it can run on.
    pub min: u32,
    /// The most it can use.
    pub max: u32,
    /// Which sizes in between.
    pub step: Step,
}

impl Sizes {
    /// A rigid gang.
    pub const fn rigid(gpus: u32) -> Sizes {
        Sizes { asked: gpus, min: gpus, max: gpus, step: Step::Any }
    }

    /// An elastic gang that can run at every size from `min` to `max`.
    pub const fn range(min: u32, asked: u32, max: u32) -> Sizes {
        Sizes { asked, min, max, step: Step::Any }
    }

    /// Whether only the size asked for will do.
    pub const fn is_rigid(&self) -> bool {
        self.min == self.max
    }

    /// Whether the job can run on so many GPUs.
    pub const fn admits(&self, gpus: u32) -> bool {
        if gpus == self.asked {
            return true;
        }
        let in_range = gpus >= self.min && gpus <= self.max;
        in_range
            && match self.step {
                Step::Any => true,
                Step::PowersOfTwo => gpus.is_power_of_two(),
                Step::MultiplesOf(unit) => unit != 0 && gpus.is_multiple_of(unit),
            }
    }

    /// The largest admissible size of at most so many GPUs.
    pub fn largest_up_to(&self, gpus: u32) -> Option<u32> {
        (self.min..=gpus.min(self.max)).rev().find(|size| self.admits(*size))
    }

    /// The next admissible size above so many GPUs.
    pub fn next_above(&self, gpus: u32) -> Option<u32> {
        (gpus + 1..=self.max).find(|size| self.admits(*size))
    }
}

/// How far apart a job's GPUs may be.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// Anywhere in the cluster.
    #[default]
    Cluster,
    /// Within one rack.
    Rack,
    /// Within one node.
    Node,
}

/// Everything a job asks of the cluster. Jobs with equal demands are interchangeable to a
/// placement, so the engine looks at one of them only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Demand {
    /// Admissible numbers of GPUs.
    pub sizes: Sizes,
    /// How much of each GPU.
    pub share: Milli,
    /// On which kinds of GPU.
    pub kinds: KindSet,
    /// Memory on each GPU, MB; zero when the job did not say.
    pub gpu_memory_mb: u32,
    /// Thousandths of a CPU core beside each GPU (or for the job, if it uses no GPU).
    pub cpu_milli: u32,
    /// Host memory beside each GPU (or for the job, if it uses no GPU), MB.
    pub memory_mb: u32,
    /// How far its GPUs may be apart.
    pub reach: Reach,
}

impl Demand {
    /// A rigid gang of whole GPUs of any kind.
    pub const fn gpus(gpus: u32) -> Demand {
        Demand {
            sizes: Sizes::rigid(gpus),
            share: Milli::WHOLE,
            kinds: KindSet::ANY,
            gpu_memory_mb: 0,
            cpu_milli: 0,
            memory_mb: 0,
            reach: Reach::Cluster,
        }
    }

    /// The number of GPUs asked for.
    pub const fn asked(&self) -> u32 {
        self.sizes.asked
    }

    /// What it asks for beside each GPU.
    pub const fn portion(&self) -> Portion {
        Portion { cpu_milli: self.cpu_milli, memory_mb: self.memory_mb }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_admit_what_their_step_says() {
        let powers = Sizes { asked: 4, min: 1, max: 16, step: Step::PowersOfTwo };
        assert_eq!(powers.largest_up_to(15), Some(8));
        assert_eq!(powers.next_above(8), Some(16));
        assert_eq!(powers.next_above(16), None);
        let replicas = Sizes { asked: 8, min: 8, max: 32, step: Step::MultiplesOf(8) };
        assert!(replicas.admits(24) && !replicas.admits(12));
        assert_eq!(replicas.largest_up_to(7), None);
        assert!(Sizes::rigid(3).admits(3) && !Sizes::rigid(3).admits(2));
    }
}
