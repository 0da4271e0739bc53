//! CPUs and memory beside GPUs, decided anew in every round: by what a profile says a job can make
//! use of, rather than in proportion to its GPUs.

mod desk;
mod inherited;
mod measure;
mod policy;
mod rank;

pub use measure::Give;
pub use policy::Portions;
pub use rank::{Rank, Ranking};
