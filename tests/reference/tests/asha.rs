//! ASHA on synthetic curves: a hundred trials on eight GPUs, ten seeds, by two deadlines. The
//! reference drove HyperSched's own ASHA class with a virtual clock; its curves were drawn from the
//! same distribution, not with the same numbers, so means are compared.

use heeler_model::Time;
use heeler_recipes::Card;
use heeler_sim::Simulation;
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{Arrivals, Generator, GeneratorOptions, Table};
use heeler_sim::world::{Cost, Costs, World};
use std::sync::Arc;

/// Means over the seeds.
#[derive(Clone, Copy, Debug, Default)]
struct Means {
    best: f64,
    /// How far the best score is below what the best trial would come to in the end.
    regret: f64,
    started: f64,
    iterations: f64,
    used: f64,
}

fn ours(deadline_s: u64, seeds: u64) -> Means {
    let recipe = heeler_recipes::find("asha").expect("built in");
    // The program's queue takes up paused trials again when it has nothing new to start.
    let knobs = [("leftover", "resume"), ("most", "200")];
    let knobs = knobs.map(|(name, value)| (name.to_string(), value.to_string()));
    let card = Card::read_with(recipe.text, recipe.name, &knobs).expect("a card");
    let (start, restore) = (Cost::fixed(30.0), Cost::fixed(30.0));
    let world = World { costs: Costs { start, restore, ..Costs::default() }, ..World::default() };
    let mut means = Means::default();
    for seed in 1..=seeds {
        let mut cluster = heeler_sim::cluster::parse("1x8").expect("a cluster");
        let options =
            GeneratorOptions { jobs: 0, trials: 100, seed, gpus: 8, ..Default::default() };
        let mut generator = Generator::new(&options).expect("options that can be");
        generator.add_tenants_to(&mut cluster);
        let mut ahead = generator.clone();
        let trials = std::iter::from_fn(|| ahead.next_job()?.trial);
        let limit = trials.map(|trial| trial.curve.limit()).fold(0.0, f64::max);
        let arrivals = Box::new(generator);
        let cluster = Arc::new(cluster);
        let mut simulation = Simulation::of_recipe(&card, world.clone(), cluster, arrivals, seed);
        simulation.run_until(Time::from_secs(deadline_s));
        let summary = Summary::of(&simulation);
        let study = &summary.studies[0];
        let best = study.best.expect("scores");
        means.best += best / seeds as f64;
        means.regret += (limit - best) / seeds as f64;
        means.started += study.started as f64 / seeds as f64;
        means.iterations += study.iterations as f64 / seeds as f64;
        means.used += summary.utilisation / seeds as f64;
    }
    means
}

/// The reference's standard deviations over ten seeds, 0.042 and 0.026, make two standard errors of
/// the difference of two such means 0.038 and 0.024; what is required is less, and less still of
/// forty seeds. The number of iterations hardly depends on the curves, and so it agrees closely.
#[test]
fn best_scores_by_a_deadline_are_those_of_the_reference() {
    let Some(path) = heeler_reference::file("hypersched-reference/own_stub_runs.tsv") else {
        return;
    };
    let mut compared = 0;
    let table = Table::open(&path, '\t').unwrap_or_else(|error| panic!("{error}"));
    let rows = table.each(|row| {
        if row.text("policy")? != "asha" {
            return Ok(());
        }
        let deadline_s = row.count("deadline_s")?;
        let (best, regret) = (row.number("best_acc_mean")?, row.number("regret_mean")?);
        for (seeds, tolerance) in [(10, 0.02), (40, 0.012)] {
            let ours = ours(deadline_s.into(), seeds);
            println!("{deadline_s} s, {seeds} seeds: {ours:?}; reference {best}, {regret}");
            assert!((ours.best - best).abs() < tolerance, "{ours:?}");
            assert!((ours.regret - regret).abs() < tolerance, "{ours:?}");
            assert!((ours.iterations / row.number("iters")? - 1.0).abs() < 0.01, "{ours:?}");
            assert!((ours.used - row.number("util")?).abs() < 0.01, "{ours:?}");
            assert!((ours.started - row.number("started")?).abs() < 0.5, "{ours:?}");
            compared += 1;
        }
        Ok(())
    });
    rows.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(compared, 4);
}
