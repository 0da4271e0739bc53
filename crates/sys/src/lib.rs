//! What needs unsafe code: calls of the CUDA driver, loaded at run time, what a child process does
//! between fork and exec or in place of both, and the size of a terminal. Nothing else lives here.

pub mod birth;
pub mod cuda;
pub mod identity;
pub mod quick;
pub mod terminal;
