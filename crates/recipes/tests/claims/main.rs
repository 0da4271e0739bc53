//! The claims of the cards: each `[[claim]]` of a recipe names a test here that shows it. Worked
//! examples say in a comment how their numbers come about.

mod allox;
mod asha;
mod astraea;
mod backfill;
mod blind;
mod capacity;
mod chronus;
mod clipper;
mod cloud_price;
mod dorm;
mod elastic;
mod fifo;
mod filling;
mod gadget;
mod gandiva;
mod gandiva_fair;
mod gavel;
mod genie;
mod gittins;
mod hived;
mod las;
mod muri;
mod oasis;
mod pop;
mod priority;
mod rounds;
mod scene;
mod shockwave;
mod shortest;
mod sia;
mod smd;
mod spin;
mod themis;
mod tiresias;
