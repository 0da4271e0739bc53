//! Whoever has least is next: max-min fairness, dominant resources, turns and tickets.

use super::scene::{Row, Scene, job};
use heeler_model::Time;
use heeler_sim::Simulation;
use heeler_sim::workload::{GeneratorOptions, Shape};

/// Jobs of one tenant, with names made of its own.
pub(crate) fn jobs(tenant: &'static str, count: u32, gpus: u32, length_s: u64) -> Vec<Row> {
    let one = |index| job(&format!("{tenant}{index}"), 0, gpus, length_s).of(tenant);
    (0..count).map(one).collect()
}

/// GPUs that a tenant has now.
fn has(simulation: &Simulation, scene: &mut Scene, tenant: &str) -> u64 {
    let id = scene.cluster.tenant_named(tenant);
    simulation.engine().state().tenants().usage(id).milli / 1000
}

/// GPU time of a tenant's jobs, seconds. None of them may be done.
pub(crate) fn gpu_time_s(simulation: &Simulation, scene: &mut Scene, tenant: &str) -> f64 {
    let id = scene.cluster.tenant_named(tenant);
    let jobs = simulation.engine().state().jobs().iter().filter(|job| job.spec.tenant == id);
    jobs.map(|job| job.attained_milli_at(simulation.now()) as f64 / 1e9).sum()
}

fn weighs(mut scene: Scene, tenant: &str, weight: u32) -> Scene {
    let id = scene.cluster.tenant_named(tenant);
    scene.cluster.tenants[id.index()].weight = weight;
    scene
}

/// Eight GPUs. `vision` wants all of them, `speech` too, and `robots` wants one only: that one it
/// gets, and the others share seven as equally as can be; who came first has the odd one.
#[test]
fn max_min_fills_from_below() {
    let mut table = jobs("vision", 8, 1, 10_000);
    table.extend(jobs("speech", 8, 1, 10_000));
    table.extend(jobs("robots", 1, 1, 10_000));
    let mut scene = Scene::new("1x8", table);
    let mut simulation = scene.simulation("max-min", &[]);
    simulation.run_until(Time::from_secs(1000));
    let have = ["vision", "speech", "robots"].map(|tenant| has(&simulation, &mut scene, tenant));
    assert_eq!(have, [4, 3, 1]);
    // Without weights and by jobs, the smallest are next: both large gangs wait.
    let mut table = jobs("vision", 2, 3, 10_000);
    table.extend(jobs("speech", 2, 2, 10_000));
    table.extend(jobs("robots", 2, 1, 10_000));
    let mut scene = Scene::new("1x8", table);
    let mut simulation = scene.simulation("max-min", &[("among", "jobs")]);
    simulation.run_until(Time::from_secs(1000));
    let have = ["vision", "speech", "robots"].map(|tenant| has(&simulation, &mut scene, tenant));
    assert_eq!(have, [0, 4, 2]);
}

#[test]
fn max_min_goes_by_weight() {
    let mut table = jobs("vision", 12, 1, 10_000);
    table.extend(jobs("speech", 12, 1, 10_000));
    let mut scene = weighs(Scene::new("1x12", table), "vision", 3);
    let mut simulation = scene.simulation("max-min", &[]);
    simulation.run_until(Time::from_secs(1000));
    let have = ["vision", "speech"].map(|tenant| has(&simulation, &mut scene, tenant));
    assert_eq!(have, [9, 3]);
}

/// A tenant that comes later gets its half when leases end, at 360 s, and not before.
#[test]
fn max_min_takes_back_when_leases_end() {
    let mut table = jobs("vision", 4, 1, 10_000);
    table.push(job("late", 100, 2, 500).of("speech"));
    let scene = Scene::new("1x4", table);
    let run = scene.run("max-min", &[]);
    assert_eq!((run.start("late"), run.end("late")), (360.0, 860.0));
    assert_eq!(run.preemptions(), 2);
    let patient = scene.run("max-min", &[("lease", "until-done")]);
    assert_eq!((patient.start("late"), patient.preemptions()), (10_000.0, 0));
}

#[test]
fn max_min_of_one_tenant_is_fifo() {
    let scene = one_tenant(Shape::Helios);
    let knobs = [("lease", "until-done"), ("behind", "waits")];
    let fifo = scene.run("fifo", &[("place", "consolidate-or-spread")]);
    assert_eq!(scene.run("max-min", &knobs).ends(), fifo.ends());
}

/// Many jobs that all belong to one tenant.
pub(crate) fn one_tenant(shape: Shape) -> Scene {
    let options =
        GeneratorOptions { shape, jobs: 200, load: 1.3, gpus: 16, ..GeneratorOptions::default() };
    let mut scene = Scene::generated("2x8", &options);
    for job in &mut scene.jobs {
        job.spec.tenant = heeler_model::TenantId(0);
    }
    scene
}

/// Ghodsi et al.'s example: `a` would have tasks of 1 CPU and 4 GB, `b` of 3 CPUs and 1 GB; there
/// are 9 CPUs and 18 GB. Three of the one and two of the other use 9 CPUs and 14 GB, and both have
/// two thirds of what they use most of.
#[test]
fn drf_equalises_dominant_shares() {
    let table = |a: u32, b: u32| {
        let mut rows: Vec<Row> =
            jobs("a", a, 1, 1000).into_iter().map(|row| row.beside(1, 4096)).collect();
        rows.extend(jobs("b", b, 1, 1000).into_iter().map(|row| row.beside(3, 1024)));
        rows
    };
    let mut scene = Scene::new("1x32", table(9, 9));
    scene.cluster.nodes[0].cpu_milli = 9000;
    scene.cluster.nodes[0].memory_mb = 18 * 1024;
    let mut simulation = scene.simulation("drf", &[]);
    simulation.run_until(Time::from_secs(500));
    let have = ["a", "b"].map(|tenant| has(&simulation, &mut scene, tenant));
    assert_eq!(have, [3, 2]);
}

#[test]
fn drf_of_gpus_alone_is_max_min() {
    let options = GeneratorOptions {
        shape: Shape::Philly,
        jobs: 200,
        load: 1.5,
        gpus: 16,
        ..GeneratorOptions::default()
    };
    let scene = Scene::generated("2x8", &options);
    let lease = [("lease", "6 min")];
    assert_eq!(scene.run("drf", &lease).ends(), scene.run("max-min", &lease).ends());
}

/// `a` has two of four GPUs until 100, `b` one until 200. At 10 `wide` of `c`, which has nothing,
/// asks for three: they are free at 200 at the earliest, if nobody takes them. At 20 `b` wants one
/// more, until 520: it passes `wide`, or waits for it.
#[test]
fn drf_passes_or_waits() {
    let rows = || {
        [
            job("a", 0, 2, 100).of("a"),
            job("b", 0, 1, 200).of("b"),
            job("wide", 10, 4, 50).of("c"),
            job("more", 20, 1, 500).of("b"),
        ]
    };
    let starts = |knobs: &[(&str, &str)]| {
        let run = Scene::new("1x4", rows()).run("drf", knobs);
        ["wide", "more"].map(|name| run.start(name))
    };
    assert_eq!(starts(&[]), [520.0, 20.0]);
    assert_eq!(starts(&[("behind", "waits")]), [200.0, 250.0]);
}

/// Three jobs on one GPU: a minute each in turn. Of 180 s each, the first has its third turn from
/// 360 on and ends at 420.
#[test]
fn round_robin_goes_around() {
    let run = Scene::new("1x1", jobs("a", 3, 1, 180)).run("round-robin", &[]);
    assert_eq!(["a0", "a1", "a2"].map(|name| run.end(name)), [420.0, 480.0, 540.0]);
    let turns: Vec<f64> = run.stays("a1").iter().map(|stay| stay.0).collect();
    assert_eq!(turns, [60.0, 240.0, 420.0]);
}

/// Two GPUs, three jobs: everybody has two turns in three minutes.
#[test]
fn round_robin_leaves_nobody_out() {
    let scene = Scene::new("1x2", jobs("a", 3, 1, 100_000));
    for among in ["jobs", "tenants"] {
        let mut simulation = scene.simulation("round-robin", &[("among", among)]);
        simulation.run_until(Time::from_secs(180));
        for job in simulation.engine().state().jobs().iter() {
            assert_eq!(job.attained_at(simulation.now()).secs_f64(), 120.0, "{}", job.id);
        }
    }
}

#[test]
fn round_robin_among_tenants_counts_tenants() {
    let mut table = jobs("many", 5, 1, 100_000);
    table.extend(jobs("one", 1, 1, 100_000));
    let mut scene = Scene::new("1x1", table);
    let mut simulation = scene.simulation("round-robin", &[("among", "tenants")]);
    simulation.run_until(Time::from_secs(7200));
    let times = ["many", "one"].map(|tenant| gpu_time_s(&simulation, &mut scene, tenant));
    assert_eq!(times, [3600.0, 3600.0]);
    let mut simulation = scene.simulation("round-robin", &[]);
    simulation.run_until(Time::from_secs(7200));
    let times = ["many", "one"].map(|tenant| gpu_time_s(&simulation, &mut scene, tenant));
    assert_eq!(times, [6000.0, 1200.0]);
}

/// Weights of 3 and 1 on one GPU: of 4000 draws, `vision` wins 3000, give or take four standard
/// deviations of 27.
#[test]
fn lottery_wins_go_by_tickets() {
    let mut table = jobs("vision", 2, 1, 1_000_000);
    table.extend(jobs("speech", 5, 1, 1_000_000));
    let mut scene = weighs(Scene::new("1x1", table), "vision", 3);
    let mut simulation = scene.simulation("lottery", &[]);
    simulation.run_until(Time::from_secs(240_000));
    let [vision, speech] = ["vision", "speech"].map(|t| gpu_time_s(&simulation, &mut scene, t));
    assert!((vision + speech - 240_000.0).abs() < 1.0);
    let wins = vision / 60.0;
    assert!((2890.0..3110.0).contains(&wins), "{wins} wins of 4000");
}

/// With room for everybody, whoever is next makes no difference: all start when they come, and
/// nobody stops.
#[test]
fn turns_do_not_matter_where_there_is_room() {
    let options = GeneratorOptions { jobs: 100, load: 0.2, ..GeneratorOptions::default() };
    let scene = Scene::generated("32x8", &options);
    let fifo = scene.run("fifo-skip", &[("place", "consolidate-or-spread")]);
    let submitted: Vec<Option<Time>> = scene.jobs.iter().map(|job| Some(job.submit)).collect();
    assert_eq!(fifo.starts(), submitted, "there is room for everybody");
    for recipe in ["max-min", "round-robin", "lottery", "drf", "astraea", "gandiva-fair"] {
        let run = scene.run(recipe, &[]);
        assert_eq!(run.starts(), submitted, "{recipe}");
        assert_eq!(run.preemptions(), 0, "{recipe}");
        assert_eq!(run.ends(), fifo.ends(), "{recipe}");
    }
}
