//! Who was promised what: a page for each job, with its leases in a pool of GPUs. A promise counts
//! GPUs of one kind, so it is given only to jobs that can use any GPUs of that kind.

use super::calendar::Calendar;
use super::packing::{Ask, earliest, pack};
use super::programme::{Choice, FirstLease, Holder, improve};
use crate::shares::rate;
use heeler_engine::{Job, View};
use heeler_model::{Deadline, JobId, KindId, KindSet, Promise, Reach, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a job stands with its deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Nobody has looked at it yet.
    #[default]
    Arrived,
    /// How fast it is has to be measured before anybody can look at it.
    Profiled,
    /// It is promised to end in time.
    Promised,
    /// It wants to end by a time that could not be promised.
    Refused,
    /// It has no deadline.
    BestEffort,
    /// It cannot end in time any more.
    Lost,
}

/// A job's page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Entry {
    /// How it stands.
    pub standing: Standing,
    /// The kind of GPU it is promised.
    pub pool: KindId,
    /// GPUs at once, as they are counted.
    pub gang: u32,
    /// Leases to come, in order of time.
    pub leases: Vec<u64>,
    /// Whether it has the present lease.
    pub holds: bool,
    /// Whether it is promised GPUs until it ends within the present lease.
    pub forced: bool,
    /// Whether it has run as long as was expected, and is not done.
    pub overdue: bool,
    /// What it was told.
    pub answer: Option<Promise>,
    /// Whether its leases may still be packed anew: it came after the last decision on all.
    fresh: bool,
    /// Its deadlines as leases, with what each is worth.
    choices: Vec<(u64, i64)>,
    chosen: usize,
}

impl Entry {
    fn until(&self) -> u64 {
        self.choices.get(self.chosen).map_or(0, |choice| choice.0)
    }

    fn is_in(&self, pool: KindId) -> bool {
        self.standing == Standing::Promised && self.pool == pool && !self.forced
    }

    fn ask(&self) -> Ask {
        let leases = self.leases.len() as u32;
        Ask { gang: self.gang, leases, until: self.until() }
    }

    /// Its promise cannot be kept. What it was told stays on record.
    fn breaks(&mut self) {
        self.standing = Standing::Refused;
        self.leases.clear();
    }
}

/// On what terms promises are given.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    /// How long a lease is.
    pub lease: Span,
    /// Whether any of a job's deadlines will do, or only the first.
    pub any: bool,
    /// A deadline later than asked for is agreed to if it is no more than so many times as far from
    /// the submission.
    pub tolerate: f64,
}

impl Admission {
    /// The lease that a time is in: those before it are over by then.
    fn slot(&self, at: Time) -> u64 {
        at.micros() / self.lease.micros().max(1)
    }

    /// When a lease begins.
    pub fn start(&self, lease: u64) -> Time {
        Time::from_micros(lease.saturating_mul(self.lease.micros()))
    }

    fn agrees(&self, job: &Job, asked: Time, until: u64) -> bool {
        let far = |at: Time| at.since(job.submitted).micros() as f64;
        self.tolerate > 1.0 && far(self.start(until)) <= far(asked) * self.tolerate
    }
}

/// How many leases a job still needs on a kind of GPU, if one can tell.
pub(super) type Needs<'a> = &'a dyn Fn(&Job, KindId) -> Option<u32>;

/// The pages of all jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// By job.
    pub entries: BTreeMap<JobId, Entry>,
    /// The present lease.
    pub lease: u64,
    /// GPUs that nobody is promised, because jobs are measured on them.
    #[serde(default)]
    pub kept: u32,
}

impl Ledger {
    /// The pools in which a promise can be given to a job, the best first.
    pub fn pools(job: &Job, view: &View) -> Vec<KindId> {
        let demand = &job.spec.demand;
        let limited = |tenant| view.tenants().spec(tenant).limit.is_some();
        let bound = demand.reach != Reach::Cluster && demand.asked() > 1;
        let by_count = demand.share.is_whole() && demand.asked() > 0 && !bound;
        if !by_count || view.tenants().lineage(job.spec.tenant).any(limited) {
            return Vec::new();
        }
        let fleet = view.fleet();
        let cluster = fleet.cluster();
        // Who takes more than a GPU's part of CPUs or memory leaves GPUs that count for nothing.
        let has = |there: u64, gpus: u32, each: u32| {
            there == 0 || there / u64::from(gpus.max(1)) >= u64::from(each)
        };
        let serves = |kind: &KindId| {
            let mut nodes = cluster.nodes.iter().filter(|node| node.kind == *kind);
            nodes.all(|node| {
                has(node.cpu_milli, node.gpus, demand.cpu_milli)
                    && has(node.memory_mb, node.gpus, demand.memory_mb)
            })
        };
        let kinds = demand.kinds.iter(cluster.kinds.len());
        let mut kinds: Vec<KindId> =
            kinds.filter(|kind| rate(job, *kind, view) > 0.0).filter(serves).collect();
        kinds.sort_by(|a, b| rate(job, *b, view).total_cmp(&rate(job, *a, view)));
        kinds
    }

    /// GPUs of a pool that can be promised.
    pub fn capacity(&self, pool: KindId, view: &View) -> u32 {
        view.fleet().up_of(KindSet::only(pool)).saturating_sub(self.kept)
    }

    /// The leases of a pool from some lease on, without those that may be packed anew.
    fn calendar(&self, pool: KindId, first: u64, view: &View) -> Calendar {
        let mut calendar = Calendar::new(first, self.capacity(pool, view));
        for entry in self.entries.values().filter(|entry| entry.is_in(pool) && !entry.fresh) {
            for lease in entry.leases.iter().filter(|lease| **lease >= first) {
                // Nodes may have gone since; what is promised too much is settled at the next.
                calendar.take(*lease, entry.gang.min(calendar.free(*lease)));
            }
        }
        calendar
    }

    /// Whoever has got on faster than its leases gives the first of them back.
    pub fn trim(&mut self, needs: Needs, view: &View) {
        for (id, entry) in &mut self.entries {
            if entry.standing != Standing::Promised || entry.forced {
                continue;
            }
            let needed = needs(view.state().job(*id), entry.pool);
            let spare = entry.leases.len().saturating_sub(needed.unwrap_or(u32::MAX) as usize);
            entry.leases.drain(..spare);
            if needed == Some(0) && !entry.holds {
                entry.overdue = true;
                entry.breaks();
            }
        }
    }

    /// Decide on all jobs that nobody has looked at, in order of submission.
    pub fn admit_all(&mut self, terms: Admission, needs: Needs, view: &View) {
        let new = self.entries.iter().filter(|(_, entry)| entry.standing == Standing::Arrived);
        for id in new.map(|(id, _)| *id).collect::<Vec<_>>() {
            let job = view.state().job(id);
            self.entries.entry(id).or_default().standing = Standing::BestEffort;
            if !job.spec.deadlines().is_empty() {
                let answer = self.admit(job, terms, needs, view);
                self.entries.entry(id).or_default().answer = Some(answer);
            }
        }
    }

    /// Decide on a new job with deadlines.
    fn admit(&mut self, job: &Job, terms: Admission, needs: Needs, view: &View) -> Promise {
        let deadlines = job.spec.deadlines();
        let asked = deadlines.last().map_or(job.submitted, |deadline| deadline.at);
        let said = |offered, admitted| Promise { job: job.id, asked, offered, admitted };
        let gang = counted(job.spec.demand.asked());
        let count = if terms.any { deadlines.len() } else { 1 };
        let mut offered: Option<(u64, KindId, u32)> = None;
        for pool in Ledger::pools(job, view) {
            let Some(leases) = needs(job, pool) else { continue };
            let slot = |deadline: &Deadline| (terms.slot(deadline.at), deadline.value);
            let choices = deadlines.iter().map(slot).collect();
            let page = Entry { pool, gang, choices, ..Entry::default() };
            let mut kept = deadlines.iter().take(count).enumerate();
            if let Some((_, deadline)) =
                kept.find(|(chosen, _)| self.enter(job.id, &page, *chosen, leases, view))
            {
                return said(Some(deadline.at), true);
            }
            let mut asks: Vec<Ask> = self.fresh(pool).map(|(_, entry)| entry.ask()).collect();
            asks.push(Ask { gang, leases, until: 0 });
            let found = earliest(&self.calendar(pool, self.lease + 1, view), &asks);
            let found = found.map(|until| (until, pool, leases));
            offered = offered.into_iter().chain(found).min();
        }
        let agreed = offered.filter(|(until, ..)| terms.agrees(job, asked, *until));
        let admitted = agreed.is_some_and(|(until, pool, leases)| {
            let page = Entry { pool, gang, choices: vec![(until, 0)], ..Entry::default() };
            self.enter(job.id, &page, 0, leases, view)
        });
        if !admitted {
            self.entries.entry(job.id).or_default().standing = Standing::Refused;
        }
        said(offered.map(|(until, ..)| terms.start(until)), admitted)
    }

    fn fresh(&self, pool: KindId) -> impl Iterator<Item = (JobId, &Entry)> {
        let of_pool = move |(_, entry): &(&JobId, &Entry)| entry.is_in(pool) && entry.fresh;
        self.entries.iter().filter(of_pool).map(|(id, entry)| (*id, entry))
    }

    /// Enter a job's page, if one of its deadlines can be kept.
    fn enter(&mut self, id: JobId, page: &Entry, chosen: usize, leases: u32, view: &View) -> bool {
        let first = self.lease + 1;
        let until = page.choices[chosen].0;
        if until < first + u64::from(leases) {
            return false;
        }
        let mut calendar = self.calendar(page.pool, first, view);
        let (mut ids, mut asks): (Vec<JobId>, Vec<Ask>) =
            self.fresh(page.pool).map(|(id, entry)| (id, entry.ask())).unzip();
        ids.push(id);
        asks.push(Ask { gang: page.gang, leases, until });
        let Some(packed) = pack(&mut calendar, &asks) else { return false };
        let page = Entry { standing: Standing::Promised, fresh: true, chosen, ..page.clone() };
        self.entries.insert(id, page);
        for (id, leases) in ids.into_iter().zip(packed) {
            self.entries.get_mut(&id).expect("it has a page").leases = leases;
        }
        true
    }

    /// A new lease begins: decide anew who has which, so that every promise is kept.
    pub fn renew(&mut self, lease: u64, aim: FirstLease, limit: u32, needs: Needs, view: &View) {
        self.lease = lease;
        for entry in self.entries.values_mut() {
            (entry.holds, entry.fresh, entry.forced) = (false, false, false);
            entry.leases.retain(|reserved| *reserved >= lease);
        }
        self.trim(needs, view);
        let kinds = view.fleet().cluster().kinds.len() as u8;
        for pool in (0..kinds).map(KindId) {
            self.renew_pool(pool, aim, limit, needs, view);
        }
    }

    fn renew_pool(&mut self, pool: KindId, aim: FirstLease, limit: u32, needs: Needs, view: &View) {
        let mut calendar = Calendar::new(self.lease, self.capacity(pool, view));
        // Nodes may have gone, or jobs fallen behind: first everybody keeps what can be kept.
        let pages = self.entries.iter_mut().filter(|(_, entry)| entry.is_in(pool));
        let mut pages: Vec<(JobId, &mut Entry)> = pages.map(|(id, entry)| (*id, entry)).collect();
        for (_, entry) in &mut pages {
            let gang = entry.gang;
            entry.leases.retain(|lease| {
                let fits = calendar.free(*lease) >= gang;
                if fits {
                    calendar.take(*lease, gang);
                }
                fits
            });
        }
        for (id, entry) in &mut pages {
            complete(entry, needs(view.state().job(*id), pool), &mut calendar);
        }
        pages.retain(|(_, entry)| entry.standing == Standing::Promised);
        let holder = |(id, entry): &(JobId, &mut Entry)| Holder {
            gang: entry.gang,
            leases: entry.leases.clone(),
            choices: entry
                .choices
                .iter()
                .map(|(until, value)| Choice { until: *until, value: *value })
                .collect(),
            chosen: entry.chosen,
            first: view.state().job(*id).is_running(),
        };
        let mut holders: Vec<Holder> = pages.iter().map(holder).collect();
        improve(&mut calendar, &mut holders, aim, limit);
        for ((_, entry), holder) in pages.into_iter().zip(holders) {
            (entry.leases, entry.chosen) = (holder.leases, holder.chosen);
            if entry.leases.first() == Some(&self.lease) {
                entry.leases.remove(0);
                entry.holds = true;
            }
        }
    }
}

/// Find leases for what a job needs beyond those it has, for the earliest deadline that allows it.
fn complete(entry: &mut Entry, needed: Option<u32>, calendar: &mut Calendar) {
    let missing = (needed.unwrap_or(0) as usize).saturating_sub(entry.leases.len());
    for chosen in entry.chosen..entry.choices.len() {
        let until = entry.choices[chosen].0;
        let found = calendar.latest(entry.gang, missing, until, &entry.leases);
        if let Some(found) = found {
            found.iter().for_each(|lease| calendar.take(*lease, entry.gang));
            entry.leases.extend(found);
            entry.leases.sort_unstable();
            entry.chosen = chosen;
            return;
        }
    }
    entry.leases.iter().for_each(|lease| calendar.give(*lease, entry.gang));
    entry.breaks();
}

/// GPUs as they are counted in a calendar: gangs of less than a usual node as powers of two, so
/// that they can be kept together.
fn counted(gpus: u32) -> u32 {
    if gpus <= 8 { gpus.next_power_of_two() } else { gpus }
}
