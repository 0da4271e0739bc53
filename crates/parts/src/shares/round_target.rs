//! Rounds that realise shares of time, as in Gavel (Narayanan et al., OSDI 2020, §5): for each kind
//! of GPU, jobs are ranked by the share they should have over the part of the time they have had,
//! and as many as fit run for a round; two that should share GPUs are ranked as one. Shares are
//! computed anew when jobs came or went, but not more often than every so often.

use super::accounts::{Account, Books};
use super::beside::together;
use super::seating::{Chosen, seat};
use super::{Shares, rate};
use heeler_engine::{Calibration, Note, Policy, Predict, RoundClock, View, Want};
use heeler_model::{JobId, KindId, KindSet, Plan, Reason, Scope, Span, TenantId, Time, Wait};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What is saved.
#[derive(Serialize, Deserialize)]
struct Saved {
    books: Books,
    shares: Value,
    #[serde(default)]
    predict: Value,
}

/// Rounds that realise shares.
pub struct RoundTarget {
    shares: Box<dyn Shares>,
    round: Span,
    reset_every: Span,
    /// Whether jobs that are due nothing may use GPUs that would be idle.
    fill_idle: bool,
    books: Books,
}

/// A claim to a kind of GPU in this round.
struct Claim {
    who: Chosen,
    priority: f64,
    deficit: f64,
    share: f64,
    /// Or only holds GPUs.
    runs: bool,
}

impl Claim {
    /// In order of submission, a pair with the later of the two.
    fn came(&self) -> (JobId, bool, JobId) {
        let Chosen { job, beside, .. } = self.who;
        (beside.unwrap_or(job), beside.is_some(), job)
    }
}

impl RoundTarget {
    /// Rounds of a length; shares computed anew at most every so often.
    pub fn new(
        shares: Box<dyn Shares>,
        round: Span,
        reset_every: Span,
        fill_idle: bool,
    ) -> RoundTarget {
        RoundTarget { shares, round, reset_every, fill_idle, books: Books::default() }
    }

    fn half_round_s(&self) -> f64 {
        self.round.secs_f64() / 2.0
    }

    /// Who should run on what, by kind in the order of the offer, then by what they are due.
    fn claims(&self, view: &View) -> Vec<Claim> {
        let mut claims = Vec::new();
        let unshared = self.unshared(view);
        for kind in &self.books.offer {
            let start = claims.len();
            let claim = |(job, beside): (JobId, Option<JobId>), account: &Account| {
                let at = kind.index();
                let share = account.share.as_ref()?[at];
                let jobs = [Some(job), beside].into_iter().flatten();
                let runs = jobs.clone().all(|id| rate(view.job(id), *kind, view) > 0.0);
                let had = account.received_s[at] / self.books.handed_s[at];
                let priority = if share == 0.0 || !runs { 0.0 } else { share / had };
                let who = Chosen { job, beside, kind: *kind };
                Some(Claim { who, priority, deficit: account.deficit_s[at], share, runs: true })
            };
            let accounts = self.books.accounts.iter();
            claims.extend(accounts.filter_map(|(job, account)| claim((*job, None), account)));
            let pairs = self.books.pairs.iter().filter_map(|pair| {
                let claim = claim((pair.jobs.0, Some(pair.jobs.1)), &pair.account)?;
                // GPUs that would be idle go to jobs alone.
                (claim.priority > 0.0 || unshared.is_some()).then_some(claim)
            });
            claims.extend(pairs);
            let waiting = unshared.iter().flatten().map(|(job, beside)| {
                let who = Chosen { job: *job, beside: *beside, kind: *kind };
                Claim { who, priority: 0.0, deficit: 0.0, share: 0.0, runs: false }
            });
            claims.extend(waiting);
            // Full ties stay in order of submission, those alone before pairs.
            claims[start..].sort_by(|a, b| {
                let by = |x: f64, y: f64| y.total_cmp(&x);
                let due = by(a.priority, b.priority).then(by(a.deficit, b.deficit));
                due.then(by(a.share, b.share)).then(a.came().cmp(&b.came()))
            });
        }
        claims
    }

    /// In a world that runs the rounds itself, those whose shares are still to be computed hold
    /// GPUs that would be idle, alone or two by two, but do not run.
    fn unshared(&self, view: &View) -> Option<Vec<(JobId, Option<JobId>)>> {
        if view.rules().rounds != RoundClock::World {
            return None;
        }
        let accounts = &self.books.accounts;
        let new = accounts.iter().filter(|(_, account)| account.share.is_none());
        let new: Vec<JobId> = new.map(|(id, _)| *id).collect();
        let mut waiting: Vec<(JobId, Option<JobId>)> = new.iter().map(|id| (*id, None)).collect();
        if self.shares.packs() {
            for id in &new {
                let gpus = |id: JobId| view.job(id).spec.demand.asked();
                let others = accounts.iter().filter(|(other, account)| {
                    **other != *id
                        && gpus(**other) == gpus(*id)
                        && (account.share.is_some() || **other < *id)
                });
                let pair = |other: JobId| (other.min(*id), Some(other.max(*id)));
                waiting.extend(others.map(|(other, _)| pair(*other)));
            }
        }
        Some(waiting)
    }

    /// As many as fit, in order, and who was kept out by a limit.
    fn choose(&self, view: &View) -> (Vec<Chosen>, BTreeMap<JobId, Reason>) {
        let mut free: BTreeMap<KindId, u32> = BTreeMap::new();
        for kind in &self.books.offer {
            free.insert(*kind, view.fleet().up_of(KindSet::only(*kind)));
        }
        let (mut chosen, mut refused) = (Vec::new(), BTreeMap::new());
        let mut taken: BTreeSet<JobId> = BTreeSet::new();
        let mut used: BTreeMap<TenantId, i64> = BTreeMap::new();
        let tenants = view.tenants();
        for Claim { who, priority, runs, .. } in self.claims(view) {
            let job = view.job(who.job);
            let left = free.get_mut(&who.kind).expect("a claim is on an offered kind");
            let gpus = job.spec.demand.asked();
            let idle = priority <= 0.0 && !self.fill_idle;
            let fits = *left > 0 && gpus <= *left && rate(job, who.kind, view) > 0.0;
            let gone = |id: JobId| taken.contains(&id);
            if idle || !fits || gone(who.job) || who.beside.is_some_and(gone) {
                continue;
            }
            let kept =
                who.beside.map(|other| together(job, view.job(other), who.kind.index(), view));
            let both_run = |kept: Option<(f64, f64)>| kept.is_some_and(|(a, b)| a.min(b) > 0.0);
            if kept.is_some_and(|kept| !both_run(kept)) {
                continue;
            }
            let before = used.clone();
            let both = [Some(who.job), who.beside].into_iter().flatten();
            let refusal = both.clone().find_map(|id| {
                let (milli, tenant) = (who.milli(id, view), view.job(id).spec.tenant);
                let now_used = |tenant| used.get(&tenant).copied().unwrap_or(0);
                if let Err(reason) = tenants.within_limits(tenant, milli, now_used) {
                    return Some((id, reason));
                }
                for tenant in tenants.lineage(tenant) {
                    *used.entry(tenant).or_default() += milli;
                }
                None
            });
            if let Some((id, reason)) = refusal {
                used = before;
                refused.insert(id, reason);
                continue;
            }
            *left -= gpus;
            taken.extend(both);
            if runs {
                chosen.push(who);
            }
        }
        chosen.sort_by_key(|who| (who.job, who.beside));
        (chosen, refused)
    }

    fn verdict(&self, id: JobId, view: &View) -> Reason {
        let account = &self.books.accounts[&id];
        let (tenant, milli) = (view.job(id).spec.tenant, Want::as_asked(view.job(id)).milli());
        if let Err(reason) = view.tenants().within_limits(tenant, milli, |_| 0) {
            return reason;
        }
        let thousandths = |part: f64| (part * 1000.0) as u32;
        if account.share.is_none() {
            let reset = Time::from_secs_f64(self.books.last_reset_s) + self.reset_every;
            return Reason::RoundNotOver { until: reset.max(self.books.turn.next()) };
        }
        let own = |jobs: (JobId, JobId)| jobs.0 == id || jobs.1 == id;
        let pairs = self.books.pairs.iter().filter(|pair| own(pair.jobs));
        let all: Vec<&Account> =
            pairs.map(|pair| &pair.account).chain(std::iter::once(account)).collect();
        let due: f64 = all.iter().flat_map(|account| account.share.iter().flatten()).sum();
        let had: f64 = all.iter().flat_map(|account| &account.received_s).sum();
        let handed: f64 = self.books.handed_s.iter().sum();
        let got = thousandths(if handed > 0.0 { had / handed } else { 0.0 });
        Reason::ShareSpent { target: thousandths(due), got }
    }
}

impl Policy for RoundTarget {
    fn plan(&self, view: &View) -> Plan {
        let (chosen, refused) = self.choose(view);
        let mut plan = Plan { scope: Scope::Whole, ..Plan::none() };
        seat(&chosen, &mut plan, view);
        let both = |who: &Chosen| [Some(who.job), who.beside].into_iter().flatten();
        let named: BTreeSet<JobId> = chosen.iter().flat_map(both).collect();
        let waits = self.books.accounts.keys().filter(|id| !named.contains(id));
        plan.wait.extend(waits.map(|id| {
            let reason = refused.get(id).copied().unwrap_or_else(|| self.verdict(*id, view));
            Wait { job: *id, reason }
        }));
        plan
    }

    fn observe(&mut self, note: &Note, view: &View) {
        self.books.turn.observe(note, self.round, view);
        if let Some(predict) = self.shares.predictor_mut() {
            predict.observe(note, view);
        }
        match note {
            Note::Joined(id) => self.books.joined(*id, self.half_round_s(), view),
            Note::Placed(id) | Note::Began(id) => {
                // Who runs when this recipe takes over never joined the queue.
                self.books.joined(*id, self.half_round_s(), view);
                self.books.placed(*id, view);
            }
            Note::Paused(id) => self.books.paused(*id, view),
            Note::Left(id) => self.books.left(*id, view),
            Note::Ran { job, kind, seconds } => self.books.ran(*job, *kind, *seconds),
            Note::RoundOver { clock, offer, stalled } => {
                self.books.clock_s = *clock;
                self.books.offer.clone_from(offer);
                if *stalled {
                    self.books.last_reset_s = 0.0;
                }
            }
            Note::Deciding => {
                if view.rules().rounds != RoundClock::World {
                    self.books.clock_s = view.now().secs_f64();
                    let kinds = view.fleet().cluster().kinds.len() as u8;
                    self.books.offer = (0..kinds).map(KindId).collect();
                    self.books.settle_all(view);
                }
                let since = self.books.clock_s - self.books.last_reset_s;
                let long_ago = since >= self.reset_every.secs_f64();
                if self.books.stale && (long_ago || self.books.last_reset_s == 0.0) {
                    let half_s = self.half_round_s();
                    self.books.reset(self.shares.as_mut(), half_s, view);
                }
            }
            Note::Decided
            | Note::Progressed(_)
            | Note::Reported { .. }
            | Note::Load { .. }
            | Note::Scattered(_)
            | Note::Changed => {}
        }
    }

    fn is_due(&self, view: &View) -> bool {
        self.books.turn.is_due(view)
    }

    fn wake(&self, view: &View) -> Option<Time> {
        self.books.turn.wake(view)
    }

    fn packs(&self) -> bool {
        self.shares.packs()
    }

    fn calibrations(&self) -> Vec<Calibration> {
        self.shares.predictor().and_then(Predict::calibration).into_iter().collect()
    }

    fn save(&self) -> Value {
        let predict = self.shares.predictor().map_or(Value::Null, Predict::save);
        let saved = Saved { books: self.books.clone(), shares: self.shares.save(), predict };
        serde_json::to_value(saved).expect("plain data")
    }

    fn restore(&mut self, saved: &Value, _view: &View) -> Result<(), String> {
        let saved = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        let Saved { books, shares, predict } = saved;
        self.books = books;
        self.shares.restore(&shares)?;
        match self.shares.predictor_mut().filter(|_| !predict.is_null()) {
            Some(predictor) => predictor.restore(&predict),
            None => Ok(()),
        }
    }

    fn fork(&self) -> Box<dyn Policy> {
        Box::new(RoundTarget { shares: self.shares.fork(), books: self.books.clone(), ..*self })
    }
}
