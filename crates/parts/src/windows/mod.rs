//! Plans for a window of rounds: who runs in each of the next few, decided for all jobs together by
//! what they should have got done by its end.

mod epochs;
mod policy;
mod worth;

pub use epochs::Epochs;
pub use policy::Windows;
pub use worth::Aims;
