//! Finish-time fairness by auction.

use super::filling::jobs;
use super::scene::{Row, Scene, job};
use heeler_sim::workload::{GeneratorOptions, Shape};

const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];

/// Twelve apps of one to four gangs of one, two or four GPUs, all there from the start, with work
/// that differs tenfold. The seed turns the sizes around.
fn apps(seed: u64) -> Vec<Vec<Row>> {
    let app = |index: usize| {
        let turned = index as u64 * 7 + seed * 5;
        let (count, gpus) = (1 + turned % 4, 1 << (turned % 3));
        let length_s = 3000 * (1 + (turned * 13 + seed) % 10);
        jobs(NAMES[index], count as u32, gpus, length_s)
    };
    (0..NAMES.len()).map(app).collect()
}

/// The largest ratio of an app's completion to that on a twelfth of eight GPUs for itself.
fn worst_ratio(seed: u64, knobs: &[(&str, &str)]) -> f64 {
    let apps = apps(seed);
    let table: Vec<Row> = apps.iter().flatten().cloned().collect();
    let run = Scene::new("1x8", table).run("themis", knobs);
    let mut worst: f64 = 0.0;
    for (index, app) in apps.iter().enumerate() {
        let end = |job: usize| run.end(&format!("{}{job}", NAMES[index]));
        let end_s = (0..app.len()).map(end).fold(0.0, f64::max);
        let gpu_s: f64 = app.iter().map(Row::gpu_s).sum();
        let wants: f64 = app.iter().map(|row| row.gpu_s() / row.length_s()).sum();
        let alone_s = gpu_s / wants.min(8.0) * NAMES.len() as f64;
        worst = worst.max(end_s / alone_s);
    }
    worst
}

#[test]
fn themis_worst_ratio_falls_with_the_knob() {
    let mean = |fairness: &str| {
        let each = (0..8).map(|seed| worst_ratio(seed, &[("fairness", fairness)]));
        each.sum::<f64>() / 8.0
    };
    let [none, half, eight, nine, all] = ["0.0", "0.5", "0.8", "0.9", "1.0"].map(mean);
    let seen = format!("{none} at 0, {half} at 0.5, {eight} at 0.8, {nine} at 0.9, {all} at 1");
    assert!(all < nine && nine < eight && eight < half, "{seen}");
    assert!(eight < none, "{seen}");
}

#[test]
fn themis_of_one_app_is_fifo() {
    let options =
        GeneratorOptions { shape: Shape::Philly, jobs: 150, load: 1.3, ..Default::default() };
    let mut scene = Scene::generated("1x8", &options);
    for job in &mut scene.jobs {
        job.spec.tenant = heeler_model::TenantId(0);
        job.spec.demand = heeler_model::Demand::gpus(1);
    }
    assert_eq!(scene.run("themis", &[]).ends(), scene.run("fifo", &[]).ends());
}

/// Two GPUs. `old` has waited for an hour when the lease of `first` ends, and is far behind what it
/// would have had for itself; `new` has just come. With everybody else kept out of the auction, `old`
/// gets what it wants.
#[test]
fn themis_serves_the_worst_off() {
    let rows = [
        job("first", 0, 2, 100_000).of("a"),
        job("old", 10, 2, 1000).of("b"),
        job("new", 1100, 2, 1000).of("c"),
    ];
    let run = Scene::new("1x2", rows).run("themis", &[("fairness", "1.0")]);
    assert_eq!(run.start("old"), 1200.0);
}

#[test]
fn themis_needs_no_durations() {
    let mut scene = Scene::new("1x8", apps(3).into_iter().flatten());
    for job in &mut scene.jobs {
        job.spec.declared = None;
    }
    let run = scene.run("themis", &[]);
    assert!(run.ends().iter().all(Option::is_some));
}
