//! Who is expected to need least GPU time, in doubt. A job that has outlived most of what was
//! predicted is taken to need a part of what it has had once more, so that a wrong prediction costs
//! little: it slips back by itself, as under least attained service. Whoever runs counts as smaller
//! than it is, so that nobody is stopped for a gain that the stop itself would eat up. Whoever has
//! waited some times as long as it needs comes first, so that everybody starts. The more important
//! come before all that, and jobs of tenants below their quota are looked at before others.

use heeler_engine::{Calibration, Job, Key, Line, Note, Order, Phase, Predict, View};
use heeler_model::{JobId, Span, Time};
use serde_json::Value;

/// Who is expected to need least.
pub struct Expected {
    /// Who says how much work jobs are.
    pub predict: Box<dyn Predict>,
    /// The part of the time a job has had that it is taken to need once more, at least.
    pub doubt: f64,
    /// How many times as much a running job must have left as the one it is stopped for.
    pub hold: f64,
    /// What stopping and starting again takes, where jobs do not say it.
    pub restart: Span,
    /// For how long a job waits at least before it comes first.
    pub patience: Span,
    /// And how many times what it is expected to need.
    pub patience_times: f64,
}

/// Keys count sixteenths of a microsecond of one GPU, because slow GPUs take some off in one.
const PARTS: f64 = 16.0;
/// Keys of one priority are within this of each other.
const RANGE: i64 = 1 << 54;
/// Whether somebody has become so long that others should pass is looked at no more often, µs.
const LOOK_US: f64 = 60e6;
/// Priorities beyond these make no further difference.
const PRIORITY_MAX: i32 = 127;

impl Expected {
    /// What a job needs in all and has had, microseconds at its nominal pace.
    fn need(&self, job: &Job, view: &View) -> (f64, f64) {
        let pace = job.spec.nominal_pace;
        let done = job.progress.done_at(view.now()) / pace;
        let work = self.predict.work(job, view).map_or(0.0, |work| work / pace);
        (work.max(1.0), done.max(0.0))
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

    fn gpus(job: &Job) -> f64 {
        f64::from(job.spec.demand.asked().max(1)) * f64::from(job.spec.demand.share.0) / 1000.0
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

impl Order for Expected {
    fn line(&self, job: &Job, view: &View) -> Line {
        let priority = job.spec.priority.clamp(-PRIORITY_MAX, PRIORITY_MAX);
        let base = -i64::from(priority) * RANGE;
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
        let moves = left > 0.0 || (left == 0.0 && change > 0.0);
        let slope = if moves { weigh(change).round() as i64 } else { 0 };
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
        Vec::new()
    }

    /// A tenant below its quota goes before those who have theirs.
    fn tenant_rank(&self, job: &Job, extra_milli: i64, view: &View) -> i64 {
        let tenants = view.tenants();
        let Some(tenant) = tenants.guarantor(job.spec.tenant) else { return 1 };
        let used = tenants.usage(tenant).milli as i64 + extra_milli;
        let quota = i64::from(tenants.spec(tenant).quota.unwrap_or(0)) * 1000;
        i64::from(used >= quota)
    }

    fn by_tenant(&self) -> bool {
        true
    }

    fn calibration(&self) -> Option<Calibration> {
        self.predict.calibration()
    }

    fn save(&self) -> Value {
        self.predict.save()
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.predict.restore(saved)
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(Expected { predict: self.predict.fork(), ..*self })
    }
}
