//! What recipes are made of. Planning takes `&self`: a plan is a function of the view and of what
//! was observed, so that asking "what if" spends nothing. Only `observe` learns.

use crate::calibration::Calibration;
use crate::fleet::{Draft, Fleet};
pub use crate::note::Note;
use crate::state::Job;
use crate::view::View;
use heeler_model::{Assignment, Demand, JobId, Placement, Plan, Reach, Reason, Span, Stop, Time};
use serde_json::Value;
use smallvec::SmallVec;

/// Nodes that a policy keeps switched off, so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Power {
    /// How many are off.
    pub off: u32,
    /// How many are being switched on.
    pub booting: u32,
    /// How often one was switched on.
    pub woken: u64,
}

/// A whole scheduler. Recipes get one by composing parts in a `Pipeline`, or bring their own.
pub trait Policy: Send {
    /// What should run where, and why the rest waits.
    fn plan(&self, view: &View) -> Plan;

    /// Learn; never decide.
    fn observe(&mut self, note: &Note, view: &View);

    /// Whether a decision is due now.
    fn is_due(&self, view: &View) -> bool;

    /// When the policy wants to decide again, if nothing happens before.
    fn wake(&self, view: &View) -> Option<Time>;

    /// Whether its plans may give a job less of a GPU than it asked for, beside others.
    fn packs(&self) -> bool {
        false
    }

    /// Whether its plans give jobs a part of GPUs that nobody else is on yet.
    fn leaves_room(&self) -> bool {
        false
    }

    /// Whether its plans may give jobs other CPUs and memory than they asked for.
    fn feeds(&self) -> bool {
        false
    }

    /// How well its predictors have done so far.
    fn calibrations(&self) -> Vec<Calibration> {
        Vec::new()
    }

    /// Which part of the nodes it keeps switched off, if it does that at all.
    fn power(&self) -> Option<Power> {
        None
    }

    /// What it remembers, for a restart or a replay.
    fn save(&self) -> Value;

    /// Remember what was saved. The jobs in the view are those of that time.
    fn restore(&mut self, saved: &Value, view: &View) -> Result<(), String>;

    /// A copy that shares nothing with this one, for "what if".
    fn fork(&self) -> Box<dyn Policy>;
}

/// Where a job stands in an order: smaller runs first. The engine appends (submitted, number).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Compared first.
    pub major: i64,
    /// Compared where the first is equal.
    pub minor: i64,
}

impl Key {
    /// A key of one number.
    pub const fn of(major: i64) -> Key {
        Key { major, minor: 0 }
    }
}

/// A key, and how fast its first part changes while nothing happens to the job. Most orders change
/// only while a job runs and then at a steady rate; that is what lets a queue stay sorted without
/// being looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The key now.
    pub key: Key,
    /// Change of `major` per microsecond.
    pub slope: i64,
}

/// Who runs first.
pub trait Order: Send {
    /// Where a job stands now. The slope of a waiting job must be zero.
    fn line(&self, job: &Job, view: &View) -> Line;

    /// When the job's line will bend by itself, such as when it crosses into another queue.
    fn bends(&self, _job: &Job, _view: &View) -> Option<Time> {
        None
    }

    /// The time has come that `bends` gave for a job, or so it may be: look whether its line has
    /// bent, before a decision is taken.
    fn bend(&mut self, _job: &Job, _view: &View) {}

    /// Learn. The returned jobs' lines have changed.
    fn observe(&mut self, _note: &Note, _view: &View) -> Vec<JobId> {
        Vec::new()
    }

    /// Ranks tenants before jobs: jobs of the tenant with the smaller number come first.
    /// `extra_milli` is what this plan has given so far that counts against what it is owed.
    fn tenant_rank(&self, _job: &Job, _extra_milli: i64, _view: &View) -> i64 {
        0
    }

    /// Whether a running job may not be stopped for one that comes before it in the order. Whoever
    /// a tenant's rank lets in before its turn must be kept so, or it would be stopped again at
    /// once: from its own tenant's jobs if that ranks behind now, from those of others always.
    fn protects(&self, _running: &Job, _from: &Job, _ranks_behind: bool, _view: &View) -> bool {
        false
    }

    /// Whether a running job that stands behind a waiting one may be stopped for it, going by where
    /// both stand. While neither moves the answer may only become no.
    fn is_worth_a_stop(&self, _waiting: (&Job, Key), _running: (&Job, Key)) -> bool {
        true
    }

    /// Whether jobs of different tenants must be told apart (see `tenant_rank`).
    fn by_tenant(&self) -> bool {
        false
    }

    /// Whether what `protects` says may change with what others of a tenant do.
    fn protects_by_tenant(&self, view: &View) -> bool {
        self.by_tenant() && view.tenants().have_quotas()
    }

    /// How well its predictor has done so far, if it has one.
    fn calibration(&self) -> Option<Calibration> {
        None
    }

    /// What it remembers.
    fn save(&self) -> Value {
        Value::Null
    }

    /// Remember what was saved.
    fn restore(&mut self, _saved: &Value) -> Result<(), String> {
        Ok(())
    }

    /// A copy.
    fn fork(&self) -> Box<dyn Order>;
}

/// Opened once a plan and asked in rank order. Counts what it lets through.
pub trait Door {
    /// May this job take so many thousandths of GPUs more?
    fn ask(&mut self, job: &Job, milli: u64) -> Result<(), Reason>;
    /// It took them.
    fn entered(&mut self, job: &Job, milli: u64);
    /// A running job gave them back.
    fn left(&mut self, job: &Job, milli: u64);
    /// Whether somebody who was refused may be let in now, since this was last asked.
    fn reopened(&mut self) -> bool {
        false
    }
}

/// Who may be considered at all. Asked after the order, so that quota goes by rank.
pub trait Gate: Send {
    /// Open for one plan.
    fn open<'a>(&'a self, view: &View<'a>) -> Box<dyn Door + 'a>;

    /// Running jobs that may not go on. They give way before anybody is considered, whoever may
    /// want their GPUs, and wait to be let in again.
    fn stops(&self, _view: &View) -> Vec<Stop> {
        Vec::new()
    }

    /// Jobs that are over, whether they run or wait.
    fn ends(&self, _view: &View) -> Vec<Stop> {
        Vec::new()
    }

    /// Waiting jobs of one demand and one tenant are told apart by this number, if they may fare
    /// differently. It must not change while a job waits.
    fn class(&self, _job: &Job) -> u64 {
        0
    }

    /// Learn. Says whether a decision is due.
    fn observe(&mut self, _note: &Note, _view: &View) -> bool {
        false
    }

    /// What it remembers.
    fn save(&self) -> Value {
        Value::Null
    }

    /// Remember what was saved. The jobs in the view are those of that time.
    fn restore(&mut self, _saved: &Value, _view: &View) -> Result<(), String> {
        Ok(())
    }

    /// A copy.
    fn fork(&self) -> Box<dyn Gate>;
}

/// What to look for on behalf of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Want {
    /// How many GPUs.
    pub gpus: u32,
    /// Everything else, including the kinds that will do.
    pub demand: Demand,
    /// Whether spreading the job over nodes would hurt it.
    pub skewed: bool,
    /// How near together the job itself insists on: where a recipe would have it nearer than could
    /// ever be, it may be further apart, but not further than this.
    pub insists: Reach,
}

/// What to try for a job, best first. Most have one.
pub type Wants = SmallVec<[Want; 1]>;

/// How much of what a job should get.
pub trait Allocate: Send {
    /// What to try for a job that waits.
    fn wants(&self, job: &Job, view: &View) -> Wants;

    /// Whether jobs of different models must be told apart.
    fn by_model(&self) -> bool {
        false
    }

    /// What else tells waiting jobs of one demand apart. It may change when the order looks at a
    /// job again, and must not otherwise.
    fn class(&self, _job: &Job, _view: &View) -> u64 {
        0
    }

    /// Whether a job must hear that it is scattered even if it is not the first of its class: all
    /// of the class are gone through then, so it should be in another one afterwards.
    fn listens(&self, _job: &Job) -> bool {
        false
    }

    /// A copy.
    fn fork(&self) -> Box<dyn Allocate>;
}

/// Whether running jobs change their size.
pub trait Resize: Send {
    /// The size a job on so many GPUs should grow to when nobody waits and so many are free.
    fn grow(&self, job: &Job, gpus: u32, free: u32, view: &View) -> Option<u32>;

    /// The size a job on so many GPUs may be cut down to so that another can start.
    fn shrink(&self, job: &Job, gpus: u32, view: &View) -> Option<u32>;

    /// A copy.
    fn fork(&self) -> Box<dyn Resize>;
}

/// What has to be free for a want to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// So many GPUs, wherever.
    Count,
    /// All of them on one node.
    OneNode,
    /// Whole nodes, and a part of one more.
    WholeNodes,
}

/// Which GPUs.
pub trait Place: Send {
    /// GPUs for a want, out of what is free in the draft, or why not.
    fn place(&self, want: &Want, free: &Draft, view: &View) -> Result<Placement, Reason>;

    /// What has to be free for that, so that room can be made where it helps.
    fn needs(&self, _want: &Want, _fleet: &Fleet) -> Needs {
        Needs::Count
    }

    /// A copy.
    fn fork(&self) -> Box<dyn Place>;
}

/// What would happen: how much work a job is in all. Everything that is not known for sure is
/// asked here, so that a recipe can be run with any predictor.
pub trait Predict: Send {
    /// All the work of a job, in its own units; `None` when there is no way to tell.
    fn work(&self, job: &Job, view: &View) -> Option<f64>;

    /// Time a job needs for the work that is left: at its present pace, or as it asked to run. What
    /// starting costs is not counted, or two jobs might take turns in starting for ever.
    fn left(&self, job: &Job, view: &View) -> Option<Span> {
        let work = self.work(job, view)? - job.progress.done_at(view.now());
        let nominal = job.spec.nominal_pace * job.tempo.pace;
        let pace = if job.progress.pace > 0.0 { job.progress.pace } else { nominal };
        Some(Span::from_micros((work / pace).ceil().max(0.0) as u64))
    }

    /// Learn.
    fn observe(&mut self, _note: &Note, _view: &View) {}

    /// How well it has done so far.
    fn calibration(&self) -> Option<Calibration> {
        None
    }

    /// What it remembers.
    fn save(&self) -> Value {
        Value::Null
    }

    /// Remember what was saved.
    fn restore(&mut self, _saved: &Value) -> Result<(), String> {
        Ok(())
    }

    /// A copy.
    fn fork(&self) -> Box<dyn Predict>;
}

impl Want {
    /// What a job asked for.
    pub fn as_asked(job: &Job) -> Want {
        let demand = job.spec.demand;
        Want { gpus: demand.asked(), demand, skewed: job.spec.skewed, insists: demand.reach }
    }

    /// Thousandths of GPUs in all.
    pub fn milli(&self) -> i64 {
        i64::from(self.gpus) * i64::from(self.demand.share.0)
    }

    /// The want met by a placement.
    pub fn met_by(&self, placement: Placement) -> Assignment {
        Assignment::new(placement, self.demand.share)
    }
}
