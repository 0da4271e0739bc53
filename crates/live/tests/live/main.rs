//! The control plane with a world that is only a table: each rule by itself, what must hold
//! whatever happens, who may do what, and how the cost grows.

mod jobs;
mod properties;
mod recipes;
mod refusals;
mod steps;
mod world;
