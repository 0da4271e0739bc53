//! Shares of GPUs of every kind by tickets, as in Gandiva_fair (Chaudhary et al., EuroSys 2020):
//! gang-aware stride scheduling among tenants, and trading of fast GPUs for slow ones.
//!
//! A tenant has a pass on every kind of GPU, which grows by the GPU time it has had there over its
//! share of that kind; the smallest pass is next. A job whose gang finds no room is passed over and
//! keeps its pass, so that it is first when everything is shared out again. Whoever comes begins
//! where those are who are there.

use super::ranked::per;
use super::{Floor, Offer, Rule, Turns};
use crate::shares::rate;
use heeler_engine::{Job, Note, View};
use heeler_model::{JobId, KindId, KindSet, TenantId};
use heeler_solve::trade::{Trader, trade};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// How the next is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Draw {
    /// The smallest pass.
    #[default]
    Stride,
    /// At random, with chances by share.
    Lottery,
}

/// Passes: microseconds for which a tenant has had its share.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    /// By tenant and kind.
    passes: BTreeMap<TenantId, Vec<i64>>,
    /// Shares of every kind by tenant, thousandths of a GPU, after trading.
    shares: BTreeMap<TenantId, Vec<i64>>,
    /// GPU time of each job that is in the passes, thousandths × microseconds, and on which kind of
    /// GPU it has had the rest.
    counted: BTreeMap<JobId, (u64, Option<KindId>)>,
}

/// Nobody keeps more credit than for so many microseconds of its share.
const CREDIT_US: i64 = 3_600_000_000;

/// Shares by tickets, with trading or without.
#[derive(Clone, Debug, Default)]
pub struct Tickets {
    draw: Draw,
    trading: bool,
    books: Books,
}

impl Tickets {
    /// Tickets are a tenant's weight.
    pub fn new(draw: Draw, trading: bool) -> Tickets {
        Tickets { draw, trading, books: Books::default() }
    }

    /// Book what a job has had since this was last done. What others left over is free.
    fn settle(&mut self, job: &Job, view: &View) {
        let Some((counted, kind)) = self.books.counted.get_mut(&job.id) else { return };
        let had = job.attained_milli_at(view.now());
        let more = had.saturating_sub(std::mem::replace(counted, had));
        let Some(kind) = *kind else { return };
        let share = self.books.shares.get(&job.spec.tenant).map_or(0, |s| s[kind.index()]);
        if let Some(passes) = self.books.passes.get_mut(&job.spec.tenant).filter(|_| share > 0) {
            passes[kind.index()] += stride(more.into(), share);
        }
    }

    /// Whoever lags far behind has not wanted what there was.
    fn forget_credit(&mut self, kinds: usize) {
        for kind in 0..kinds {
            let most = self.books.passes.values().map(|passes| passes[kind]).max().unwrap_or(0);
            for passes in self.books.passes.values_mut() {
                passes[kind] = passes[kind].max(most - CREDIT_US);
            }
        }
    }

    /// Who is there, and what everybody's share of every kind is.
    fn share_out(&mut self, view: &View) {
        let mut jobs: BTreeMap<TenantId, Vec<&Job>> = BTreeMap::new();
        for job in view.state().jobs().iter().filter(|job| self.is_known(job.id)) {
            jobs.entry(job.spec.tenant).or_default().push(job);
        }
        let kinds = view.fleet().cluster().kinds.len();
        self.books.passes.retain(|tenant, _| jobs.contains_key(tenant));
        let least = |kind: usize, passes: &BTreeMap<TenantId, Vec<i64>>| {
            passes.values().map(|passes| passes[kind]).min().unwrap_or(0)
        };
        let begin: Vec<i64> = (0..kinds).map(|kind| least(kind, &self.books.passes)).collect();
        for tenant in jobs.keys() {
            self.books.passes.entry(*tenant).or_insert_with(|| begin.clone());
        }
        let tickets = |tenant: &TenantId| f64::from(view.tenants().spec(*tenant).weight.max(1));
        let all: f64 = jobs.keys().map(tickets).sum();
        let mut shares: Vec<Vec<f64>> = jobs
            .keys()
            .map(|tenant| gpus(kinds, view).map(|gpus| gpus * tickets(tenant) / all).collect())
            .collect();
        if self.trading {
            let of: Vec<&Vec<&Job>> = jobs.values().collect();
            trade_kinds(&mut shares, &of, view);
        }
        let milli = |share: &f64| (share * 1000.0).round() as i64;
        let rows = shares.iter().map(|row| row.iter().map(milli).collect());
        self.books.shares = jobs.keys().copied().zip(rows).collect();
    }

    fn is_known(&self, id: JobId) -> bool {
        self.books.counted.contains_key(&id)
    }
}

/// How far a pass moves for GPU time, thousandths × microseconds, with a share in thousandths.
fn stride(milli_us: i128, share: i64) -> i64 {
    per(milli_us, i128::from(share.max(1)) * 1_000_000)
}

/// GPUs of each kind.
fn gpus(kinds: usize, view: &View) -> impl Iterator<Item = f64> {
    let count = |kind| f64::from(view.fleet().up_of(KindSet::only(KindId(kind))));
    (0..kinds as u8).map(count)
}

/// The kind of GPU that a job has.
fn kind_of(job: &Job, view: &View) -> Option<KindId> {
    let slice = job.assignment.as_ref()?.placement.slices().first()?;
    Some(view.fleet().kind_of(slice.node))
}

/// Rate of a tenant's jobs on a kind over that on another, in the mean over their GPUs; none where
/// some job runs on one of them only.
fn speedup(jobs: &[&Job], fast: KindId, slow: KindId, view: &View) -> Option<f64> {
    let (mut sum, mut weight) = (0.0, 0.0);
    for job in jobs {
        let (high, low) = (rate(job, fast, view), rate(job, slow, view));
        if high <= 0.0 || low <= 0.0 {
            return None;
        }
        let gpus = f64::from(job.spec.demand.asked().max(1));
        sum += high / low * gpus;
        weight += gpus;
    }
    (weight > 0.0).then(|| sum / weight)
}

/// Trade between every two kinds, the fastest and the slowest first.
fn trade_kinds(shares: &mut [Vec<f64>], jobs: &[&Vec<&Job>], view: &View) {
    let kinds = shares.first().map_or(0, Vec::len);
    let everybody: Vec<&Job> = jobs.iter().flat_map(|jobs| jobs.iter().copied()).collect();
    let mean = |kind: u8| {
        let ratios = everybody.iter().filter_map(|job| {
            let first = rate(job, KindId(0), view);
            (first > 0.0).then(|| rate(job, KindId(kind), view) / first)
        });
        ratios.sum::<f64>()
    };
    let mut order: Vec<u8> = (0..kinds as u8).collect();
    order.sort_by(|a, b| mean(*b).total_cmp(&mean(*a)));
    for fast in 0..order.len() {
        for slow in (fast + 1..order.len()).rev() {
            let (fast, slow) = (KindId(order[fast]), KindId(order[slow]));
            let able: Vec<(usize, f64)> = (jobs.iter().enumerate())
                .filter_map(|(index, jobs)| Some((index, speedup(jobs, fast, slow, view)?)))
                .collect();
            let mut traders: Vec<Trader> = (able.iter())
                .map(|(index, speedup)| Trader {
                    fast: shares[*index][fast.index()],
                    slow: shares[*index][slow.index()],
                    speedup: *speedup,
                })
                .collect();
            trade(&mut traders);
            for ((index, _), trader) in able.iter().zip(traders) {
                shares[*index][fast.index()] = trader.fast;
                shares[*index][slow.index()] = trader.slow;
            }
        }
    }
}

/// Offers kind by kind, by pass.
struct ByKind<'a> {
    rule: &'a Tickets,
    view: View<'a>,
    jobs: BTreeMap<TenantId, Vec<&'a Job>>,
    /// Passes with what was given in this plan, by tenant and kind.
    passes: BTreeMap<TenantId, Vec<i64>>,
    /// What every kind and tenant may still be offered, best kind first.
    kinds: Vec<KindId>,
    /// The next of each tenant's jobs to be offered the kind at hand.
    at: BTreeMap<TenantId, usize>,
    lease_us: u64,
    offered: Option<(TenantId, JobId)>,
}

impl<'a> ByKind<'a> {
    /// The tenant that is next on a kind: those with a share of it first, then the others.
    fn best(&self, kind: KindId) -> Option<(TenantId, &'a Job)> {
        let has_next = self.jobs.iter().filter_map(|(tenant, jobs)| {
            let at = self.at.get(tenant).copied().unwrap_or(0);
            let mut rest = jobs.iter().skip(at);
            let job = rest.find(|job| job.spec.demand.kinds.contains(kind))?;
            Some((*tenant, *job))
        });
        has_next.min_by_key(|(tenant, job)| {
            let share = self.share(*tenant, kind);
            (share == 0, self.passes[tenant][kind.index()], job.id)
        })
    }

    fn share(&self, tenant: TenantId, kind: KindId) -> i64 {
        self.rule.books.shares.get(&tenant).map_or(0, |shares| shares[kind.index()])
    }
}

impl Turns for ByKind<'_> {
    fn next(&mut self) -> Option<Offer> {
        while let Some(kind) = self.kinds.first().copied() {
            if let Some((tenant, job)) = self.best(kind) {
                self.offered = Some((tenant, job.id));
                return Some(Offer { job: job.id, kinds: KindSet::only(kind) });
            }
            self.kinds.remove(0);
            self.at.clear();
        }
        None
    }

    fn took(&mut self) {
        let Some((tenant, id)) = self.offered.take() else { return };
        let kind = self.kinds[0];
        self.jobs.entry(tenant).or_default().retain(|job| job.id != id);
        let more = i128::from(self.view.job(id).milli()) * i128::from(self.lease_us);
        let step = stride(more, self.share(tenant, kind));
        if let Some(passes) = self.passes.get_mut(&tenant) {
            passes[kind.index()] += step;
        }
    }

    fn passed(&mut self) {
        let Some((tenant, id)) = self.offered.take() else { return };
        let at = self.jobs[&tenant].iter().position(|job| job.id == id);
        self.at.insert(tenant, at.map_or(0, |at| at + 1));
    }
}

impl Rule for Tickets {
    fn open<'a>(&'a self, floor: &Floor<'a>, view: &View<'a>) -> Box<dyn Turns + 'a> {
        let lease_us = floor.until.map_or(1, |until| until.since(view.now()).micros());
        let mut jobs: BTreeMap<TenantId, Vec<&Job>> = BTreeMap::new();
        for job in &floor.asking {
            jobs.entry(job.spec.tenant).or_default().push(job);
        }
        let kinds = view.fleet().cluster().kinds.len();
        let mut passes = self.books.passes.clone();
        for (tenant, jobs) in &mut jobs {
            // A tenant's tickets are split evenly: whoever had the least GPU time is next.
            jobs.sort_by_key(|job| (job.attained_milli_at(view.now()), job.submitted, job.id));
            let passes = passes.entry(*tenant).or_insert_with(|| vec![0; kinds]);
            if self.draw == Draw::Lottery {
                let mut rng = view.rng(&format!("tickets of {tenant}"));
                // At random, but so that a larger share has a smaller number more often.
                passes.fill_with(|| {
                    let drawn = (1.0 - rng.random::<f64>()).ln();
                    (-drawn * 1e6) as i64
                });
                let shares = self.books.shares.get(tenant);
                for (kind, pass) in passes.iter_mut().enumerate() {
                    let share = shares.map_or(1, |shares| shares[kind].max(1));
                    *pass = per(i128::from(*pass), i128::from(share));
                }
            }
        }
        let everybody: Vec<&Job> = floor.asking.clone();
        let mut order: Vec<KindId> = (0..kinds as u8).map(KindId).collect();
        let speed = |kind: &KindId| everybody.iter().map(|job| rate(job, *kind, view)).sum::<f64>();
        order.sort_by(|a, b| speed(b).total_cmp(&speed(a)));
        let (at, offered) = (BTreeMap::new(), None);
        Box::new(ByKind {
            rule: self,
            view: *view,
            jobs,
            passes,
            kinds: order,
            at,
            lease_us,
            offered,
        })
    }

    /// To kinds of GPU on which they are due more.
    fn moves(&self, view: &View) -> bool {
        view.fleet().cluster().kinds.len() > 1
    }

    fn observe(&mut self, note: &Note, view: &View) {
        match note {
            Note::Joined(id) | Note::Placed(id) => {
                let (job, new) = (view.job(*id), !self.is_known(*id));
                let had = job.attained_milli_at(view.now());
                self.books.counted.entry(*id).or_insert((had, None)).1 = kind_of(job, view);
                if new {
                    self.share_out(view);
                }
            }
            Note::Paused(id) => self.settle(view.job(*id), view),
            Note::Left(id) => {
                self.settle(view.job(*id), view);
                self.books.counted.remove(id);
                self.share_out(view);
            }
            Note::Changed => self.share_out(view),
            Note::Deciding => {
                let placed = view.state().jobs().iter().filter(|job| job.is_placed());
                placed.for_each(|job| self.settle(job, view));
                self.forget_credit(view.fleet().cluster().kinds.len());
            }
            _ => {}
        }
    }

    fn save(&self) -> Value {
        serde_json::to_value(&self.books).expect("plain data")
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.books = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn fork(&self) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}
