//! What changed lately, numbered, for those who follow it and those who come back to it.

use heeler_live::Change;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The latest changes.
pub(crate) struct Ring {
    size: usize,
    kept: Mutex<Kept>,
    /// The number of the next change; whoever waits for it is woken.
    next: watch::Sender<u64>,
}

struct Kept {
    /// The number of the first that is kept.
    first: u64,
    changes: VecDeque<Arc<Change>>,
}

/// What somebody has missed.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Missed {
    /// Changes with their numbers.
    pub(crate) changes: Vec<(u64, Arc<Change>)>,
    /// Whether others are gone already.
    pub(crate) gone: bool,
    /// Where to go on.
    pub(crate) next: u64,
}

impl Ring {
    /// A ring that keeps so many.
    pub(crate) fn new(size: usize) -> Ring {
        // Numbers begin with the time of the start, so that those of an earlier server are never
        // taken for this one's: there are fewer changes than microseconds.
        let first = crate::clock::wall_us();
        let kept = Mutex::new(Kept { first, changes: VecDeque::new() });
        Ring { size, kept, next: watch::Sender::new(first) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Add what changed.
    pub(crate) fn push(&self, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        let next = {
            let mut kept = self.kept();
            kept.changes.extend(changes.into_iter().map(Arc::new));
            while kept.changes.len() > self.size {
                kept.changes.pop_front();
                kept.first += 1;
            }
            kept.first + kept.changes.len() as u64
        };
        self.next.send_replace(next);
    }

    /// What came since, at most so many.
    pub(crate) fn since(&self, from: u64, most: usize) -> Missed {
        let kept = self.kept();
        let end = kept.first + kept.changes.len() as u64;
        let start = from.clamp(kept.first, end);
        let skip = usize::try_from(start - kept.first).unwrap_or(usize::MAX);
        let changes = kept.changes.iter().skip(skip).take(most).cloned();
        let changes: Vec<_> = (start..).zip(changes).collect();
        let next = start + changes.len() as u64;
        Missed { changes, gone: from != start, next }
    }

    /// The number of the next change, to wait on.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.next.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_api::JobState;
    use heeler_model::Time;

    fn change(job: u32) -> Change {
        Change {
            at: Time::ZERO,
            job,
            name: String::new(),
            user: "ann".into(),
            tenant: "blue".into(),
            state: JobState::Running,
            on: None,
            age_s: 0.0,
            waited_s: None,
        }
    }

    #[test]
    fn whoever_comes_back_gets_what_they_missed_and_is_told_what_is_gone() {
        let ring = Ring::new(3);
        let start = *ring.watch().borrow();
        ring.push(vec![change(1), change(2)]);
        let jobs =
            |missed: &Missed| missed.changes.iter().map(|(_, it)| it.job).collect::<Vec<_>>();
        let missed = ring.since(start, 10);
        assert_eq!((jobs(&missed), missed.gone, missed.next), (vec![1, 2], false, start + 2));
        ring.push(vec![change(3), change(4), change(5)]);
        let missed = ring.since(start + 2, 2);
        assert_eq!((jobs(&missed), missed.gone, missed.next), (vec![3, 4], false, start + 4));
        let missed = ring.since(start, 10);
        assert_eq!((jobs(&missed), missed.gone), (vec![3, 4, 5], true));
        let missed = ring.since(u64::MAX, 10);
        assert_eq!((jobs(&missed), missed.gone, missed.next), (vec![], true, start + 5));
        assert_eq!(*ring.watch().borrow(), start + 5);
    }
}
