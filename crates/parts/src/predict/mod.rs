//! How much work a job is, and how many will come. A predictor that knows the truth is a predictor
//! like any other, and every one of them is judged by what is then seen.

mod blend;
mod convergence;
mod declared;
mod judged;
mod learned;
mod load;
mod losses;
mod mean;
mod names;
mod noisy;
mod oracle;
mod past;
mod tally;
mod trees;

pub use blend::Blend;
pub use convergence::Convergence;
pub use declared::Declared;
pub use judged::Judged;
pub use learned::{Facts, Learned, Learner};
pub use load::LoadForecast;
pub use losses::Losses;
pub use mean::{By, Mean};
pub use names::{Names, similarity};
pub use noisy::{Error, Noisy};
pub use oracle::Oracle;
pub use tally::Tally;
pub use trees::Trees;
