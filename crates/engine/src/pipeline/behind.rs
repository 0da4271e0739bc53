//! Running jobs, last first, without those at the end whom the plan has dealt with already: where a
//! plan stops thousands, nobody goes through all of them again for each.

use super::Pipeline;
use super::queue::{LastFirst, Rank};
use heeler_model::{JobId, Placement, Time};
use std::collections::BTreeMap;

/// At most so many jobs are looked at to make room for one: a backstop against going through a
/// whole cluster for a job that is kept out by fragments, not a tuning knob.
pub(super) const LOOKED_AT_MAX: usize = 4096;

/// Where the jobs begin that the plan has not dealt with.
#[derive(Debug, Default)]
pub(super) struct Behind<'a> {
    rest: Option<LastFirst<'a>>,
    /// How many come before them.
    passed: usize,
}

impl<'a> Behind<'a> {
    /// The jobs that are left, last first. Until the plan is made anew, `planned` only grows.
    pub(super) fn rest(
        &mut self,
        pipe: &'a Pipeline,
        now: Time,
        planned: &BTreeMap<JobId, Option<Placement>>,
    ) -> impl Iterator<Item = Rank> + use<'a> {
        let rest = self.pass(pipe, now, planned).clone();
        rest.take(LOOKED_AT_MAX.saturating_sub(self.passed))
    }

    /// The last of them.
    pub(super) fn last(
        &mut self,
        pipe: &'a Pipeline,
        now: Time,
        planned: &BTreeMap<JobId, Option<Placement>>,
    ) -> Option<Rank> {
        self.pass(pipe, now, planned).peek()
    }

    fn pass(
        &mut self,
        pipe: &'a Pipeline,
        now: Time,
        planned: &BTreeMap<JobId, Option<Placement>>,
    ) -> &LastFirst<'a> {
        let all = || pipe.queue.running_last_first(now, |_| true);
        let rest = self.rest.get_or_insert_with(all);
        while rest.peek().is_some_and(|last| planned.contains_key(&last.job)) {
            rest.next();
            self.passed += 1;
        }
        rest
    }
}
