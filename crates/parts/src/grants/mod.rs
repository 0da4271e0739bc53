//! Grants: whoever a rule puts next is given GPUs if they fit, and keeps them for a lease. Rules of
//! fairness differ only in who is next; taking what fits, keeping it and giving it back is the same
//! for all of them.

mod among;
mod auctioneer;
mod desk;
mod filling;
mod long_term;
mod lottery;
mod policy;
mod ranked;
mod rotation;
mod stride;

pub use among::{Among, Party};
pub use auctioneer::Auctioneer;
pub use filling::{Filling, Resources};
pub use long_term::LongTerm;
pub use lottery::Lottery;
pub use policy::{Behind, Grants};
pub use rotation::Rotation;
pub use stride::{Draw, Tickets};

use heeler_engine::{Calibration, Job, Note, View};
use heeler_model::{JobId, KindSet, Time};
use serde_json::Value;

/// Somebody is next: a job, and the kinds of GPU that it is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The job.
    pub job: JobId,
    /// Of which kinds, among those it asks for.
    pub kinds: KindSet,
}

/// What is to be granted.
pub struct Floor<'a> {
    /// Jobs that may be given GPUs, in order of submission: they wait, or their leases are over.
    pub asking: Vec<&'a Job>,
    /// Jobs that keep what they have.
    pub keeping: Vec<&'a Job>,
    /// When leases that begin now will be over; never, where jobs keep what they have.
    pub until: Option<Time>,
}

/// Who is next, within one plan.
pub trait Turns {
    /// The next offer, until nobody is left. Every job that asks is offered something once or more.
    fn next(&mut self) -> Option<Offer>;

    /// The job took the latest offer.
    fn took(&mut self);

    /// There was no room for the latest offer.
    fn passed(&mut self);
}

/// A rule of who is next.
pub trait Rule: Send {
    /// Begin a plan.
    fn open<'a>(&'a self, floor: &Floor<'a>, view: &View<'a>) -> Box<dyn Turns + 'a>;

    /// Whether it may want to move jobs when leases end, though nobody waits.
    fn moves(&self, _view: &View) -> bool {
        false
    }

    /// Learn.
    fn observe(&mut self, _note: &Note, _view: &View) {}

    /// A decision was carried out in which leases of these jobs have begun, in order of submission.
    fn granted(&mut self, _jobs: &[JobId], _view: &View) {}

    /// How well its predictor has done so far, if it has one.
    fn calibration(&self) -> Option<Calibration> {
        None
    }

    /// What it remembers.
    fn save(&self) -> Value {
        Value::Null
    }

    /// Remember what was saved.
    ///
    /// # Errors
    ///
    /// If it was saved by something else.
    fn restore(&mut self, _saved: &Value) -> Result<(), String> {
        Ok(())
    }

    /// A copy.
    fn fork(&self) -> Box<dyn Rule>;
}
