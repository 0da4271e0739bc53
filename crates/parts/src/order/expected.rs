//! Who is expected to need least GPU time, in doubt. A job that has outlived most of what was
//! predicted is taken to need a part of what it has had once more, so that a wrong prediction costs
//! little: it slips back by itself, as under least attained service. The more predictions were off
//! so far, the less they count: jobs are tried rather than believed to be long. Whoever runs counts
//! as smaller than it is, so that nobody is stopped for a gain that the stop itself would eat up.
//! Whoever has waited some times as long as it needs comes first, so that everybody starts. The
//! more important come before all that, and jobs of tenants below their quota, or without quotas
//! below an equal share, are looked at before others.

use heeler_engine::{Calibration, Job, Key, Line, Note, Order, Phase, Predict, View};
use heeler_model::{JobId, KindSet, Span, TenantId, Time};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Who is expected to need least.
pub struct Expected {
    /// Who says how much work jobs are.
    pub predict: Box<dyn Predict>,
    /// The part of the time a job has had that it is taken to need once more, at least.
    pub doubt: f64,
    /// How far predictions are taken to be off: what a job needs is divided by the factor by which
    /// its predictor was off so far, to this power.
    pub distrust: f64,
    /// How many times as much a running job must have left as the one it is stopped for.
    pub hold: f64,
    /// How many times as long it must run still, beyond what `hold` asks for. A gang is not stopped
    /// for a small job that takes longer, only because that is less GPU time.
    pub longer: f64,
    /// What stopping and starting again takes, where jobs do not say it.
    pub restart: Span,
    /// For how long a job waits at least before it comes first.
    pub patience: Span,
    /// And how many times what it is expected to need.
    pub patience_times: f64,
    /// The part of an equal share that a tenant without a quota gets before others get more.
    pub floor: f64,
    /// By which factor predictions were off when it was last looked at, and how many have ended.
    pub off: (f64, u64),
    /// By what each job's prediction is divided, as things were when it came.
    pub divided: BTreeMap<JobId, f64>,
    /// GPUs there are to share.
    pub gpus: u32,
    /// Running jobs that started within what their tenant is owed: whose, and their thousandths of
    /// GPUs.
    pub guaranteed: BTreeMap<JobId, (TenantId, i64)>,
    /// What these have in all, by tenant.
    pub kept: BTreeMap<TenantId, i64>,
}

/// Keys count sixteenths of a microsecond of one GPU, because slow GPUs take some off in one.
const PARTS: f64 = 16.0;
/// What a job is taken to need of which nobody says anything: no less than others.
const UNKNOWN_US: f64 = 3600e6;
/// Keys of one priority are within this of each other.
const RANGE: i64 = 1 << 54;
/// Whether somebody has become so long that others should pass is looked at no more often, µs.
const LOOK_US: f64 = 60e6;
/// How often it is looked how far predictions were off: after so many jobs.
const LOOK_BACK: u64 = 16;
/// They are never taken to be further off.
const OFF_MAX: f64 = 1000.0;
/// Priorities beyond these make no further difference.
const PRIORITY_MAX: i32 = 127;

impl Expected {
    /// What a job needs in all and has had, microseconds at its nominal pace.
    fn need(&self, job: &Job, view: &View) -> (f64, f64) {
        let pace = job.spec.nominal_pace;
        let done = job.progress.done_at(view.now()) / pace;
        let work = self.predict.work(job, view).map_or(UNKNOWN_US, |work| work / pace);
        let divided = self.divided.get(&job.id).copied().unwrap_or(1.0);
        ((work / divided).max(1.0), done.max(0.0))
    }

    /// What a job is expected to need still, and how fast that changes while it works.
    fn left(&self, job: &Job, view: &View) -> (f64, f64) {
        let (need, done) = self.need(job, view);
        let (left, again) = (need - done, self.doubt * done);
        if left > again { (left, -1.0) } else { (again, self.doubt) }
    }

    /// How many times what it needs a job waits before it comes first. Who has come first stays so
    /// for a while, or several who outlive their predictions would stop each other again and again.
    fn times(&self, job: &Job) -> f64 {
        if job.is_placed() { self.patience_times / self.hold.max(1.0) } else { self.patience_times }
    }

    /// When a job has waited so long that it comes first. One that outlives what was predicted has
    /// to be more patient from then on, so that it does not keep what it got.
    fn comes_first(&self, job: &Job, view: &View) -> Time {
        let all = self.need(job, view).1 + self.left(job, view).0;
        let times = (all * self.times(job)).min(1e15) as u64;
        let patience = self.patience.max(Span::from_micros(times));
        job.submitted + job.attained_at(view.now()) + patience
    }

    /// How much a job must have done so that it no longer comes first, microseconds.
    fn had_its_turn(&self, job: &Job, view: &View) -> f64 {
        let waited = view.now().since(job.submitted).saturating_sub(job.attained_at(view.now()));
        waited.micros() as f64 / (self.times(job) * (1.0 + self.doubt))
    }

    /// Note that a job is within what its tenant is owed, or no longer.
    fn guarantee(&mut self, id: JobId, what: Option<(TenantId, i64)>) {
        let before = match what {
            Some(what) => self.guaranteed.insert(id, what),
            None => self.guaranteed.remove(&id),
        };
        if let Some((tenant, milli)) = before {
            *self.kept.entry(tenant).or_default() -= milli;
        }
        if let Some((tenant, milli)) = what {
            *self.kept.entry(tenant).or_default() += milli;
        }
    }

    /// See how far predictions were off, from time to time.
    fn look_back(&mut self) {
        self.off.1 += 1;
        if self.off.1.is_multiple_of(LOOK_BACK)
            && let Some(known) = self.predict.calibration()
        {
            self.off.0 = known.factor.clamp(1.0, OFF_MAX);
        }
    }

    fn gpus(job: &Job) -> f64 {
        f64::from(job.spec.demand.asked().max(1)) * f64::from(job.spec.demand.share.0) / 1000.0
    }

    /// Thousandths of GPUs that a tenant is owed: its quota, or an equal share.
    fn owed(&self, tenant: TenantId, view: &View) -> i64 {
        if let Some(quota) = view.tenants().spec(tenant).quota {
            return i64::from(quota) * 1000;
        }
        let all = u64::from(self.gpus) * 1000;
        let share = view.tenants().equal_share(tenant, all);
        share.map_or(0, |share| (share as f64 * self.floor) as i64)
    }

    /// What a job's tenant is owed still.
    fn owed_still(&self, job: &Job, view: &View) -> i64 {
        let tenant = view.tenants().behind(job.spec.tenant);
        self.owed(tenant, view) - view.tenants().counted(tenant)
    }

    /// What a running job would have left beyond what stopping it costs, and how fast that changes.
    fn beyond_a_stop(&self, job: &Job, view: &View) -> (f64, f64) {
        let (left, change) = self.left(job, view);
        let restart = job.spec.restart_s().map_or(self.restart.micros() as f64, |s| s * 1e6);
        let lost =
            if job.spec.forgets() { job.attained_at(view.now()).micros() as f64 } else { 0.0 };
        let works = job.is_running() && job.progress.from <= view.now();
        let pace = if works { job.progress.pace / job.spec.nominal_pace } else { 0.0 };
        let losing = if job.spec.forgets() && job.is_running() { 1.0 } else { 0.0 };
        (left - restart - lost, change * pace - losing)
    }
}

/// Where the keys of a job's priority begin.
fn base(job: &Job) -> i64 {
    -i64::from(job.spec.priority.clamp(-PRIORITY_MAX, PRIORITY_MAX)) * RANGE
}

impl Order for Expected {
    fn line(&self, job: &Job, view: &View) -> Line {
        let base = base(job);
        if self.comes_first(job, view) <= view.now() {
            let minor = job.submitted.micros() as i64;
            return Line { key: Key { major: base - RANGE / 2, minor }, slope: 0 };
        }
        let (left, change) = match job.is_placed() {
            true => self.beyond_a_stop(job, view),
            false => (self.left(job, view).0, 0.0),
        };
        let hold = if job.is_placed() { self.hold } else { 1.0 };
        let weigh = |micros: f64| micros * Self::gpus(job) * PARTS / hold;
        let major = (weigh(left.max(0.0)) as i64).min(RANGE / 2 - 1);
        // It rises in steps, whenever it is looked at: nobody passes it in between.
        let falls = left > 0.0 && change < 0.0;
        let slope = if falls { weigh(change).round() as i64 } else { 0 };
        Line { key: Key::of(base + major), slope }
    }

    /// When it begins to work, when it has outlived what was predicted, when stopping it becomes
    /// worth while or is no longer, when it has waited enough.
    fn bends(&self, job: &Job, view: &View) -> Option<Time> {
        let now = view.now();
        if !job.is_running() {
            let first = self.comes_first(job, view);
            return (job.phase == Phase::Waiting && first > now).then_some(first);
        }
        if job.progress.from > now {
            return Some(job.progress.from);
        }
        let after = |micros: f64| {
            (micros > 0.0 && micros < 1e15).then(|| now + Span::from_micros(micros.ceil() as u64))
        };
        let (need, done) = self.need(job, view);
        let turn = (need / (1.0 + self.doubt) - done) * job.spec.nominal_pace / job.progress.pace;
        let (beyond, change) = self.beyond_a_stop(job, view);
        // While it rises it passes those who wait; how soon that is seen is as exact as it is old.
        let passes = if change > 0.0 { beyond.max(LOOK_US) / 2.0 / change } else { 0.0 };
        let had = (self.had_its_turn(job, view) - done) * job.spec.nominal_pace / job.progress.pace;
        [turn, -beyond / change, passes, had].into_iter().filter_map(after).min()
    }

    fn observe(&mut self, note: &Note, view: &View) -> Vec<JobId> {
        self.predict.observe(note, view);
        match note {
            Note::Placed(id) => {
                let job = view.job(*id);
                if self.owed_still(job, view) >= 0 {
                    let tenant = view.tenants().behind(job.spec.tenant);
                    self.guarantee(*id, Some((tenant, job.milli() as i64)));
                }
            }
            Note::Joined(id) => {
                self.gpus = view.fleet().up_of(KindSet::ANY);
                self.divided.entry(*id).or_insert(self.off.0.powf(self.distrust));
            }
            Note::Changed => self.gpus = view.fleet().up_of(KindSet::ANY),
            Note::Paused(id) => self.guarantee(*id, None),
            Note::Left(id) => {
                self.guarantee(*id, None);
                self.divided.remove(id);
                self.look_back();
            }
            _ => {}
        }
        Vec::new()
    }

    /// A job that is within what its tenant is owed goes before those who are not, and before both
    /// goes whoever has waited long enough.
    fn tenant_rank(&self, job: &Job, extra_milli: i64, view: &View) -> i64 {
        if self.comes_first(job, view) <= view.now() {
            return -1;
        }
        let demand = &job.spec.demand;
        let milli = i64::from(demand.asked()) * i64::from(demand.share.0);
        i64::from(self.owed_still(job, view) < extra_milli + milli)
    }

    fn protects_by_tenant(&self, view: &View) -> bool {
        let tenants = view.tenants();
        tenants.have_quotas() || (self.floor > 0.0 && tenants.len() > 1)
    }

    /// Whoever started within what its tenant is owed, as long as those have no more than that by
    /// now.
    fn protects(&self, running: &Job, from: &Job, ranks_behind: bool, view: &View) -> bool {
        let Some((tenant, _)) = self.guaranteed.get(&running.id) else { return false };
        let own = view.tenants().behind(from.spec.tenant) == *tenant;
        (ranks_behind || !own)
            && self.comes_first(from, view) > view.now()
            && self.kept.get(tenant).is_some_and(|kept| *kept <= self.owed(*tenant, view))
    }

    /// Who is more important, or has waited long enough, need not ask.
    fn is_worth_a_stop(&self, waiting: (&Job, Key), running: (&Job, Key)) -> bool {
        let left = |(job, key): (&Job, Key)| (key.major - base(job)) as f64 / Self::gpus(job);
        let needs = left(waiting);
        base(waiting.0) < base(running.0) || needs < 0.0 || left(running) >= self.longer * needs
    }

    fn by_tenant(&self) -> bool {
        true
    }

    fn calibration(&self) -> Option<Calibration> {
        self.predict.calibration()
    }

    fn save(&self) -> Value {
        json!({
            "predict": self.predict.save(),
            "off": self.off,
            "divided": self.divided,
            "gpus": self.gpus,
            "guaranteed": self.guaranteed.iter().collect::<Vec<_>>(),
        })
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        let wrong = |error: serde_json::Error| error.to_string();
        self.off = serde_json::from_value(saved["off"].clone()).map_err(wrong)?;
        self.divided = serde_json::from_value(saved["divided"].clone()).map_err(wrong)?;
        self.gpus = saved["gpus"].as_u64().unwrap_or(0) as u32;
        let guaranteed: Vec<(JobId, (TenantId, i64))> =
            serde_json::from_value(saved["guaranteed"].clone()).map_err(wrong)?;
        guaranteed.into_iter().for_each(|(id, what)| self.guarantee(id, Some(what)));
        self.predict.restore(&saved["predict"])
    }

    fn fork(&self) -> Box<dyn Order> {
        let (guaranteed, kept) = (self.guaranteed.clone(), self.kept.clone());
        let divided = self.divided.clone();
        Box::new(Expected { predict: self.predict.fork(), guaranteed, kept, divided, ..*self })
    }
}
