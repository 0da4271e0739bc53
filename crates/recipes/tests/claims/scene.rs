//! A stage for claims: a cluster from a short text, jobs from a table, a recipe to run them, and
//! who ran where and when.

use heeler_model::{
    Appetite, Assignment, Cluster, Deadline, Demand, JobId, JobSpec, KindId, ModelId, Portion,
    Sizes, Span, Stages, StudyId, Time, Truth,
};
use heeler_recipes::{Card, find};
use heeler_sim::cluster;
use heeler_sim::workload::{
    Arrivals, Curve, Generator, GeneratorOptions, TraceJob, Trial, Workload,
};
use heeler_sim::world::{Mechanism, PairTable, Sharing, World};
use heeler_sim::{LossCurve, Simulation};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Knobs by name and value, as on a command line.
pub(crate) type Knobs<'a> = &'a [(&'a str, &'a str)];

/// A job of a table.
#[derive(Clone)]
pub(crate) struct Row {
    job: TraceJob,
    tenant: &'static str,
}

/// As it stands in a table, so that a failing example can be read.
impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (submit, length) = (self.job.submit.secs_f64(), self.job.duration().secs_f64());
        let (name, gpus) = (self.job.name.as_deref(), self.job.spec.demand.asked());
        let declared = self.job.spec.declared.map(Span::secs_f64);
        write!(f, "job({name:?}, {submit}, {gpus}, {length}).declares({declared:?})")
    }
}

/// A job that is submitted at a time, asks for so many GPUs and runs so many seconds on them. What
/// it declares is the truth, if nothing else is said.
pub(crate) fn job(name: &str, submit_s: u64, gpus: u32, length_s: u64) -> Row {
    let length = Span::from_secs(length_s);
    let truth = Truth { work: length.micros() as f64 };
    let mut spec = JobSpec::new(Demand::gpus(gpus)).with_truth(truth);
    spec.declared = Some(length);
    let submit = Time::from_secs(submit_s);
    let job = TraceJob { name: Some(name.into()), ..TraceJob::new(submit, spec) };
    Row { job, tenant: "default" }
}

impl Row {
    /// It declares another length than its own.
    pub(crate) fn declares(mut self, seconds: u64) -> Row {
        self.job.spec.declared = Some(Span::from_secs(seconds));
        self
    }

    /// It begins anew whenever it is stopped.
    pub(crate) fn forgets(mut self) -> Row {
        self.job.spec.extras_mut().forgets = true;
        self
    }

    /// How long it runs, seconds.
    pub(crate) fn length_s(&self) -> f64 {
        self.job.duration().secs_f64()
    }

    /// GPU time it needs, seconds.
    pub(crate) fn gpu_s(&self) -> f64 {
        self.length_s() * f64::from(self.job.spec.demand.asked())
    }

    /// It belongs to a tenant.
    pub(crate) fn of(self, tenant: &'static str) -> Row {
        Row { tenant, ..self }
    }

    /// It can run on fewer and on more GPUs.
    pub(crate) fn sizes(mut self, min: u32, max: u32) -> Row {
        let asked = self.job.spec.demand.asked();
        self.job.spec.demand.sizes = Sizes::range(min, asked, max);
        self
    }

    /// Ending by these times, in seconds, is worth so much.
    pub(crate) fn due(mut self, times: &[(u64, i64)]) -> Row {
        let deadline =
            |(at, value): &(u64, i64)| Deadline { at: Time::from_secs(*at), value: *value };
        self.job.spec.extras_mut().deadlines = times.iter().map(deadline).collect();
        self
    }

    /// It has this priority.
    pub(crate) fn priority(mut self, priority: i32) -> Row {
        self.job.spec.priority = priority;
        self
    }

    /// Its owner calls it so.
    pub(crate) fn named(mut self, name: &str) -> Row {
        self.job.spec.extras_mut().name = Some(name.into());
        self
    }

    /// It keeps its GPUs busy for so many thousandths of the time.
    pub(crate) fn busy(mut self, milli: u32) -> Row {
        self.job.spec.extras_mut().busy_milli = Some(milli);
        self
    }

    /// It needs so many CPU cores and so much memory, MB, beside each GPU.
    pub(crate) fn beside(mut self, cpus: u32, memory_mb: u32) -> Row {
        self.job.spec.demand.cpu_milli = cpus * 1000;
        self.job.spec.demand.memory_mb = memory_mb;
        self
    }

    /// It is so many times as fast with so many CPUs beside each GPU, as measured; the last is the
    /// least with which it is fastest.
    pub(crate) fn appetite(mut self, measured: &[(u32, f64)]) -> Row {
        let portion = |cpus: u32| Portion { cpu_milli: cpus * 1000, memory_mb: 0 };
        let points: Vec<_> = measured.iter().map(|(cpus, pace)| (portion(*cpus), *pace)).collect();
        let (enough, best) = *points.last().expect("something was measured");
        self.job.spec.extras_mut().appetite = Some(Appetite { enough, best, measured: points });
        self
    }

    /// Its iterations of a second have stages of so many seconds.
    pub(crate) fn stages(mut self, stage_s: &[f64]) -> Row {
        let stages = Stages { iteration_s: 1.0, stage_s: stage_s.to_vec() };
        self.job.spec.extras_mut().stages = Some(stages);
        self
    }

    /// One tensor dominates it.
    pub(crate) fn skewed(mut self) -> Row {
        self.job.spec.skewed = true;
        self
    }

    /// It is a trial of a study: an iteration for each second, after which it reports a score. The
    /// last score stays.
    pub(crate) fn trial(mut self, scores: &[f64]) -> Row {
        let iterations = self.job.duration().secs_f64();
        self.job.spec = self.job.spec.with_truth(Truth { work: iterations });
        self.job.spec.nominal_pace = 1e-6;
        self.job.spec.extras_mut().study = Some(StudyId(0));
        let curve = Curve::Listed(scores.into());
        self.job.trial = Some(Box::new(Trial { study: "study".into(), curve }));
        self
    }

    /// It reports its loss so many times, which falls from one value to another, and so much faster
    /// at first.
    pub(crate) fn loss(mut self, first: f64, last: f64, bend: f64, reports: u32) -> Row {
        self.job.loss = Some(LossCurve { first, last, bend, reports });
        self
    }

    /// It is so many units of work, and does so many of them a second on each kind of GPU.
    pub(crate) fn units(mut self, units: f64, rates: &[f64]) -> Row {
        self.job.spec = self.job.spec.with_truth(Truth { work: units });
        self.job.spec.extras_mut().rates = rates.to_vec();
        self
    }
}

/// A cluster, its jobs and the world they run in.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) cluster: Cluster,
    pub(crate) jobs: Vec<TraceJob>,
    pub(crate) world: World,
}

impl Scene {
    /// Jobs of a table on a cluster such as `2x8`, in the plain world.
    pub(crate) fn new(cluster: &str, rows: impl IntoIterator<Item = Row>) -> Scene {
        let mut cluster = cluster::parse(cluster).expect("a cluster");
        let enter = |row: Row| {
            let mut job = row.job;
            job.spec.tenant = cluster.tenant_named(row.tenant);
            job
        };
        let jobs = rows.into_iter().map(enter).collect();
        Scene { cluster, jobs, world: World::default() }
    }

    /// Generated jobs on a cluster such as `8x8`, whose GPUs the load is reckoned for.
    pub(crate) fn generated(cluster: &str, options: &GeneratorOptions) -> Scene {
        let mut cluster = cluster::parse(cluster).expect("a cluster");
        let options = GeneratorOptions { gpus: cluster.gpus(), ..options.clone() };
        let mut generator = Generator::new(&options).expect("options that can be");
        generator.add_tenants_to(&mut cluster);
        let jobs = std::iter::from_fn(|| generator.next_job()).collect();
        Scene { cluster, jobs, world: World::default() }
    }

    /// The same with a quota.
    pub(crate) fn quota(mut self, tenant: &str, gpus: u32) -> Scene {
        let id = self.cluster.tenant_named(tenant);
        self.cluster.tenants[id.index()].quota = Some(gpus);
        self
    }

    /// The same with so many CPUs on each node.
    pub(crate) fn cpus(mut self, each: u64) -> Scene {
        self.cluster.nodes.iter_mut().for_each(|node| node.cpu_milli = each * 1000);
        self
    }

    /// A simulation that has not begun.
    pub(crate) fn simulation(&self, recipe: &str, knobs: Knobs) -> Simulation {
        let card = find(recipe).unwrap_or_else(|| panic!("there is no recipe `{recipe}`"));
        let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let settings: Vec<(String, String)> = knobs.iter().map(own).collect();
        let card = Card::read_with(card.text, recipe, &settings).expect("a card");
        let jobs = Box::new(Workload::new(self.jobs.clone()));
        Simulation::of_recipe(&card, self.world.clone(), Arc::new(self.cluster.clone()), jobs, 1)
    }

    /// Run a recipe.
    pub(crate) fn run(&self, recipe: &str, knobs: Knobs) -> Run {
        self.watch(recipe, knobs, |_| ())
    }

    /// Run a recipe and look at every moment at which something has happened.
    pub(crate) fn watch(
        &self,
        recipe: &str,
        knobs: Knobs,
        mut look: impl FnMut(&Simulation),
    ) -> Run {
        let mut simulation = self.simulation(recipe, knobs);
        let mut open: BTreeMap<JobId, (Time, Assignment)> = BTreeMap::new();
        let mut stays = Vec::new();
        let mut moments = 0;
        while simulation.advance(Time::MAX) {
            moments += 1;
            assert!(moments < 1_000_000, "{recipe} does not come to an end");
            follow(&simulation, &mut open, &mut stays);
            look(&simulation);
        }
        simulation.run();
        Run { simulation, stays }
    }
}

/// Note who got and who lost GPUs.
fn follow(
    simulation: &Simulation,
    open: &mut BTreeMap<JobId, (Time, Assignment)>,
    stays: &mut Vec<Stay>,
) {
    let (now, state) = (simulation.now(), simulation.engine().state());
    let running = state.jobs().iter().filter(|job| job.is_running());
    let placed: BTreeMap<JobId, &Assignment> =
        running.filter_map(|job| Some((job.id, job.assignment.as_ref()?))).collect();
    open.retain(|id, (from, on)| {
        let same = placed.get(id).is_some_and(|other| *other == on);
        if !same {
            let nodes = on.placement.slices().iter().map(|slice| slice.node.0).collect();
            stays.push(Stay { job: *id, from: *from, until: now, gpus: on.gpus(), nodes });
        }
        same
    });
    for (id, on) in placed {
        open.entry(id).or_insert_with(|| (now, on.clone()));
    }
}

/// A job on some GPUs for some time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stay {
    pub(crate) job: JobId,
    pub(crate) from: Time,
    pub(crate) until: Time,
    pub(crate) gpus: u32,
    pub(crate) nodes: Vec<u32>,
}

/// What became of a scene.
pub(crate) struct Run {
    pub(crate) simulation: Simulation,
    pub(crate) stays: Vec<Stay>,
}

impl Run {
    fn id(&self, name: &str) -> JobId {
        self.simulation.find(name).unwrap_or_else(|| panic!("there is no job `{name}`"))
    }

    /// When a job first got GPUs, seconds.
    pub(crate) fn start(&self, name: &str) -> f64 {
        let started = self.simulation.records()[self.id(name)].started;
        started.unwrap_or_else(|| panic!("`{name}` never started")).secs_f64()
    }

    /// When a job ended, seconds.
    pub(crate) fn end(&self, name: &str) -> f64 {
        let ended = self.simulation.records()[self.id(name)].ended;
        ended.unwrap_or_else(|| panic!("`{name}` never ended")).secs_f64()
    }

    /// Where a job was: from, until (seconds), on how many GPUs of how many nodes.
    pub(crate) fn stays(&self, name: &str) -> Vec<(f64, f64, u32, usize)> {
        let id = self.id(name);
        let of_job = self.stays.iter().filter(|stay| stay.job == id);
        of_job.map(|s| (s.from.secs_f64(), s.until.secs_f64(), s.gpus, s.nodes.len())).collect()
    }

    /// When each job first got GPUs, in order of submission.
    pub(crate) fn starts(&self) -> Vec<Option<Time>> {
        self.simulation.records().all().iter().map(|record| record.started).collect()
    }

    /// When each job ended, in order of submission.
    pub(crate) fn ends(&self) -> Vec<Option<Time>> {
        self.simulation.records().all().iter().map(|record| record.ended).collect()
    }

    /// Mean time from submission to end, seconds. All jobs must have ended.
    pub(crate) fn mean_s(&self) -> f64 {
        let records = self.simulation.records().all();
        let total: f64 = records
            .iter()
            .map(|record| record.completion().expect("every job ends").secs_f64())
            .sum();
        total / records.len() as f64
    }

    /// How often jobs were stopped for another.
    pub(crate) fn preemptions(&self) -> u32 {
        self.simulation.records().all().iter().map(|record| record.preemptions).sum()
    }
}

/// Random rigid jobs, in order of submission; all that happens to them happens at whole tens of
/// seconds, if they are left alone.
pub(crate) fn in_tens(gpus: u32) -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((0u64..12, 1..=gpus, 1u64..6), 1..30).prop_map(|mut made| {
        made.sort_unstable();
        let row = |(index, (submit, gpus, length)): (usize, &(u64, u32, u64))| {
            job(&index.to_string(), submit * 10, *gpus, length * 10)
        };
        made.iter().enumerate().map(row).collect()
    })
}

/// Random jobs for a small cluster: submitted within two minutes, at most so many GPUs, up to a
/// minute long, declaring up to so many times their length.
pub(crate) fn rows(gpus: u32, overstated: u64, jobs: usize) -> impl Strategy<Value = Vec<Row>> {
    let made = (0u64..120, 1..=gpus, 1u64..60, 1..=overstated);
    prop::collection::vec(made, 1..jobs).prop_map(|mut made| {
        made.sort_by_key(|(submit_s, ..)| *submit_s);
        let row = |(index, (submit_s, gpus, length_s, times)): (usize, &(u64, u32, u64, u64))| {
            job(&index.to_string(), *submit_s, *gpus, *length_s).declares(length_s * times)
        };
        made.iter().enumerate().map(row).collect()
    })
}

/// Jobs of models, two and two of which have these paces beside each other on the first kind.
pub(crate) fn measured(mut scene: Scene, models: &[u16], paces: &[(u16, u16, f64)]) -> Scene {
    for (job, model) in scene.jobs.iter_mut().zip(models) {
        job.spec.model = ModelId(*model);
    }
    let mut table = PairTable::default();
    for (model, neighbour, pace) in paces {
        let (model, neighbour) = (ModelId(*model), ModelId(*neighbour));
        table.insert(KindId(0), Mechanism::TimeSlice, model, neighbour, *pace);
    }
    scene.world.sharing = Sharing { table: Some(Arc::new(table)), ..Sharing::default() };
    scene
}
