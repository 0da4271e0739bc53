//! Clusters, jobs and simulations to measure with: generated, so that everybody has the same.

use super::{Scope, step};
use anyhow::{Context, Result};
use heeler_model::Cluster;
use heeler_recipes::Card;
use heeler_sim::Simulation;
use heeler_sim::workload::{Arrivals, Generator, GeneratorOptions, Shape, TraceJob, Workload};
use heeler_sim::world::{World, WorldCard};
use std::sync::Arc;

/// With eight GPUs each they have about as many as Philly had.
pub(super) const PHILLY_NODES: usize = 313;

pub(super) const GPUS_PER_NODE: u32 = 8;
const SEED: u64 = 1;

/// A cluster and the jobs to come.
pub(super) struct Setup {
    /// The cluster, with the tenants of the jobs.
    pub(super) cluster: Arc<Cluster>,
    /// The jobs, made one by one.
    pub(super) generator: Generator,
}

/// So many jobs like Philly's on so many nodes of eight GPUs, by so many tenants; as many as Philly
/// had, if not given.
pub(super) fn philly(
    nodes: usize,
    jobs: usize,
    load: f64,
    tenants: Option<usize>,
) -> Result<Setup> {
    let mut cluster = Cluster::uniform(nodes as u32, GPUS_PER_NODE);
    let gpus = cluster.gpus();
    let shape = Shape::Philly;
    let seed = SEED;
    let fixed = GeneratorOptions::default();
    let options = GeneratorOptions { shape, jobs, load, gpus, seed, tenants, ..fixed };
    let mut generator = Generator::new(&options)?;
    generator.add_tenants_to(&mut cluster);
    // Recipes with quotas need some: every tenant may claim an equal part.
    let quota = gpus / cluster.tenants.len() as u32;
    for tenant in &mut cluster.tenants {
        tenant.quota = Some(quota);
    }
    Ok(Setup { cluster: Arc::new(cluster), generator })
}

impl Setup {
    /// The next so many jobs, in memory.
    pub(super) fn take(&mut self, jobs: usize) -> Vec<TraceJob> {
        std::iter::from_fn(|| self.generator.next_job()).take(jobs).collect()
    }

    /// All jobs, in memory, so that making them is not part of what is measured.
    pub(super) fn in_memory(mut self) -> (Arc<Cluster>, Workload) {
        let jobs = self.take(usize::MAX);
        (self.cluster, Workload::new(jobs))
    }
}

/// A built-in recipe.
pub(super) fn recipe(name: &str) -> Result<Card> {
    let card = heeler_recipes::find(name).with_context(|| format!("no recipe `{name}`"))?;
    Ok(Card::read(card.text, card.name)?)
}

/// Makes up to a hundred reservations anew in every decision, and takes a thousand times as long as
/// others; measured only by name.
const SLOW: &str = "fifo-conservative";

/// The recipes to go through: those that decide job by job. Those that share out time in rounds
/// need jobs of which it is known how fast they run on each kind of GPU, and a world that runs the
/// rounds.
pub(super) fn recipes(scope: &Scope) -> Result<Vec<Card>> {
    let mut cards = Vec::new();
    for built_in in heeler_recipes::all().iter().filter(|card| scope.has(card.name)) {
        let card = recipe(built_in.name)?;
        if built_in.name == SLOW && scope.recipes.is_empty() {
            step(&format!("{SLOW} is left out: it takes long; measure it with --recipe {SLOW}"));
        } else if card.policy.is_some() {
            cards.push(card);
        }
    }
    Ok(cards)
}

/// The recipes that need nothing but a trace, among them those with a loop of their own.
pub(super) fn of_traces(scope: &Scope) -> Result<Vec<Card>> {
    let mut cards = recipes(scope)?;
    for built_in in heeler_recipes::all().iter().filter(|card| scope.has(card.name)) {
        let card = recipe(built_in.name)?;
        let beside_gpus = card.portions.is_some() || card.profiled.is_some();
        let shared = card.groups.is_some() || card.classes.is_some();
        if beside_gpus || shared || card.shapes.is_some() {
            cards.push(card);
        }
    }
    Ok(cards)
}

/// The world without costs and failures.
pub(super) fn plain() -> World {
    WorldCard::find("plain").expect("the plain world is built in").world()
}

/// A simulation in the plain world.
pub(super) fn simulation(
    card: &Card,
    cluster: &Arc<Cluster>,
    jobs: Box<dyn Arrivals>,
) -> Simulation {
    Simulation::of_recipe(card, plain(), cluster.clone(), jobs, SEED)
}
