//! What becomes of jobs: handed in, kept from starting, acted on, over.

mod act;
mod alarms;
mod keep;
mod leave;
mod spec;
mod submit;
