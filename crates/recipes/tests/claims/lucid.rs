//! Lucid: new jobs are tried out, the others go by predicted service and share GPUs with those that
//! leave room.

use super::scene::{Knobs, Row, Scene, job, rows};
use heeler_engine::Starts;
use heeler_model::{KindId, KindSet};
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{GeneratorOptions, Shape};
use heeler_sim::world::{Cost, Costs, Sharing};
use proptest::prelude::*;

const ORACLE: (&str, &str) = ("predict", "oracle");
/// Nobody is tried out, and GPUs are shared whatever the load.
const MAIN: Knobs = &[ORACLE, ("nodes", "0"), ("quiet", "0.0")];

/// The last of four nodes is for trials of 100 s. Three long jobs have their trials one after the
/// other and go on with what is left, 900 s, on the other nodes, which they fill. `short` comes at
/// 500, has its trial at once and is over in it.
#[test]
fn lucid_tries_jobs_out_first() {
    let long = ["one", "two", "three"];
    let mut table: Vec<Row> = long.map(|name| job(name, 0, 2, 1000)).into();
    table.push(job("short", 500, 2, 50));
    let knobs = &[ORACLE, ("nodes", "1"), ("time", "100 s")];
    let run = Scene::new("4x2", table).run("lucid", knobs);
    assert_eq!(long.map(|name| run.start(name)), [0.0, 100.0, 200.0]);
    assert_eq!(long.map(|name| run.end(name)), [1000.0, 1100.0, 1200.0]);
    assert_eq!(run.stays("one"), [(0.0, 100.0, 2, 1), (100.0, 1000.0, 2, 1)]);
    assert_eq!(run.stays("short"), [(500.0, 550.0, 2, 1)]);
}

/// As before, but nobody waits longer than 150 s for a trial: `three`, whose turn would come at
/// 200, goes on then.
#[test]
fn lucid_lets_nobody_wait_long_for_a_trial() {
    let long = ["one", "two", "three"];
    let knobs = &[ORACLE, ("nodes", "1"), ("time", "100 s"), ("patience", "150 s")];
    let run = Scene::new("4x2", long.map(|name| job(name, 0, 2, 1000))).run("lucid", knobs);
    assert_eq!(long.map(|name| run.start(name)), [0.0, 100.0, 150.0]);
    assert_eq!(run.stays("two").len(), 2);
    assert_eq!(run.stays("three"), [(150.0, 1150.0, 2, 1)]);
}

/// All come at once, and nobody waits longer than a trial takes. When that of the first is over,
/// the others may go on without one, but it is the shortest and goes on before them.
#[test]
fn lucid_goes_on_in_its_place_after_a_trial() {
    let mut table = vec![job("short", 0, 8, 300)];
    table.extend(["one", "two", "three"].map(|name| job(name, 0, 8, 1000)));
    let knobs = &[ORACLE, ("nodes", "1"), ("time", "200 s"), ("patience", "200 s")];
    let run = Scene::new("4x8", table).run("lucid", knobs);
    assert_eq!(run.stays("short"), [(0.0, 200.0, 8, 1), (200.0, 300.0, 8, 1)]);
    assert_eq!(["one", "two", "three"].map(|name| run.start(name)), [200.0, 200.0, 300.0]);
    let restarts = Summary::of(&run.simulation).restarts;
    assert_eq!((restarts.preemptions, restarts.moves), (0, 1), "it went elsewhere once");
}

/// All run on the last node alone, which is the one for trials. `old` is too large for one and has
/// that node, as nobody is elsewhere. `b` and `c` are out of patience when it ends, and start.
#[test]
fn lucid_lends_the_nodes_for_trials_to_all_who_fit() {
    let table = [job("old", 0, 4, 1000), job("b", 1, 1, 100), job("c", 1, 1, 100)];
    let mut scene = Scene::new("3x4:a100+1x4:v100", table);
    scene.jobs.iter_mut().for_each(|job| job.spec.demand.kinds = KindSet::only(KindId(1)));
    let run = scene.run("lucid", &[("gpus", "2")]);
    assert_eq!(["old", "b", "c"].map(|name| run.start(name)), [0.0, 1000.0, 1000.0]);
}

/// Whether the second of two jobs starts beside the first on the one GPU there is.
fn share(first: Row, second: Row) -> bool {
    let run = Scene::new("1x1", [first, second]).run("lucid", MAIN);
    [run.start("first"), run.start("second")] == [0.0, 0.0]
}

#[test]
fn lucid_packs_only_those_that_leave_room() {
    let (first, second) = (|| job("first", 0, 1, 1000), || job("second", 0, 1, 1000));
    for (one, other, agree) in
        [(200, 200, true), (200, 999, true), (500, 500, true), (500, 700, false), (700, 700, false)]
    {
        assert_eq!(share(first().busy(one), second().busy(other)), agree, "{one} and {other}");
        assert_eq!(share(first().busy(other), second().busy(one)), agree, "{other} and {one}");
    }
    assert!(!share(first().busy(100), second()) && !share(first(), second()), "not known");
    let longer = job("second", 0, 1, 2001).busy(100);
    assert!(!share(first().busy(100), longer), "more than twice the service of who is there");
    let mut scene = Scene::new("1x1", [first().busy(100), second().busy(100)]);
    scene.cluster.kinds[0].memory_mb = 16_000;
    scene.jobs.iter_mut().for_each(|job| job.spec.demand.gpu_memory_mb = 9_000);
    assert!(scene.run("lucid", MAIN).start("second") > 0.0, "memory does not suffice");
}

/// Three light gangs for both GPUs there are: the third waits until one of the others has ended. A
/// light job of one GPU has no place beside a gang of two, nor have gangs of more than eight GPUs
/// beside each other.
#[test]
fn lucid_packs_two_of_one_size_and_no_more() {
    let light = |name, gpus| job(name, 0, gpus, 1000).busy(100);
    let three = [light("a", 2), light("b", 2), light("c", 2)];
    let run = Scene::new("1x2", three).run("lucid", MAIN);
    assert_eq!([run.start("a"), run.start("b")], [0.0, 0.0]);
    assert_eq!(run.start("c"), run.end("a").min(run.end("b")));
    let uneven = [light("gang", 2), job("one", 1, 1, 1000).busy(100)];
    let run = Scene::new("1x2", uneven).run("lucid", MAIN);
    assert_eq!(run.start("one"), run.end("gang"));
    for (gpus, agree) in [(8, true), (9, false)] {
        let pair = [light("a", gpus), light("b", gpus)];
        let run = Scene::new(&format!("1x{gpus}"), pair).run("lucid", MAIN);
        assert_eq!(run.start("b") == 0.0, agree, "{gpus} GPUs");
    }
}

/// Twelve long jobs for four nodes, and short ones of which nobody knows that they are short. With
/// a node for trials they are over before the long ones are; without, they queue behind them.
#[test]
fn lucid_gains_by_trials_where_short_jobs_come_behind_long_ones() {
    let long = (0..12).map(|index| job(&format!("long{index}"), 0, 2, 1000));
    let short =
        (0..40).map(|index| job(&format!("short{index}"), 300 + 60 * index, 2, 30).declares(1000));
    let scene = Scene::new("4x2", long.chain(short));
    let mean_s = |nodes: &str| {
        let knobs = [("predict", "declared"), ("sharing", "never"), ("nodes", nodes)];
        scene.run("lucid", &knobs).mean_s()
    };
    let (with, without) = (mean_s("1"), mean_s("0"));
    assert!(with < 0.7 * without, "{with} against {without}");
}

/// Twenty light jobs for four GPUs, where a neighbour costs a tenth of the pace.
#[test]
fn lucid_gains_by_sharing_where_jobs_are_light() {
    let rows = (0..20).map(|index| job(&index.to_string(), 0, 1, 1000).busy(100));
    let mut scene = Scene::new("1x4", rows);
    scene.world.sharing = Sharing { unmeasured: 0.9, proportional: false, ..Sharing::default() };
    let alone = [ORACLE, ("nodes", "0"), ("quiet", "0.0"), ("sharing", "never")];
    let (with, without) = (scene.run("lucid", MAIN).mean_s(), scene.run("lucid", &alone).mean_s());
    assert!(with < 0.75 * without, "{with} against {without}");
}

/// A job every half hour, then two light ones at once: fewer than two in ten minutes are expected.
#[test]
fn lucid_does_not_share_when_it_is_quiet() {
    let mut table: Vec<Row> = (0..4).map(|at| job(&at.to_string(), at * 1800, 1, 10)).collect();
    table.push(job("short", 7200, 1, 900).busy(100));
    table.push(job("long", 7200, 1, 1000).busy(100));
    let scene = Scene::new("1x1", table);
    let start = |quiet| {
        let run = scene.run("lucid", &[ORACLE, ("nodes", "0"), ("quiet", quiet)]);
        let known = Summary::of(&run.simulation).predictions;
        assert!(known.iter().any(|known| known.predictor == "load" && known.seen > 0));
        run.start("long")
    };
    assert_eq!((start("2.0"), start("0.0")), (8100.0, 7200.0));
}

fn heavy_tailed() -> Scene {
    let shape = Shape::Philly;
    let options = GeneratorOptions { shape, jobs: 1500, load: 1.3, seed: 3, ..Default::default() };
    let mut scene = Scene::generated("12x8", &options);
    for (index, job) in scene.jobs.iter_mut().enumerate() {
        job.spec.extras_mut().busy_milli = Some((index as u32 * 389) % 1000);
    }
    // What Lucid's simulator charges for a stop, and little for sharing.
    let undo = Cost { fixed_s: 40.0, beyond_eight_s: 20.0, ..Cost::default() };
    scene.world.costs = Costs { undo, ..Costs::default() };
    scene.world.sharing = Sharing { unmeasured: 0.9, proportional: false, ..Sharing::default() };
    scene
}

#[test]
fn lucid_stops_nobody_for_another() {
    let run = heavy_tailed().run("lucid", &[]);
    assert_eq!(run.preemptions(), 0);
    let shared = Summary::of(&run.simulation).gpu_hours.shared;
    assert!(shared > 0.0, "somebody shares");
}

#[test]
fn lucid_comes_near_tiresias_without_stopping_anybody() {
    let scene = heavy_tailed();
    let tiresias = &[
        ("limits", "['18000 gpu-s']"),
        ("cadence", "{ round = '1 min' }"),
        ("place", "best-fit-remainder-emptiest"),
    ];
    let tiresias = scene.run("tiresias", tiresias);
    assert!(tiresias.preemptions() > 0, "there was something to stop");
    let (tiresias, fifo) = (tiresias.mean_s(), scene.run("fifo", &[]).mean_s());
    let noisy = ("predict", "{ noisy = { sigma = 0.7 } }");
    let lucid = scene.run("lucid", &[noisy, ("time", "80 s")]).mean_s();
    assert!(lucid < 1.2 * tiresias, "{lucid} against {tiresias}");
    assert!(lucid < 0.5 * fifo, "{lucid} against {fifo}");
}

/// A world in which who runs is settled by counting GPUs and every stop costs 40 s.
fn counted(cluster: &str, table: impl IntoIterator<Item = Row>) -> Scene {
    let mut scene = Scene::new(cluster, table);
    scene.world.rules.starts = Starts::Counted;
    scene.world.costs.undo = Cost { fixed_s: 40.0, ..Cost::default() };
    scene
}

/// `new` counts for two GPUs at 10, so `b` and `d`, one on each node, are stopped for it; as there
/// are no two on one node, it waits on. At 100, when `a` ends, it gets `b`'s old node, and `b` goes
/// on elsewhere with what it lost.
#[test]
fn who_counts_gpus_pays_for_stops_that_help_nobody() {
    let table = [
        job("a", 0, 1, 100),
        job("b", 0, 1, 2000),
        job("c", 1, 1, 150),
        job("d", 1, 1, 3000),
        job("new", 10, 2, 50),
    ];
    let place = ("place", "best-fit-remainder-emptiest");
    let run = counted("2x2", table).run("srtf", &[place]);
    assert_eq!([run.start("new"), run.end("b")], [100.0, 100.0 + 1990.0 + 40.0]);
    assert_eq!(run.preemptions(), 2);
}

/// Of two with as much to go, who waits comes before who runs.
#[test]
fn who_counts_gpus_stops_jobs_for_equals() {
    let run = counted("1x1", [job("old", 0, 1, 100), job("new", 50, 1, 50)]).run("srtf", &[]);
    assert_eq!([run.end("new"), run.end("old")], [100.0, 190.0]);
}

proptest! {
    #[test]
    fn lucid_without_trials_and_sharing_is_qssf(rows in rows(8, 1, 20)) {
        let scene = Scene::new("2x4", rows);
        let place = ("place", "best-fit-remainder-emptiest");
        let alone = &[ORACLE, ("nodes", "0"), ("sharing", "never")];
        let own = scene.run("lucid", alone).starts();
        prop_assert_eq!(own, scene.run("qssf", &[ORACLE, place]).starts());
    }
}
