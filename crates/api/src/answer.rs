//! Answers: why, when, what if, what was lost and to whom.

use heeler_model::{Naming, Reason, render};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A reason in words and in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ReasonView {
    /// Its name, such as `not-enough-free`.
    pub name: String,
    /// `never`, `not-allowed` or `turn`.
    pub tier: String,
    /// What it says.
    pub sentence: String,
    /// What would help.
    pub hint: Option<String>,
    /// Its numbers.
    pub data: serde_json::Value,
}

impl ReasonView {
    /// A reason, in the words of whoever knows what things are called.
    pub fn of(reason: &Reason, names: &dyn Naming) -> ReasonView {
        let words = render(reason, names);
        ReasonView {
            name: reason.name().into(),
            tier: reason.tier().name().into(),
            sentence: words.sentence,
            hint: words.hint,
            data: serde_json::to_value(reason).unwrap_or_default(),
        }
    }
}

/// Why a job waits, and what would help.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Why {
    /// The job.
    pub job: u32,
    /// What it is doing.
    pub state: String,
    /// The reason, if it waits.
    pub reason: Option<ReasonView>,
    /// For how many seconds and in how many decisions that has been so.
    pub noted: Option<(f64, u32)>,
    /// Where it runs or is promised to.
    pub on: Option<String>,
    /// When it starts at the latest, if that is promised; seconds since 1970.
    pub reserved: Option<f64>,
    /// Changes that would let it start now: what to change, and where it would then run.
    pub helps: Vec<Helps>,
}

/// A change that would let a job start now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Helps {
    /// What to change: `gpus=4`, `kind=any`, `priority=10`.
    pub change: String,
    /// Where it would run.
    pub on: String,
    /// Jobs that would be stopped for it.
    pub stops: Vec<u32>,
}

/// When a job will start, and how good such estimates were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Forecast {
    /// The job.
    pub job: u32,
    /// When it most likely starts, seconds since 1970; nothing, if that cannot be told.
    pub starts: Option<f64>,
    /// Why it can never start as things are, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never: Option<String>,
    /// Eight of ten such jobs start between these.
    pub between: Option<(f64, f64)>,
    /// When it most likely ends.
    pub ends: Option<f64>,
    /// Where it most likely starts.
    #[serde(default)]
    pub on: Option<String>,
    /// How many futures were looked at.
    pub futures: u32,
    /// What is assumed, in words.
    pub assumes: Vec<String>,
    /// How good past estimates were.
    pub calibration: Calibration,
}

/// How good past estimates were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Calibration {
    /// Estimates that have come true or not.
    pub estimates: u32,
    /// The part of them where the start was within the interval.
    pub within: f64,
    /// The median of how far off they were, seconds.
    pub median_off_s: f64,
}

/// A question about another future.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct WhatIf {
    /// Another recipe.
    pub recipe: Option<String>,
    /// Its knobs.
    pub knobs: BTreeMap<String, String>,
    /// Other quotas, by tenant.
    pub quotas: BTreeMap<String, u32>,
    /// So many more nodes like the first.
    pub add_nodes: u32,
    /// Nodes that are gone.
    pub without_nodes: Vec<String>,
    /// One more job.
    pub job: Option<crate::Submission>,
}

/// Another future beside the one that is coming.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct WhatIfAnswer {
    /// Figures as things are: `mean-wait-s`, `p95-wait-s`, `makespan-s`, `preemptions`, `busy`.
    pub now: BTreeMap<String, f64>,
    /// The same figures if it were so.
    pub then: BTreeMap<String, f64>,
    /// Jobs that would start earlier or later: number, seconds of start now, then.
    pub jobs: Vec<(u32, Option<f64>, Option<f64>)>,
    /// What is assumed, in words.
    pub assumes: Vec<String>,
}

/// Why a job was stopped for another, and what that cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Eviction {
    /// When, seconds since 1970.
    pub at: f64,
    /// Who was stopped.
    pub job: u32,
    /// For whom.
    pub by: Option<u32>,
    /// Where that one then started.
    pub starts_on: Option<String>,
    /// How it was stopped.
    pub way: Option<String>,
    /// Seconds until its GPUs were free.
    pub stop_s: Option<f64>,
    /// GPU-seconds that were lost.
    pub lost_gpu_s: f64,
    /// In a sentence.
    pub sentence: String,
}

/// GPU time by tenant and user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Usage {
    /// Since when, seconds since 1970.
    pub since: f64,
    /// By tenant and user.
    pub rows: Vec<UsageRow>,
    /// GPU-seconds that there were in all.
    pub capacity_gpu_s: f64,
}

/// GPU time of one user in one tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct UsageRow {
    /// The tenant.
    pub tenant: String,
    /// The user.
    pub user: String,
    /// Jobs that ended.
    pub jobs: u32,
    /// GPU-seconds that were of use.
    pub useful_gpu_s: f64,
    /// GPU-seconds that were lost to stops, failures and restarts.
    pub lost_gpu_s: f64,
}

/// Who changed what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub struct AuditView {
    /// When, seconds since 1970.
    pub at: f64,
    /// Who.
    pub user: String,
    /// Did what: `cancel`, `quota`, `recipe` …
    pub what: String,
    /// To what, with what.
    pub detail: String,
}
