//! The claims of the cards: each `[[claim]]` of a recipe names a test here that shows it. Worked
//! examples say in a comment how their numbers come about.

mod asha;
mod backfill;
mod blind;
mod capacity;
mod chronus;
mod clipper;
mod elastic;
mod fifo;
mod gandiva;
mod gavel;
mod gittins;
mod hived;
mod las;
mod priority;
mod rounds;
mod scene;
mod shockwave;
mod shortest;
mod sia;
mod tiresias;
