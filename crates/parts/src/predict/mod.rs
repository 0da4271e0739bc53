//! How much work a job is. A predictor that knows the truth is a predictor like any other.

mod declared;
mod noisy;
mod oracle;

pub use declared::Declared;
pub use noisy::Noisy;
pub use oracle::Oracle;
