//! Goodput: how fast training goes times how much each example teaches (Qiao et al., Pollux, OSDI
//! 2021; also the model of Sia, SOSP 2023). Throughput is fitted to what was measured, efficiency
//! follows from the noise of gradients, and the best batch is searched on a grid.

mod batch;
mod fit;
mod line;
mod minimise;
mod throughput;

pub use batch::{Choice, Goodput, Limits, Noise};
pub use fit::{Fitted, Sample, TO_FIVE_DIGITS, TO_NINE_DIGITS, fit};
pub use throughput::Throughput;
