//! Groups of jobs that share their GPUs because their stages interleave: whom to consider, whom to
//! put with whom, and on which GPUs, as in Muri (Zhao et al., SIGCOMM 2022).

mod candidates;
mod form;
mod known;
mod policy;
mod queues;
mod settle;
mod sitting;
mod standing;
mod twos;

pub use form::{Forming, Pairing};
pub use heeler_solve::interleave::{Interleaving, Turns};
pub use policy::{Groups, Rank};
