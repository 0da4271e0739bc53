//! Rounds planned ahead: whenever jobs came or went, or the plan is old, it is decided for a window
//! of rounds who runs in each, by what jobs will have got done and how late they would be, as in
//! Shockwave (Zheng et al., NSDI 2023). GPUs that the plan leaves idle go to whoever has most left.

use super::epochs::Epochs;
use super::worth::{Aims, FairEnd, lefts, worths};
use crate::place::{Fit, Racks, Remainder};
use crate::round_turn::RoundTurn;
use heeler_engine::{Calibration, Grip, Job, Note, Pick, Place, Policy, Predict, View, Want};
use heeler_model::{
    Assignment, JobId, KindSet, Plan, Reason, Report, Run, Scope, Span, TenantId, Time, Wait,
};
use heeler_solve::window::{Rounded, TRIES_MAX, Window};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// On as few nodes as possible, but rather spread than wait.
const TOGETHER: Fit =
    Fit { pick: Pick::Tightest, remainder: Remainder::AsPicked, relax: true, racks: Racks::Any };
/// A job without a profile is taken to have so many epochs, all alike …
const EPOCHS: f64 = 100.0;
/// … and to run for so long, if nobody can tell.
const UNKNOWN_S: f64 = 3600.0;

/// What is known of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Known {
    epochs: Epochs,
    /// How long it had run when it last said where it is.
    heard_s: f64,
    fair: Option<FairEnd>,
    /// Seconds it still needed when the plan was made.
    left_s: f64,
}

/// What it remembers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    jobs: BTreeMap<JobId, Known>,
    /// Who is in which round of the plan, and the round it begins with.
    plan: Vec<Vec<JobId>>,
    begins: u64,
    /// The round that runs, and the one that is decided on next: asking again changes nothing.
    round: u64,
    next: u64,
    /// Jobs came or went since fair ends were estimated.
    changed: bool,
    turn: RoundTurn,
}

/// Rounds planned ahead.
pub struct Windows {
    aims: Aims,
    round: Span,
    /// Rounds of a plan.
    ahead: u32,
    /// Rounds after which it is made anew.
    renew: u32,
    predict: Box<dyn Predict>,
    books: Books,
}

/// A job as the plan sees it.
struct Planned {
    id: JobId,
    all: f64,
    epoch_s: Vec<f64>,
    left_s: f64,
    fair_s: f64,
}

impl Windows {
    /// Plans of so many rounds of a length, made anew after some; a predictor says how long jobs
    /// run of which no profile is known.
    pub fn new(
        aims: Aims,
        round: Span,
        ahead: u32,
        renew: u32,
        predict: Box<dyn Predict>,
    ) -> Windows {
        Windows { aims, round, ahead, renew, predict, books: Books::default() }
    }

    /// Epochs of a job in all, and the seconds of one in each regime.
    fn profile(&self, job: &Job, view: &View) -> (f64, Vec<f64>) {
        let sound = |each: &f64| *each > 0.0 && each.is_finite();
        if let Some(known) = job.spec.regimes().filter(|known| known.epoch_s.iter().all(sound))
            && !known.epoch_s.is_empty()
        {
            return (f64::from(known.epochs.max(1)), known.epoch_s.clone());
        }
        let pace = job.spec.nominal_pace * job.tempo.pace * 1e6;
        let all_s = self.predict.work(job, view).map(|work| work / pace);
        let ran_s = job.attained_at(view.now()).secs_f64();
        let all_s = all_s.filter(sound).unwrap_or(UNKNOWN_S.max(2.0 * ran_s));
        (EPOCHS, vec![all_s / EPOCHS])
    }

    /// Where a job is among its epochs: as it said, and further by how long it has run since.
    fn epochs(&self, known: &Known, job: &Job, all: f64, epoch_s: &[f64], now: Time) -> Epochs {
        let mut epochs = known.epochs.clone();
        let since_s = job.attained_at(now).secs_f64() - known.heard_s;
        let regime = epochs.regime.min(epoch_s.len() - 1);
        let more = (since_s.max(0.0) / epoch_s[regime]).floor();
        let (done, regime) = ((epochs.done() + more).min(all), epochs.regime);
        epochs.reach(done, regime);
        epochs
    }

    fn heard(&mut self, id: JobId, report: &Report, view: &View) {
        let Report::Regime { regime, epochs, .. } = report else { return };
        let Some(known) = self.books.jobs.get_mut(&id) else { return };
        known.epochs.reach(f64::from(*epochs), *regime as usize);
        known.heard_s = view.job(id).attained_at(view.now()).secs_f64();
    }

    /// The part of the time that a job would have with an equal share.
    fn share(&self, view: &View) -> f64 {
        let gpus = f64::from(view.fleet().up_of(KindSet::ANY));
        (gpus / self.books.jobs.len().max(1) as f64).clamp(1e-6, 1.0)
    }

    /// Look at all jobs; estimate the ends that are fair to them, if jobs came or went.
    fn look(&mut self, view: &View) -> Vec<(Planned, Epochs)> {
        let (now, share, round) = (view.now(), self.share(view), self.books.round);
        let mut jobs = std::mem::take(&mut self.books.jobs);
        let mut seen = Vec::with_capacity(jobs.len());
        for (id, known) in &mut jobs {
            let job = view.job(*id);
            let (all, epoch_s) = self.profile(job, view);
            let epochs = self.epochs(known, job, all, &epoch_s, now);
            let left_s = epochs.left_s(all, &epoch_s);
            known.left_s = left_s;
            if self.books.changed || known.fair.is_none() {
                let end_s = job.submitted.secs_f64() + (epochs.past_s(&epoch_s) + left_s) / share;
                match &mut known.fair {
                    Some(fair) => fair.estimate(round, end_s),
                    None => known.fair = Some(FairEnd::first(round, end_s)),
                }
            }
            let fair_s = known.fair.as_ref().map_or(0.0, |fair| fair.end_s(round)).max(1.0);
            seen.push((Planned { id: *id, all, epoch_s, left_s, fair_s }, epochs));
        }
        self.books.jobs = jobs;
        self.books.changed = false;
        seen
    }

    /// Decide who runs in each round of the window.
    fn make_plan(&mut self, view: &View) {
        let seen = self.look(view);
        let places = view.fleet().up_of(KindSet::ANY);
        let (share, round_s) = (self.share(view), self.round.secs_f64());
        let (now_s, rounds) = (view.now().secs_f64(), self.ahead);
        let end_s = now_s + f64::from(rounds) * round_s;
        let part = 1.0 / (seen.len().max(1) as f64 * f64::from(rounds));
        let mut window = Window { places, rounds, price: self.aims.makespan, rows: Vec::new() };
        let (mut ids, mut weights) = (Vec::new(), Vec::new());
        for (job, epochs) in &seen {
            let size = view.job(job.id).spec.demand.asked().max(1);
            if size > places {
                continue;
            }
            let epoch_s = epochs.mean_s(&job.epoch_s);
            let done = epochs.done();
            let mut worth = worths(done, job.all, epoch_s, round_s, rounds);
            worth.iter_mut().for_each(|worth| *worth *= part);
            let ahead_s = (job.all - done).max(0.0) * epoch_s;
            let left = lefts(job.left_s, ahead_s, round_s, rounds);
            // Rounds that it needs to end in time, if all go on with equal shares afterwards.
            let may_s = (job.fair_s * self.aims.ratio - end_s) * share;
            let least = left.iter().position(|left| *left <= may_s);
            let least = least.map_or(rounds + 1, |least| least as u32);
            window.rows.push(Rounded { size, worth, left, least });
            let ratio = (now_s + job.left_s / share) / job.fair_s;
            weights.push(self.aims.weight(ratio, job.left_s < round_s));
            ids.push(job.id);
        }
        let planned = match window.plan(TRIES_MAX) {
            Some(planned) => {
                weights.fill(1.0);
                Some(planned)
            }
            None => {
                for (row, weight) in window.rows.iter_mut().zip(&weights) {
                    row.least = 0;
                    row.worth.iter_mut().for_each(|worth| *worth *= weight);
                }
                window.plan(TRIES_MAX)
            }
        };
        let counts = planned.map(|planned| planned.counts).unwrap_or_default();
        let rounds = match counts.len() == ids.len() {
            true => window.lay_out(&counts, &weights),
            false => Vec::new(),
        };
        let named = |round: Vec<usize>| round.into_iter().map(|row| ids[row]).collect();
        self.books.plan = rounds.into_iter().map(named).collect();
        self.books.begins = self.books.round;
    }

    /// Jobs in the order in which they may run now: who is in the round, then who has most left.
    fn order(&self) -> Vec<JobId> {
        let index = self.books.round.saturating_sub(self.books.begins) as usize;
        let here = |id: &JobId| self.books.jobs.contains_key(id);
        let inside = self.books.plan.get(index).into_iter().flatten().copied();
        let mut order: Vec<JobId> = inside.filter(here).collect();
        let first: BTreeSet<JobId> = order.iter().copied().collect();
        let mut rest: Vec<(&JobId, &Known)> =
            self.books.jobs.iter().filter(|(id, _)| !first.contains(id)).collect();
        rest.sort_by(|a, b| b.1.left_s.total_cmp(&a.1.left_s).then(a.0.cmp(b.0)));
        order.extend(rest.into_iter().map(|(id, _)| *id));
        order
    }

    /// As many as fit, in order, and why the others wait.
    fn choose(&self, view: &View) -> (BTreeSet<JobId>, BTreeMap<JobId, Reason>) {
        let mut free = view.fleet().up_of(KindSet::ANY);
        let (mut chosen, mut refused) = (BTreeSet::new(), BTreeMap::new());
        let mut used: BTreeMap<TenantId, i64> = BTreeMap::new();
        let tenants = view.tenants();
        for id in self.order() {
            let job = view.job(id);
            let (gpus, milli, tenant) =
                (job.spec.demand.asked(), job.milli() as i64, job.spec.tenant);
            let now_used = |tenant| used.get(&tenant).copied().unwrap_or(0);
            if let Err(reason) = tenants.within_limits(tenant, milli, now_used) {
                refused.insert(id, reason);
                continue;
            }
            if gpus > free {
                refused.insert(id, Reason::RoundNotOver { until: self.turn_of(id, view) });
                continue;
            }
            free -= gpus;
            chosen.insert(id);
            for tenant in tenants.lineage(tenant) {
                *used.entry(tenant).or_default() += milli;
            }
        }
        (chosen, refused)
    }

    /// When a job's next round is, as planned; at the earliest when this one is over.
    fn turn_of(&self, id: JobId, view: &View) -> Time {
        let index = self.books.round.saturating_sub(self.books.begins) as usize;
        let later = self.books.plan.iter().skip(index + 1);
        let rounds = 1 + later.take_while(|round| !round.contains(&id)).count() as u64;
        let each = self.round.micros().max(1);
        let first = view.now().micros() / each + 1;
        Time::from_micros((first + (rounds - 1).min(u64::from(self.ahead))) * each)
    }

    /// Whether the plan no longer holds.
    fn is_old(&self) -> bool {
        let age = self.books.round.saturating_sub(self.books.begins);
        self.books.changed || self.books.plan.len() as u64 <= age || age >= u64::from(self.renew)
    }
}

impl Policy for Windows {
    fn plan(&self, view: &View) -> Plan {
        let (chosen, refused) = self.choose(view);
        let mut plan = Plan { scope: Scope::Whole, ..Plan::none() };
        let mut draft = view.draft();
        for job in view.jobs().iter().filter(|job| job.is_placed()) {
            let on = job.assignment.as_ref().expect("a placed job has an assignment");
            draft.release(&on.placement, Grip::from(&job.spec.demand));
        }
        let mut fresh: Vec<(u32, JobId)> = Vec::new();
        for id in &chosen {
            let job = view.job(*id);
            match &job.assignment {
                Some(on) => {
                    draft.claim(&on.placement, Grip::from(&job.spec.demand));
                    plan.run.push(Run { job: *id, assignment: on.clone(), lease: None });
                }
                None => fresh.push((job.spec.demand.asked(), *id)),
            }
        }
        // Large gangs first; they have the hardest time.
        fresh.sort_by_key(|(gpus, id)| (std::cmp::Reverse(*gpus), *id));
        for (_, id) in fresh {
            let want = Want::as_asked(view.job(id));
            match TOGETHER.place(&want, &draft, view) {
                Ok(placement) => {
                    draft.claim(&placement, Grip::from(&want.demand));
                    let assignment = Assignment::new(placement, want.demand.share);
                    plan.run.push(Run { job: id, assignment, lease: None });
                }
                Err(reason) => plan.wait.push(Wait { job: id, reason }),
            }
        }
        plan.wait.extend(refused.into_iter().map(|(job, reason)| Wait { job, reason }));
        plan
    }

    fn observe(&mut self, note: &Note, view: &View) {
        self.predict.observe(note, view);
        self.books.turn.observe(note, self.round, view);
        match note {
            // Who runs when this recipe takes over never joined the queue.
            Note::Joined(id) | Note::Placed(id) => {
                let changed = &mut self.books.changed;
                self.books.jobs.entry(*id).or_insert_with(|| {
                    *changed = true;
                    Known::default()
                });
            }
            Note::Left(id) => {
                self.books.jobs.remove(id);
                self.books.changed = true;
            }
            Note::Reported { job, report } => self.heard(*job, report, view),
            Note::Deciding => {
                self.books.round = self.books.next;
                if self.is_old() {
                    self.make_plan(view);
                }
            }
            Note::Decided => self.books.next = self.books.round + 1,
            _ => {}
        }
    }

    fn is_due(&self, view: &View) -> bool {
        self.books.turn.is_due(view)
    }

    fn wake(&self, view: &View) -> Option<Time> {
        self.books.turn.wake(view)
    }

    fn calibrations(&self) -> Vec<Calibration> {
        self.predict.calibration().into_iter().collect()
    }

    fn save(&self) -> Value {
        let saved = (&self.books, self.predict.save());
        serde_json::to_value(saved).expect("plain data")
    }

    fn restore(&mut self, saved: &Value, _view: &View) -> Result<(), String> {
        let saved: (Books, Value) =
            serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        self.books = saved.0;
        self.predict.restore(&saved.1)
    }

    fn fork(&self) -> Box<dyn Policy> {
        let (predict, books) = (self.predict.fork(), self.books.clone());
        Box::new(Windows { predict, books, ..*self })
    }
}
