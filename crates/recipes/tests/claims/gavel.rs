//! Gavel's shares: best by an objective, realised in rounds.

use super::scene::{Row, Run, Scene, job, measured};
use heeler_model::{Price, Time};
use heeler_sim::workload::{GeneratorOptions, Shape};

const AGNOSTIC: (&str, &str) = ("kinds", "agnostic");

/// The paper's example, with work for a hundred thousand rounds: three jobs on a V100 and a K80,
/// four, three and two times as fast on the V100. With a third of each they would do 5/3, 4/3 and
/// 3/3 units a second; every one of them does between 7 and 12 % more.
#[test]
fn gavel_improves_on_a_third_of_each() {
    let speeds = [("a", 4.0), ("b", 3.0), ("c", 2.0)];
    let rows = speeds.map(|(name, speed)| job(name, 0, 1, 1).units(1e9, &[speed, 1.0]));
    let scene = Scene::new("1x1:v100+1x1:k80", rows);
    let mut simulation = scene.simulation("gavel", &[]);
    let hours = 200.0;
    simulation.run_until(Time::from_secs_f64(hours * 3600.0));
    for (name, speed) in speeds {
        let id = simulation.find(name).expect("a job");
        let done = simulation.records()[id].done_at(simulation.now());
        let third = (speed + 1.0) / 3.0 * hours * 3600.0;
        let gain = done / third;
        assert!((1.06..1.13).contains(&gain), "{name}: {gain}");
    }
}

/// Jobs that gain much or little by a V100, more of them than GPUs.
fn mixed() -> Vec<Row> {
    let each = |index: u64| {
        // One half is four times as fast on the better GPU, the other hardly.
        let fast = if index.is_multiple_of(2) { 4.0 } else { 1.2 };
        let name = format!("job{index}");
        let units = 3600.0 * (1 + index % 5) as f64 * 2.0;
        job(&name, index * 300, 1, 1).units(units, &[fast, 1.0])
    };
    (0..60).map(each).collect()
}

#[test]
fn gavel_gains_by_knowing_the_kinds() {
    let scene = Scene::new("v100=4,k80=4", mixed());
    let (aware, agnostic) = (scene.run("gavel", &[]), scene.run("gavel", &[AGNOSTIC]));
    let gain = agnostic.mean_s() / aware.mean_s();
    assert!(gain > 1.15, "{gain}");
}

#[test]
fn gavel_on_one_kind_is_agnostic() {
    let options = GeneratorOptions {
        shape: Shape::Helios,
        jobs: 60,
        load: 1.5,
        gpus: 16,
        ..GeneratorOptions::default()
    };
    let scene = Scene::generated("2x8", &options);
    let (aware, agnostic) = (scene.run("gavel", &[]), scene.run("gavel", &[AGNOSTIC]));
    assert_eq!(aware.ends(), agnostic.ends());
}

/// Two jobs on one GPU, one with three times the work of the other, as early done as possible: both
/// end together, when all the work is done.
#[test]
fn the_shortest_makespan_lets_jobs_end_together() {
    let rows = [job("long", 0, 1, 54_000), job("short", 0, 1, 18_000)];
    let run = Scene::new("1x1", rows).run("gavel", &[("objective", "makespan")]);
    let (long, short) = (run.end("long"), run.end("short"));
    assert_eq!(long.max(short), 72_000.0);
    assert!((long - short).abs() <= 0.05 * 72_000.0, "{long} {short}");
}

/// What is left over when all are done in time may go to short jobs first.
#[test]
fn gavel_by_makespan_may_finish_short_jobs_first() {
    // Ten hours on one GPU, and six and a half in all for the other.
    let lengths = [("long", 36_000), ("a", 1800), ("b", 3600), ("c", 7200), ("d", 10_800)];
    let scene = Scene::new("1x2", lengths.map(|(name, length_s)| job(name, 0, 1, length_s)));
    let makespan = ("objective", "makespan");
    let middle = scene.run("gavel", &[makespan]);
    let short = scene.run("gavel", &[makespan, ("spare", "short-first")]);
    assert!(short.mean_s() < middle.mean_s(), "{} {}", short.mean_s(), middle.mean_s());
    let last = |run: &Run| {
        let ends = run.ends().into_iter().map(|end| end.expect("an end").secs_f64());
        ends.fold(0.0, f64::max)
    };
    let (first, second) = (last(&middle), last(&short));
    assert!((second / first - 1.0).abs() < 0.05, "{first} {second}");
}

/// Gangs of one to four, some with thirty times the work of others, all within two hours.
fn uneven() -> Vec<Row> {
    let each = |index: u64| {
        let fast = [4.0, 1.2, 2.0][index as usize % 3];
        let gpus = [1, 1, 2, 1, 4][index as usize % 5];
        let units = 1800.0 * [1.0, 3.0, 30.0, 2.0][index as usize % 4];
        job(&format!("job{index}"), index * 180, gpus, 1).units(units, &[fast, 1.0])
    };
    (0..40).map(each).collect()
}

/// How many times as long as with an equal part of every kind for itself jobs take, at worst.
#[test]
fn finish_times_are_fairer_than_by_least_service() {
    let scene = Scene::new("v100=4,k80=4", uneven());
    let isolated = scene.run("gavel-isolated", &[]);
    let worst = |knobs: &[(&'static str, &'static str)]| {
        let run = scene.run("gavel", knobs);
        let ratio = |index: u32| {
            let (name, came) = (format!("job{index}"), f64::from(index) * 180.0);
            (run.end(&name) - came) / (isolated.end(&name) - came)
        };
        (0..40).map(ratio).fold(0.0, f64::max)
    };
    let (fair, least_service) = (worst(&[("objective", "finish-time")]), worst(&[]));
    assert!(fair * 1.1 < least_service, "{fair} {least_service}");
}

/// Alone, a job has everything it can use by any objective.
#[test]
fn finish_time_fairness_for_one_job_is_all_it_can_use() {
    let rows = [job("only", 0, 2, 1).units(7200.0, &[4.0, 1.0])];
    let scene = Scene::new("v100=4,k80=4", rows);
    let (fair, plain) =
        (scene.run("gavel", &[("objective", "finish-time")]), scene.run("gavel", &[]));
    assert_eq!(fair.end("only"), plain.end("only"));
}

/// One GPU; a tenant with one job and one with three, of equal weight, for two hundred rounds. By
/// jobs each would have a quarter; by tenants the first has half.
#[test]
fn gavel_gives_tenants_their_parts() {
    let names = ["one", "two", "three", "four"];
    let parts = |objective: &'static str| -> [f64; 4] {
        let tenant = |name: &str| if name == "one" { "small" } else { "large" };
        let rows = names.map(|name| job(name, 0, 1, 1_000_000).of(tenant(name)));
        let scene = Scene::new("1x1", rows);
        let mut simulation = scene.simulation("gavel", &[("objective", objective)]);
        let end = Time::from_secs(200 * 360);
        simulation.run_until(end);
        names.map(|name| {
            let job = simulation.engine().state().job(simulation.find(name).expect("a job"));
            job.attained_at(simulation.now()).secs_f64() / end.secs_f64()
        })
    };
    let near = |seen: [f64; 4], wanted: [f64; 4]| {
        let close = seen.iter().zip(wanted).all(|(seen, wanted)| (seen - wanted).abs() < 0.02);
        assert!(close, "{seen:?} {wanted:?}");
    };
    near(parts("max-min"), [0.25; 4]);
    near(parts("tenants-fair"), [0.5, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0]);
    near(parts("tenants-fifo"), [0.5, 0.5, 0.0, 0.0]);
}

#[test]
fn gavel_among_equals_is_max_min() {
    let rows = (0..10).map(|index| job(&format!("job{index}"), 0, 1, 3600 * (1 + index % 3)));
    let scene = Scene::new("1x4", rows);
    let plain = scene.run("gavel", &[]);
    for objective in ["tenants-fair", "nash"] {
        let other = scene.run("gavel", &[("objective", objective)]);
        let off = (other.mean_s() / plain.mean_s() - 1.0).abs();
        assert!(off < 0.02, "{objective}: {off}");
    }
}

/// A V100 is twice as fast as a K80 and five times as dear. Alone, the job takes 7200 s on the K80;
/// due after 4500 s, it needs the V100 for most of the time.
#[test]
fn gavel_by_cost_pays_for_speed_only_where_a_deadline_asks_for_it() {
    let run = |row: Row| {
        let knobs = [("objective", "cost"), ("fill-idle", "false")];
        let mut scene = Scene::new("v100=1,k80=1", [row]);
        for (kind, micro) in scene.cluster.kinds.iter_mut().zip([2_500_000, 500_000]) {
            kind.prices = vec![Price { from: Time::ZERO, micro }];
        }
        scene.run("gavel", &knobs).end("job")
    };
    let row = || job("job", 0, 1, 1).units(7200.0, &[2.0, 1.0]);
    assert_eq!(run(row()), 7200.0);
    let in_time = run(row().due(&[(4500, 1)]));
    assert!((3600.0..=4500.0).contains(&in_time), "{in_time}");
    assert_eq!(run(row().due(&[(3000, 1)])), 7200.0, "it cannot be kept");
}

const PAIRS: (&str, &str) = ("pairs", "true");
const PACKED: (&str, &str) = ("shares", "{ packed = { above = 1.5 } }");

/// Jobs of an hour on one GPU each, all at once.
fn hours(jobs: usize) -> Vec<Row> {
    (0..jobs).map(|index| job(&index.to_string(), 0, 1, 3600)).collect()
}

/// When jobs end, in hours.
fn ends_h(scene: &Scene, recipe: &str, knobs: &[(&str, &str)]) -> Vec<f64> {
    let ends = scene.run(recipe, knobs).ends();
    ends.iter().map(|end| end.expect("an end").secs_f64() / 3600.0).collect()
}

/// Two jobs of one model keep 0.8 side by side, of another 0.4.
#[test]
fn gavel_shares_gpus_where_that_is_faster() {
    let paces = [(1, 1, 0.8), (2, 2, 0.4)];
    let scene = |model| measured(Scene::new("1x1", hours(2)), &[model, model], &paces);
    for objective in ["max-min", "makespan", "finish-time", "throughput"] {
        let objective = ("objective", objective);
        let ends = ends_h(&scene(1), "gavel", &[PAIRS, objective]);
        assert!(ends.iter().all(|end| (end - 1.25).abs() < 0.01), "{objective:?} {ends:?}");
    }
    let turns = ends_h(&scene(1), "gavel", &[]);
    assert!(turns.iter().any(|end| *end > 1.99), "{turns:?}");
    assert_eq!(ends_h(&scene(2), "gavel", &[PAIRS]), ends_h(&scene(2), "gavel", &[]));
    // In one group it is the same.
    let grouped = ends_h(&scene(1), "pop", &[PAIRS, ("parts", "1")]);
    assert!(grouped.iter().all(|end| (end - 1.25).abs() < 0.01), "{grouped:?}");
}

#[test]
fn gavel_shares_no_gpus_without_need() {
    let room = measured(Scene::new("1x2", hours(2)), &[1, 1], &[(1, 1, 0.9)]);
    let ends = ends_h(&room, "gavel", &[PAIRS]);
    assert!(ends.iter().all(|end| (end - 1.0).abs() < 0.01), "{ends:?}");
    let unknown = Scene::new("v100=4,k80=4", mixed());
    assert_eq!(unknown.run("gavel", &[PAIRS]).ends(), unknown.run("gavel", &[]).ends());
}

/// The second model does better beside the third than beside the first, and nobody beside itself.
#[test]
fn gavel_fifo_packs_whoever_finds_no_room() {
    let paces = [(1, 2, 0.8), (2, 1, 0.8), (3, 2, 0.9), (2, 3, 0.9), (3, 3, 0.4)];
    let scene = measured(Scene::new("1x2", hours(4)), &[1, 3, 2, 3], &paces);
    let ends = ends_h(&scene, "gavel-fifo", &[PACKED]);
    assert!((ends[0] - 1.0).abs() < 0.01, "it has a GPU to itself: {ends:?}");
    for end in &ends[1..3] {
        assert!((end - 1.0 / 0.9).abs() < 0.12, "two together: {ends:?}");
    }
    assert!(ends[3] > 1.9, "it fits beside nobody: {ends:?}");
}

#[test]
fn gavel_gandiva_pairs_where_gpus_are_short() {
    let scene = measured(Scene::new("1x1", hours(2)), &[1, 1], &[(1, 1, 0.9)]);
    for end in ends_h(&scene, "gavel-gandiva", &[]) {
        assert!((end - 1.0 / 0.9).abs() < 0.01, "two together: {end}");
    }
    let turns = ends_h(&scene, "gavel-isolated", &[]);
    assert!(turns.iter().sum::<f64>() > 3.5, "{turns:?}");
}

#[test]
fn gavel_gandiva_without_need_is_isolated() {
    let room = measured(Scene::new("1x2", hours(2)), &[1, 1], &[(1, 1, 0.9)]);
    let unknown = Scene::new("v100=4,k80=4", mixed());
    for scene in [room, unknown] {
        let (random, plain) = (scene.run("gavel-gandiva", &[]), scene.run("gavel-isolated", &[]));
        assert_eq!(random.ends(), plain.ends());
    }
}

/// Steps may be counted in any unit.
#[test]
fn gavel_counts_steps_however_many_they_are() {
    for unit in [1e-6, 1.0, 1e6] {
        let row = |name: &str, gpus| job(name, 0, gpus, 3600).units(3600.0 * unit, &[unit]);
        let run =
            Scene::new("1x4", [row("a", 4), row("b", 1)]).run("gavel", &[("objective", "steps")]);
        assert!(run.end("a") > 0.0 && run.end("b") > 0.0);
    }
}

/// One has a deadline that takes a dear GPU; the other has none and stays on a cheap one.
#[test]
fn gavel_pays_only_for_who_has_a_deadline() {
    let row = |name: &str| job(name, 0, 1, 36_000).units(720_000.0, &[20.0, 10.0]);
    let mut scene = Scene::new("2x1:v100+2x1:k80", [row("slo").due(&[(54_000, 1)]), row("x")]);
    for (kind, units) in [(0, 3), (1, 1)] {
        scene.cluster.kinds[kind].prices =
            vec![Price { from: Time::ZERO, micro: units * 1_000_000 }];
    }
    let knobs = &[("objective", "cost"), ("fill-idle", "false")];
    let run = scene.run("gavel", knobs);
    assert!(run.end("slo") <= 54_000.0);
    assert_eq!(run.end("x"), 72_000.0);
}

/// Two GPUs of a gang are on one kind, and only one has two: elsewhere no share is of use to it.
#[test]
fn gavel_gives_gangs_shares_where_they_fit() {
    let row = job("a", 0, 2, 1800).units(36_000.0, &[20.0, 1.0, 5.0]).sizes(1, 2);
    let scene = Scene::new("1x1:v100+1x2:p100+1x1:k80", [row]);
    for objective in ["cost", "throughput", "nash"] {
        let run = scene.run("gavel", &[("objective", objective), ("fill-idle", "false")]);
        assert!(run.end("a") > 0.0, "{objective}");
    }
}
