//! Published figures, each with how far from it a generated workload may lie.

use crate::options;
use crate::survey::{Survey, Work};
use heeler_sim::workload::Shape;

const SEEDS: [u64; 2] = [1, 2];

/// What was published and how to take it from a generated workload.
struct Figure {
    what: &'static str,
    published: Published,
    take: fn(&Survey) -> f64,
}

#[derive(Clone, Copy)]
enum Published {
    /// A figure, and how far from it the generated one may lie, relative to it.
    About(f64, f64),
    Below(f64),
    Above(f64),
}

impl Published {
    fn allows(self, found: f64) -> bool {
        match self {
            Published::About(value, tolerance) => (found / value - 1.0).abs() <= tolerance + 1e-9,
            Published::Below(limit) => found < limit,
            Published::Above(limit) => found > limit,
        }
    }

    /// The figure and the tolerance, for a table.
    fn cells(self) -> String {
        match self {
            Published::About(value, 0.0) => format!("{} | none", short(value)),
            Published::About(value, tolerance) => {
                format!("{} | {} %", short(value), tolerance * 100.0)
            }
            Published::Below(limit) => format!("below {limit} | "),
            Published::Above(limit) => format!("above {limit} | "),
        }
    }
}

const fn figure(
    what: &'static str,
    published: f64,
    tolerance: f64,
    take: fn(&Survey) -> f64,
) -> Figure {
    Figure { what, published: Published::About(published, tolerance), take }
}

const fn bound(what: &'static str, published: Published, take: fn(&Survey) -> f64) -> Figure {
    Figure { what, published, take }
}

const DAY_S: f64 = 86_400.0;

fn figures(shape: Shape) -> Vec<Figure> {
    match shape {
        Shape::Philly => philly(),
        Shape::Helios => helios(),
        Shape::Pai => pai(),
        Shape::Llm => llm(),
    }
}

fn philly() -> Vec<Figure> {
    vec![
        figure("duration, median (s)", 1_144.0, 0.03, |s| s.duration(0.5)),
        figure("duration, mean (s)", 13_136.0, 0.05, Survey::mean_duration),
        figure("duration, 75 % (s)", 2_932.0, 0.08, |s| s.duration(0.75)),
        figure("duration, 90 % (s)", 11_266.0, 0.08, |s| s.duration(0.9)),
        figure("duration, 95 % (s)", 43_648.0, 0.05, |s| s.duration(0.95)),
        figure("duration, 99 % (s)", 254_884.0, 0.05, |s| s.duration(0.99)),
        figure("jobs on one GPU", 0.932, 0.005, |s| s.share(|job| job.gpus == 1.0)),
        figure("GPUs, mean", 1.304, 0.02, Survey::mean_gpus),
        figure("GPU time of a job (GPU s)", 42_811.0, 0.05, Survey::gpu_seconds_per_job),
        figure("time of one GPU", 0.181, 0.08, |s| s.time_share(|job| job.gpus == 1.0)),
        figure("time of 8 and more", 0.620, 0.05, |s| s.time_share(|job| job.gpus >= 8.0)),
        figure("time of over a day", 0.841, 0.04, |s| s.time_share(|j| j.seconds > DAY_S)),
        figure("jobs at 7h to 14h", 2.53, 0.15, |s| s.hours(7, 14)),
        figure("weekend to weekday", 0.577, 0.1, Survey::weekend),
        figure("jobs of the first tenant", 0.501, 0.08, |s| s.first_tenants(1)),
    ]
}

fn helios() -> Vec<Figure> {
    vec![
        figure("duration, median (s)", 206.0, 0.04, |s| s.duration(0.5)),
        figure("duration, mean (s)", 6_652.0, 0.06, Survey::mean_duration),
        figure("jobs on one GPU", 0.722, 0.005, |s| s.share(|job| job.gpus == 1.0)),
        figure("GPUs, mean", 3.716, 0.03, Survey::mean_gpus),
        figure("GPU time of a job (GPU s)", 49_360.0, 0.05, Survey::gpu_seconds_per_job),
        figure("time of one GPU", 0.054, 0.1, |s| s.time_share(|job| job.gpus == 1.0)),
        figure("time of 5 to 8", 0.292, 0.06, |s| s.time_share(|job| job.gpus == 8.0)),
        figure("time of 9 to 32", 0.453, 0.05, |s| {
            s.time_share(|job| job.gpus > 8.0 && job.gpus <= 32.0)
        }),
        figure("time of more", 0.134, 0.1, |s| s.time_share(|job| job.gpus > 32.0)),
        figure("time of over an hour", 0.976, 0.01, |s| s.time_share(|j| j.seconds > 3_600.0)),
        figure("time of over a day", 0.680, 0.03, |s| s.time_share(|j| j.seconds > DAY_S)),
        figure("jobs at 16h to 7h", 2.92, 0.15, |s| s.hours(16, 7)),
        figure("weekend to weekday", 0.727, 0.1, Survey::weekend),
        figure("nodes, jobs of the first tenant", 0.237, 0.1, |s| s.first_tenants(1)),
    ]
}

fn pai() -> Vec<Figure> {
    vec![
        figure("duration, 10 % (s)", 41.0, 0.03, |s| s.duration(0.1)),
        figure("duration, 25 % (s)", 137.0, 0.03, |s| s.duration(0.25)),
        figure("duration, median (s)", 632.0, 0.03, |s| s.duration(0.5)),
        figure("duration, 75 % (s)", 3_856.0, 0.03, |s| s.duration(0.75)),
        figure("duration, 90 % (s)", 12_924.0, 0.03, |s| s.duration(0.9)),
        figure("duration, 95 % (s)", 24_057.0, 0.03, |s| s.duration(0.95)),
        figure("duration, 99 % (s)", 69_347.0, 0.05, |s| s.duration(0.99)),
        figure("GPUs, 10 %", 0.1, 0.0, |s| s.gpus(0.1)),
        figure("GPUs, 25 %", 0.25, 0.0, |s| s.gpus(0.25)),
        figure("GPUs, median", 1.0, 0.0, |s| s.gpus(0.5)),
        figure("GPUs, 90 %", 5.0, 0.0, |s| s.gpus(0.9)),
        figure("GPUs, 95 %", 10.0, 0.0, |s| s.gpus(0.95)),
        figure("GPUs, 99 %", 30.0, 0.0, |s| s.gpus(0.99)),
        figure("GPU time of a job (GPU s)", 23_655.0, 0.08, Survey::gpu_seconds_per_job),
        figure("time of over an hour", 0.936, 0.02, |s| s.time_share(|j| j.seconds > 3_600.0)),
        figure("time of over a day", 0.301, 0.12, |s| s.time_share(|j| j.seconds > DAY_S)),
        figure("jobs at 0h to 23h", 2.51, 0.1, |s| s.hours(0, 23)),
        figure("instances, jobs of the first 5 %", 0.77, 0.1, |s| s.first_tenants(65)),
        figure("jobs that recur", 0.65, 0.02, |s| s.share(|job| job.work == Work::Recurring)),
    ]
}

fn llm() -> Vec<Figure> {
    vec![
        figure("duration, median (s)", 124.0, 0.03, |s| s.duration(0.5)),
        figure("duration, mean (s)", 1_260.0, 0.05, Survey::mean_duration),
        figure("jobs within 5 minutes", 0.73, 0.02, |s| s.share(|job| job.seconds < 300.0)),
        figure("GPUs, median", 1.0, 0.0, |s| s.gpus(0.5)),
        figure("GPUs, mean", 26.77, 0.04, Survey::mean_gpus),
        figure("GPU time of a job (GPU s)", 267_900.0, 0.06, Survey::gpu_seconds_per_job),
        figure("jobs that pretrain", 0.032, 0.03, |s| s.share(|j| j.work == Work::Pretraining)),
        figure("time of pretraining", 0.940, 0.02, |s| {
            s.time_share(|job| job.work == Work::Pretraining)
        }),
        figure("time of evaluation", 0.008, 0.25, |s| {
            s.time_share(|job| job.work == Work::Evaluation)
        }),
        bound("jobs on more than 8", Published::Below(0.07), |s| s.share(|job| job.gpus > 8.0)),
        bound("time of one GPU", Published::Below(0.02), |s| s.time_share(|j| j.gpus == 1.0)),
        bound("time of 256 and more", Published::Above(0.96), |s| {
            s.time_share(|job| job.gpus >= 256.0)
        }),
        bound("jobs of over a day", Published::Below(0.05), |s| s.share(|j| j.seconds > DAY_S)),
    ]
}

#[test]
fn figures_are_those_that_were_published() {
    for shape in Shape::ALL {
        let surveys = SEEDS.map(|seed| Survey::new(&options(shape, seed)));
        println!("\n| {shape} | published | tolerance | seed 1 | seed 2 |\n|---|---|---|---|---|");
        let mut far = Vec::new();
        for Figure { what, published, take } in figures(shape) {
            let found = surveys.each_ref().map(take);
            let [first, second] = found.map(short);
            println!("| {what} | {} | {first} | {second} |", published.cells());
            if found.iter().any(|value| !published.allows(*value)) {
                far.push(what);
            }
        }
        assert!(far.is_empty(), "{shape}: {far:?} are too far from what was published");
    }
}

fn short(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}
