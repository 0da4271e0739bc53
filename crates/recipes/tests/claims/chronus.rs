//! Chronus: deadlines are promised by reserving leases, and best effort runs beside.

use super::scene::{Knobs, Row, Scene, in_tens, job};
use heeler_model::{Milli, Reason, Time};
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{GeneratorOptions, Shape};
use heeler_sim::world::{Cost, Costs, World, WorldCard};
use proptest::prelude::*;

/// Leases of 100 s, exact estimates, and somebody looks every ten seconds.
const PLAIN: Knobs<'static> = &[
    ("lease", "100 s"),
    ("admission", "10 s"),
    ("tick", "10 s"),
    ("margin", "0.0"),
    ("restart", "0 s"),
];

/// One GPU. `loose` is 200 s long and has time until 600; it starts at once on what nobody holds.
/// `tight` comes at 10, is 100 s long and must end by 200: it is promised the lease from 100 on, so
/// `loose` gives way then and goes on at 200. First come, first served, `tight` ends at 300.
#[test]
fn chronus_reserves_a_lease_for_the_tighter_deadline() {
    let table =
        [job("loose", 0, 1, 200).due(&[(600, 1)]), job("tight", 10, 1, 100).due(&[(200, 1)])];
    let scene = Scene::new("1x1", table);
    let run = scene.run("chronus", PLAIN);
    assert_eq!([run.end("tight"), run.end("loose")], [200.0, 300.0]);
    assert_eq!(run.preemptions(), 1);
    assert_eq!(scene.run("fifo", &[]).end("tight"), 300.0, "too late");
}

/// One GPU. `a` needs three leases by 400 and is promised those from 100 on. `b` needs one by 200
/// and cannot have it: with four leases to do from 100 on, 500 is the earliest that can be kept.
fn refused() -> Scene {
    let table = [job("a", 0, 1, 300).due(&[(400, 1)]), job("b", 10, 1, 100).due(&[(200, 1)])];
    Scene::new("1x1", table)
}

#[test]
fn chronus_offers_the_earliest_deadline_that_can_be_kept() {
    let mut simulation = refused().simulation("chronus", PLAIN);
    simulation.run_until(Time::from_secs(50));
    let b = simulation.find("b").expect("a job");
    let promise = simulation.engine().state().job(b).promise.expect("an answer");
    assert_eq!(promise.asked, Time::from_secs(200));
    assert_eq!(promise.offered, Some(Time::from_secs(500)));
    assert!(!promise.admitted);
    let plan = simulation.engine().full_plan();
    let reason = plan.wait.iter().find(|wait| wait.job == b).expect("a verdict").reason;
    let (asked, offered) = (promise.asked, promise.offered);
    assert_eq!(reason, Reason::DeadlineNotFeasible { asked, offered });
}

/// Where it is agreed to, 500 is a promise as any other. `a` goes on and ends at 300, `b` at 400.
#[test]
fn chronus_keeps_a_renegotiated_deadline() {
    let knobs: Vec<_> = PLAIN.iter().copied().chain([("tolerate", "3.0")]).collect();
    let run = refused().run("chronus", &knobs);
    let b = run.simulation.find("b").expect("a job");
    assert_eq!(run.simulation.records()[b].promised, Some(Time::from_secs(500)));
    assert_eq!([run.end("a"), run.end("b")], [300.0, 400.0]);
}

/// Where it is not, `a` is held back from the lease at 100, which it can do without, and `b` makes
/// it after all: it would end within the lease, so it is promised GPUs until then.
#[test]
fn chronus_spares_leases_for_those_it_refused() {
    let run = refused().run("chronus", PLAIN);
    assert_eq!([run.end("a"), run.end("b")], [400.0, 200.0]);
    assert_eq!(Summary::of(&run.simulation).deadlines.missed, 0);
}

/// Two GPUs and two jobs without deadlines that use them from 0 on. `slo` must end by 300, so one
/// of them gives way at the next lease, for as long as that lasts.
#[test]
fn best_effort_runs_beside_chronus_leases_and_yields() {
    let mut table = vec![job("slo", 0, 1, 100).due(&[(300, 1)])];
    table.extend(["first", "second"].map(|name| job(name, 0, 1, 500)));
    let run = Scene::new("1x2", table).run("chronus", PLAIN);
    assert_eq!(run.stays("first"), [(0.0, 500.0, 1, 1)]);
    assert_eq!(run.stays("slo"), [(100.0, 200.0, 1, 1)]);
    assert_eq!(run.stays("second"), [(0.0, 100.0, 1, 1), (200.0, 600.0, 1, 1)]);
}

/// Two of five leases until 700 are taken. With deadlines at 300 (worth 9) and 700 (worth 4) a job
/// of three leases can only keep the second.
#[test]
fn chronus_can_admit_for_a_later_deadline() {
    let table = [
        job("large", 0, 1, 200).due(&[(300, 1)]),
        job("soft", 10, 1, 300).due(&[(300, 9), (700, 4)]),
    ];
    let scene = Scene::new("1x1", table);
    let promised = |knobs: Knobs| {
        let mut simulation = scene.simulation("chronus", knobs);
        simulation.run_until(Time::from_secs(50));
        let soft = simulation.find("soft").expect("a job");
        simulation.engine().state().job(soft).promise.expect("an answer").by()
    };
    assert_eq!(promised(PLAIN), None);
    let any: Vec<_> = PLAIN.iter().copied().chain([("admit", "any-deadline")]).collect();
    assert_eq!(promised(&any), Some(Time::from_secs(700)));
}

/// Nodes of six and four GPUs, and jobs of 3, 3, 2 and 2. Largest first on the fullest node with
/// room: the first takes the node of four, and then one of the small ones is spread. Exchanging the
/// first and the third keeps everybody together.
#[test]
fn local_search_keeps_a_batch_together() {
    let table =
        [("a", 3), ("b", 3), ("c", 2), ("d", 2)].map(|(name, gpus)| job(name, 0, gpus, 100));
    let scene = Scene::new("1x6+1x4", table);
    let spread = |knobs: Knobs| {
        let run = scene.run("chronus", knobs);
        ["a", "b", "c", "d"].into_iter().filter(|name| run.stays(name)[0].3 > 1).count()
    };
    assert_eq!(spread(&[("tries", "0")]), 1);
    assert_eq!(spread(&[]), 0);
}

/// In the authors' world starting costs half a minute, and a job without a lease starts anew every
/// 20 minutes: at 0, 20, 40 and 60 minutes.
#[test]
fn unleased_jobs_pay_every_lease_in_the_world_of_chronus() {
    let mut scene = Scene::new("1x1", [job("best", 0, 1, 3600)]);
    scene.world = WorldCard::find("chronus").expect("a world").world();
    assert_eq!(scene.run("chronus", &[]).end("best"), 3600.0 + 4.0 * 30.0);
    scene.jobs[0].spec.extras_mut().deadlines =
        vec![heeler_model::Deadline { at: Time::from_secs(7200), value: 1 }];
    assert_eq!(scene.run("chronus", &[]).end("best"), 3600.0 + 30.0, "leases are renewed for free");
}

/// Three GPUs, one of which is kept for measuring. `a` and `b` are alike: `a` is measured for 30 s
/// and promised its leases at the next look, at 30; then so is `b`, without being measured. `wide`
/// does not fit on what is kept, so it is promised its leases at once.
#[test]
fn chronus_measures_a_job_before_it_promises() {
    let table = [
        job("a", 0, 1, 200).due(&[(600, 1)]),
        job("b", 0, 1, 200).due(&[(600, 1)]),
        job("wide", 0, 2, 100).due(&[(600, 1)]),
    ];
    let knobs: Vec<_> = PLAIN.iter().copied().chain([("profile-gpus", "1")]).collect();
    let mut simulation = Scene::new("1x3", table).simulation("chronus", &knobs);
    let told = |simulation: &heeler_sim::Simulation, name: &str| {
        let id = simulation.find(name).expect("a job");
        simulation.engine().state().job(id).promise.is_some_and(|promise| promise.admitted)
    };
    simulation.run_until(Time::from_secs(25));
    assert_eq!(["a", "b", "wide"].map(|name| told(&simulation, name)), [false, false, true]);
    let running = |name: &str| {
        let id = simulation.find(name).expect("a job");
        simulation.engine().state().job(id).is_running()
    };
    assert_eq!(["a", "b"].map(running), [true, false], "one of each model and size");
    simulation.run_until(Time::from_secs(35));
    assert_eq!(["a", "b", "wide"].map(|name| told(&simulation, name)), [true; 3]);
    simulation.run();
    assert_eq!(Summary::of(&simulation).deadlines.broken, 0);
}

/// Generated jobs under a heavy load, with estimates that are exact, off by a third or so, and off
/// by a factor of three or so.
#[test]
fn chronus_breaks_promises_only_as_far_as_estimates_are_wrong() {
    let options = GeneratorOptions {
        shape: Shape::Philly,
        jobs: 300,
        load: 1.5,
        deadlines: 1.0,
        slack: (1.2, 4.0),
        seed: 1,
        ..GeneratorOptions::default()
    };
    let mut scene = Scene::generated("3x8", &options);
    scene.world = costly(30.0);
    let broken = |sigma: &str| {
        let predict = format!("{{ noisy = {{ sigma = {sigma} }} }}");
        let run = scene.run("chronus", &[("predict", &predict), ("early", "false")]);
        let deadlines = Summary::of(&run.simulation).deadlines;
        deadlines.broken as f64 / deadlines.promised as f64
    };
    let [none, some, much] = ["0.0", "0.3", "1.0"].map(broken);
    assert_eq!(none, 0.0, "no noise is the oracle");
    assert!(0.0 < some && some < much / 2.0 && some < 0.1, "{some}, {much}");
}

/// When it is submitted, its GPUs and its length; its deadlines in lengths.
type Dated = (u64, u32, u64, Option<(f64, Option<f64>)>);

fn dated_row((index, made): (usize, &Dated)) -> Row {
    let (submit_s, gpus, length_s, due) = *made;
    let row = job(&index.to_string(), submit_s, gpus, length_s);
    let Some((first, later)) = due else { return row };
    let after = |times: f64| submit_s + (length_s as f64 * times) as u64;
    let mut times = vec![(after(first), 10)];
    times.extend(later.map(|more| (after(first * more), 4)));
    row.due(&times)
}

/// Jobs of tens of seconds, with deadlines or without.
fn dated(gpus: u32) -> impl Strategy<Value = Vec<Row>> {
    let due = prop::option::weighted(0.7, (1.0f64..6.0, prop::option::of(1.2f64..3.0)));
    let made = (0u64..900, 1..=gpus, 5u64..400, due);
    prop::collection::vec(made, 1..40).prop_map(|mut made| {
        made.sort_by_key(|(submit_s, ..)| *submit_s);
        made.iter().enumerate().map(dated_row).collect()
    })
}

/// A world in which starting, going on and moving cost what the recipe assumes.
fn costly(seconds: f64) -> World {
    let cost = Cost { fixed_s: seconds, per_doubling_s: seconds, ..Cost::default() };
    let costs = Costs { start: cost, restore: cost, relocate: cost, ..Costs::default() };
    World { costs, ..World::default() }
}

proptest! {
    /// With exact predictions, and costs as assumed, no deadline is missed that was promised.
    #[test]
    fn chronus_keeps_every_promise(
        rows in dated(12),
        shape in prop::sample::select(vec!["1x8", "2x8", "3x4", "1x8:fast+2x4:slow"]),
        any in any::<bool>(),
        early in any::<bool>(),
        tolerate in prop::sample::select(vec!["1.0", "2.0"]),
        measured in prop::sample::select(vec!["0", "2"]),
    ) {
        let mut scene = Scene::new(shape, rows);
        scene.world = costly(2.0);
        if let Some(slow) = scene.cluster.kinds.get_mut(1) {
            slow.speed = Milli(500);
        }
        let admit = if any { "any-deadline" } else { "first-deadline" };
        let early = if early { "true" } else { "false" };
        let knobs = [
            ("lease", "60 s"), ("admission", "15 s"), ("tick", "5 s"), ("restart", "2 s"),
            ("admit", admit), ("early", early), ("tolerate", tolerate),
            ("profile-gpus", measured),
        ];
        let run = scene.run("chronus", &knobs);
        for record in run.simulation.records().all() {
            let late = |by| record.ended.is_none_or(|ended| ended > by);
            prop_assert!(!record.promised.is_some_and(late), "{record:?}");
        }
    }

    /// Without deadlines, and where every moment at which something happens begins a lease, it is
    /// smallest remaining service first.
    #[test]
    fn chronus_without_deadlines_is_srsf(rows in in_tens(8)) {
        let scene = Scene::new("1x8", rows);
        let every = [("lease", "10 s"), ("admission", "10 s"), ("tick", "10 s")];
        prop_assert_eq!(scene.run("chronus", &every).ends(), scene.run("srsf", &[]).ends());
    }
}

/// Whole workloads of several seeds, at the times of the paper.
#[test]
fn chronus_keeps_every_promise_of_generated_jobs() {
    for seed in 1..=4 {
        let options = GeneratorOptions {
            shape: Shape::Philly,
            jobs: 300,
            load: 1.1,
            deadlines: 0.7,
            slack: (1.2, 4.0),
            seed,
            ..GeneratorOptions::default()
        };
        let mut scene = Scene::generated("3x8", &options);
        scene.world = costly(30.0);
        let deadlines = Summary::of(&scene.run("chronus", &[]).simulation).deadlines;
        assert!(deadlines.promised > 100, "{deadlines:?}");
        assert_eq!(deadlines.broken, 0, "seed {seed}: {deadlines:?}");
    }
}

/// Ending at 80 is too late for what is worth 10 and in time for what is worth 4: six tenths of the
/// value are lost, but the last deadline is kept.
#[test]
fn later_deadlines_count_in_part() {
    let scene = Scene::new("1x1", [job("soft", 0, 1, 80).due(&[(50, 10), (100, 4)])]);
    let deadlines = Summary::of(&scene.run("fifo", &[]).simulation).deadlines;
    assert_eq!((deadlines.jobs, deadlines.missed), (1, 0));
    assert!((deadlines.value_lost - 0.6).abs() < 1e-6, "{deadlines:?}");
}
