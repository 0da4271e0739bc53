//! Jobs that can change their size.

use super::scene::{Scene, job};
use heeler_sim::workload::{GeneratorOptions, Shape};

/// `flexible` is 400 s of work on four GPUs, 1600 GPU seconds, and can use one to eight. Alone it
/// has all eight, until `rigid` needs six at 50: 400 done. It goes on with two until 150: 200 more.
/// Then it has eight again for the last 1000, which take 125 s.
#[test]
fn elastic_grows_and_shrinks() {
    let table = [job("flexible", 0, 4, 400).sizes(1, 8), job("rigid", 50, 6, 100)];
    let scene = Scene::new("1x8", table);
    let run = scene.run("elastic", &[]);
    let stays: Vec<(f64, f64, u32)> =
        run.stays("flexible").iter().map(|stay| (stay.0, stay.1, stay.2)).collect();
    assert_eq!(stays, [(0.0, 50.0, 8), (50.0, 150.0, 2), (150.0, 275.0, 8)]);
    assert_eq!([run.start("rigid"), run.end("rigid")], [50.0, 150.0]);
    // A scheduler that does not resize makes `rigid` wait.
    let fixed = scene.run("fifo-skip", &[]);
    assert_eq!([fixed.end("flexible"), fixed.start("rigid")], [400.0, 400.0]);
}

/// `small` asks for four, but only three are free, and it can run on three. At 40 it has done 120
/// of its 400 GPU seconds and has the whole node: 280 ÷ 8 = 35 s more.
#[test]
fn elastic_starts_smaller_if_need_be() {
    let table = [job("rigid", 0, 5, 40), job("small", 0, 4, 100).sizes(2, 8)];
    let run = Scene::new("1x8", table).run("elastic", &[]);
    let stays: Vec<(f64, f64, u32)> =
        run.stays("small").iter().map(|stay| (stay.0, stay.1, stay.2)).collect();
    assert_eq!(stays, [(0.0, 40.0, 3), (40.0, 75.0, 8)]);
}

#[test]
fn elastic_is_fifo_skip_for_rigid_jobs() {
    for (seed, elastic) in [(1, 0.0), (2, 0.0), (3, 0.5)] {
        let shape = Shape::Helios;
        let options =
            GeneratorOptions { shape, jobs: 300, load: 1.0, seed, elastic, ..Default::default() };
        let scene = Scene::generated("4x8", &options);
        let resized = scene.run("elastic", &[]).ends();
        let fifo = scene.run("fifo-skip", &[("place", "consolidate-or-spread")]).ends();
        assert_eq!(resized == fifo, elastic == 0.0, "seed {seed}");
    }
}
