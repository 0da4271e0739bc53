//! Recipes that need no durations. A recipe that decides without them cannot tell two workloads
//! apart before something has ended that tells them apart: if all jobs that are not done by some
//! time were longer, some more than others, everything up to that time would be the same.

use super::scene::{Run, Scene, Stay};
use heeler_model::{Span, Time, Truth};
use heeler_recipes::{Card, all};
use heeler_sim::workload::{GeneratorOptions, Shape};

/// Who was where before a time.
fn before(run: &Run, until: Time) -> Vec<Stay> {
    let early = run.stays.iter().filter(|stay| stay.from < until).cloned();
    let mut stays: Vec<Stay> =
        early.map(|stay| Stay { until: stay.until.min(until), ..stay }).collect();
    stays.sort();
    stays
}

/// How many of some moments a recipe foresaw: what it did before depends on how long jobs ran
/// after.
fn foreseen(recipe: &str) -> usize {
    let shape = Shape::Helios;
    let options = GeneratorOptions { shape, jobs: 150, load: 2.0, seed: 3, ..Default::default() };
    let mut scene = Scene::generated("2x8", &options);
    for job in &mut scene.jobs {
        // Nobody says how long it runs.
        job.spec.declared = None;
    }
    let run = scene.run(recipe, &[]);
    let ends = run.ends();
    let mut sorted = ends.clone();
    sorted.sort();
    let cuts = [10, 40, 75, 110, 140].map(|index: usize| sorted[index].expect("every job ends"));
    let foreseen = cuts.into_iter().filter(|cut| {
        let mut longer = scene.clone();
        for (index, (job, end)) in longer.jobs.iter_mut().zip(&ends).enumerate() {
            if end.is_some_and(|end| end > *cut) {
                let times = 1 + index % 5 * 7;
                let truth = Truth { work: job.work() * times as f64 };
                job.spec = job.spec.clone().with_truth(truth);
            }
        }
        before(&run, *cut) != before(&longer.run(recipe, &[]), *cut)
    });
    foreseen.count()
}

#[test]
fn las_needs_no_durations() {
    assert_eq!(foreseen("las"), 0);
}

#[test]
fn tiresias_needs_no_durations() {
    assert_eq!(foreseen("tiresias"), 0);
}

#[test]
fn other_recipes_without_durations_need_none_either() {
    for recipe in ["fifo", "fifo-skip", "tiresias-gittins", "smallest", "capacity", "elastic"] {
        assert_eq!(foreseen(recipe), 0, "{recipe}");
    }
}

#[test]
fn recipes_that_ask_the_oracle_foresee() {
    for recipe in ["sjf", "srtf", "srsf"] {
        assert!(foreseen(recipe) > 0, "{recipe}");
    }
}

#[test]
fn muri_l_needs_no_durations() {
    assert_eq!(foreseen("muri-l"), 0);
}

/// What owners declare can only count where a recipe says that it looks at it: with other declared
/// times all jobs are where they were.
#[test]
fn recipes_that_do_not_say_so_do_not_look_at_declared_times() {
    let shape = Shape::Helios;
    let options = GeneratorOptions { shape, jobs: 60, load: 2.0, seed: 5, ..Default::default() };
    let scene = Scene::generated("2x8", &options);
    let mut other = scene.clone();
    for (index, job) in other.jobs.iter_mut().enumerate() {
        job.spec.declared = Some(Span::from_secs(60 + (index as u64 * 7919) % 100_000));
    }
    let mut looking = Vec::new();
    for recipe in all() {
        let card = Card::read(recipe.text, recipe.name).expect("a card");
        let ever = Time::from_secs(u64::from(u32::MAX));
        let same = || {
            let runs = [&scene, &other].map(|scene| before(&scene.run(recipe.name, &[]), ever));
            runs[0] == runs[1]
        };
        match card.goes_by_declared() {
            true => looking.push(recipe.name),
            false => assert!(same(), "{} looks at declared times", recipe.name),
        }
    }
    for known in ["fifo-easy", "qssf", "helios-ces", "lucid", "heeler", "slaq", "optimus"] {
        assert!(looking.contains(&known), "{known}: {looking:?}");
    }
}
