//! The live control plane with its journal and its HTTP side.
//!
//! One thread, the [`Loop`], changes the state: it takes up what people ask and what the world
//! says, writes it down, answers, decides, and gives orders. Everybody else looks at the state or
//! sends the loop a message. [`Server`] puts HTTP before it; [`serve`] is a whole process.

mod ask_about;
mod board;
mod clock;
mod events;
pub mod foresee;
mod handle;
mod http;
mod logging;
mod metrics;
pub mod noop;
mod restore;
mod running;
mod serve;
mod settings;
mod turn;

pub use handle::{Asker, Handle, Readings};
pub use http::openapi;
pub use logging::log_to_stderr;
pub use restore::{Replay, decode};
pub use running::{Loop, MakeWorld};
pub use serve::{Server, serve};
pub use settings::{Limits, ServeError, Settings, Tcp};
