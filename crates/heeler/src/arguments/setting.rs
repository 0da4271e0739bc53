//! The setting of a simulation: the jobs, the cluster and the world.

mod facts;
mod generated;

use super::reading::ReadingArguments;
use super::service::find_services;
use super::world::{WorldArguments, find_world};
use super::{Choice, positive};
use crate::commands::files_below;
use crate::mistake::Mistake;
use anyhow::Result;
use clap::Args;
use generated::Generated;
use heeler_model::{Cluster, KindId, ModelId, NodeId, Time};
use heeler_sim::Simulation;
use heeler_sim::services::ServiceSpec;
use heeler_sim::workload::{
    Arrivals, Cut, Generator, Shape, Trace, TraceJob, Workload, cut, describe, find_beside,
};
use heeler_sim::world::{PaceTable, PairTable, Profiles, Quirks, World, WorldCard};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Load of generated jobs, if none is asked for.
const LOAD: f64 = 0.8;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Jobs, cluster and world")]
pub(crate) struct SettingArguments {
    /// The jobs: a trace in any format that `heeler trace formats` lists, packed (.gz) or not; `-`
    /// for the standard input
    #[arg(long, short, value_name = "FILE", conflicts_with = "generate")]
    pub(crate) trace: Option<PathBuf>,
    /// Generate jobs shaped like philly, helios, pai or llm [default without a trace: philly]
    #[arg(long, short, value_name = "SHAPE")]
    generate: Option<Shape>,
    /// Take only the first N jobs of the trace
    #[arg(long, value_name = "N", requires = "trace")]
    first: Option<usize>,
    /// The cluster: 16x8 (nodes x GPUs), 4x8:h200+8x4:a100 (with kinds), v100=8,k80=24 (GPUs of
    /// each kind), or a .toml or .csv file
    #[arg(long, short, value_name = "CLUSTER", default_value = "16x8")]
    cluster: String,
    /// Measured rates: a CSV table with the columns model, kind, gpus, rate and perhaps nodes
    #[arg(long, value_name = "FILE")]
    rates: Option<PathBuf>,
    /// Serve a model beside the jobs: a service that `heeler services` lists, or a .toml file; can
    /// be given several times
    #[arg(long, value_name = "SERVICE")]
    service: Vec<String>,
    /// Measured paces of jobs that share a GPU: a CSV table with the columns kind, model,
    /// neighbour, pace and perhaps mechanism, share and neighbour_share
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    #[command(flatten)]
    world: WorldArguments,
    #[command(flatten)]
    generated: Generated,
    #[command(flatten)]
    reading: ReadingArguments,
}

/// How jobs are drawn and how close they come.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct DrawArguments {
    /// GPU time that jobs ask for, relative to what the cluster has while they come [default: 0.8
    /// for generated jobs, as recorded for a trace]
    #[arg(long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) load: Option<f64>,
    /// Where all random numbers begin
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Where jobs come from.
#[derive(Clone, Debug)]
enum Source {
    Trace(Trace),
    Shape(Shape),
    /// What happened live: in words, the jobs, and nodes that were lost.
    History(String, Trace, Vec<Lost>),
}

/// A node that is lost from a time on, perhaps until another.
pub(crate) type Lost = (NodeId, Time, Option<Time>);

/// The setting, ready to draw scenes from.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    arguments: SettingArguments,
    cluster: Cluster,
    world: WorldCard,
    source: Source,
    services: Vec<ServiceSpec>,
}

/// The jobs, cluster and world of one simulation.
pub(crate) struct Scene {
    cluster: Arc<Cluster>,
    world: World,
    arrivals: Box<dyn Arrivals>,
    services: Vec<ServiceSpec>,
    lost: Vec<Lost>,
    seed: u64,
}

/// The arguments alone, to have them as they are when nobody gives any.
#[derive(clap::Parser)]
struct Alone {
    #[command(flatten)]
    setting: SettingArguments,
}

impl SettingArguments {
    /// As if nothing had been said.
    fn usual() -> SettingArguments {
        <Alone as clap::Parser>::parse_from(["heeler"]).setting
    }

    pub(crate) fn prepare(&self) -> Result<Setting> {
        if let (Some(_), Some(jobs)) = (&self.trace, self.generated.jobs_given) {
            let mistake = Mistake::new("--jobs is for generated jobs; a trace has its own");
            let hint = format!("`--first {jobs}` takes the first {jobs} of them");
            return Err(mistake.hint(hint).into());
        }
        let mut cluster = heeler_sim::cluster::read(&self.cluster)?;
        let world = find_world(&self.world.world)?;
        let source = match (&self.trace, self.generate) {
            (Some(path), _) => Source::Trace(self.read(path, &mut cluster, &world.quirks)?),
            (None, shape) => Source::Shape(shape.unwrap_or_default()),
        };
        let services = find_services(&self.service, &mut cluster)?;
        if !services.is_empty() && !world.quirks.can_serve() {
            let message = format!("world `{}` has no place for services", world.name);
            return Err(Mistake::new(message).hint("take --world plain or everyday").into());
        }
        Ok(Setting { arguments: self.clone(), cluster, world, source, services })
    }

    fn read(&self, path: &Path, cluster: &mut Cluster, quirks: &Quirks) -> Result<Trace> {
        let mut trace = self.reading.read_in(path, cluster, quirks)?;
        for (what, tally) in [("left out", &trace.skipped), ("assumed", &trace.assumed)] {
            if !tally.is_empty() {
                eprintln!("note: {}: {what}: {tally}", path.display());
            }
        }
        if self.first.is_some() {
            trace = cut(&trace, cluster, &Cut { first: self.first, ..Cut::default() })?;
        }
        if declares_the_truth(&trace) {
            let path = path.display();
            eprintln!(
                "note: {path}: the declared run times of its jobs are the true ones, as they are \
                 taken to be where it names none; recipes that go by them look at the truth \
                 (`none` in a column declared_s hides them)"
            );
        }
        if trace.jobs().is_empty() {
            let mistake = Mistake::new(format!("{}: has no job to run", path.display()));
            return Err(mistake.hint("`heeler trace describe` says what a file holds").into());
        }
        Ok(trace)
    }
}

impl Setting {
    /// What happened live, to try recipes on.
    pub(crate) fn of_history(
        words: String,
        trace: Trace,
        cluster: Cluster,
        world: WorldCard,
        lost: Vec<Lost>,
    ) -> Setting {
        let source = Source::History(words, trace, lost);
        let arguments = SettingArguments::usual();
        Setting { arguments, cluster, world, source, services: Vec::new() }
    }

    /// The jobs of a seed at a load.
    pub(crate) fn scene(&self, load: Option<f64>, seed: u64) -> Result<Scene> {
        let mut cluster = self.cluster.clone();
        let mut lost = Vec::new();
        let models;
        let arrivals: Box<dyn Arrivals> = match &self.source {
            Source::Trace(trace) => {
                models = trace.models.clone();
                Box::new(self.at_load(trace, load)?.workload)
            }
            Source::History(_, trace, nodes) => {
                models = trace.models.clone();
                lost.clone_from(nodes);
                Box::new(trace.workload.clone())
            }
            Source::Shape(shape) => {
                let load = load.unwrap_or(LOAD);
                let gpus = cluster.gpus();
                let options = self.arguments.generated.asked.options(*shape, gpus, load, seed);
                let mut generator = Generator::new(&options)?;
                generator.add_tenants_to(&mut cluster);
                models = generator.models().clone();
                Box::new(generator)
            }
        };
        let mut world = self.world.world();
        if let Some(path) = &self.arguments.rates {
            world.pace.table = Some(Arc::new(PaceTable::read(path, &models, &cluster)?));
        }
        if let Some(path) = self.arguments.pairs.as_ref().or(self.world.sharing.pairs.as_ref()) {
            let rates = self.rates_alone();
            let alone = |model, kind: KindId, gpus| {
                rates.get(&(model, gpus)).and_then(|rates| rates.get(kind.index())).copied()
            };
            world.sharing.table = Some(Arc::new(PairTable::read(path, &models, &cluster, &alone)?));
        }
        if let (Some(settings), Some(folder)) = (&self.world.training, self.profiles()) {
            let profiles = Profiles::read(&folder, settings, &models, &cluster)?;
            world.profiles = Some(Arc::new(profiles));
        }
        let services = self.services.clone();
        Ok(Scene { cluster: Arc::new(cluster), world, arrivals, services, lost, seed })
    }

    /// Digest everything that runs hang on: the jobs as they were read, and files that are read
    /// anew for each run.
    pub(crate) fn digest(&self, into: &mut Sha256) -> Result<()> {
        let Setting { arguments, cluster, world, source, services } = self;
        into.update(format!("{cluster:?} {world:?} {services:?} {:?}", arguments.generated.asked));
        match source {
            Source::Shape(shape) => into.update(format!("{shape:?}")),
            Source::Trace(trace) | Source::History(_, trace, _) => {
                into.update(format!("{:?}", trace.models));
                trace.jobs().iter().for_each(|job| into.update(format!("{job:?}")));
            }
        }
        if let Source::History(words, _, lost) = source {
            into.update(format!("{words} {lost:?}"));
        }
        let pairs = arguments.pairs.as_ref().or(world.sharing.pairs.as_ref());
        let profiles = world.training.as_ref().and_then(|_| self.profiles());
        let files = [arguments.rates.as_ref(), pairs].into_iter().flatten().cloned();
        for path in files.chain(profiles.into_iter().flat_map(|folder| files_below(&folder))) {
            let content = std::fs::read(&path).map_err(|error| {
                Mistake::new(format!("{}: cannot be read: {error}", path.display()))
                    .hint("check the path")
            })?;
            into.update(path.display().to_string());
            into.update(content);
        }
        Ok(())
    }

    /// Say so where recipes put jobs together in a world that knows nothing that they could gain by
    /// it: there that looks like a mistake of the recipe.
    pub(crate) fn note_sharing<'a>(&self, runs: impl Iterator<Item = (&'a Choice, f64)>) {
        let gains = self.arguments.pairs.is_some() || !self.world.world().sharing.gains_nothing();
        let packed =
            |(choice, shared): &(&Choice, f64)| *shared > 0.0 && choice.card.build().packs();
        let mut names: Vec<&str> =
            runs.filter(|run| !gains && packed(run)).map(|(choice, _)| &choice.label[..]).collect();
        names.dedup();
        if names.is_empty() {
            return;
        }
        eprintln!(
            "note: world `{}` knows nothing that jobs on one GPU could gain: they are as slow as \
             one after the other, which is what {} did; `--world everyday` lets jobs interleave \
             whose stages are known, and `--pairs FILE` says what was measured of two",
            self.world.name,
            names.join(", ")
        );
    }

    /// What jobs of a trace do alone on each kind of GPU, by model and number of GPUs.
    fn rates_alone(&self) -> BTreeMap<(ModelId, u32), Vec<f64>> {
        let jobs = match &self.source {
            Source::Trace(trace) | Source::History(_, trace, _) => trace.jobs(),
            Source::Shape(_) => &[],
        };
        let measured = jobs.iter().filter(|job| !job.spec.rates().is_empty());
        let of = |job: &heeler_sim::workload::TraceJob| {
            ((job.spec.model, job.spec.demand.asked()), job.spec.rates().to_vec())
        };
        measured.map(of).collect()
    }

    /// The folder of profiles: the one given, or the one near the trace that its reader takes.
    fn profiles(&self) -> Option<PathBuf> {
        let given = self.arguments.reading.profiles.clone();
        given.or_else(|| find_beside(self.arguments.trace.as_deref()?, "profiles"))
    }

    /// The trace with its submissions closer together or further apart, so that it is that load.
    fn at_load(&self, trace: &Trace, load: Option<f64>) -> Result<Trace> {
        let Some(wanted) = load else { return Ok(trace.clone()) };
        let Some(recorded) = describe(trace, &self.cluster).load.filter(|load| *load > 0.0) else {
            let mistake = Mistake::new("the jobs of the trace all come at once: it has no load");
            return Err(mistake.hint("leave out --load").into());
        };
        let closer = Cut { load: Some(wanted / recorded), ..Cut::default() };
        Ok(cut(trace, &self.cluster, &closer)?)
    }

    /// The same with the jobs of a seed at a load drawn once and for all.
    pub(crate) fn drawn(&self, load: Option<f64>, seed: u64) -> Result<Setting> {
        let mut cluster = self.cluster.clone();
        let trace = match &self.source {
            Source::Trace(trace) | Source::History(_, trace, _) => self.at_load(trace, load)?,
            Source::Shape(shape) => {
                let gpus = cluster.gpus();
                let load = load.unwrap_or(LOAD);
                let options = self.arguments.generated.asked.options(*shape, gpus, load, seed);
                let mut generator = Generator::new(&options)?;
                generator.add_tenants_to(&mut cluster);
                let models = generator.models().clone();
                let jobs = std::iter::from_fn(|| generator.next_job()).collect();
                Trace { workload: Workload::new(jobs), models, ..Trace::default() }
            }
        };
        Ok(Setting { cluster, source: Source::Trace(trace), ..self.clone() })
    }

    /// Whether jobs declare their run times, and all that do declare the true ones.
    pub(crate) fn declares_the_truth(&self) -> bool {
        match &self.source {
            Source::Trace(trace) | Source::History(_, trace, _) => declares_the_truth(trace),
            Source::Shape(_) => false,
        }
    }

    /// How many jobs there are, where that is known.
    pub(crate) fn jobs(&self) -> usize {
        match &self.source {
            Source::Trace(trace) | Source::History(_, trace, _) => trace.jobs().len(),
            Source::Shape(_) => 0,
        }
    }

    /// Only some of the jobs, in the order in which they come, the first of them at time zero.
    pub(crate) fn window(&self, jobs: std::ops::Range<usize>) -> Result<Setting> {
        let (Source::Trace(trace) | Source::History(_, trace, _)) = &self.source else {
            return Ok(self.clone());
        };
        let from = trace.jobs().get(jobs.start).map(|job| job.submit);
        let first = Some(jobs.len());
        let what = Cut { from, first, from_zero: true, ..Cut::default() };
        let cut = cut(trace, &self.cluster, &what)?;
        Ok(Setting { source: Source::Trace(cut), ..self.clone() })
    }

    /// Whether other seeds give other jobs.
    pub(crate) fn is_generated(&self) -> bool {
        matches!(self.source, Source::Shape(_))
    }
}

fn declares_the_truth(trace: &Trace) -> bool {
    let declares = |job: &TraceJob| job.spec.declared.is_some();
    let truly = |job: &TraceJob| job.spec.declared.is_none_or(|span| span == job.duration());
    trace.jobs().iter().any(declares) && trace.jobs().iter().all(truly)
}

impl Scene {
    /// A simulation of a recipe at time zero.
    pub(crate) fn simulate(&self, choice: &Choice) -> Simulation {
        let (cluster, arrivals) = (self.cluster.clone(), self.arrivals.fork());
        let card = &choice.card;
        let services: Vec<ServiceSpec> =
            self.services.iter().map(|spec| spec.under(card)).collect();
        let mut simulation =
            Simulation::of_recipe(card, self.world.clone(), cluster, arrivals, self.seed)
                .with_services(&services);
        for (node, from, until) in &self.lost {
            simulation.lose_node(*node, *from, *until);
        }
        simulation
    }

    /// How many jobs there are.
    pub(crate) fn jobs(&self) -> u64 {
        self.arrivals.remaining().unwrap_or(0) as u64
    }
}
