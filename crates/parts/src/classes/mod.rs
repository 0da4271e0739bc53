//! Jobs of two classes on the same GPUs (AntMan, Xiao et al., OSDI 2020). A GPU has at most one job
//! that is guaranteed to have it to itself; where GPUs are busy for a small part of the time, jobs
//! that take what is left over run beside it.

mod desk;
mod gather;
mod loads;
mod policy;
mod queue;

pub use loads::Uses;
pub use policy::Classes;
