//! Muri's simulator: its traces, its world and what it says of a run.

use heeler_recipes::Card;
use heeler_sim::Simulation;
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{Options, read};
use heeler_sim::world::WorldCard;
use std::path::Path;
use std::sync::Arc;

/// A recipe on one of its traces, or, with `_pr` behind its name, on all of its jobs at once, in
/// its world, which may be changed: the published program has settings, too.
pub fn run(
    data: &Path,
    name: &str,
    recipe: &str,
    knobs: &[(&str, &str)],
    change: impl Fn(&mut WorldCard),
) -> Simulation {
    let (file, all_at_once) = match name.strip_suffix("_pr") {
        Some(file) => (file, true),
        None => (name, false),
    };
    let mut cluster = heeler_sim::cluster::read("8x8").expect("sound");
    let options = Options { all_at_once, ..Options::default() };
    let path = data.join(format!("muri/traces/{file}.csv.gz"));
    let trace = read(&path, &options, &mut cluster).unwrap_or_else(|error| panic!("{error}"));
    let recipe = heeler_recipes::find(recipe).expect("the recipe is built in");
    let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
    let knobs: Vec<(String, String)> = knobs.iter().map(own).collect();
    let card = Card::read_with(recipe.text, recipe.name, &knobs).expect("sound knobs");
    let world = if recipe.name == "antman" { "antman" } else { "muri" };
    let mut world = WorldCard::find(world).expect("the world is built in");
    change(&mut world);
    let jobs = Box::new(trace.workload);
    let mut simulation = Simulation::of_recipe(&card, world.world(), Arc::new(cluster), jobs, 0);
    simulation.run();
    simulation
}

/// The 99th percentile as its program takes it.
fn p99(simulation: &Simulation) -> f64 {
    let records = simulation.records().all().iter();
    let mut all: Vec<f64> =
        records.map(|record| record.completion().expect("every job ends").secs_f64()).collect();
    all.sort_by(f64::total_cmp);
    all[(0.99 * all.len() as f64) as usize]
}

/// The mean completion time, seconds.
pub fn mean(simulation: &Simulation) -> f64 {
    Summary::of(simulation).completion_s.mean
}

/// What a run comes to, by the name that the published figure has.
pub fn measured(simulation: &Simulation, metric: &str) -> f64 {
    let summary = Summary::of(simulation);
    match metric {
        "avg_jct_s" => summary.completion_s.mean,
        "makespan_s" => summary.makespan_s,
        "p99_jct_s" => p99(simulation),
        other => panic!("nothing is known of {other}"),
    }
}
