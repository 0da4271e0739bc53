//! Which nodes to switch off while nobody needs them.

mod ces;
mod policy;
mod seasonal;

pub use ces::{Ces, Habits};
pub use policy::Powered;
pub use seasonal::{SLOT, Seasonal};
