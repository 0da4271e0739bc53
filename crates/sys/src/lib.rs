//! What needs unsafe code: calls of the CUDA driver, loaded at run time, and what a child process
//! does between fork and exec. Nothing else lives here.

pub mod birth;
pub mod cuda;
