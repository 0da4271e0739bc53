//! Jobs that are tried out first. A few nodes run every new job for a short while, so that most
//! short ones are over before they ever queue; the others go on elsewhere in order of predicted
//! service and may share GPUs with a job that leaves room (Lucid: Hu et al., ASPLOS 2023).

mod floor;
mod pairing;
mod policy;
mod trial;

pub use pairing::Pairing;
pub use policy::Profiled;
pub use trial::Trial;
