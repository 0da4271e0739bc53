//! Cuts of traces: by time, tenant, size, chance and number, with arrivals closer together or
//! further apart.

use super::trace::Trace;
use super::{TraceJob, Workload};
use crate::suggest;
use heeler_engine::stream;
use heeler_model::{Cluster, JobId, TenantId, Time};
use rand::RngExt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// What to keep of a trace, in the order in which it is done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cut {
    /// Leave out jobs submitted before this.
    pub from: Option<Time>,
    /// Leave out jobs submitted at this time or later.
    pub until: Option<Time>,
    /// Leave out jobs of other tenants than these and those below them; of none, if there are none.
    pub tenants: Vec<String>,
    /// Leave out jobs that ask for fewer or more GPUs.
    pub gpus: Option<RangeInclusive<u32>>,
    /// Leave out some by chance.
    pub sample: Option<Share>,
    /// Leave out all but so many of the first.
    pub first: Option<usize>,
    /// Let the first job come at time zero.
    pub from_zero: bool,
    /// Let jobs come so many times as fast.
    pub load: Option<f64>,
    /// The seed of chance.
    pub seed: u64,
}

/// How many of some things.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// So many.
    Count(usize),
    /// This part of them, from 0 to 1.
    Part(f64),
}

impl FromStr for Share {
    type Err = String;
    fn from_str(text: &str) -> Result<Share, String> {
        let expected =
            || format!("expected a number of jobs or a part such as 10%, found `{text}`");
        match text.strip_suffix('%') {
            Some(percent) => match percent.trim().parse::<f64>() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Share::Part(percent / 100.0)),
                _ => Err(expected()),
            },
            None => text.parse().map(Share::Count).map_err(|_| expected()),
        }
    }
}

/// Why a trace cannot be cut so.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CutError {
    /// The trace has no such tenant.
    #[error("the trace has no tenant `{name}`; {hint}")]
    NoSuchTenant {
        /// The tenant.
        name: String,
        /// What to do.
        hint: String,
    },
    /// Jobs cannot come so many times as fast.
    #[error("jobs cannot come {0} times as fast: expected a number above zero")]
    Load(f64),
    /// Nothing can be taken in that part.
    #[error("expected a part from 0 to 1, found {0}")]
    Part(f64),
}

/// Cut a trace. Jobs no longer wait for jobs that are cut away.
pub fn cut(trace: &Trace, cluster: &Cluster, what: &Cut) -> Result<Trace, CutError> {
    if let Some(load) = what.load.filter(|load| !load.is_finite() || *load <= 0.0) {
        return Err(CutError::Load(load));
    }
    let tenants = tenants(cluster, &what.tenants)?;
    let jobs = trace.jobs();
    let stays = |job: &TraceJob| {
        what.from.is_none_or(|from| job.submit >= from)
            && what.until.is_none_or(|until| job.submit < until)
            && (tenants.is_empty() || tenants[job.spec.tenant.index()])
            && what.gpus.as_ref().is_none_or(|gpus| gpus.contains(&job.spec.demand.asked()))
    };
    let mut kept: Vec<usize> = (0..jobs.len()).filter(|index| stays(&jobs[*index])).collect();
    if let Some(share) = what.sample {
        kept = sample(&kept, share, what.seed)?;
    }
    kept.truncate(what.first.unwrap_or(usize::MAX));
    let mut cut = trace.clone();
    let mut jobs = renumbered(jobs, &kept, &mut cut);
    let zero = jobs.first().filter(|_| what.from_zero).map_or(Time::ZERO, |job| job.submit);
    for job in &mut jobs {
        let mut micros = job.submit.since(zero).micros();
        if let Some(load) = what.load {
            micros = (micros as f64 / load).round() as u64;
        }
        job.resubmit(Time::from_micros(micros));
    }
    cut.workload = Workload::new(jobs);
    Ok(cut)
}

/// Which tenants are meant, by number; an empty list means all.
fn tenants(cluster: &Cluster, names: &[String]) -> Result<Vec<bool>, CutError> {
    let all = &cluster.tenants;
    for name in names {
        if !all.iter().any(|tenant| tenant.name == *name) {
            let hint = suggest::hint(name, all.iter().map(|tenant| tenant.name.as_str()));
            return Err(CutError::NoSuchTenant { name: name.clone(), hint });
        }
    }
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let above = |tenant: &TenantId| all[tenant.index()].parent;
    let meant = |index: usize| {
        let mut line = std::iter::successors(Some(TenantId(index as u16)), above);
        line.any(|tenant| names.contains(&all[tenant.index()].name))
    };
    Ok((0..all.len()).map(meant).collect())
}

/// Some by chance, each as likely, in their order.
fn sample(from: &[usize], share: Share, seed: u64) -> Result<Vec<usize>, CutError> {
    let mut wanted = match share {
        Share::Count(count) => count.min(from.len()),
        Share::Part(part) if !(0.0..=1.0).contains(&part) => return Err(CutError::Part(part)),
        Share::Part(part) => (part * from.len() as f64).round() as usize,
    };
    let mut random = stream(seed, Time::ZERO, "trace/sample");
    let mut taken = Vec::with_capacity(wanted);
    for (index, item) in from.iter().enumerate() {
        if random.random_range(0..from.len() - index) < wanted {
            taken.push(*item);
            wanted -= 1;
        }
    }
    Ok(taken)
}

/// The jobs that are kept, waiting for each other by their new numbers.
fn renumbered(jobs: &[TraceJob], kept: &[usize], cut: &mut Trace) -> Vec<TraceJob> {
    let mut number = vec![None; jobs.len()];
    for (new, old) in kept.iter().enumerate() {
        number[*old] = Some(JobId(new as u32));
    }
    let mut kept: Vec<TraceJob> = kept.iter().map(|index| jobs[*index].clone()).collect();
    for job in kept.iter_mut().filter(|job| !job.spec.after().is_empty()) {
        let after = &mut job.spec.extras_mut().after;
        let before = after.len();
        *after = after.iter().filter_map(|id| number[id.index()]).collect();
        for _ in after.len()..before {
            cut.assumed.add("jobs that had to finish first were cut away");
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Options;
    use crate::workload::testing::read_text;

    const TRACE: &str = "id,submit_s,gpus,duration_s,tenant,after,deadline_s\n\
                         a,10,1,5,lab/ann,,\nb,20,4,5,lab,a,100\nc,30,8,5,other,b,\n\
                         d,40,2,5,lab/bob,b|c,\n";

    fn names(what: &Cut) -> Vec<String> {
        let (trace, cluster) = trace();
        let cut = cut(&trace, &cluster, what).expect("a cut");
        cut.jobs().iter().map(|job| job.name.clone().expect("named").into()).collect()
    }

    fn trace() -> (Trace, Cluster) {
        let mut cluster = Cluster::uniform(1, 8);
        let trace = read_text("t.csv", TRACE, &Options::default(), &mut cluster);
        (trace.expect("a trace"), cluster)
    }

    #[test]
    fn jobs_are_kept_by_time_tenant_size_and_number() {
        let at = |seconds| Some(Time::from_secs(seconds));
        let whole = Cut::default();
        assert_eq!(names(&whole), ["a", "b", "c", "d"]);
        assert_eq!(names(&Cut { from: at(20), until: at(40), ..whole.clone() }), ["b", "c"]);
        assert_eq!(names(&Cut { tenants: vec!["lab".into()], ..whole.clone() }), ["a", "b", "d"]);
        assert_eq!(names(&Cut { gpus: Some(2..=4), ..whole.clone() }), ["b", "d"]);
        assert_eq!(names(&Cut { first: Some(1), gpus: Some(2..=4), ..whole }), ["b"]);
    }

    #[test]
    fn chance_takes_as_many_as_asked_and_the_same_each_time() {
        let take = |share, seed| names(&Cut { sample: Some(share), seed, ..Cut::default() });
        for seed in 0..20 {
            let drawn = take(Share::Count(2), seed);
            assert_eq!(drawn.len(), 2);
            assert!(drawn[0] < drawn[1], "in their order: {drawn:?}");
            assert_eq!(drawn, take(Share::Part(0.5), seed));
        }
        let different: std::collections::BTreeSet<_> =
            (0..200).map(|seed| take(Share::Count(2), seed)).collect();
        assert_eq!(different.len(), 6, "every pair is drawn by some seed");
        assert_eq!(take(Share::Count(9), 1).len(), 4);
    }

    #[test]
    fn dependencies_and_deadlines_move_with_their_jobs() {
        let (trace, cluster) = trace();
        let what = Cut { from_zero: true, load: Some(2.0), ..Cut::default() };
        let half = cut(&trace, &cluster, &what).expect("a cut");
        let submits: Vec<_> = half.jobs().iter().map(|job| job.submit.secs_f64()).collect();
        assert_eq!(submits, [0.0, 5.0, 10.0, 15.0]);
        assert_eq!(half.jobs()[1].spec.deadlines()[0].at, Time::from_secs(105));
        let late = Cut { from: Some(Time::from_secs(20)), gpus: Some(0..=4), ..Cut::default() };
        let late = cut(&trace, &cluster, &late).expect("a cut");
        assert_eq!(late.jobs()[1].spec.after(), [JobId(0)], "b is the first now, c is gone");
        assert_eq!(late.jobs()[0].spec.after(), []);
        assert_eq!(late.assumed.total(), 2);
    }

    #[test]
    fn mistakes_are_named() {
        let (trace, cluster) = trace();
        let wrong = |what: Cut| cut(&trace, &cluster, &what).expect_err("wrong").to_string();
        assert_eq!(
            wrong(Cut { tenants: vec!["othr".into()], ..Cut::default() }),
            "the trace has no tenant `othr`; did you mean `other`?"
        );
        let load = Cut { load: Some(0.0), ..Cut::default() };
        assert_eq!(wrong(load), "jobs cannot come 0 times as fast: expected a number above zero");
        assert_eq!("10%".parse(), Ok(Share::Part(0.1)));
        assert_eq!("10".parse(), Ok(Share::Count(10)));
        assert!("ten".parse::<Share>().is_err() && "110%".parse::<Share>().is_err());
    }
}
