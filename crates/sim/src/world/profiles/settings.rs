//! What a world says of training jobs beside what was measured of them: facts of the models, and
//! switches where an author's program differs from plain sense.

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// What a world says of training jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TrainingSettings {
    /// Jobs say what they measured, and choose their batch anew, at multiples of this, at the end
    /// of every epoch, and when they start.
    pub report_every_s: f64,
    /// Epochs end at whole seconds: their lengths are rounded.
    pub whole_seconds: bool,
    /// Other GPUs cost nothing if there are as many of the same kind on as many nodes.
    pub equal_shapes_are_free: bool,
    /// No job can use more GPUs than this.
    pub gpus_max: u32,
    /// Jobs say that the batch they asked for is the most they can make use of, while they choose
    /// up to the largest that was measured.
    pub asked_is_most: bool,
    /// How jobs lie on their nodes is told by the GPUs of each, the node with most of them first.
    pub largest_first: bool,
    /// A GPU takes as many examples in one pass as were measured on any placement, not on that
    /// which a job has.
    pub one_limit: bool,
    /// Owners of jobs of a fixed batch are told that a step on one GPU takes two passes at least.
    pub two_passes_alone: bool,
    /// They are told of steps as if nodes had so many GPUs, whatever they have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_gpus_on_node: Option<u32>,
    /// The part of their pace that jobs on several nodes lose while another such job is on one of
    /// these nodes.
    #[serde(deserialize_with = "part")]
    pub interference: f64,
    /// Where a place lies between measurements, and several tetrahedra are equally right, those
    /// that count: `MODEL NODES GPUS BATCH: NODES GPUS BATCH, …`. Who is not listed here is told by
    /// one of them, always the same.
    pub between: Vec<String>,
    /// Whose list of such places counts beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between_as_in: Option<KnownPlaces>,
    /// Facts of the models.
    pub models: BTreeMap<String, ModelSettings>,
}

/// A part of something that is never all of it.
fn part<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let part = f64::deserialize(from)?;
    match (0.0..1.0).contains(&part) {
        true => Ok(part),
        false => Err(serde::de::Error::custom(format!("{part} is not a part from 0 to below 1"))),
    }
}

/// Lists of places between measurements that are too long for a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnownPlaces {
    /// Every place that jobs of Pollux' workloads can be at, on up to sixteen nodes of up to four
    /// GPUs, where the library that its published program uses takes other corners than we do.
    Pollux,
}

impl KnownPlaces {
    /// The list, a place on each line.
    pub(super) fn lines(self) -> impl Iterator<Item = &'static str> {
        match self {
            KnownPlaces::Pollux => include_str!("pollux_places.txt").lines(),
        }
    }
}

/// What a world says of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ModelSettings {
    /// Epochs until it is trained; as many as were measured, if not given.
    pub epochs: Option<usize>,
    /// Seconds that every start takes.
    pub restart_s: f64,
    /// Seconds that a start takes, as the job's owner says.
    pub said_restart_s: f64,
    /// Progress is slower than measured by this factor.
    pub slow_down: f64,
    /// Examples that a GPU of a kind takes in one pass, if fewer than were measured.
    pub most_on_gpu: BTreeMap<String, u32>,
    /// The same on a GPU of whatever kind.
    pub most_on_any_gpu: Option<u32>,
    /// No job of this model that may change its size can use more GPUs than this.
    pub gpus_max: Option<u32>,
    /// The same by number of the kind.
    #[serde(skip)]
    pub(super) limits: Vec<(usize, u32)>,
}

impl Default for TrainingSettings {
    fn default() -> TrainingSettings {
        TrainingSettings {
            report_every_s: 60.0,
            whole_seconds: false,
            equal_shapes_are_free: false,
            gpus_max: 64,
            asked_is_most: false,
            largest_first: false,
            one_limit: false,
            two_passes_alone: false,
            told_gpus_on_node: None,
            interference: 0.0,
            between: Vec::new(),
            between_as_in: None,
            models: BTreeMap::new(),
        }
    }
}

impl Default for ModelSettings {
    fn default() -> ModelSettings {
        ModelSettings {
            epochs: None,
            restart_s: 30.0,
            said_restart_s: 30.0,
            slow_down: 1.0,
            most_on_gpu: BTreeMap::new(),
            most_on_any_gpu: None,
            gpus_max: None,
            limits: Vec::new(),
        }
    }
}
