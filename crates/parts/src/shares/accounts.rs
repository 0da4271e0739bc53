//! What jobs, and pairs of them, should have had of each kind of GPU, and what they have had.

use super::{Due, Shares, places};
use crate::round_turn::RoundTurn;
use heeler_engine::{RoundClock, View};
use heeler_model::{JobId, KindId, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What somebody should have had and has had, by kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Account {
    pub(super) received_s: Vec<f64>,
    pub(super) deficit_s: Vec<f64>,
    /// Its share; none until shares are computed for the first time after it came.
    pub(super) share: Option<Vec<f64>>,
}

impl Account {
    fn new(kinds: usize, half_s: f64) -> Account {
        Account { received_s: vec![half_s; kinds], deficit_s: vec![0.0; kinds], share: None }
    }

    /// Settle what was due over a time, and begin anew.
    fn reset(&mut self, elapsed_s: f64, half_s: f64) {
        for (kind, received) in self.received_s.iter_mut().enumerate() {
            let due = self.share.as_ref().map_or(0.0, |share| share[kind] * elapsed_s);
            self.deficit_s[kind] += due - (*received - half_s);
            *received = half_s;
        }
    }
}

/// Two jobs on the same GPUs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Paired {
    /// The one that came first is first.
    pub(super) jobs: (JobId, JobId),
    pub(super) account: Account,
}

/// What a job runs on, and since when that is not booked.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct On {
    kind: KindId,
    since: Time,
    beside: Option<JobId>,
    /// Whether the other has spoken for it in this round, and may be gone since.
    #[serde(default)]
    spoken: bool,
}

/// The mechanism's memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Books {
    pub(super) accounts: BTreeMap<JobId, Account>,
    /// Pairs that are due something, in order.
    pub(super) pairs: Vec<Paired>,
    on: BTreeMap<JobId, On>,
    /// Time handed out on each kind since the last reset.
    pub(super) handed_s: Vec<f64>,
    pub(super) last_reset_s: f64,
    pub(super) clock_s: f64,
    /// Jobs came or went since the last reset.
    pub(super) stale: bool,
    pub(super) offer: Vec<KindId>,
    pub(super) turn: RoundTurn,
}

impl Books {
    /// Everybody starts with half a round, so that parts of the time are defined from the start.
    pub(super) fn joined(&mut self, id: JobId, half_s: f64, view: &View) {
        let kinds = view.fleet().cluster().kinds.len();
        self.handed_s.resize(kinds, 0.0);
        let stale = &mut self.stale;
        self.accounts.entry(id).or_insert_with(|| {
            *stale = true;
            Account::new(kinds, half_s)
        });
    }

    pub(super) fn left(&mut self, id: JobId, view: &View) {
        self.paused(id, view);
        self.accounts.remove(&id);
        self.pairs.retain(|pair| pair.jobs.0 != id && pair.jobs.1 != id);
        self.stale = true;
    }

    /// A job has GPUs, perhaps those of another.
    pub(super) fn placed(&mut self, id: JobId, view: &View) {
        // Until its GPUs are clear it has not had them.
        self.forget(id);
        let Some(on) = &view.job(id).assignment else { return };
        let Some(slice) = on.placement.slices().first() else { return };
        let (kind, since) = (view.fleet().kind_of(slice.node), view.now());
        let mut beside = None;
        if on.share < view.job(id).spec.demand.share {
            let there = |other: &&JobId| {
                let with = view.jobs().get(**other).and_then(|job| job.assignment.as_ref());
                **other != id && with == Some(on)
            };
            beside = self.on.keys().find(there).copied();
        }
        if let Some(other) = beside {
            self.settle(other, view);
            if let Some(on) = self.on.get_mut(&other) {
                on.beside = Some(id);
            }
        }
        self.on.insert(id, On { kind, since, beside, spoken: false });
    }

    /// A job has no GPUs any more.
    pub(super) fn paused(&mut self, id: JobId, view: &View) {
        self.settle(id, view);
        self.forget(id);
    }

    fn forget(&mut self, id: JobId) {
        let Some(on) = self.on.remove(&id) else { return };
        if let Some(other) = on.beside.and_then(|other| self.on.get_mut(&other)) {
            other.beside = None;
        }
    }

    /// Book what a job has had up to now, where the world does not say.
    pub(super) fn settle(&mut self, id: JobId, view: &View) {
        let now = view.now();
        let Some(on) = self.on.get_mut(&id) else { return };
        let (kind, beside, seconds) = (on.kind, on.beside, now.since(on.since).secs_f64());
        on.since = now;
        if let Some(other) = beside.and_then(|other| self.on.get_mut(&other)) {
            other.since = now;
        }
        if view.rules().rounds != RoundClock::World {
            self.book(id, beside, kind, seconds);
        }
    }

    pub(super) fn settle_all(&mut self, view: &View) {
        for id in self.on.keys().copied().collect::<Vec<_>>() {
            self.settle(id, view);
        }
    }

    /// The world says what a job has had. Of two on the same GPUs, the first speaks for both.
    pub(super) fn ran(&mut self, id: JobId, kind: KindId, seconds: f64) {
        if seconds <= 0.0 {
            // A round that failed: as if somebody had come or gone.
            self.stale = true;
            return;
        }
        if self.on.get_mut(&id).is_some_and(|on| std::mem::take(&mut on.spoken)) {
            return;
        }
        let beside = self.on.get(&id).and_then(|on| on.beside);
        if beside.is_some_and(|other| other < id) {
            return;
        }
        self.book(id, beside, kind, seconds);
        if let Some(other) = beside.and_then(|other| self.on.get_mut(&other)) {
            other.spoken = true;
        }
    }

    fn book(&mut self, id: JobId, beside: Option<JobId>, kind: KindId, seconds: f64) {
        let paired = beside.map(|other| (id.min(other), id.max(other)));
        let known = |jobs| self.pairs.binary_search_by_key(&jobs, |pair| pair.jobs).ok();
        if let Some(index) = paired.and_then(known) {
            self.pairs[index].account.received_s[kind.index()] += seconds;
            self.handed_s[kind.index()] += seconds;
            return;
        }
        for id in [Some(id), beside].into_iter().flatten() {
            if let Some(account) = self.accounts.get_mut(&id) {
                account.received_s[kind.index()] += seconds;
                self.handed_s[kind.index()] += seconds;
            }
        }
    }

    /// Settle all accounts, and find out what everybody is due from now on.
    pub(super) fn reset(&mut self, shares: &mut dyn Shares, half_s: f64, view: &View) {
        let elapsed_s = self.clock_s - self.last_reset_s;
        let pairs = self.pairs.iter_mut().map(|pair| &mut pair.account);
        for account in self.accounts.values_mut().chain(pairs) {
            account.reset(elapsed_s, half_s);
        }
        let ids: Vec<JobId> = self.accounts.keys().copied().collect();
        let jobs: Vec<_> = ids.iter().map(|id| view.state().job(*id)).collect();
        let places = places(view);
        shares.settle(&jobs, &places, view);
        let Due { alone, pairs } = shares.shares(&jobs, &places, view);
        for (id, row) in ids.iter().zip(alone) {
            self.accounts.get_mut(id).expect("taken from its keys").share = Some(row);
        }
        let before = std::mem::take(&mut self.pairs);
        for pair in pairs {
            let jobs = (ids[pair.rows.0], ids[pair.rows.1]);
            let known = before.binary_search_by_key(&jobs, |pair| pair.jobs).ok();
            let known = known.map(|index| before[index].account.clone());
            // A new pair is owed the half round that it is said to have had.
            let new = || Account {
                deficit_s: vec![half_s; places.len()],
                ..Account::new(places.len(), half_s)
            };
            let account = known.unwrap_or_else(new);
            self.pairs
                .push(Paired { jobs, account: Account { share: Some(pair.parts), ..account } });
        }
        self.pairs.sort_by_key(|pair| pair.jobs);
        let each = half_s * (self.accounts.len() + self.pairs.len()) as f64;
        self.handed_s.iter_mut().for_each(|handed| *handed = each);
        self.last_reset_s = self.clock_s;
        self.stale = false;
    }
}
