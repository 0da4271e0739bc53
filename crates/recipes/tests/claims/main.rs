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
mod gadget;
mod gandiva;
mod gavel;
mod genie;
mod gittins;
mod hived;
mod las;
mod oasis;
mod priority;
mod rounds;
mod scene;
mod shortest;
mod sia;
mod smd;
mod spin;
mod tiresias;
