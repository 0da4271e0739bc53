//! What is shown, made when it is asked for, and only of what the asker may see.

mod jobs;
mod others;
mod outlook;
mod reasons;
mod select;

pub use jobs::{Filter, Which};
pub use outlook::{Measured, Outlook};
