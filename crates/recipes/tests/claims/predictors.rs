//! Predictors with any order: they use nothing of what is to come, they go on as if nothing had
//! happened when they are restored, and they say how well they did.

use super::scene::{Scene, Stay, job};
use heeler_model::{Time, Truth};
use heeler_recipes::{Card, all, find};
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{GeneratorOptions, Shape};

/// All that learn.
const LEARNT: [&str; 6] = [
    "{ mean = { by = 'user' } }",
    "{ mean = { by = 'user-name' } }",
    "{ mean = { by = 'user-name-gpus' } }",
    "names",
    "trees",
    "{ blend = { names = 0.1 } }",
];

fn scene() -> Scene {
    let shape = Shape::Helios;
    let options = GeneratorOptions { shape, jobs: 400, load: 1.2, seed: 7, ..Default::default() };
    Scene::generated("3x8", &options)
}

/// Who got GPUs before a time, and when and where.
fn before(stays: &[Stay], until: Time) -> Vec<(Time, heeler_model::JobId, Vec<u32>)> {
    let early = stays.iter().filter(|stay| stay.from < until);
    let mut early: Vec<_> = early.map(|stay| (stay.from, stay.job, stay.nodes.clone())).collect();
    early.sort();
    early
}

/// The same until a time: what ends later runs three times as long, and what comes later is of
/// another length and size.
#[test]
fn predictors_use_nothing_of_what_is_to_come() {
    for (recipe, predict) in LEARNT.iter().flat_map(|word| [("qssf", word), ("srtf", word)]) {
        let knobs = &[("predict", *predict)];
        let scene = scene();
        let until = scene.jobs[scene.jobs.len() / 2].submit;
        let first = scene.run(recipe, knobs);
        let mut other = scene.clone();
        let mut changed = 0;
        for (job, end) in other.jobs.iter_mut().zip(first.ends()) {
            if end.is_none_or(|end| end >= until) {
                let work = job.work() * 3.0;
                job.spec = job.spec.clone().with_truth(Truth { work });
                changed += 1;
            }
            if job.submit >= until {
                job.spec.demand = heeler_model::Demand::gpus(1 + job.spec.demand.asked() % 4);
            }
        }
        assert!(changed > 100, "{changed}");
        let second = other.run(recipe, knobs);
        let (first, second) = (before(&first.stays, until), before(&second.stays, until));
        assert!(first.len() > 50, "there was something to decide");
        assert_eq!(first, second, "{recipe} with {predict}");
    }
}

#[test]
fn predictors_go_on_when_restored() {
    for predict in LEARNT.iter().chain(&["helios-errors", "declared"]) {
        let settings = [("predict".to_string(), predict.to_string())];
        let card = Card::read_with(find("qssf").expect("a card").text, "qssf", &settings);
        let card = card.expect("a card");
        let mut simulation = scene().simulation("qssf", &[("predict", predict)]);
        for _ in 0..500 {
            simulation.advance(Time::MAX);
        }
        let mut other = simulation.fork();
        other.restart(card.build());
        simulation.run();
        other.run();
        let known = |of: &heeler_sim::Simulation| {
            let ends: Vec<_> = of.records().all().iter().map(|record| record.ended).collect();
            (ends, Summary::of(of).predictions)
        };
        assert_eq!(known(&simulation), known(&other), "{predict}");
    }
}

/// Every predictor there is.
const ALL: [&str; 9] = [
    "oracle",
    "declared",
    "{ noisy = { sigma = 0.5 } }",
    "helios-errors",
    "{ mean = { by = 'user-name-gpus' } }",
    "names",
    "trees",
    "{ blend = { names = 0.1 } }",
    "{ convergence = { settled = 0.01 } }",
];

/// Whatever their loop, recipes take any predictor, let it learn from every job that ends, and keep
/// what it knows when they are restored in the middle.
#[test]
fn every_recipe_that_predicts_takes_any_predictor() {
    let shape = Shape::Helios;
    let options = GeneratorOptions { shape, jobs: 60, load: 1.0, seed: 3, ..Default::default() };
    let scene = Scene::generated("2x4", &options);
    let read = |recipe: &str, predict: &str| {
        let settings = [("predict".to_string(), predict.to_string())];
        let card = Card::read_with(find(recipe).expect("a card").text, recipe, &settings);
        card.unwrap_or_else(|error| panic!("{recipe} with {predict}: {error}"))
    };
    let has_knob = |text: &str| {
        let card = Card::read(text, "a card").expect("a card");
        card.knob.iter().any(|knob| knob.name == "predict")
    };
    let recipes: Vec<&str> =
        all().iter().filter(|card| has_knob(card.text)).map(|card| card.name).collect();
    assert!(recipes.len() > 20, "{recipes:?}");
    for recipe in recipes {
        for predict in ALL {
            read(recipe, predict);
        }
        let mean = ALL[4];
        let mut simulation = scene.simulation(recipe, &[("predict", mean)]);
        for _ in 0..120 {
            simulation.advance(Time::MAX);
        }
        let mut other = simulation.fork();
        other.restart(read(recipe, mean).build());
        simulation.run();
        other.run();
        let ends = |of: &heeler_sim::Simulation| -> Vec<_> {
            of.records().all().iter().map(|record| record.ended).collect()
        };
        assert_eq!(ends(&simulation), ends(&other), "{recipe}");
        let known = Summary::of(&simulation).predictions;
        assert_eq!(known, Summary::of(&other).predictions, "{recipe}");
        let seen = known.iter().find(|known| known.predictor == "mean");
        let seen = seen.map_or(0, |known| known.seen);
        // Some refuse most of these jobs.
        assert!(seen > 0, "{recipe}: {seen} jobs");
    }
}

/// Twenty jobs of 100 s that all declare 200 s: the declared time is wrong by a factor of two, and
/// what was learnt is right after the first.
#[test]
fn predictors_say_how_well_they_did() {
    let rows = (0..20)
        .map(|index| job(&index.to_string(), index * 1000, 1, 100).named("same").declares(200));
    let scene = Scene::new("1x1", rows.collect::<Vec<_>>());
    let known = |predict: &str| {
        let run = scene.run("sjf", &[("predict", predict)]);
        let mut all = Summary::of(&run.simulation).predictions;
        assert_eq!(all.len(), 1, "one predictor");
        all.remove(0)
    };
    let declared = known("declared");
    assert_eq!((declared.seen, declared.unknown), (20, 0));
    assert!((declared.factor - 2.0).abs() < 1e-9 && (declared.ratio_p50 - 2.0).abs() < 1e-9);
    let [band] = &declared.bands[..] else { panic!("one band: {declared:?}") };
    assert!((band.predicted - 200.0).abs() < 1e-6 && (band.was - 100.0).abs() < 1e-6);
    let mean = known("{ mean = { by = 'user-name-gpus' } }");
    assert!(mean.factor < 1.1, "only the first was declared: {}", mean.factor);
    assert!(known("oracle").is_exact());
}

/// On jobs that are run again and again, learning comes close to knowing; on any, it is better than
/// taking all jobs for equal.
#[test]
fn learning_from_repeated_jobs_comes_close_to_knowing() {
    let lengths = [30u64, 300, 3000, 90, 900];
    let rows = (0..600u64).map(|index| {
        let length = lengths[(index * 7 % 5) as usize];
        let jitter = 1 + index * 31 % (length / 10);
        let name = format!("kind{length}-run{}", index % 3);
        job(&index.to_string(), index * 50, 1, length + jitter).named(&name).declares(10_000)
    });
    let scene = Scene::new("1x16", rows.collect::<Vec<_>>());
    let mean_s = |predict| scene.run("sjf", &[("predict", predict)]).mean_s();
    let (exact, equal) = (mean_s("oracle"), mean_s("declared"));
    assert!(equal > 1.3 * exact, "there is something to learn: {equal} against {exact}");
    let words = ["{ mean = { by = 'user-name-gpus' } }", "names", "{ blend = { names = 0.1 } }"];
    for predict in words {
        let learnt = mean_s(predict);
        assert!(learnt < 1.1 * exact, "{predict}: {learnt} against {exact}, {equal}");
    }
}
