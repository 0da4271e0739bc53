//! Chronus (Gao et al., SoCC 2021): what a job needs is estimated with a restart in every lease and
//! a margin; leases are spared while somebody with a deadline is refused; what nobody holds goes to
//! those who can still end in time, then to the refused and to best effort, shortest first.

use super::desk::LeaseRules;
use super::ledger::{Entry, Ledger, Standing};
use super::programme::FirstLease;
use crate::shares::rate;
use heeler_engine::{Job, Phase, Predict, View};
use heeler_model::{JobId, KindId, Promise, Span, Time};
use std::collections::BTreeMap;

/// The rules of Chronus.
pub struct Chronus {
    /// Part by which estimates are raised.
    pub margin: f64,
    /// What saving and resuming is taken to cost a job of one GPU; as much again for each doubling.
    pub restart: Span,
    /// Whether jobs with deadlines may run outside their leases.
    pub early: bool,
    /// Who says how long jobs run.
    pub predict: Box<dyn Predict>,
}

impl Chronus {
    /// Time a job still needs on a kind of GPU, once it has started.
    fn left(&self, job: &Job, kind: KindId, view: &View) -> Option<Span> {
        let work = self.predict.work(job, view)? - job.progress.done_at(view.now());
        let rate = rate(job, kind, view).max(f64::MIN_POSITIVE);
        Some(Span::from_micros((work.max(0.0) / rate * 1e6).ceil() as u64))
    }

    /// What starting on a kind of GPU costs a job, or what is left of it if it runs there.
    fn start(&self, job: &Job, kind: KindId, view: &View) -> Span {
        let mut on = job.assignment.iter().flat_map(|on| on.placement.slices());
        let there = on.all(|slice| view.fleet().kind_of(slice.node) == kind);
        if job.is_running() && there {
            return job.progress.from.since(view.now());
        }
        let doublings = f64::from(job.spec.demand.asked().max(1)).log2();
        Span::from_secs_f64(self.restart.secs_f64() * (1.0 + doublings))
    }

    /// When a job would end that starts now on a kind of GPU.
    fn end(&self, job: &Job, kind: KindId, view: &View) -> Option<Time> {
        Some(view.now() + self.start(job, kind, view) + self.left(job, kind, view)?)
    }

    /// Those who were refused, but would end in time and within this lease, shortest first.
    fn quick(&self, ledger: &Ledger, end: Time, view: &View) -> Vec<(u64, JobId, Vec<KindId>)> {
        let mut quick = Vec::new();
        let refused = |entry: &Entry| entry.standing == Standing::Refused && !entry.overdue;
        for (id, entry) in ledger.entries.iter().filter(|(_, entry)| refused(entry)) {
            let job = view.state().job(*id);
            let by = end.min(entry.answer.map_or(end, |answer| answer.asked));
            let in_time = |kind: &KindId| self.end(job, *kind, view).is_some_and(|at| at <= by);
            let pools: Vec<KindId> = Ledger::pools(job, view).into_iter().filter(in_time).collect();
            if let Some(left) = pools.first().and_then(|kind| self.left(job, *kind, view)) {
                quick.push((left.micros() * u64::from(job.spec.demand.asked()), *id, pools));
            }
        }
        quick.sort_unstable();
        quick
    }
}

impl LeaseRules for Chronus {
    fn needs(&self, job: &Job, kind: KindId, lease: Span, view: &View) -> Option<u32> {
        let (left, lease) = (self.left(job, kind, view)?.secs_f64(), lease.secs_f64());
        let doublings = f64::from(job.spec.demand.asked().max(1)).log2();
        let restarts = 1.0 + self.restart.secs_f64() * (1.0 + doublings) / lease;
        Some((left * restarts * (1.0 + self.margin) / lease).ceil() as u32)
    }

    fn aim(&self, ledger: &Ledger) -> FirstLease {
        let refused = ledger.entries.values().any(|entry| entry.standing == Standing::Refused);
        if refused { FirstLease::Spare } else { FirstLease::Fill }
    }

    fn within(&self, ledger: &mut Ledger, end: Time, view: &View) {
        let mut free: BTreeMap<KindId, u32> = BTreeMap::new();
        for (id, entry) in ledger.entries.iter().filter(|(_, entry)| entry.holds || entry.forced) {
            *free.entry(entry.pool).or_default() += view.state().job(*id).spec.demand.asked();
        }
        let quick = if self.early { self.quick(ledger, end, view) } else { Vec::new() };
        for (_, id, pools) in quick {
            let gpus = view.state().job(id).spec.demand.asked();
            let used = |kind: &KindId| free.get(kind).copied().unwrap_or(0) + gpus;
            let room = |kind: &&KindId| used(kind) <= ledger.capacity(**kind, view);
            let Some(pool) = pools.iter().find(room).copied() else { continue };
            *free.entry(pool).or_default() += gpus;
            let entry = ledger.entries.get_mut(&id).expect("taken from its keys");
            (entry.forced, entry.pool, entry.standing) = (true, pool, Standing::Promised);
            entry.answer = entry.answer.map(|answer| Promise {
                offered: Some(answer.asked),
                admitted: true,
                ..answer
            });
        }
        for (id, entry) in &mut ledger.entries {
            let job = view.state().job(*id);
            let left = self.predict.left(job, view).unwrap_or(Span::ZERO);
            let late = entry.answer.is_some_and(|answer| view.now() + left > answer.asked);
            if entry.standing == Standing::Refused && job.phase == Phase::Waiting && late {
                entry.standing = Standing::Lost;
            }
        }
    }

    fn rank(&self, job: &Job, entry: &Entry, view: &View) -> Option<(u8, i64)> {
        let left = self.predict.left(job, view).map(|left| left.micros() as i64);
        let gpus = i64::from(job.spec.demand.asked());
        let asked = entry.answer.map_or(0, |answer| answer.asked.since(view.now()).micros() as i64);
        let slack = (asked - left.unwrap_or(0)).saturating_mul(gpus);
        match entry.standing {
            Standing::Arrived | Standing::Profiled => None,
            _ if entry.overdue => Some((0, 0)),
            Standing::BestEffort | Standing::Refused => {
                Some((1, left.map_or(i64::MAX, |left| left.saturating_mul(gpus))))
            }
            Standing::Promised => self.early.then_some((2, slack)),
            Standing::Lost => Some((3, slack)),
        }
    }

    fn predictor(&self) -> Option<&dyn Predict> {
        Some(&*self.predict)
    }

    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        Some(&mut *self.predict)
    }

    fn fork(&self) -> Box<dyn LeaseRules> {
        Box::new(Chronus { predict: self.predict.fork(), ..*self })
    }
}
