//! The Philly generator against the Philly trace.

use heeler_model::Cluster;
use heeler_reference::file;
use heeler_sim::metrics::quantile;
use heeler_sim::workload::{Arrivals, Generator, GeneratorOptions, Options, Shape, TraceJob, read};

/// Run times of single GPUs or of gangs, sorted.
fn seconds<'a>(jobs: impl Iterator<Item = &'a TraceJob>, gangs: bool) -> Vec<f64> {
    let chosen = jobs.filter(|job| (job.spec.demand.asked() > 1) == gangs);
    let mut seconds: Vec<f64> = chosen.map(|job| job.duration().secs_f64()).collect();
    seconds.sort_by(f64::total_cmp);
    seconds
}

#[test]
fn philly_has_the_quantiles_of_the_trace() {
    let Some(path) = file("philly/philly_jobs.csv.gz") else { return };
    let trace = read(&path, &Options::default(), &mut Cluster::default());
    let trace = trace.unwrap_or_else(|error| panic!("{error}"));
    let shape = Shape::Philly;
    let options = GeneratorOptions { shape, jobs: 200_000, seed: 5, ..GeneratorOptions::default() };
    let mut generator = Generator::new(&options).expect("such a workload can be made");
    let made: Vec<TraceJob> = std::iter::from_fn(|| generator.next_job()).collect();
    for gangs in [false, true] {
        let (real, made) = (seconds(trace.jobs().iter(), gangs), seconds(made.iter(), gangs));
        for share in [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999] {
            let (real, made) = (quantile(&real, share), quantile(&made, share));
            println!("gangs: {gangs}, {share}: {real:.0} s in the trace, {made:.0} s generated");
            assert!((made / real - 1.0).abs() < 0.2, "{share}: {made} for {real}");
        }
    }
}
