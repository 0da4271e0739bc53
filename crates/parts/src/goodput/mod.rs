//! Rounds in which every job is given a shape: how many GPUs of which kind, by how much it gets
//! done there. What that is, is learnt from what running jobs report.

mod dorm;
mod growth;
mod learned;
mod optimus;
mod room;
mod rounds;
mod settle;
mod shapes;
mod sia;
mod slaq;
mod speed;

pub use dorm::Dorm;
pub use learned::Learned;
pub use optimus::Optimus;
pub use room::Room;
pub use rounds::{Allot, Candidate, Settling, ShapeRounds};
pub use shapes::{Shape, Shapes};
pub use sia::Sia;
pub use slaq::Slaq;
pub use speed::{left, speed};
