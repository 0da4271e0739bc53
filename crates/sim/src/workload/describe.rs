//! What a trace is like: how many jobs, how large, how long, how often, whose, and how much load
//! they are on a cluster.

use super::TraceJob;
use super::tally::Tally;
use super::trace::Trace;
use crate::metrics::quantile;
use heeler_model::{Cluster, TenantId};
use serde::Serialize;
use std::collections::BTreeMap;

const HOUR_S: f64 = 3600.0;

/// What a trace is like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// Jobs.
    pub jobs: usize,
    /// Jobs that ask for no GPU.
    pub cpu_jobs: usize,
    /// Jobs that can run at more sizes than one.
    pub elastic_jobs: usize,
    /// Jobs that ask for a part of each GPU.
    pub sharing_jobs: usize,
    /// Jobs with a deadline.
    pub deadline_jobs: usize,
    /// Jobs that must wait for others.
    pub following_jobs: usize,
    /// Jobs that ask for more GPUs than the cluster has.
    pub too_large_jobs: usize,
    /// Tenants that have jobs.
    pub tenants: usize,
    /// Models that are named.
    pub models: usize,
    /// From the first to the last submission, seconds.
    pub span_s: f64,
    /// GPUs times hours of all jobs, at the size they ask for.
    pub gpu_hours: f64,
    /// GPU time that jobs ask for, for each of the cluster's while they come; above 1 the queue
    /// grows. None without a cluster, or if all come at once.
    pub load: Option<f64>,
    /// How long jobs run.
    pub duration_s: Option<Quantiles>,
    /// How many GPUs they ask for.
    pub gpus: Option<Quantiles>,
    /// From one submission to the next.
    pub gap_s: Option<Quantiles>,
    /// By how many GPUs jobs ask for, smallest first.
    pub by_size: Vec<Part>,
    /// By tenant, most GPU time first.
    pub by_tenant: Vec<Part>,
    /// What the trace calls time zero.
    pub origin: Option<String>,
    /// Rows that are no job, by reason.
    pub skipped: Tally,
    /// What was assumed.
    pub assumed: Tally,
}

/// How some numbers are spread, by nearest rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// Their mean.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// A quarter is at most this.
    pub p25: f64,
    /// Half are at most this.
    pub p50: f64,
    /// Three quarters are at most this.
    pub p75: f64,
    /// Nine tenths are at most this.
    pub p90: f64,
    /// All but a twentieth are at most this.
    pub p95: f64,
    /// All but a hundredth are at most this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

/// Some of the jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Which.
    pub name: String,
    /// How many.
    pub jobs: usize,
    /// Their GPUs times hours.
    pub gpu_hours: f64,
    /// Their part of all GPU time.
    pub share: f64,
}

impl Quantiles {
    /// How numbers are spread, if there are any.
    pub fn of(mut numbers: Vec<f64>) -> Option<Quantiles> {
        numbers.sort_by(f64::total_cmp);
        let (min, max) = (*numbers.first()?, *numbers.last()?);
        let at = |part: f64| quantile(&numbers, part);
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let (p25, p50, p75) = (at(0.25), at(0.5), at(0.75));
        Some(Quantiles {
            mean,
            min,
            p25,
            p50,
            p75,
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            max,
        })
    }
}

/// Describe a trace, for the cluster it was read with.
pub fn describe(trace: &Trace, cluster: &Cluster) -> Description {
    let jobs = trace.jobs();
    let count = |test: &dyn Fn(&TraceJob) -> bool| jobs.iter().filter(|j| test(j)).count();
    let span_s = match (jobs.first(), jobs.last()) {
        (Some(first), Some(last)) => last.submit.since(first.submit).secs_f64(),
        _ => 0.0,
    };
    let gpu_seconds: f64 = jobs.iter().map(TraceJob::gpu_seconds).sum();
    let gpus = cluster.gpus();
    let mut tenants = BTreeMap::new();
    let mut sizes = BTreeMap::new();
    for job in jobs {
        add(&mut tenants, job.spec.tenant, job);
        add(&mut sizes, Size::of(job), job);
    }
    let tenant_name = |tenant: &TenantId| match cluster.tenants.get(tenant.index()) {
        Some(tenant) => tenant.name.clone(),
        None => tenant.to_string(),
    };
    let mut by_tenant = parts(&tenants, gpu_seconds, tenant_name);
    by_tenant.sort_by(|a, b| b.gpu_hours.total_cmp(&a.gpu_hours));
    Description {
        jobs: jobs.len(),
        cpu_jobs: count(&|job| job.spec.demand.asked() == 0),
        elastic_jobs: count(&|job| !job.spec.demand.sizes.is_rigid()),
        sharing_jobs: count(&|job| !job.spec.demand.share.is_whole()),
        deadline_jobs: count(&|job| !job.spec.deadlines().is_empty()),
        following_jobs: count(&|job| !job.spec.after().is_empty()),
        too_large_jobs: count(&|job| gpus > 0 && job.spec.demand.sizes.min > gpus),
        tenants: tenants.len(),
        models: trace.models.all().iter().filter(|name| !name.is_empty()).count(),
        span_s,
        gpu_hours: gpu_seconds / HOUR_S,
        load: (gpus > 0 && span_s > 0.0).then(|| gpu_seconds / (f64::from(gpus) * span_s)),
        duration_s: Quantiles::of(jobs.iter().map(|job| job.duration().secs_f64()).collect()),
        gpus: Quantiles::of(jobs.iter().map(|job| job.spec.demand.asked().into()).collect()),
        gap_s: Quantiles::of(
            jobs.windows(2).map(|pair| pair[1].submit.since(pair[0].submit).secs_f64()).collect(),
        ),
        by_size: parts(&sizes, gpu_seconds, Size::name),
        by_tenant,
        origin: trace.origin.clone(),
        skipped: trace.skipped.clone(),
        assumed: trace.assumed.clone(),
    }
}

/// Jobs and GPU seconds of each of some classes.
type Sums<K> = BTreeMap<K, (usize, f64)>;

fn add<K: Ord>(sums: &mut Sums<K>, key: K, job: &TraceJob) {
    let sum = sums.entry(key).or_default();
    sum.0 += 1;
    sum.1 += job.gpu_seconds();
}

fn parts<K: Ord>(sums: &Sums<K>, all: f64, name: impl Fn(&K) -> String) -> Vec<Part> {
    let part = |(key, (jobs, gpu_seconds)): (&K, &(usize, f64))| Part {
        name: name(key),
        jobs: *jobs,
        gpu_hours: gpu_seconds / HOUR_S,
        share: if all > 0.0 { gpu_seconds / all } else { 0.0 },
    };
    sums.iter().map(part).collect()
}

/// A class of sizes: none, a part of a GPU, or up to a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Size {
    None,
    Shared,
    UpTo(u64),
}

impl Size {
    fn of(job: &TraceJob) -> Size {
        let demand = &job.spec.demand;
        match demand.asked() {
            0 => Size::None,
            1 if !demand.share.is_whole() => Size::Shared,
            gpus => Size::UpTo(u64::from(gpus).next_power_of_two()),
        }
    }

    fn name(&self) -> String {
        match self {
            Size::None => "0".into(),
            Size::Shared => "below 1".into(),
            Size::UpTo(gpus @ 1..=2) => gpus.to_string(),
            Size::UpTo(gpus) => format!("{}-{gpus}", gpus / 2 + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Options;
    use crate::workload::testing::read_text;

    const TRACE: &str = "submit_s,gpus,duration_s,tenant,share,max_gpus\n\
                         0,1,3600,a,,\n100,3,3600,b,,8\n300,1,3600,b,0.5,\n1000,0,60,a,,\n\
                         1000,16,7200,c,,\n";

    #[test]
    fn traces_are_summed_up() {
        let mut cluster = Cluster::uniform(1, 10);
        let trace = read_text("t.csv", TRACE, &Options::default(), &mut cluster).expect("a trace");
        let told = describe(&trace, &cluster);
        assert_eq!((told.jobs, told.cpu_jobs, told.elastic_jobs, told.sharing_jobs), (5, 1, 1, 1));
        assert_eq!((told.tenants, told.models, told.too_large_jobs), (3, 0, 1));
        assert_eq!(told.gpu_hours, 1.0 + 3.0 + 0.5 + 32.0);
        assert_eq!(told.span_s, 1000.0);
        assert_eq!(told.load, Some(36.5 * 3600.0 / (10.0 * 1000.0)));
        let sizes: Vec<_> =
            told.by_size.iter().map(|part| (part.name.as_str(), part.jobs)).collect();
        assert_eq!(sizes, [("0", 1), ("below 1", 1), ("1", 1), ("3-4", 1), ("9-16", 1)]);
        let tenants: Vec<_> = told.by_tenant.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(tenants, ["c", "b", "a"]);
        assert_eq!(told.by_tenant[0].share, 32.0 / 36.5);
        assert_eq!(told.gap_s.expect("some").max, 700.0);
    }

    #[test]
    fn nothing_is_no_mistake() {
        let told = describe(&Trace::default(), &Cluster::uniform(1, 8));
        assert_eq!((told.jobs, told.load, told.duration_s), (0, None, None));
        let json = serde_json::to_value(&told).expect("plain data");
        assert_eq!(json["jobs"], 0);
    }

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let quantiles = Quantiles::of(vec![40.0, 10.0, 20.0, 30.0]).expect("some");
        assert_eq!((quantiles.min, quantiles.p50, quantiles.max), (10.0, 20.0, 40.0));
        assert_eq!((quantiles.p25, quantiles.p90, quantiles.mean), (10.0, 40.0, 25.0));
        assert_eq!(Quantiles::of(vec![]), None);
    }
}
