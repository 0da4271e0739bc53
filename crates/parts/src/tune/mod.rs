//! What schedulers of hyper-parameter studies are made of, apart from how they hand out GPUs.

mod rungs;
mod studies;
mod turns;

pub use rungs::{Ladder, Rung, Rungs};
pub use studies::{Standing, Studies, Study, Trial};
pub use turns::{Leftover, Turns};
