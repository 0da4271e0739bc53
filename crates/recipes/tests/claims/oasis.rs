//! OASiS and A-online: plans are reserved at prices when jobs come, and who is not worth it is
//! refused.

use super::scene::{Knobs, Run, Scene, job};
use heeler_model::{Milli, Reason, Time};
use heeler_sim::Outcome;
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{GeneratorOptions, Shape};

/// Slots of 100 s, exact estimates, and prices that begin at nearly nothing.
const PLAIN: Knobs<'static> = &[("round", "100 s"), ("margin", "0.0"), ("floor", "0.001")];

/// Many generated jobs are a few minutes long, so slots are one.
const SHORT: Knobs<'static> = &[("round", "60 s")];

fn outcome(run: &Run, name: &str) -> Outcome {
    let id = run.simulation.find(name).expect("a job");
    run.simulation.records()[id].outcome
}

/// One GPU. `first` is reserved the slots from 0 to 300. `patient` and `hurried` come then and need
/// one slot: the next that is free begins at 300 and ends at 400. `patient` has its target at 1000
/// and is planned there; `hurried` has its target at 100 and would be worth next to nothing by
/// then, less than the slot costs.
#[test]
fn oasis_plans_around_what_is_reserved_or_refuses() {
    let table = [
        job("first", 0, 1, 300).due(&[(600, 10)]),
        job("patient", 0, 1, 100).due(&[(1000, 10)]),
        job("hurried", 0, 1, 100).due(&[(100, 10)]),
    ];
    let scene = Scene::new("1x1", table);
    let knobs: Vec<_> = PLAIN.iter().copied().chain([("steepness", "8.0")]).collect();
    let run = scene.run("oasis", &knobs);
    assert_eq!(run.stays("first"), [(0.0, 300.0, 1, 1)]);
    assert_eq!(run.stays("patient"), [(300.0, 400.0, 1, 1)]);
    assert_eq!(outcome(&run, "hurried"), Outcome::TurnedAway);
    assert_eq!(run.end("hurried"), 0.0, "it is told at once");
    let mut simulation = scene.simulation("oasis", &knobs);
    simulation.run_until(Time::from_secs(150));
    let patient = simulation.find("patient").expect("a job");
    let plan = simulation.engine().full_plan();
    let reason = plan.wait.iter().find(|wait| wait.job == patient).expect("a verdict").reason;
    let (from, by) = (Time::from_secs(300), Time::from_secs(400));
    assert_eq!(reason, Reason::Planned { from, by });
}

/// Eight GPUs, of which six are reserved from 100 to 200 for a job that can only run then. Whoever
/// comes next and may have two to eight has all eight before and after, and at most two between.
#[test]
fn oasis_varies_sizes_with_prices() {
    let table = [
        job("fixed", 0, 6, 100).due(&[(10_000, 1)]),
        job("grows", 0, 8, 150).sizes(1, 8).due(&[(400, 1000)]),
    ];
    let run = Scene::new("1x8", table).run("oasis", PLAIN);
    let sizes: Vec<u32> = run.stays("grows").iter().map(|stay| stay.2).collect();
    assert!(sizes.len() > 1, "its size changes: {sizes:?}");
    assert_eq!(sizes.iter().max(), Some(&8), "{sizes:?}");
    assert!(run.end("grows") <= 400.0);
}

/// Jobs of several values, more than the cluster can take.
fn overload(seed: u64) -> Scene {
    let options = GeneratorOptions {
        shape: Shape::Philly,
        jobs: 300,
        load: 3.0,
        deadlines: 1.0,
        slack: (1.5, 4.0),
        seed,
        ..GeneratorOptions::default()
    };
    let mut scene = Scene::generated("2x8", &options);
    for (index, job) in scene.jobs.iter_mut().enumerate() {
        for deadline in &mut job.spec.extras_mut().deadlines {
            deadline.value = 1 + (index as i64 * 37) % 50;
        }
    }
    scene
}

/// What jobs that ended were worth, by a function of how late they were in parts of the time they
/// had; and how many ended.
fn worth(scene: &Scene, recipe: &str, knobs: Knobs, of: fn(f64) -> f64) -> (f64, usize) {
    let run = scene.run(recipe, knobs);
    let (mut sum, mut ended) = (0.0, 0);
    let all = run.simulation.records().all();
    for (record, job) in all.iter().zip(&scene.jobs) {
        if record.outcome == Outcome::Finished {
            let deadline = job.spec.deadlines()[0];
            let had = deadline.at.since(record.submitted).secs_f64().max(1.0);
            let taken = record.completion().expect("it ended").secs_f64();
            sum += deadline.value as f64 * of(taken / had - 1.0);
            ended += 1;
        }
    }
    (sum, ended)
}

#[test]
fn oasis_gets_more_utility_than_fifo() {
    let sigmoid = |late: f64| 1.0 / (1.0 + (4.0 * late).exp());
    let mut sums = (0.0, 0.0);
    for seed in 1..=3 {
        let scene = overload(seed);
        let (oasis, admitted) = worth(&scene, "oasis", SHORT, sigmoid);
        let (fifo, all) = worth(&scene, "fifo-skip", &[], sigmoid);
        assert_eq!(all, scene.jobs.len());
        assert!(oasis > fifo, "seed {seed}: {oasis} of {fifo}");
        assert!(admitted < all && admitted * 2 > all, "seed {seed}: {admitted} of {all}");
        sums = (sums.0 + oasis, sums.1 + fifo);
    }
    assert!(sums.0 > 1.2 * sums.1, "{sums:?}");
}

#[test]
fn aonline_gets_more_weight_than_fifo() {
    for seed in 1..=3 {
        let scene = overload(seed);
        let weight = |late: f64| f64::from(u8::from(late <= 0.0));
        let (aonline, admitted) = worth(&scene, "aonline", SHORT, weight);
        let (fifo, all) = worth(&scene, "fifo-skip", &[], weight);
        assert!(aonline > fifo * 1.1, "seed {seed}: {aonline} of {fifo}");
        assert!(admitted < all, "seed {seed}: {admitted} of {all}");
    }
}

/// On a cluster that is large enough, everybody starts with the next slot.
#[test]
fn oasis_with_room_for_all_admits_all() {
    let run = room_for_all().run("oasis", PLAIN);
    for (index, record) in run.simulation.records().all().iter().enumerate() {
        assert_eq!(record.outcome, Outcome::Finished);
        let slot = (50 * index as u64).div_ceil(100) * 100;
        assert_eq!(record.started, Some(Time::from_secs(slot)), "job {index}");
        assert_eq!(record.preemptions, 0);
    }
}

fn room_for_all() -> Scene {
    let row = |index: u64| job(&index.to_string(), 50 * index, 1 + index as u32 % 4, 250);
    Scene::new("4x8", (0..8).map(row))
}

/// Where only the time limit counts, five lengths, slots that nobody has reserved are cheaper than
/// the next.
#[test]
fn aonline_with_room_for_all_admits_all() {
    let run = room_for_all().run("aonline", PLAIN);
    for record in run.simulation.records().all() {
        assert_eq!(record.outcome, Outcome::Finished);
        assert!(record.completion().expect("it ended").secs_f64() <= 1250.0);
    }
}

/// A fast kind and one half as fast, a GPU each. `busy` is reserved the fast one for long. `second`
/// is due late enough for the slow one, which costs less; `third` is not, and the fast one is
/// taken, so it is refused.
#[test]
fn aonline_takes_the_cheaper_kind_in_time() {
    let table = [
        job("busy", 0, 1, 500).due(&[(500, 10)]),
        job("second", 0, 1, 200).due(&[(400, 10)]),
        job("third", 0, 1, 200).due(&[(200, 10)]),
    ];
    let mut scene = Scene::new("1x1:fast+1x1:slow", table);
    scene.cluster.kinds[1].speed = Milli(500);
    let run = scene.run("aonline", PLAIN);
    assert_eq!(run.stays("busy"), [(0.0, 500.0, 1, 1)]);
    assert_eq!(run.stays("second"), [(0.0, 400.0, 1, 1)]);
    assert_eq!(outcome(&run, "third"), Outcome::TurnedAway);
}

/// Whoever is refused has missed its deadline, though it was over at once.
#[test]
fn who_is_refused_has_missed_its_deadline() {
    let late = job("late", 0, 1, 3600).due(&[(600, 1)]);
    let run = Scene::new("1x8", [late]).run("aonline", &[]);
    assert_eq!(outcome(&run, "late"), Outcome::TurnedAway);
    let deadlines = Summary::of(&run.simulation).deadlines;
    assert_eq!((deadlines.jobs, deadlines.missed), (1, 1));
}

/// A job that is much shorter than a slot is not refused where nobody else is.
#[test]
fn short_jobs_are_not_refused_on_an_empty_cluster() {
    for recipe in ["oasis", "aonline"] {
        for length_s in [1, 60, 150, 700] {
            let run = Scene::new("1x8", [job("short", 0, 1, length_s)]).run(recipe, &[]);
            assert_eq!(outcome(&run, "short"), Outcome::Finished, "{recipe} {length_s}");
        }
    }
}
