//! What needs unsafe code: calls of the CUDA driver, loaded at run time, what a child process does
//! between fork and exec or in place of both, the size of a terminal, and where memory comes from.
//! Nothing else lives here.

pub mod birth;
pub mod cuda;
pub mod identity;
pub mod memory;
pub mod quick;
pub mod terminal;
