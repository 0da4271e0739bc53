//! Tiresias: queues by GPU time, promotion, and placement by skew.

use super::scene::{Row, Scene, job};
use heeler_sim::workload::{GeneratorOptions, Shape};

/// On two GPUs, both for everybody. `first` has had 3250 GPU seconds at 1625 and moves down, so
/// `second` runs from 1625 to 2125. `third` comes at 3000 into the first queue and takes the GPUs
/// from `first`, which is in the second, until 3100. `first` has lost 500 s and 100 s: it ends at
/// 4600.
#[test]
fn tiresias_moves_jobs_down() {
    let table = [job("first", 0, 2, 4000), job("second", 100, 2, 500), job("third", 3000, 2, 100)];
    let run = Scene::new("1x2", table).run("tiresias", &[]);
    assert_eq!(
        run.stays("first"),
        [(0.0, 1625.0, 2, 1), (2125.0, 3000.0, 2, 1), (3100.0, 4600.0, 2, 1)]
    );
    assert_eq!(run.stays("second"), [(1625.0, 2125.0, 2, 1)]);
    assert_eq!(run.stays("third"), [(3000.0, 3100.0, 2, 1)]);
}

/// One GPU, limits of 100 and 300 GPU seconds. `a` moves down at 100, `b` at 200, behind `a`. `a`
/// has had 300 at 400 and moves down again, so `b` does the 150 s it has left, and `a` its 700.
#[test]
fn tiresias_has_a_third_queue() {
    let scene = Scene::new("1x1", [job("a", 0, 1, 1000), job("b", 0, 1, 250)]);
    let run = scene.run("tiresias", &[("limits", "[\"100 gpu-s\", \"300 gpu-s\"]")]);
    let stays = |name| run.stays(name).iter().map(|stay| (stay.0, stay.1)).collect::<Vec<_>>();
    assert_eq!(stays("a"), [(0.0, 100.0), (200.0, 400.0), (550.0, 1250.0)]);
    assert_eq!(stays("b"), [(100.0, 200.0), (400.0, 550.0)]);
}

/// One GPU and a limit of 100 s. `a` moves down at 100 and then waits for jobs of 100 s each. With
/// `promote` = 2 it goes back to the first queue when it has waited twice the 100 s it ran, at 300:
/// behind `d` and `e`, which were there, and before `f`, which comes at 310. So it runs from 500 to
/// 600, moves down again, and does its last 100 s after `f`, from 700 on. Without promotion it
/// waits for `f` too, and then does its 200 s without a break.
#[test]
fn tiresias_promotes_jobs_that_waited() {
    let mut table: Vec<Row> = vec![job("a", 0, 1, 300)];
    table.extend(["b", "c", "d"].map(|name| job(name, 0, 1, 100)));
    table.extend([job("e", 250, 1, 100), job("f", 310, 1, 100)]);
    let scene = Scene::new("1x1", table);
    let limits = ("limits", "[\"100 gpu-s\"]");
    let with = scene.run("tiresias", &[limits, ("promote", "2")]);
    let stays: Vec<(f64, f64)> = with.stays("a").iter().map(|stay| (stay.0, stay.1)).collect();
    assert_eq!(stays, [(0.0, 100.0), (500.0, 600.0), (700.0, 800.0)]);
    assert_eq!(with.start("f"), 600.0);
    let without = scene.run("tiresias", &[limits]);
    let stays: Vec<(f64, f64)> = without.stays("a").iter().map(|stay| (stay.0, stay.1)).collect();
    assert_eq!(stays, [(0.0, 100.0), (600.0, 800.0)]);
}

#[test]
fn tiresias_with_one_queue_is_fifo_skip() {
    for (shape, seed) in [(Shape::Helios, 1), (Shape::Philly, 2)] {
        let options = GeneratorOptions { shape, jobs: 300, load: 1.2, seed, ..Default::default() };
        let scene = Scene::generated("4x8", &options);
        let fifo = scene.run("fifo-skip", &[("place", "skew-aware")]).ends();
        assert_eq!(scene.run("tiresias", &[("limits", "[]")]).ends(), fifo, "{shape}");
        assert_ne!(scene.run("tiresias", &[]).ends(), fifo, "queues make a difference");
    }
}

/// Two nodes of four GPUs with one GPU free on each until 100. A job of two GPUs takes both, one on
/// each node; a skewed one waits until a node has two.
#[test]
fn tiresias_keeps_skewed_models_together() {
    let others = [job("x", 0, 3, 100), job("y", 0, 3, 200)];
    let scene = |row: Row| Scene::new("2x4", others.clone().into_iter().chain([row]));
    let plain = scene(job("pair", 10, 2, 50)).run("tiresias", &[]);
    assert_eq!(plain.stays("pair"), [(10.0, 60.0, 2, 2)]);
    let skewed = scene(job("pair", 10, 2, 50).skewed()).run("tiresias", &[]);
    assert_eq!(skewed.stays("pair"), [(100.0, 150.0, 2, 1)]);
}

/// The paper has up to 5.5 times, against another baseline on another trace; here it is 3.9 to 15
/// times. Nor is it far from the recipe that knows all durations: at most one and a half times.
#[test]
fn tiresias_beats_fifo_on_heavy_tails() {
    for (shape, seed) in [(Shape::Philly, 1), (Shape::Philly, 2), (Shape::Helios, 3)] {
        let options = GeneratorOptions { shape, jobs: 1500, load: 1.2, seed, ..Default::default() };
        let scene = Scene::generated("8x8", &options);
        let [fifo, skip, tiresias, srsf] =
            ["fifo", "fifo-skip", "tiresias", "srsf"].map(|recipe| scene.run(recipe, &[]).mean_s());
        assert!(fifo > 3.0 * tiresias, "{shape}, {seed}: {fifo} s and {tiresias} s");
        assert!(skip > tiresias, "{shape}, {seed}: {skip} s and {tiresias} s");
        assert!(tiresias < 2.0 * srsf, "{shape}, {seed}: {tiresias} s and {srsf} s");
    }
}
