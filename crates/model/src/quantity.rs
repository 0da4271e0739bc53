//! Fractions of a GPU as integers, and sets of GPU kinds.

use crate::ids::KindId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Thousandths of a GPU.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Milli(pub u32);

impl Milli {
    /// One whole GPU.
    pub const WHOLE: Milli = Milli(1000);

    /// Whether this is a whole GPU (or more), so that nothing else may use it.
    pub const fn is_whole(self) -> bool {
        self.0 >= 1000
    }
}

impl fmt::Display for Milli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// The GPU kinds a job may run on. A cluster has at most 64 kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KindSet(pub u64);

impl KindSet {
    /// Every kind.
    pub const ANY: KindSet = KindSet(u64::MAX);
    /// No kind: nothing runs.
    pub const NONE: KindSet = KindSet(0);

    /// Just one kind.
    pub const fn only(kind: KindId) -> KindSet {
        KindSet(1 << kind.0)
    }

    /// The set with one kind more.
    #[must_use]
    pub const fn with(self, kind: KindId) -> KindSet {
        KindSet(self.0 | 1 << kind.0)
    }

    /// Whether the kind is in the set.
    pub const fn contains(self, kind: KindId) -> bool {
        self.0 >> kind.0 & 1 == 1
    }

    /// What both sets have.
    #[must_use]
    pub const fn and(self, other: KindSet) -> KindSet {
        KindSet(self.0 & other.0)
    }

    /// Whether no kind is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds of the set among the first `count`, in order.
    pub fn iter(self, count: usize) -> impl Iterator<Item = KindId> + Clone {
        (0..count.min(64) as u8).map(KindId).filter(move |kind| self.contains(*kind))
    }
}

impl Default for KindSet {
    fn default() -> KindSet {
        KindSet::ANY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_sets_hold_what_was_put_in() {
        let set = KindSet::NONE.with(KindId(0)).with(KindId(63));
        assert!(set.contains(KindId(63)) && !set.contains(KindId(5)));
        assert_eq!(set.iter(64).collect::<Vec<_>>(), [KindId(0), KindId(63)]);
        assert!(set.and(KindSet::only(KindId(1))).is_empty());
        assert!(KindSet::ANY.contains(KindId(17)));
    }
}
