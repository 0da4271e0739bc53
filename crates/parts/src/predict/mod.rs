//! How much work a job is. A predictor that knows the truth is a predictor like any other.

mod convergence;
mod declared;
mod losses;
mod noisy;
mod oracle;

pub use convergence::Convergence;
pub use declared::Declared;
pub use losses::Losses;
pub use noisy::Noisy;
pub use oracle::Oracle;
