//! Whether running jobs change their size.

mod grow_shrink;

pub use grow_shrink::GrowShrink;
