//! Quasi-shortest service first: least predicted GPU time first, and what errors do to it.

use super::scene::{Knobs, Row, Scene, job, rows};
use heeler_sim::workload::{GeneratorOptions, Shape};
use proptest::prelude::*;

const ORACLE: (&str, &str) = ("predict", "oracle");

/// `alpha` ran 10 s and `beta` 100 s. At 250 one of each waits; what they declare is the other way
/// round, and nobody asks. Then two of one length: the one with fewer GPUs starts first, though it
/// came later.
#[test]
fn qssf_goes_by_predicted_service() {
    let table = [
        job("a1", 0, 2, 10).named("alpha"),
        job("b1", 0, 2, 100).named("beta"),
        job("fence", 200, 2, 50).named("fence"),
        job("b2", 201, 2, 100).named("beta").declares(1),
        job("a2", 202, 2, 10).named("alpha").declares(1000),
    ];
    let words = ["{ mean = { by = 'user-name-gpus' } }", "names", "{ blend = { names = 1.0 } }"];
    for predict in words {
        let run = Scene::new("1x2", table.clone()).run("qssf", &[("predict", predict)]);
        assert_eq!([run.start("a2"), run.start("b2")], [250.0, 260.0], "{predict}");
    }
    let table = [job("fence", 0, 2, 10), job("two", 1, 2, 30), job("one", 2, 1, 30)];
    let run = Scene::new("1x2", table).run("qssf", &[ORACLE]);
    assert_eq!([run.start("one"), run.start("two")], [10.0, 40.0]);
}

/// Two come at once while nobody waits: in the published program the smaller one is first, though
/// it takes longer. Had they come while somebody waits, they would go by service.
#[test]
fn qssf_may_take_newcomers_by_their_gpus() {
    let two = |at| [job("large", at, 2, 10), job("small", at, 1, 100)];
    let starts = |table: Vec<Row>, newcomers| {
        let run = Scene::new("1x2", table).run("qssf", &[ORACLE, ("newcomers", newcomers)]);
        [run.start("large"), run.start("small")]
    };
    assert_eq!(starts(two(0).into(), "as-others"), [0.0, 10.0]);
    assert_eq!(starts(two(0).into(), "fewest-gpus"), [100.0, 0.0]);
    let fence = [job("runs", 0, 2, 10), job("waits", 1, 2, 1)];
    let table = fence.into_iter().chain(two(5)).collect();
    assert_eq!(starts(table, "fewest-gpus"), [11.0, 21.0]);
}

fn scene(seed: u64) -> Scene {
    let shape = Shape::Philly;
    let options = GeneratorOptions { shape, jobs: 1200, load: 1.1, seed, ..Default::default() };
    Scene::generated("4x8", &options)
}

/// Mean completion time over a few traces, seconds.
fn mean_s(recipe: &str, knobs: Knobs) -> f64 {
    (1..=3).map(|seed| scene(seed).run(recipe, knobs).mean_s()).sum::<f64>() / 3.0
}

#[test]
fn qssf_with_noisy_estimates_is_near_exact_sjf() {
    let sjf = mean_s("sjf", &[("fit", "strict")]);
    let noisy = mean_s("qssf", &[("predict", "helios-errors")]);
    let fifo = mean_s("fifo", &[]);
    assert!(noisy < 1.25 * sjf, "{noisy} against {sjf}");
    assert!(noisy < 0.5 * fifo, "{noisy} against {fifo}");
}

/// An error of sigma 2.3 is a factor of ten and more for a third of the jobs.
#[test]
fn qssf_degrades_gracefully_with_noise() {
    let sigmas = ["0.0", "0.5", "1.0", "2.3", "4.0"];
    let means = sigmas.map(|sigma| {
        let predict = format!("{{ noisy = {{ sigma = {sigma} }} }}");
        mean_s("qssf", &[("predict", &predict)])
    });
    let fifo = mean_s("fifo", &[]);
    assert!(means[1] < 1.2 * means[0] && means[2] < 1.3 * means[0], "{means:?}");
    assert!(means[4] > means[0], "errors cost something: {means:?}");
    assert!(means.windows(2).all(|pair| pair[1] < 1.6 * pair[0]), "no cliff: {means:?}");
    assert!(means[3] < 0.6 * fifo && means[4] < fifo, "{means:?}, fifo {fifo}");
}

proptest! {
    #[test]
    fn qssf_with_exact_estimates_of_single_gpus_is_sjf(rows in rows(1, 1, 20)) {
        let scene = Scene::new("1x3", rows.into_iter().collect::<Vec<Row>>());
        let qssf = scene.run("qssf", &[ORACLE]).starts();
        prop_assert_eq!(qssf, scene.run("sjf", &[("fit", "strict")]).starts());
    }
}
