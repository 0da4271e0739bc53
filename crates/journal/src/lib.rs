//! A journal that survives `kill -9` and power loss: checksummed groups of records in segments,
//! synced together, with snapshots that let old segments go. It knows nothing of what is in them.
//!
//! Records are numbered from 1 without gaps. [`Journal::append`] only takes a record up;
//! [`Journal::sync`] writes all that was taken up as one group, which after a crash is there whole
//! or not at all. Whatever the group was, once `sync` has said that it failed, it is gone.

mod disk;
mod error;
mod folder;
mod format;
mod journal;
mod old;
mod open;
mod read;
mod sim;
mod snapshot;

pub use disk::{Disk, DiskFile};
pub use error::JournalError;
pub use folder::Folder;
pub use format::VERSION;
pub use journal::{Journal, Opened, Settings};
pub use read::{Contents, read_all, read_from, read_left, read_left_of};
pub use sim::{Loss, SimDisk, SimFaults, SimFile};
