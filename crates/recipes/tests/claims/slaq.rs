//! SLAQ and JPAS: by how fast losses fall.

use super::scene::{Scene, job, rows};
use heeler_sim::LossCurve;
use proptest::prelude::*;

/// The first job has nearly converged when the second comes.
#[test]
fn slaq_favours_who_still_learns() {
    let old = job("old", 0, 1, 40_000).sizes(1, 8).loss(4.0, 0.5, 60.0, 80);
    let young = job("young", 900, 1, 8000).sizes(1, 8).loss(9.0, 0.5, 60.0, 80);
    let seen = Scene::new("1x8", [old, young]).run("slaq", &[]);
    assert_eq!(seen.stays("old")[0].2, 8, "alone it has all it can use");
    // Once enough of its losses were seen.
    let at = |name: &str, time: f64| {
        let stays = seen.stays(name).into_iter();
        stays.filter(|(from, until, ..)| *from <= time && time < *until).map(|s| s.2).sum::<u32>()
    };
    assert!(at("young", 1020.0) > at("old", 1020.0), "{:?}", seen.stays("young"));
}

/// One loss stands still and one rises; that was seen often enough after a while. Neither is a
/// newcomer any more, of which much is hoped: they keep the least they can use, also beside a job
/// that has come later and learns little by now.
#[test]
fn slaq_gives_nothing_beyond_the_least_to_who_learns_nothing() {
    let flat = job("flat", 0, 1, 40_000).sizes(1, 8).loss(3.0, 3.0, 10.0, 400);
    let worse = job("worse", 0, 1, 40_000).sizes(1, 8).loss(3.0, 4.0, 10.0, 400);
    let young = job("young", 900, 1, 8000).sizes(1, 8).loss(9.0, 0.5, 60.0, 80);
    let seen = Scene::new("1x8", [flat, worse, young]).run("slaq", &[]);
    let at = |name: &str, time: f64| {
        let stays = seen.stays(name).into_iter();
        stays.filter(|(from, until, ..)| *from <= time && time < *until).map(|s| s.2).sum::<u32>()
    };
    assert_eq!(["flat", "worse"].map(|name| at(name, 30.0)), [4, 4], "newcomers");
    assert_eq!(["flat", "worse"].map(|name| at(name, 890.0)), [1, 1]);
    assert_eq!(["flat", "worse", "young"].map(|name| at(name, 1500.0)), [1, 1, 6]);
}

/// The mean time from submission until nine tenths of a job's loss are gone.
fn good_after_s(scene: &Scene, recipe: &str, knobs: &[(&str, &str)]) -> f64 {
    let curves: Vec<LossCurve> = scene.jobs.iter().map(|job| job.loss.expect("a curve")).collect();
    let mut good: Vec<Option<f64>> = vec![None; curves.len()];
    scene.watch(recipe, knobs, |simulation| {
        for (index, curve) in curves.iter().enumerate() {
            let submitted = scene.jobs[index].submit;
            let Some(record) = simulation.records().all().get(index) else { continue };
            let state = simulation.engine().state();
            let job = state.jobs().get(heeler_model::JobId(index as u32));
            let done = job.map_or(record.work, |job| job.progress.done_at(simulation.now()));
            if done >= record.work * curve.part_by(0.9) && good[index].is_none() {
                good[index] = Some(simulation.now().since(submitted).secs_f64());
            }
        }
    });
    let all: Vec<f64> = good.into_iter().map(|seconds| seconds.expect("it got good")).collect();
    all.iter().sum::<f64>() / all.len() as f64
}

#[test]
fn slaq_makes_models_good_sooner_than_equal_parts() {
    let jobs = (0..12u64).map(|index| {
        let length = 3000 + 700 * (index * 5 % 7);
        let bend = [4.0, 20.0, 60.0][index as usize % 3];
        job(&index.to_string(), 400 * index, 1, length).sizes(1, 8).loss(5.0, 0.5, bend, 60)
    });
    let scene = Scene::new("1x8", jobs);
    let slaq = good_after_s(&scene, "slaq", &[]);
    let equal = good_after_s(&scene, "dorm", &[("disturbed", "1.0"), ("round", "60 s")]);
    assert!(slaq < 0.9 * equal, "{slaq} s, {equal} s with equal parts");
}

#[test]
fn slaq_without_losses_shares_equally() {
    let jobs = (0..4).map(|index| job(&format!("{index}"), 0, 1, 600).sizes(1, 8));
    let seen = Scene::new("1x8", jobs).run("slaq", &[]);
    for index in 0..4 {
        assert_eq!(seen.stays(&index.to_string())[0].2, 2);
    }
}

/// Both report often. After a while the loss of the first falls more slowly.
#[test]
fn jpas_lets_who_learns_faster_go_first() {
    let slow = job("slow", 0, 1, 4000).loss(5.0, 4.0, 200.0, 100);
    let fast = job("fast", 600, 1, 4000).loss(5.0, 0.5, 3.0, 100);
    let seen = Scene::new("1x1", [slow, fast]).run("jpas", &[]);
    assert_eq!(seen.stays("slow")[0].1, 600.0, "a newcomer is seen first");
    assert!(seen.end("fast") < seen.end("slow"));
    let had = seen.stays("fast").iter().map(|stay| stay.1 - stay.0).fold(0.0, f64::max);
    assert!(had > 3000.0, "{:?}", seen.stays("fast"));
}

/// A job came first and was seen for ten minutes: what it gets wrong stays as it is, or grows. Then
/// somebody comes who learns, and has the GPU until it is done, at 4600 s. The round is over at
/// 4800 s.
#[test]
fn jpas_lets_who_learns_pass_who_does_not() {
    for last in [3.0, 4.0] {
        let stuck = job("stuck", 0, 1, 4000).loss(3.0, last, 10.0, 40);
        let learns = job("learns", 600, 1, 4000).loss(5.0, 0.5, 3.0, 100);
        let seen = Scene::new("1x1", [stuck, learns]).run("jpas", &[]);
        assert_eq!((seen.start("learns"), seen.end("learns")), (600.0, 4600.0), "{last}");
        assert_eq!(seen.end("stuck"), 8200.0);
    }
}

/// It is waited for four intervals of ten minutes that a job says something. It goes on when the
/// round is over in which the other was done, at 6600 s.
#[test]
fn jpas_waits_so_long_for_a_job_to_report() {
    let silent = job("silent", 0, 1, 20_000);
    let learns = job("learns", 600, 1, 4000).loss(5.0, 0.5, 3.0, 100);
    let seen = Scene::new("1x1", [silent, learns]).run("jpas", &[]);
    assert_eq!((seen.start("learns"), seen.end("learns")), (2400.0, 6400.0));
    assert_eq!(seen.end("silent"), 24_200.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn jpas_without_losses_is_fifo_skip(rows in rows(8, 3, 12)) {
        let scene = Scene::new("2x4", rows);
        let event = ("cadence", "event");
        let (jpas, fifo) = (scene.run("jpas", &[event]), scene.run("fifo-skip", &[]));
        prop_assert_eq!(jpas.ends(), fifo.ends());
    }
}

/// Scores mean the same for all: after sixty steps, one rises by 0.22 in the next sixty, the other,
/// which is slower from the start, by 0.05.
#[test]
fn jpas_compares_scores_as_they_are() {
    let score = |tau: f64| move |step: u32| 0.9 * (1.0 - (-f64::from(step) / tau).exp());
    let scores = |tau: f64| (1..=1000).map(score(tau)).collect::<Vec<f64>>();
    let fast = job("fast", 0, 1, 1000).trial(&scores(100.0));
    let slow = job("slow", 0, 1, 1000).trial(&scores(1000.0));
    let knobs = &[("cadence", "{ round = '60 s' }"), ("interval", "60 s")];
    let seen = Scene::new("1x1", [slow, fast]).run("jpas", knobs);
    assert_eq!(seen.stays("slow")[0].1, 60.0, "then the other has to be seen");
    let (from, until, ..) = seen.stays("fast")[0];
    assert!(from == 60.0 && until >= 240.0, "it rises faster for a while: {from} {until}");
}
