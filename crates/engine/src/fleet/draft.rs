//! Trying things out. A draft borrows the fleet, claims and releases as it likes, and puts
//! everything back when it is dropped: planning leaves no trace, and costs what it tries.

use super::{Fleet, Grip};
use heeler_model::{Placement, Slice};
use std::cell::RefMut;
use std::ops::Deref;

#[derive(Clone, Copy, Debug)]
struct Tried {
    slice: Slice,
    grip: Grip,
    claimed: bool,
}

/// A fleet to try things out on.
#[derive(Debug)]
pub struct Draft<'a> {
    fleet: RefMut<'a, Fleet>,
    log: Vec<Tried>,
}

/// A point to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(usize);

impl<'a> Draft<'a> {
    pub(crate) fn new(fleet: RefMut<'a, Fleet>) -> Draft<'a> {
        Draft { fleet, log: Vec::new() }
    }

    /// Try out a claim.
    pub fn claim(&mut self, placement: &Placement, grip: Grip) {
        for slice in placement.slices() {
            self.fleet.claim(*slice, grip);
            self.log.push(Tried { slice: *slice, grip, claimed: true });
        }
    }

    /// Try out a release.
    pub fn release(&mut self, placement: &Placement, grip: Grip) {
        for slice in placement.slices() {
            self.fleet.release(*slice, grip);
            self.log.push(Tried { slice: *slice, grip, claimed: false });
        }
    }

    /// Where we are.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint(self.log.len())
    }

    /// Undo everything.
    pub fn back_to_start(&mut self) {
        self.back_to(Savepoint(0));
    }

    /// Undo everything since.
    pub fn back_to(&mut self, savepoint: Savepoint) {
        while self.log.len() > savepoint.0 {
            let tried = self.log.pop().expect("the log is longer than the savepoint");
            if tried.claimed {
                self.fleet.release(tried.slice, tried.grip);
            } else {
                self.fleet.claim(tried.slice, tried.grip);
            }
        }
    }
}

impl Deref for Draft<'_> {
    type Target = Fleet;
    fn deref(&self) -> &Fleet {
        &self.fleet
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        self.back_to_start();
    }
}
