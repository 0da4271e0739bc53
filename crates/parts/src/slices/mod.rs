//! Time slices: jobs have a seat on some nodes, which may have more seats than GPUs, and take turns
//! there. Who gets which seat, and how that is improved, is for each paper to say.

mod benches;
mod books;
mod gandiva;
mod load;
mod policy;
mod seats;
mod turns;

pub use books::Books;
pub use gandiva::Gandiva;
pub use load::Load;
pub use policy::{Seating, Slices};
pub use seats::{Parts, Seat, Seats};
pub use turns::{Targets, take_turns};
