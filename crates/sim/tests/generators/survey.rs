//! What can be seen of a generated workload.

use crate::{GPUS, generator, jobs};
use heeler_model::TenantId;
use heeler_sim::workload::{GeneratorOptions, TraceJob};

/// A job as far as statistics go.
pub(crate) struct Seen {
    pub(crate) submit_s: f64,
    pub(crate) seconds: f64,
    pub(crate) gpus: f64,
    pub(crate) tenant: TenantId,
    pub(crate) work: Work,
}

/// What a job is for, as far as its model tells.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Work {
    Recurring,
    Evaluation,
    Pretraining,
    Other,
}

fn work(model: &str) -> Work {
    match model {
        _ if model.contains('/') => Work::Recurring,
        _ if model.starts_with("evaluate") => Work::Evaluation,
        _ if model.starts_with("pretrain") => Work::Pretraining,
        _ => Work::Other,
    }
}

pub(crate) struct Survey {
    pub(crate) jobs: Vec<Seen>,
    /// Ascending.
    pub(crate) seconds: Vec<f64>,
    /// Ascending.
    pub(crate) gpus: Vec<f64>,
    pub(crate) gpu_seconds: f64,
}

impl Survey {
    pub(crate) fn new(options: &GeneratorOptions) -> Survey {
        let generator = generator(options);
        let models = generator.models().clone();
        let see = |job: TraceJob| Seen {
            submit_s: job.submit.secs_f64(),
            seconds: duration_s(&job),
            gpus: gpus(&job),
            tenant: job.spec.tenant,
            work: work(models.name(job.spec.model.index())),
        };
        let jobs: Vec<Seen> = jobs(generator).into_iter().map(see).collect();
        let sorted = |value: fn(&Seen) -> f64| {
            let mut values: Vec<f64> = jobs.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (seconds, gpus) = (sorted(|job| job.seconds), sorted(|job| job.gpus));
        let gpu_seconds = jobs.iter().map(|job| job.gpus * job.seconds).sum();
        Survey { jobs, seconds, gpus, gpu_seconds }
    }

    pub(crate) fn duration(&self, share: f64) -> f64 {
        quantile(&self.seconds, share)
    }

    pub(crate) fn gpus(&self, share: f64) -> f64 {
        quantile(&self.gpus, share)
    }

    pub(crate) fn mean_duration(&self) -> f64 {
        self.seconds.iter().sum::<f64>() / self.seconds.len() as f64
    }

    pub(crate) fn mean_gpus(&self) -> f64 {
        self.gpus.iter().sum::<f64>() / self.gpus.len() as f64
    }

    pub(crate) fn gpu_seconds_per_job(&self) -> f64 {
        self.gpu_seconds / self.jobs.len() as f64
    }

    pub(crate) fn share(&self, which: impl Fn(&Seen) -> bool) -> f64 {
        self.jobs.iter().filter(|job| which(job)).count() as f64 / self.jobs.len() as f64
    }

    pub(crate) fn time_share(&self, which: impl Fn(&Seen) -> bool) -> f64 {
        let chosen = self.jobs.iter().filter(|job| which(job));
        chosen.map(|job| job.gpus * job.seconds).sum::<f64>() / self.gpu_seconds
    }

    pub(crate) fn load(&self) -> f64 {
        let last = self.jobs.last().expect("there are jobs").submit_s;
        self.gpu_seconds / (f64::from(GPUS) * last)
    }

    /// Jobs in one hour of the day, relative to another.
    pub(crate) fn hours(&self, busy: u64, quiet: u64) -> f64 {
        let of = |hour| self.share(|job| (job.submit_s / 3_600.0) as u64 % 24 == hour);
        of(busy) / of(quiet)
    }

    /// Jobs on a day of the weekend, relative to one of Monday to Friday; in whole weeks only.
    pub(crate) fn weekend(&self) -> f64 {
        let week = 604_800.0;
        let weeks = (self.jobs[self.jobs.len() - 1].submit_s / week).floor();
        let whole = |job: &&Seen| job.submit_s < weeks * week;
        let weekend = |job: &&Seen| (job.submit_s % week) >= 5.0 * 86_400.0;
        let all = self.jobs.iter().filter(whole).count() as f64;
        let at_weekends = self.jobs.iter().filter(whole).filter(weekend).count() as f64;
        (at_weekends / 2.0) / ((all - at_weekends) / 5.0)
    }

    /// Share of jobs of the first tenants.
    pub(crate) fn first_tenants(&self, count: u16) -> f64 {
        self.share(|job| job.tenant.0 < count)
    }
}

pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[(share * sorted.len() as f64) as usize]
}

pub(crate) fn duration_s(job: &TraceJob) -> f64 {
    let truth = job.spec.truth_for_the_oracle().expect("generated jobs have a truth");
    truth.work / job.spec.nominal_pace / 1e6
}

fn gpus(job: &TraceJob) -> f64 {
    f64::from(job.spec.demand.asked()) * f64::from(job.spec.demand.share.0) / 1000.0
}
