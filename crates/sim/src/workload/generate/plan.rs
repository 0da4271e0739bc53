//! What a generator knows before it makes the first job: everything that follows from its options
//! and stays the same, so that forks share it.

use super::GeneratorOptions;
use super::draw::{Quantiles, Shares};
use super::shape::{Class, Profile};
use super::week::Week;
use crate::workload::Names;
use heeler_model::Milli;

/// A recurring model has a number of its own below this, so that its runs can be recognised.
pub(super) const RUNS: usize = 64;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) options: GeneratorOptions,
    pub(super) profile: &'static Profile,
    pub(super) class_shares: Shares,
    pub(super) classes: Vec<ClassPlan>,
    pub(super) week: Week,
    pub(super) tenant_shares: Shares,
    pub(super) tenants: Vec<String>,
    /// The first is the model of jobs that have none, as in traces.
    pub(super) models: Names,
    /// What a job takes on average.
    pub(super) gpu_seconds: f64,
    /// Seconds until the last submission.
    pub(super) span_s: f64,
    /// Seconds between submissions, each counted as often as its hour is busy.
    pub(super) gap_s: f64,
}

#[derive(Debug)]
pub(super) struct ClassPlan {
    pub(super) asks: Vec<(u32, Milli)>,
    pub(super) ask_shares: Shares,
    pub(super) durations: Quantiles,
    pub(super) model_shares: Shares,
}

impl Plan {
    pub(super) fn new(options: &GeneratorOptions) -> Plan {
        let profile = options.shape.profile();
        let largest = runnable(options.max_gpus());
        let classes: Vec<ClassPlan> =
            profile.classes.iter().map(|class| ClassPlan::new(class, largest)).collect();
        let class_shares: Shares = profile.classes.iter().map(|class| class.share).collect();
        let gpu_seconds = class_shares.mean(|index| classes[index].gpu_seconds());
        let offered = options.jobs as f64 * gpu_seconds;
        let span_s = offered / (f64::from(options.gpus) * options.load);
        let week = Week::new(profile);
        let gap_s = week.weighted_until(span_s) / (options.jobs.max(1)) as f64;
        let count = options.tenant_count();
        let digits = count.to_string().len().max(2);
        let prefix = profile.tenants.prefix;
        let tenant = |number: usize| format!("{prefix}{number:0digits$}");
        Plan {
            options: options.clone(),
            profile,
            class_shares,
            classes,
            week,
            tenant_shares: Shares::by_rank(count, profile.tenants.power),
            tenants: (1..=count).map(tenant).collect(),
            models: model_names(profile),
            gpu_seconds,
            span_s,
            gap_s,
        }
    }
}

impl ClassPlan {
    fn new(class: &Class, largest: u32) -> ClassPlan {
        let asks = class.asks.iter().map(|ask| (ask.gpus.min(largest), Milli(ask.share_milli)));
        ClassPlan {
            asks: asks.collect(),
            ask_shares: class.asks.iter().map(|ask| ask.weight).collect(),
            durations: Quantiles::new(class.durations),
            model_shares: class.models.iter().copied().collect(),
        }
    }

    fn gpu_seconds(&self) -> f64 {
        let gpus = self.ask_shares.mean(|index| {
            let (gpus, share) = self.asks[index];
            f64::from(gpus) * f64::from(share.0) / 1000.0
        });
        gpus * self.durations.mean()
    }
}

/// The largest gang that is not above a limit and looks like a gang: whole nodes of eight, or a
/// power of two.
fn runnable(limit: u32) -> u32 {
    if limit >= 8 { limit / 8 * 8 } else { 1 << limit.ilog2() }
}

/// The model of jobs that have none, the models of the shape, and their recurring runs.
fn model_names(profile: &Profile) -> Names {
    let mut names = Names::default();
    names.number("");
    for model in profile.models {
        names.number(model.name);
    }
    if profile.recurring > 0.0 {
        for model in profile.models {
            for run in 0..RUNS {
                names.number(&format!("{}/{run:02}", model.name));
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;

    #[test]
    fn every_profile_is_well_formed() {
        for shape in Shape::ALL {
            let profile = shape.profile();
            let shares: f64 = profile.classes.iter().map(|class| class.share).sum();
            assert!((shares - 1.0).abs() < 1e-9, "{shape}: {shares}");
            for class in profile.classes {
                let quantiles = class.durations;
                assert!(quantiles.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{shape}");
                assert_eq!((quantiles[0].0, quantiles[quantiles.len() - 1].0), (0.0, 1.0));
                assert_eq!(class.models.len(), profile.models.len(), "{shape}");
            }
            assert!(profile.hours.iter().chain(&profile.days).all(|rate| *rate > 0.0), "{shape}");
        }
    }

    #[test]
    fn gangs_are_cut_down_to_what_looks_like_one() {
        assert_eq!([1, 3, 7, 8, 25, 250].map(runnable), [1, 2, 4, 8, 24, 248]);
    }
}
