//! A job as it is submitted.

use crate::demand::Demand;
use crate::ids::{JobId, ModelId, ServiceId, StudyId, TenantId, UserId};
use crate::placement::Portion;
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// A time by which finishing is worth something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Deadline {
    /// Finish no later than this …
    pub at: Time,
    /// … and it is worth so much.
    pub value: i64,
}

/// What only the simulated world knows for sure. The `oracle` predictor may look; nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// Work until the job is done, in the job's own units.
    pub work: f64,
}

/// Which replica of a service a job is. It has no work of its own: it runs until its service ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Replica {
    /// The service.
    pub service: ServiceId,
    /// Its number among the replicas; smaller ones are wanted first.
    pub index: u32,
}

/// A job as submitted: what it asks for and what its owner said of it.
///
/// Work is counted in units of the job's own choosing (steps, epochs); the pace of a running job
/// is units per microsecond. A job of which only a duration is known counts microseconds at the
/// size it asked for, with a nominal pace of 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Whose quota and share it uses.
    pub tenant: TenantId,
    /// Who handed it in, by whose earlier jobs predictors go; not known, if it is zero.
    #[serde(default, skip_serializing_if = "UserId::is_unknown")]
    pub user: UserId,
    /// What it trains; the key of measured tables.
    pub model: ModelId,
    /// Larger runs first where a recipe looks at it.
    pub priority: i32,
    /// What it asks for.
    pub demand: Demand,
    /// How long its owner says it runs, or the time limit it was given.
    pub declared: Option<Span>,
    /// Units of work per microsecond expected at the size asked for.
    pub nominal_pace: f64,
    /// Whether one tensor dominates the model, so that spreading it over nodes hurts.
    pub skewed: bool,
    /// What few jobs have.
    extras: Option<Box<Extras>>,
    truth: Option<Truth>,
}

/// What few jobs have; apart, so that millions of the others stay small.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extras {
    /// Times by which finishing is worth something, earliest first.
    pub deadlines: Vec<Deadline>,
    /// Jobs that must finish first.
    pub after: Vec<JobId>,
    /// Units of work per second measured on each kind of GPU at the size asked for, by kind; empty
    /// where nothing was measured. Zero means that the job does not run there.
    pub rates: Vec<f64>,
    /// Which replica of a service it is, if it is one.
    pub replica: Option<Replica>,
    /// The study it is a trial of. A trial counts its work in iterations and reports a score after
    /// each.
    #[serde(default)]
    pub study: Option<StudyId>,
    /// Seconds that it takes to start again, as far as its owner knows.
    pub restart_s: Option<f64>,
    /// What its owner says of its batch.
    pub batch: Option<Batch>,
    /// What a profile says of its epochs, if it changes its batch on the way.
    #[serde(default)]
    pub regimes: Option<Regimes>,
    /// What its owner calls it; jobs that are run again and again are called alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Box<str>>,
    /// Thousandths of the time in which it keeps its GPUs busy when it has them to itself, as a
    /// profile says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_milli: Option<u32>,
    /// How it goes with the batch it asked for, if its model was profiled before.
    #[serde(default)]
    pub course: Option<Course>,
    /// What a profile says of the stages of its iterations.
    #[serde(default)]
    pub stages: Option<Stages>,
    /// What a profile says of the CPUs and the memory it can use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appetite: Option<Appetite>,
    /// Whether it begins anew when it is stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgets: bool,
}

/// How fast a job is with CPUs and memory beside its GPUs, compared with its nominal pace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Appetite {
    /// The least with which it is as fast as it can be.
    pub enough: Portion,
    /// How fast that is.
    pub best: f64,
    /// How fast it is with so much, as measured.
    pub measured: Vec<(Portion, f64)>,
}

impl Appetite {
    /// How fast a job is with so much: as fast as with the best of what was measured that is not
    /// more. Nothing is known of less than was measured, so that counts as the least of it.
    pub fn pace(&self, portion: Portion) -> f64 {
        if portion.covers(self.enough) {
            return self.best;
        }
        let covered = self.measured.iter().filter(|(with, _)| portion.covers(*with));
        let paces = || self.measured.iter().map(|(_, pace)| *pace);
        let found = covered.map(|(_, pace)| *pace).reduce(f64::max);
        found.or_else(|| paces().reduce(f64::min)).unwrap_or(1.0).min(self.best)
    }
}

/// How a job of a fixed batch goes, as a profile of its model says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// Work that is done by the end of each epoch.
    pub ends: Vec<f64>,
    /// Iterations by the end of each epoch.
    pub iterations: Vec<f64>,
    /// Seconds of an iteration on one GPU, two and so on, on as few nodes as possible, by kind.
    pub step_s: Vec<Vec<f64>>,
}

impl Course {
    /// Iterations that are left once the epoch is over in which a job is that has done so much;
    /// one, in the last epoch.
    pub fn left_after_epoch(&self, done: f64) -> f64 {
        let last = self.iterations.len().saturating_sub(1);
        let epoch = self.ends.partition_point(|end| *end <= done);
        let at = |epoch: usize| self.iterations.get(epoch).copied().unwrap_or(1.0);
        if epoch >= last { 1.0 } else { at(last) - at(epoch) }
    }

    /// Seconds of an iteration on so many GPUs of a kind, where that was measured.
    pub fn step_s(&self, kind: usize, gpus: u32) -> Option<f64> {
        let of_kind = self.step_s.get(kind)?;
        of_kind.get((gpus as usize).checked_sub(1)?).copied().filter(|seconds| *seconds > 0.0)
    }
}

/// An iteration of a job by the resources it uses one after another, as measured of it alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stages {
    /// Seconds of a whole iteration. Stages may overlap, so it may be shorter than all of them.
    pub iteration_s: f64,
    /// Seconds at each resource: storage, CPU, GPU, network; or input, GPU, network.
    pub stage_s: Vec<f64>,
}

/// A job's epochs: how many there are, and how long one takes in each of the regimes that the job
/// goes through. When it changes from one to another is not known before it does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Regimes {
    /// Epochs in all.
    pub epochs: u32,
    /// Seconds of an epoch in each regime, at the size asked for.
    pub epoch_s: Vec<f64>,
}

/// The examples that a job takes at a step, and what may be changed about that.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Examples of a step that its owner asked for.
    pub asked: u32,
    /// Whether it may take more or fewer.
    pub adapts: bool,
    /// Examples of the step that its settings were made for; if it adapts, its work is counted in
    /// such steps.
    pub initial: u32,
    /// The most examples of a step that it can make use of.
    pub most: u32,
    /// Examples that one GPU takes in one pass, fewest and most, by kind; more are taken in several
    /// passes. Nothing stands for a kind it does not run on.
    pub on_gpu: Vec<(u32, u32)>,
    /// Examples per second measured on one GPU, by kind.
    pub alone: Vec<f64>,
}

impl JobSpec {
    /// A job of the first tenant with this demand, of which nothing else is known.
    pub fn new(demand: Demand) -> JobSpec {
        JobSpec {
            tenant: TenantId(0),
            user: UserId(0),
            model: ModelId(0),
            priority: 0,
            demand,
            declared: None,
            nominal_pace: 1.0,
            skewed: false,
            extras: None,
            truth: None,
        }
    }

    /// What few jobs have, to change it.
    pub fn extras_mut(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }

    /// Times by which finishing is worth something, earliest first.
    pub fn deadlines(&self) -> &[Deadline] {
        self.extras.as_ref().map_or(&[], |extras| &extras.deadlines)
    }

    /// Jobs that must finish first.
    pub fn after(&self) -> &[JobId] {
        self.extras.as_ref().map_or(&[], |extras| &extras.after)
    }

    /// Units of work per second measured on each kind of GPU; empty where nothing was measured.
    pub fn rates(&self) -> &[f64] {
        self.extras.as_ref().map_or(&[], |extras| &extras.rates)
    }

    /// Which replica of a service it is, if it is one.
    pub fn replica(&self) -> Option<Replica> {
        self.extras.as_ref()?.replica
    }

    /// The study it is a trial of.
    pub fn study(&self) -> Option<StudyId> {
        self.extras.as_ref()?.study
    }

    /// Whether it begins anew when it is stopped.
    pub fn forgets(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.forgets)
    }

    /// Seconds that it takes to start again, as far as its owner knows.
    pub fn restart_s(&self) -> Option<f64> {
        self.extras.as_ref().and_then(|extras| extras.restart_s)
    }

    /// What its owner says of its batch.
    pub fn batch(&self) -> Option<&Batch> {
        self.extras.as_ref().and_then(|extras| extras.batch.as_ref())
    }

    /// What a profile says of its epochs.
    pub fn regimes(&self) -> Option<&Regimes> {
        self.extras.as_ref().and_then(|extras| extras.regimes.as_ref())
    }

    /// What its owner calls it.
    pub fn name(&self) -> Option<&str> {
        self.extras.as_ref().and_then(|extras| extras.name.as_deref())
    }

    /// Thousandths of the time in which it keeps GPUs busy that it has to itself.
    pub fn busy_milli(&self) -> Option<u32> {
        self.extras.as_ref().and_then(|extras| extras.busy_milli)
    }

    /// How it goes with the batch it asked for, if its model was profiled before.
    pub fn course(&self) -> Option<&Course> {
        self.extras.as_ref().and_then(|extras| extras.course.as_ref())
    }

    /// What a profile says of the stages of its iterations.
    pub fn stages(&self) -> Option<&Stages> {
        self.extras.as_ref().and_then(|extras| extras.stages.as_ref())
    }

    /// What a profile says of the CPUs and the memory it can use.
    pub fn appetite(&self) -> Option<&Appetite> {
        self.extras.as_ref().and_then(|extras| extras.appetite.as_ref())
    }

    /// The same job with the truth attached, for the oracle. Only a simulator knows it.
    #[must_use]
    pub fn with_truth(mut self, truth: Truth) -> JobSpec {
        self.truth = Some(truth);
        self
    }

    /// The truth, where a simulator told it. **For the oracle predictor alone**: a tidy test
    /// fails when another part of the engine, parts or recipes calls this.
    pub fn truth_for_the_oracle(&self) -> Option<Truth> {
        self.truth
    }
}
