//! What a generated workload depends on, and what is wrong with what was asked for.

use super::Shape;

/// What a generated workload depends on: equal options give equal jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorOptions {
    /// What the jobs are like.
    pub shape: Shape,
    /// How many there are.
    pub jobs: usize,
    /// GPU time they ask for, relative to what the cluster has from the start to the last
    /// submission. Above one the queue grows without end.
    pub load: f64,
    /// GPUs of the cluster.
    pub gpus: u32,
    /// Where all random streams begin.
    pub seed: u64,
    /// The largest gang; larger ones are cut down to it (to whole nodes of eight, where it holds
    /// some). A quarter of the cluster, if not given.
    pub max_gpus: Option<u32>,
    /// Number of tenants; as many as were published, if not given.
    pub tenants: Option<usize>,
    /// Share of jobs that can run on half to twice the GPUs they ask for.
    pub elastic: f64,
    /// Share of jobs that have a deadline.
    pub deadlines: f64,
    /// A deadline is this many times the duration after the submission, at least and at most.
    pub slack: (f64, f64),
    /// Share of jobs that wait for one of the 32 before them. Jobs are named by their number, so
    /// the workload must be the only one of its simulation.
    pub dependencies: f64,
    /// Trials of a study that are submitted before all jobs, at time zero. They are not counted as
    /// jobs nor towards the load.
    pub trials: usize,
}

impl Default for GeneratorOptions {
    fn default() -> GeneratorOptions {
        GeneratorOptions {
            shape: Shape::default(),
            jobs: 10_000,
            load: 0.8,
            gpus: 512,
            seed: 1,
            max_gpus: None,
            tenants: None,
            elastic: 0.0,
            deadlines: 0.0,
            slack: (1.5, 4.0),
            dependencies: 0.0,
            trials: 0,
        }
    }
}

/// An option that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{option}`: expected {expected}, found {found}")]
pub struct OptionError {
    /// Its name.
    pub option: &'static str,
    /// What it may be.
    pub expected: &'static str,
    /// What it was.
    pub found: String,
}

impl GeneratorOptions {
    /// Whether such a workload can be made.
    pub fn check(&self) -> Result<(), OptionError> {
        let must = |fine: bool, option, expected, found: String| match fine {
            true => Ok(()),
            false => Err(OptionError { option, expected, found }),
        };
        must(self.gpus > 0, "gpus", "a cluster with GPUs", self.gpus.to_string())?;
        let load = self.load;
        must(load > 0.0 && load.is_finite(), "load", "a load above 0", load.to_string())?;
        let jobs = self.jobs.saturating_add(self.trials);
        let few = u32::try_from(jobs).is_ok();
        must(few, "jobs", "at most 4,294,967,295 jobs", jobs.to_string())?;
        let largest = self.max_gpus();
        let within = (1..=self.gpus).contains(&largest);
        must(within, "max_gpus", "a gang that the cluster has room for", largest.to_string())?;
        let tenants = self.tenant_count();
        let range = (1..=60_000).contains(&tenants);
        must(range, "tenants", "1 to 60,000 tenants", tenants.to_string())?;
        let shares = [
            ("elastic", self.elastic),
            ("deadlines", self.deadlines),
            ("dependencies", self.dependencies),
        ];
        for (option, share) in shares {
            let range = (0.0..=1.0).contains(&share);
            must(range, option, "a share of the jobs from 0 to 1", share.to_string())?;
        }
        let (low, high) = self.slack;
        let slack = low > 0.0 && low <= high && high.is_finite();
        must(slack, "slack", "two factors above 0, the smaller first", format!("{low}, {high}"))
    }

    /// The largest gang.
    pub(super) fn max_gpus(&self) -> u32 {
        self.max_gpus.unwrap_or((self.gpus / 4).max(1))
    }

    pub(super) fn tenant_count(&self) -> usize {
        self.tenants.unwrap_or(self.shape.profile().tenants.count)
    }
}
