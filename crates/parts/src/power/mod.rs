//! Which nodes to switch off while nobody needs them.

mod ces;
mod seasonal;

pub use ces::{Ces, Habits};
pub use seasonal::Seasonal;
