//! Generated workloads have the statistics that were published of the clusters they are like, meet
//! the load they were asked for, and are determined by their options alone.
//!
//! `cargo test -p heeler-sim --test generators figures -- --nocapture` prints what was published
//! beside what is generated.

mod figures;
mod survey;

use heeler_engine::{Engine, Rules};
use heeler_model::{Cluster, Span, TenantId, Time};
use heeler_recipes::Card;
use heeler_sim::workload::{
    Arrivals, Generator, GeneratorOptions, Shape, Stream, TraceJob, UnknownShape,
};
use heeler_sim::world::World;
use heeler_sim::{Outcome, Record, Simulation};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use survey::{Survey, duration_s, quantile};

const JOBS: usize = 200_000;
const GPUS: u32 = 4_096;

fn options(shape: Shape, seed: u64) -> GeneratorOptions {
    GeneratorOptions { shape, jobs: JOBS, gpus: GPUS, seed, ..GeneratorOptions::default() }
}

fn generator(options: &GeneratorOptions) -> Generator {
    Generator::new(options).expect("the options are fine")
}

fn jobs(mut arrivals: impl Arrivals) -> Vec<TraceJob> {
    std::iter::from_fn(|| arrivals.next_job()).collect()
}

fn few(shape: Shape) -> GeneratorOptions {
    GeneratorOptions { jobs: 5_000, ..options(shape, 7) }
}

#[test]
fn the_load_is_what_was_asked_for() {
    for shape in Shape::ALL {
        for (seed, load, jobs) in [(1, 0.8, JOBS), (2, 0.8, JOBS), (3, 0.5, 100_000)] {
            let found =
                Survey::new(&GeneratorOptions { load, jobs, ..options(shape, seed) }).load();
            println!("{shape}, seed {seed}: {found:.4} for {load}");
            assert!((found / load - 1.0).abs() < 0.05, "{shape}: {found} for {load}");
        }
        // A span of half a day, which begins at night.
        let large =
            GeneratorOptions { gpus: 1_000_000, max_gpus: Some(1_024), ..options(shape, 1) };
        let generator = generator(&large);
        let expected = generator.expected_span().secs_f64();
        let last = jobs(generator).pop().expect("there are jobs").submit.secs_f64();
        assert!((last / expected - 1.0).abs() < 0.05, "{shape}: {last} for {expected}");
    }
}

#[test]
fn equal_options_give_equal_jobs_and_other_seeds_others() {
    for shape in Shape::ALL {
        let all = jobs(generator(&few(shape)));
        assert_eq!(all.len(), 5_000);
        assert!(all.is_sorted_by_key(|job| job.submit), "{shape}");
        assert_eq!(all, jobs(generator(&few(shape))), "{shape}");
        let other = jobs(generator(&GeneratorOptions { seed: 8, ..few(shape) }));
        let same = all.iter().zip(&other).filter(|(a, b)| a.spec == b.spec).count();
        assert!(same < 500, "{shape}: {same} jobs are the same");
        assert!(all.iter().zip(&other).all(|(a, b)| a.submit != b.submit), "{shape}");
    }
}

/// What each stream draws, so that one can see what another seed for it changes.
type Drawn = (Vec<Time>, Vec<u32>, Vec<f64>, Vec<TenantId>, Vec<Option<Span>>);

fn drawn(generator: Generator) -> Drawn {
    let jobs = jobs(generator);
    (
        jobs.iter().map(|job| job.submit).collect(),
        jobs.iter().map(|job| job.spec.demand.asked()).collect(),
        jobs.iter().map(duration_s).collect(),
        jobs.iter().map(|job| job.spec.tenant).collect(),
        jobs.iter().map(|job| job.spec.declared).collect(),
    )
}

#[test]
fn each_thing_has_a_stream_of_its_own() {
    for shape in Shape::ALL {
        let first = drawn(generator(&few(shape)));
        let anew = |stream| drawn(generator(&few(shape)).reseeded(stream, 99));
        let sizes = anew(Stream::Sizes);
        assert_eq!(sizes.0, first.0, "{shape}: other sizes at the same times");
        assert_ne!(sizes.1, first.1, "{shape}");
        let durations = anew(Stream::Durations);
        assert_eq!((&durations.0, &durations.1), (&first.0, &first.1), "{shape}");
        assert_ne!(durations.2, first.2, "{shape}");
        let arrivals = anew(Stream::Arrivals);
        assert_ne!(arrivals.0, first.0, "{shape}");
        assert_eq!((arrivals.1, arrivals.2), (first.1.clone(), first.2.clone()), "{shape}");
        let tenants = anew(Stream::Tenants);
        assert_ne!(tenants.3, first.3, "{shape}");
        assert_eq!((&tenants.2, &tenants.4), (&first.2, &first.4), "{shape}");
        let declared = anew(Stream::Declared);
        assert_ne!(declared.4, first.4, "{shape}");
        assert_eq!((&declared.0, &declared.3), (&first.0, &first.3), "{shape}");
    }
}

#[test]
fn optional_parts_change_nothing_else() {
    for shape in Shape::ALL {
        let plain = jobs(generator(&few(shape)));
        let full = jobs(generator(&GeneratorOptions {
            elastic: 0.3,
            deadlines: 0.2,
            dependencies: 0.1,
            ..few(shape)
        }));
        let share = |which: &dyn Fn(&TraceJob) -> bool| {
            full.iter().filter(|job| which(job)).count() as f64 / full.len() as f64
        };
        let whole = share(&|job| job.spec.demand.share.is_whole());
        let elastic = share(&|job| !job.spec.demand.sizes.is_rigid());
        assert!((elastic - 0.3 * whole).abs() < 0.03, "{shape}: {elastic}");
        let late = share(&|job| !job.spec.deadlines().is_empty());
        assert!((late - 0.2).abs() < 0.03, "{shape}: {late}");
        let after = share(&|job| !job.spec.after().is_empty());
        assert!((after - 0.1).abs() < 0.03, "{shape}: {after}");
        for (number, (job, plain)) in full.iter().zip(&plain).enumerate() {
            assert_eq!((job.submit, duration_s(job)), (plain.submit, duration_s(plain)));
            let sizes = job.spec.demand.sizes;
            assert_eq!(sizes.asked, plain.spec.demand.asked());
            assert!(sizes.min <= sizes.asked && sizes.asked <= sizes.max && sizes.max <= 1_024);
            for deadline in job.spec.deadlines() {
                let factor = deadline.at.since(job.submit).secs_f64() / duration_s(job);
                assert!((1.499..=4.001).contains(&factor), "{factor}");
            }
            assert!(
                job.spec
                    .after()
                    .iter()
                    .all(|earlier| { earlier.index() < number && earlier.index() + 32 >= number })
            );
        }
        assert!(plain.iter().all(|job| {
            job.spec.deadlines().is_empty()
                && job.spec.after().is_empty()
                && job.spec.demand.sizes.is_rigid()
        }));
    }
}

#[test]
fn forks_go_on_alike_and_by_themselves() {
    for shape in Shape::ALL {
        let mut first = generator(&few(shape));
        for _ in 0..1_234 {
            first.next_job();
        }
        assert_eq!(first.remaining(), Some(5_000 - 1_234));
        let mut fork = first.fork();
        for _ in 0..100 {
            fork.next_job();
        }
        let rest = jobs(first.clone());
        assert_eq!(rest, jobs(first), "the fork took nothing away");
        let of_fork: Vec<TraceJob> = std::iter::from_fn(|| fork.next_job()).collect();
        assert_eq!(of_fork, rest[100..], "{shape}");
        assert_eq!(fork.remaining(), Some(0));
    }
}

#[test]
fn gangs_fit_into_the_cluster() {
    for shape in Shape::ALL {
        for (gpus, max_gpus, largest) in [(64, None, 16), (4, None, 1), (100, Some(50), 48)] {
            let options = GeneratorOptions { gpus, max_gpus, ..few(shape) };
            let sizes: BTreeSet<u32> =
                jobs(generator(&options)).iter().map(|job| job.spec.demand.asked()).collect();
            assert!(sizes.iter().all(|size| (1..=largest).contains(size)), "{shape}: {sizes:?}");
        }
    }
}

#[test]
fn declared_times_are_too_long_and_round() {
    for shape in Shape::ALL {
        let mut values: BTreeMap<Span, u32> = BTreeMap::new();
        let mut ratios = Vec::new();
        for job in jobs(generator(&few(shape))) {
            let declared = job.spec.declared.expect("every job declares a time");
            let ratio = duration_s(&job) / declared.secs_f64();
            assert!(ratio <= 1.0, "{shape}: nobody asks for too little");
            ratios.push(ratio);
            *values.entry(declared).or_default() += 1;
        }
        assert!(values.len() <= 20, "{shape}: few numbers are used: {values:?}");
        ratios.sort_by(f64::total_cmp);
        let median = quantile(&ratios, 0.5);
        assert!((0.02..0.5).contains(&median), "{shape}: most of the time is not used: {median}");
    }
}

#[test]
fn recurring_jobs_can_be_predicted_from_their_model() {
    let options = GeneratorOptions { jobs: 50_000, ..few(Shape::Pai) };
    let generator = generator(&options);
    let models = generator.models().clone();
    let mut runs: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for job in jobs(generator) {
        if models.name(job.spec.model.index()).contains('/') {
            let key = (job.spec.tenant, job.spec.model, job.spec.demand);
            runs.entry(key).or_default().push(duration_s(&job));
        }
    }
    let (mut close, mut all, mut often) = (0, 0, 0);
    for seconds in runs.values_mut() {
        seconds.sort_by(f64::total_cmp);
        let typical = quantile(seconds, 0.5);
        all += seconds.len();
        often += if seconds.len() >= 5 { seconds.len() } else { 0 };
        close += seconds.iter().filter(|s| (*s / typical - 1.0).abs() < 0.25).count();
    }
    let (close, often) = (close as f64 / all as f64, often as f64 / all as f64);
    assert!(close > 0.9, "within a quarter of what the model usually takes: {close}");
    assert!(often > 0.9, "run five times or more: {often}");
}

#[test]
fn tenants_and_models_have_names() {
    for shape in Shape::ALL {
        let mut generator = generator(&GeneratorOptions { tenants: Some(5), ..few(shape) });
        let mut cluster = Cluster::uniform(4, 8);
        generator.add_tenants_to(&mut cluster);
        assert_eq!(cluster.tenants.len(), 6, "five beside the one that was there");
        let (names, models) = (generator.tenants().to_vec(), generator.models().clone());
        for job in jobs(generator) {
            assert!(job.name.is_none());
            let tenant = &cluster.tenants[job.spec.tenant.index()].name;
            assert!(names.contains(tenant), "{shape}: {tenant}");
            let model = models.name(job.spec.model.index());
            assert!(!model.is_empty(), "{shape}");
            let skewed = model.starts_with("vgg") || model.starts_with("alexnet");
            assert_eq!(job.spec.skewed, skewed, "{model}");
        }
    }
}

#[test]
fn shapes_have_names_and_help() {
    for shape in Shape::ALL {
        assert_eq!(shape.to_string().parse(), Ok(shape));
        assert!(!shape.help().is_empty() && shape.help().len() < 90, "{shape}");
    }
    assert_eq!("PAI".parse(), Ok(Shape::Pai));
    let unknown = "azure".parse::<Shape>();
    assert_eq!(unknown, Err(UnknownShape { found: "azure".into() }));
    let message = unknown.expect_err("there is none").to_string();
    for shape in Shape::ALL {
        assert!(message.contains(shape.name()), "{message}");
    }
}

#[test]
fn options_that_cannot_be_are_named() {
    let wrong = |change: fn(&mut GeneratorOptions)| {
        let mut options = GeneratorOptions::default();
        change(&mut options);
        Generator::new(&options).expect_err("the option is wrong")
    };
    let error = wrong(|options| options.load = 0.0);
    assert_eq!(error.to_string(), "`load`: expected a load above 0, found 0");
    assert_eq!(wrong(|options| options.load = f64::NAN).option, "load");
    assert_eq!(wrong(|options| options.load = 1e-9).option, "load");
    assert_eq!(wrong(|options| options.gpus = 0).option, "gpus");
    assert_eq!(wrong(|options| options.max_gpus = Some(513)).option, "max_gpus");
    assert_eq!(wrong(|options| options.max_gpus = Some(0)).option, "max_gpus");
    assert_eq!(wrong(|options| options.tenants = Some(0)).option, "tenants");
    assert_eq!(wrong(|options| options.elastic = 1.5).option, "elastic");
    assert_eq!(wrong(|options| options.deadlines = -0.1).option, "deadlines");
    assert_eq!(wrong(|options| options.dependencies = 2.0).option, "dependencies");
    assert_eq!(wrong(|options| options.slack = (2.0, 1.0)).option, "slack");
    let none = GeneratorOptions { jobs: 0, ..GeneratorOptions::default() };
    assert!(jobs(generator(&none)).is_empty(), "no jobs are fine");
}

#[test]
fn generated_jobs_run_to_their_end() {
    for shape in Shape::ALL {
        let options = GeneratorOptions {
            jobs: 1_000,
            gpus: 64,
            elastic: 0.2,
            dependencies: 0.2,
            ..few(shape)
        };
        let mut generator = generator(&options);
        let mut cluster = Cluster::uniform(8, 8);
        generator.add_tenants_to(&mut cluster);
        let cluster = Arc::new(cluster);
        let card = heeler_recipes::find("fifo-skip").expect("it is built in");
        let card = Card::read(card.text, "fifo-skip").expect("it can be read");
        let policy = card.build();
        let engine = Engine::new(cluster.clone(), policy, Rules::default(), 1);
        let world = World::default();
        let mut simulation = Simulation::new(engine, world, cluster, Box::new(generator), 1);
        simulation.run();
        let finished = |record: &&Record| record.outcome == Outcome::Finished;
        assert_eq!(simulation.records().all().iter().filter(finished).count(), 1_000, "{shape}");
    }
}
