//! Successive halving as trials come.

use super::scene::{Knobs, Run, Scene, job};
use heeler_model::{JobId, Reason, Time};
use heeler_sim::Outcome;
use heeler_sim::metrics::{StudySummary, Summary};
use heeler_sim::workload::GeneratorOptions;

const HALVES: Knobs = &[("eta", "2")];

fn study(run: &Run) -> StudySummary {
    Summary::of(&run.simulation).studies[0].clone()
}

fn outcome(run: &Run, name: &str) -> Outcome {
    run.simulation.records()[run.simulation.find(name).expect("a job")].outcome
}

/// One GPU, rungs after 1, 2, 4, … iterations, one of two goes on. `c` is second of four when `d`
/// has come to the first rung, so it goes on before `e` has started; its score at the second rung
/// is the best of two, so it goes on once more.
#[test]
fn asha_promotes_before_it_starts() {
    let rows = [
        job("a", 0, 1, 4).trial(&[0.1]),
        job("b", 0, 1, 4).trial(&[0.4, 0.5]),
        job("c", 0, 1, 4).trial(&[0.3, 0.6, 0.7, 0.8]),
        job("d", 0, 1, 4).trial(&[0.2]),
        job("e", 0, 1, 4).trial(&[0.05]),
    ];
    let run = Scene::new("1x1", rows).run("asha", HALVES);
    assert_eq!(run.stays("a"), [(0.0, 1.0, 1, 1)]);
    assert_eq!(run.stays("b"), [(1.0, 3.0, 1, 1)]);
    assert_eq!(run.stays("c"), [(3.0, 4.0, 1, 1), (5.0, 8.0, 1, 1)]);
    assert_eq!(run.stays("d"), [(4.0, 5.0, 1, 1)]);
    assert_eq!(run.stays("e"), [(8.0, 9.0, 1, 1)]);
    // When nobody is left who could go on, the paused are over.
    for name in ["a", "b", "d", "e"] {
        assert_eq!((outcome(&run, name), run.end(name)), (Outcome::StoppedEarly, 9.0), "{name}");
    }
    assert_eq!(outcome(&run, "c"), Outcome::Finished);
    let study = study(&run);
    assert_eq!((study.pauses, study.promotions, study.iterations), (5, 1, 9));
    assert_eq!((study.finished, study.stopped_early, study.best), (1, 4, Some(0.8)));
    assert_eq!(run.preemptions(), 0, "a pause is no preemption");
}

/// At 4 s a GPU is free for one of two: `b` could be promoted from the second rung and `a` from the
/// first. (`y` had to wait for `e`, came first, and takes the other GPU.)
#[test]
fn asha_promotes_from_the_highest_rung_first() {
    let rows = [
        job("y", 0, 1, 9),
        job("a", 0, 1, 3).trial(&[0.2]),
        job("b", 0, 1, 3).trial(&[0.4, 0.5]),
        job("c", 0, 1, 3).trial(&[0.3, 0.1]),
        job("d", 0, 1, 3).trial(&[0.15]),
        job("g", 0, 1, 3).trial(&[0.02]),
        job("e", 0, 1, 1).trial(&[0.05]),
    ];
    let mut scene = Scene::new("1x2", rows);
    scene.jobs[0].spec.extras_mut().after = vec![JobId(6)];
    let run = scene.run("asha", HALVES);
    assert_eq!(run.stays("y"), [(4.0, 13.0, 1, 1)]);
    assert_eq!(run.stays("b"), [(0.0, 2.0, 1, 1), (4.0, 5.0, 1, 1)]);
    assert_eq!(run.stays("a"), [(0.0, 1.0, 1, 1), (5.0, 6.0, 1, 1)]);
}

/// What a paused trial is told.
#[test]
fn a_paused_trial_knows_its_place() {
    let scores = [0.3, 0.1, 0.2, 0.05, 0.15];
    let rows = scores.map(|score| job(&format!("t{score}"), 0, 1, 9).trial(&[score]));
    let scene = Scene::new("1x1", rows);
    let mut simulation = scene.simulation("asha", &[]);
    simulation.run_until(Time::from_secs_f64(3.5));
    let job = simulation.find("t0.1").expect("a job");
    let expected = Reason::PausedAtRung { rung: 1, rank: 3, of: 3, keeps: 0 };
    let heeler_engine::Verdict::Waits { reason, .. } = simulation.engine().why(job) else {
        panic!("it waits")
    };
    assert_eq!(reason, expected);
}

/// A job that follows a trial goes on when the trial is over, as if it had finished.
#[test]
fn followers_of_a_trial_that_is_over_go_on() {
    let rows =
        [job("a", 0, 1, 9).trial(&[0.1]), job("b", 0, 1, 9).trial(&[0.2]), job("next", 0, 1, 5)];
    let mut scene = Scene::new("1x1", rows);
    scene.jobs[2].spec.extras_mut().after = vec![JobId(0), JobId(1)];
    let run = scene.run("asha", &[]);
    assert_eq!((run.start("next"), run.end("next")), (2.0, 7.0));
}

fn hundred(seed: u64) -> Scene {
    let options = GeneratorOptions { jobs: 0, trials: 100, seed, ..GeneratorOptions::default() };
    Scene::generated("1x8", &options)
}

#[test]
fn asha_finds_a_good_trial_in_a_tenth_of_the_time() {
    for seed in 1..=3 {
        let scene = hundred(seed);
        let (all, some) = (study(&scene.run("fifo", &[])), study(&scene.run("asha", &[])));
        let (best, found) = (all.best.expect("scores"), some.best.expect("scores"));
        assert_eq!((all.finished, all.iterations), (100, 20_000));
        assert!(found > 0.9 * best, "{found} of {best}");
        assert!(some.gpu_hours < 0.1 * all.gpu_hours, "{} hours", some.gpu_hours);
        assert_eq!(some.finished + some.stopped_early, 100);
    }
}

/// The time until a score is first beaten, with so many workers.
fn time_to(score: f64, workers: &str, seed: u64) -> f64 {
    let knobs = [("workers", workers), ("leftover", "resume")];
    let study = study(&hundred(seed).run("asha", &knobs));
    let first = study.best_over_time.iter().find(|best| best.score > score);
    first.expect("some trial is that good").from_s
}

#[test]
fn asha_scales_with_its_workers() {
    let total = |workers| (1..=4).map(|seed| time_to(0.8, workers, seed)).sum::<f64>();
    let times = ["2", "4", "8"].map(total);
    for pair in times.windows(2) {
        let gain = pair[0] / pair[1];
        assert!((1.6..=2.4).contains(&gain), "{times:?}");
    }
}

#[test]
fn asha_without_rungs_is_fifo() {
    let scene = hundred(5);
    let (asha, fifo) = (scene.run("asha", &[("first", "1000")]), scene.run("fifo", &[]));
    assert_eq!(asha.ends(), fifo.ends());
    assert_eq!(study(&asha).pauses, 0);
}

/// The first to come to a rung goes on; `c` is below the cut-off 0.3 of those before it.
#[test]
fn asha_can_stop_instead_of_pausing() {
    let rows = [
        job("a", 0, 1, 4).trial(&[0.2]),
        job("b", 0, 1, 4).trial(&[0.4]),
        job("c", 0, 1, 4).trial(&[0.25]),
        job("d", 0, 1, 4).trial(&[0.5, 0.1]),
    ];
    let run = Scene::new("1x1", rows).run("asha", &[("eta", "2"), ("variant", "stop")]);
    assert_eq!(["a", "b", "c", "d"].map(|name| run.end(name)), [4.0, 8.0, 9.0, 11.0]);
    assert_eq!(outcome(&run, "c"), Outcome::StoppedEarly);
    let study = study(&run);
    assert_eq!((study.pauses, study.promotions), (0, 0));
    assert_eq!((study.finished, study.stopped_early), (2, 2));
}

/// A trial that has had `most` iterations is over, and idle GPUs may take up the others again.
#[test]
fn asha_ends_trials_at_the_most_and_resumes_the_rest() {
    let rows = [job("a", 0, 1, 9).trial(&[0.2]), job("b", 0, 1, 9).trial(&[0.4])];
    let knobs = [("eta", "2"), ("most", "4"), ("leftover", "resume")];
    let run = Scene::new("1x1", rows).run("asha", &knobs);
    assert_eq!(study(&run).iterations, 8);
    assert_eq!((study(&run).stopped_early, run.end("b").max(run.end("a"))), (2, 8.0));
}
