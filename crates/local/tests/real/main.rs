//! This machine as a world, tried with real processes: they run, are suspended, and survive the
//! server.

mod pausing;
mod running;
mod surviving;
mod world;
