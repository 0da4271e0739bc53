//! Leases: time is cut into leases of one length, jobs with deadlines are promised some of them,
//! and the others take what is left over.

mod calendar;
mod chronus;
mod desk;
mod ledger;
mod packing;
mod profile;
mod programme;
mod seats;

pub use calendar::Calendar;
pub use chronus::Chronus;
pub use desk::{Desk, LeaseRules, Terms};
pub use ledger::{Admission, Entry, Ledger, Standing};
pub use packing::{Ask, earliest, pack};
pub use profile::{Measured, Profile};
pub use programme::{Choice, FirstLease, Holder, improve};
pub use seats::{Seat, Seated, seat_all};
