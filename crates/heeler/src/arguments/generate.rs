//! What generated jobs are like.

use super::positive;
use clap::Args;
use heeler_sim::workload::{GeneratorOptions, Shape};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Generated jobs")]
pub(crate) struct GenerateArguments {
    /// How many jobs to generate
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) jobs: usize,
    /// The largest gang [default: a quarter of the cluster]
    #[arg(long, value_name = "N")]
    max_gpus: Option<u32>,
    /// Number of tenants [default: as many as were published]
    #[arg(long, value_name = "N")]
    tenants: Option<usize>,
    /// Part of the jobs that can run on half to twice the GPUs they ask for
    #[arg(long, value_name = "0..1", default_value_t = 0.0)]
    elastic: f64,
    /// Part of the jobs that have a deadline
    #[arg(long, value_name = "0..1", default_value_t = 0.0)]
    deadlines: f64,
    /// A deadline is so many times the run time after the submission: at least, at most
    #[arg(long, value_name = "X,X", value_delimiter = ',', num_args = 1..=2,
          default_values_t = [1.5, 4.0], value_parser = positive)]
    slack: Vec<f64>,
    /// Part of the jobs that wait for an earlier one
    #[arg(long, value_name = "0..1", default_value_t = 0.0)]
    dependencies: f64,
    /// Trials of a study that are submitted first, beside the jobs; `--jobs 0` for the study alone
    #[arg(long, value_name = "TRIALS", default_value_t = 0)]
    pub(crate) study: usize,
}

impl GenerateArguments {
    pub(crate) fn options(
        &self,
        shape: Shape,
        gpus: u32,
        load: f64,
        seed: u64,
    ) -> GeneratorOptions {
        let slack = match self.slack.as_slice() {
            [low, high, ..] => (*low, *high),
            [both] => (*both, *both),
            [] => GeneratorOptions::default().slack,
        };
        GeneratorOptions {
            shape,
            jobs: self.jobs,
            load,
            gpus,
            seed,
            max_gpus: self.max_gpus,
            tenants: self.tenants,
            elastic: self.elastic,
            deadlines: self.deadlines,
            slack,
            dependencies: self.dependencies,
            trials: self.study,
        }
    }
}
