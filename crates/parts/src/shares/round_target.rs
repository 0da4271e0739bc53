//! Rounds that realise shares of time, as in Gavel (Narayanan et al., OSDI 2020, §5): for each kind
//! of GPU, jobs are ranked by the share they should have over the part of the time they have had,
//! and as many as fit run for a round. Shares are computed anew when jobs came or went, but not
//! more often than every so often.

use super::{Shares, places, rate};
use crate::place::{Fit, Remainder};
use heeler_engine::{Draft, Grip, Note, Pick, Place, Policy, RoundClock, View, Want};
use heeler_model::{
    Assignment, JobId, KindId, KindSet, Placement, Plan, Reason, Run, Scope, Span, TenantId, Time,
    Wait,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// On as few nodes as possible, but rather spread than wait: shares count GPUs, not nodes.
const TOGETHER: Fit =
    Fit { pick: Pick::Tightest, remainder: Remainder::AsPicked, relax: true, racks: false };

/// What a job should have had and what it has had, by kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Account {
    received_s: Vec<f64>,
    deficit_s: Vec<f64>,
    /// Its share; none until shares are computed for the first time after it came.
    share: Option<Vec<f64>>,
    /// What it runs on, and since when that is not booked.
    on: Option<(KindId, Time)>,
}

/// The mechanism's memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    accounts: BTreeMap<JobId, Account>,
    /// Time handed out on each kind since the last reset.
    handed_s: Vec<f64>,
    last_reset_s: f64,
    clock_s: f64,
    /// Jobs came or went since the last reset.
    stale: bool,
    offer: Vec<KindId>,
    round_over: bool,
    next_round: Time,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
struct Saved {
    books: Books,
    shares: Value,
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

/// A job's claim to a kind of GPU in this round.
struct Claim {
    job: JobId,
    kind: KindId,
    priority: f64,
    deficit: f64,
    share: f64,
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

    /// Everybody starts with half a round, so that parts of the time are defined from the start.
    fn half_round_s(&self) -> f64 {
        self.round.secs_f64() / 2.0
    }

    fn joined(&mut self, id: JobId, view: &View) {
        let kinds = view.fleet().cluster().kinds.len();
        let half = self.half_round_s();
        self.books.handed_s.resize(kinds, 0.0);
        let books = &mut self.books;
        let stale = &mut books.stale;
        books.accounts.entry(id).or_insert_with(|| {
            *stale = true;
            let (received_s, deficit_s) = (vec![half; kinds], vec![0.0; kinds]);
            Account { received_s, deficit_s, share: None, on: None }
        });
    }

    fn book(&mut self, id: JobId, kind: KindId, seconds: f64) {
        if let Some(account) = self.books.accounts.get_mut(&id) {
            account.received_s[kind.index()] += seconds;
            self.books.handed_s[kind.index()] += seconds;
        }
    }

    /// Book what a job has had up to now, where the world does not say.
    fn settle(&mut self, id: JobId, view: &View) {
        let on = self.books.accounts.get_mut(&id).and_then(|account| account.on.as_mut());
        let Some((kind, since)) = on else { return };
        let (kind, span) = (*kind, view.now().since(*since));
        *since = view.now();
        if view.rules().rounds != RoundClock::World {
            self.book(id, kind, span.secs_f64());
        }
    }

    fn reset(&mut self, view: &View) {
        let half = self.half_round_s();
        let elapsed = self.books.clock_s - self.books.last_reset_s;
        let ids: Vec<JobId> = self.books.accounts.keys().copied().collect();
        for kind in 0..self.books.handed_s.len() {
            self.books.handed_s[kind] = 0.0;
            for account in self.books.accounts.values_mut() {
                let due = account.share.as_ref().map_or(0.0, |share| share[kind] * elapsed);
                account.deficit_s[kind] += due - (account.received_s[kind] - half);
                account.received_s[kind] = half;
                self.books.handed_s[kind] += half;
            }
        }
        let jobs: Vec<_> = ids.iter().map(|id| view.state().job(*id)).collect();
        let places = places(view);
        self.shares.settle(&jobs, &places, view);
        for (id, row) in ids.iter().zip(self.shares.shares(&jobs, &places, view)) {
            let account = self.books.accounts.get_mut(id).expect("taken from its keys");
            account.share = Some(row);
        }
        self.books.last_reset_s = self.books.clock_s;
        self.books.stale = false;
    }

    /// Who should run on what, by kind in the order of the offer, then by what they are due.
    fn claims(&self, view: &View) -> Vec<Claim> {
        let mut claims = Vec::new();
        for kind in &self.books.offer {
            let start = claims.len();
            for (id, account) in &self.books.accounts {
                let Some(share) = account.share.as_ref().map(|share| share[kind.index()]) else {
                    continue;
                };
                let runs = rate(view.job(*id), *kind, view) > 0.0;
                let had = account.received_s[kind.index()] / self.books.handed_s[kind.index()];
                let priority = if share == 0.0 || !runs { 0.0 } else { share / had };
                let deficit = account.deficit_s[kind.index()];
                claims.push(Claim { job: *id, kind: *kind, priority, deficit, share });
            }
            // Stable: full ties stay in order of submission.
            claims[start..].sort_by(|a, b| {
                let by = |x: f64, y: f64| y.total_cmp(&x);
                by(a.priority, b.priority).then(by(a.deficit, b.deficit)).then(by(a.share, b.share))
            });
        }
        claims
    }

    /// As many as fit, in order, and who was kept out by a limit.
    fn choose(&self, view: &View) -> (BTreeMap<JobId, KindId>, BTreeMap<JobId, Reason>) {
        let mut free: BTreeMap<KindId, u32> = BTreeMap::new();
        for kind in &self.books.offer {
            free.insert(*kind, view.fleet().up_of(KindSet::only(*kind)));
        }
        let (mut chosen, mut refused) = (BTreeMap::new(), BTreeMap::new());
        let mut used: BTreeMap<TenantId, i64> = BTreeMap::new();
        let tenants = view.tenants();
        for claim in self.claims(view) {
            let job = view.job(claim.job);
            let left = free.get_mut(&claim.kind).expect("a claim is on an offered kind");
            let gpus = job.spec.demand.asked();
            let idle = claim.priority <= 0.0 && !self.fill_idle;
            let fits = *left > 0 && gpus <= *left && rate(job, claim.kind, view) > 0.0;
            let (milli, tenant) = (job.milli() as i64, job.spec.tenant);
            let now_used = |tenant| used.get(&tenant).copied().unwrap_or(0);
            if idle || !fits || chosen.contains_key(&claim.job) {
                continue;
            }
            if let Err(reason) = tenants.within_limits(tenant, milli, now_used) {
                refused.insert(claim.job, reason);
                continue;
            }
            *left -= gpus;
            chosen.insert(claim.job, claim.kind);
            for tenant in tenants.lineage(tenant) {
                *used.entry(tenant).or_default() += milli;
            }
        }
        (chosen, refused)
    }

    fn verdict(&self, id: JobId, view: &View) -> Reason {
        let account = &self.books.accounts[&id];
        let (tenant, milli) = (view.job(id).spec.tenant, view.job(id).milli() as i64);
        if let Err(reason) = view.tenants().within_limits(tenant, milli, |_| 0) {
            return reason;
        }
        let thousandths = |part: f64| (part * 1000.0) as u32;
        let due: f64 = account.share.iter().flatten().sum();
        let handed: f64 = self.books.handed_s.iter().sum();
        let had: f64 = account.received_s.iter().sum();
        if account.share.is_none() {
            let reset = Time::from_secs_f64(self.books.last_reset_s) + self.reset_every;
            return Reason::RoundNotOver { until: reset.max(self.books.next_round) };
        }
        let got = thousandths(if handed > 0.0 { had / handed } else { 0.0 });
        Reason::ShareSpent { target: thousandths(due), got }
    }
}

impl Policy for RoundTarget {
    fn plan(&self, view: &View) -> Plan {
        let (chosen, refused) = self.choose(view);
        let mut plan = Plan { scope: Scope::Whole, ..Plan::none() };
        let mut draft = view.draft();
        let mut fresh: Vec<(u32, JobId, KindId)> = Vec::new();
        for job in view.jobs().iter().filter(|job| job.is_placed()) {
            let on = job.assignment.as_ref().expect("a placed job has an assignment");
            draft.release(&on.placement, Grip::from(&job.spec.demand));
        }
        for (id, kind) in &chosen {
            let job = view.job(*id);
            let kept = job.assignment.as_ref().filter(|on| is_on(&on.placement, *kind, &draft));
            match kept {
                Some(on) => {
                    draft.claim(&on.placement, Grip::from(&job.spec.demand));
                    plan.run.push(Run { job: *id, assignment: on.clone(), lease: None });
                }
                None => fresh.push((job.spec.demand.asked(), *id, *kind)),
            }
        }
        // Large gangs first; they have the hardest time.
        fresh.sort_by_key(|(gpus, id, _)| (std::cmp::Reverse(*gpus), *id));
        for (_, id, kind) in fresh {
            let mut want = Want::as_asked(view.job(id));
            want.demand.kinds = KindSet::only(kind);
            match TOGETHER.place(&want, &draft, view) {
                Ok(placement) => {
                    draft.claim(&placement, Grip::from(&want.demand));
                    let assignment = Assignment { placement, share: want.demand.share };
                    plan.run.push(Run { job: id, assignment, lease: None });
                }
                Err(reason) => plan.wait.push(Wait { job: id, reason }),
            }
        }
        let waits = self.books.accounts.keys().filter(|id| !chosen.contains_key(id));
        plan.wait.extend(waits.map(|id| {
            let reason = refused.get(id).copied().unwrap_or_else(|| self.verdict(*id, view));
            Wait { job: *id, reason }
        }));
        plan
    }

    fn observe(&mut self, note: &Note, view: &View) {
        match note {
            Note::Joined(id) => self.joined(*id, view),
            Note::Placed(id) | Note::Began(id) => {
                let placement = view.job(*id).assignment.as_ref().map(|on| &on.placement);
                let node = placement.and_then(|p| p.slices().first()).map(|slice| slice.node);
                let kind = node.map(|node| view.fleet().kind_of(node));
                if let Some(account) = self.books.accounts.get_mut(id) {
                    account.on = kind.map(|kind| (kind, view.now()));
                }
            }
            Note::Paused(id) => {
                self.settle(*id, view);
                if let Some(account) = self.books.accounts.get_mut(id) {
                    account.on = None;
                }
            }
            Note::Left(id) => {
                self.settle(*id, view);
                self.books.accounts.remove(id);
                self.books.stale = true;
            }
            Note::Ran { job, kind, seconds } => self.book(*job, *kind, *seconds),
            Note::RoundOver { clock, offer, stalled } => {
                self.books.clock_s = *clock;
                self.books.offer.clone_from(offer);
                self.books.round_over = true;
                if *stalled {
                    self.books.last_reset_s = 0.0;
                }
            }
            Note::Deciding => {
                if view.rules().rounds != RoundClock::World {
                    self.books.clock_s = view.now().secs_f64();
                    let kinds = view.fleet().cluster().kinds.len() as u8;
                    self.books.offer = (0..kinds).map(KindId).collect();
                    for id in self.books.accounts.keys().copied().collect::<Vec<_>>() {
                        self.settle(id, view);
                    }
                }
                let since = self.books.clock_s - self.books.last_reset_s;
                let long_ago = since >= self.reset_every.secs_f64();
                if self.books.stale && (long_ago || self.books.last_reset_s == 0.0) {
                    self.reset(view);
                }
            }
            Note::Decided => {
                self.books.round_over = false;
                let rounds = view.now().micros() / self.round.micros().max(1) + 1;
                self.books.next_round = Time::from_micros(rounds * self.round.micros());
            }
            Note::Progressed(_) | Note::Reported { .. } | Note::Load { .. } | Note::Changed => {}
        }
    }

    fn is_due(&self, view: &View) -> bool {
        match view.rules().rounds {
            RoundClock::World => self.books.round_over,
            RoundClock::Recipe | RoundClock::Multiples => {
                !view.jobs().is_empty() && view.now() >= self.books.next_round
            }
        }
    }

    fn wake(&self, view: &View) -> Option<Time> {
        let recipe = view.rules().rounds != RoundClock::World;
        (recipe && !view.jobs().is_empty()).then_some(self.books.next_round)
    }

    fn save(&self) -> Value {
        let saved = Saved { books: self.books.clone(), shares: self.shares.save() };
        serde_json::to_value(saved).expect("plain data")
    }

    fn restore(&mut self, saved: &Value, _view: &View) -> Result<(), String> {
        let saved = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        let Saved { books, shares } = saved;
        self.books = books;
        self.shares.restore(&shares)
    }

    fn fork(&self) -> Box<dyn Policy> {
        Box::new(RoundTarget { shares: self.shares.fork(), books: self.books.clone(), ..*self })
    }
}

/// Whether a placement is on GPUs of a kind.
fn is_on(placement: &Placement, kind: KindId, draft: &Draft) -> bool {
    placement.slices().iter().all(|slice| draft.kind_of(slice.node) == kind)
}
