//! What was tried in vain. Making room for a job can mean to look at everybody behind it; a job for
//! which there was no room is tried again only where something has changed since. Forgetting all
//! this changes nothing but the time a plan takes.

use super::queue::Rank;
use heeler_model::{JobId, KindSet, NodeId, Placement};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// An attempt to make room that failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vain {
    /// The job's rank at that time.
    pub(super) rank: Rank,
    /// GPUs that were missing, where only their number counts.
    pub(super) missing: u32,
    /// Where the logs of changes ended.
    pub(super) touched: u64,
    pub(super) reseated: usize,
    /// GPUs that had come free ever, and those whose jobs had changed rank.
    pub(super) released: u64,
    pub(super) moved: u64,
}

/// Attempts that failed, by job and kinds of GPU.
#[derive(Debug, Default)]
pub(super) struct Memo {
    vain: RefCell<BTreeMap<(JobId, KindSet), Vain>>,
    /// Nodes with running jobs whose rank has changed.
    reseated: Vec<NodeId>,
    /// GPUs of all of them, ever.
    moved: u64,
}

impl Memo {
    /// The last attempt for a job, if its rank is still the same.
    pub(super) fn recall(&self, job: JobId, kinds: KindSet, rank: Rank) -> Option<Vain> {
        self.vain.borrow().get(&(job, kinds)).filter(|vain| vain.rank == rank).copied()
    }

    pub(super) fn remember(&self, job: JobId, kinds: KindSet, vain: Vain) {
        self.vain.borrow_mut().insert((job, kinds), vain);
    }

    pub(super) fn forget(&mut self, job: JobId) {
        let vain = self.vain.get_mut();
        while let Some((key, _)) = vain.range((job, KindSet::NONE)..=(job, KindSet::ANY)).next() {
            let key = *key;
            vain.remove(&key);
        }
    }

    pub(super) fn forget_all(&mut self) {
        self.vain.get_mut().clear();
        self.reseated.clear();
    }

    /// The rank of a running job on these nodes has changed.
    pub(super) fn reseat(&mut self, on: &Placement) {
        if self.reseated.len() > 1 << 14 {
            self.forget_all();
        }
        self.reseated.extend(on.slices().iter().map(|slice| slice.node));
        self.moved += u64::from(on.gpus());
    }

    /// GPUs whose jobs changed rank, ever.
    pub(super) fn moved_ever(&self) -> u64 {
        self.moved
    }

    /// Nodes whose jobs changed rank since, and where that log ends now.
    pub(super) fn reseated_since(&self, end: usize) -> &[NodeId] {
        self.reseated.get(end..).unwrap_or(&[])
    }

    pub(super) fn reseated_end(&self) -> usize {
        self.reseated.len()
    }
}
