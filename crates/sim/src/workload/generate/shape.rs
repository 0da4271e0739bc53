//! The shapes of workloads that can be generated, and the form in which their figures are written
//! down. The figures themselves stand in one file for each shape, each with its source.

use super::{helios, llm, pai, philly};
use std::fmt;
use std::str::FromStr;

/// Which published cluster the jobs are like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// Microsoft's Philly, 2017: mostly one GPU, a few long gangs of eight take most of the time.
    #[default]
    Philly,
    /// SenseTime's Helios, 2020: short medians, gangs of eight to 32 take three quarters.
    Helios,
    /// Alibaba's PAI, 2020: fractions of a GPU, gangs of many small instances, recurring jobs.
    Pai,
    /// A cluster where language models are made, like Acme's Kalos, 2023: pretraining on hundreds
    /// of GPUs beside a mass of short evaluations.
    Llm,
}

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 4] = [Shape::Philly, Shape::Helios, Shape::Pai, Shape::Llm];

    /// Its name, as it is written on a command line.
    pub const fn name(self) -> &'static str {
        self.profile().name
    }

    /// One line on what it is like.
    pub const fn help(self) -> &'static str {
        self.profile().help
    }

    pub(super) const fn profile(self) -> &'static Profile {
        match self {
            Shape::Philly => &philly::PROFILE,
            Shape::Helios => &helios::PROFILE,
            Shape::Pai => &pai::PROFILE,
            Shape::Llm => &llm::PROFILE,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is not the name of a shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no shape `{found}`; there are philly, helios, pai and llm")]
pub struct UnknownShape {
    /// What was written.
    pub found: String,
}

impl FromStr for Shape {
    type Err = UnknownShape;

    fn from_str(text: &str) -> Result<Shape, UnknownShape> {
        let wanted = text.trim().to_ascii_lowercase();
        let found = Shape::ALL.into_iter().find(|shape| shape.name() == wanted);
        found.ok_or_else(|| UnknownShape { found: text.into() })
    }
}

/// The figures of a shape.
#[derive(Debug)]
pub(super) struct Profile {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    /// Classes of jobs; their shares add up to one.
    pub(super) classes: &'static [Class],
    /// What jobs train.
    pub(super) models: &'static [Model],
    /// Submissions in each hour of the day, from midnight, relative to each other.
    pub(super) hours: [f64; 24],
    /// Submissions on each day of the week, from Monday, relative to each other.
    pub(super) days: [f64; 7],
    pub(super) batches: Batches,
    pub(super) tenants: Tenants,
    /// Share of jobs that are runs of something that was run before and will be run again.
    pub(super) recurring: f64,
    /// Share of jobs that fail or are cancelled, and so end before the time they were given.
    pub(super) early: f64,
}

/// Jobs whose sizes and durations have nothing more to do with each other.
#[derive(Debug)]
pub(super) struct Class {
    /// Share of all jobs.
    pub(super) share: f64,
    /// What they ask for.
    pub(super) asks: &'static [Ask],
    /// Quantiles of the duration: share of jobs that are shorter, and seconds. Between two of them
    /// the logarithm of the duration grows evenly. The last is the longest duration there is.
    pub(super) durations: &'static [(f64, f64)],
    /// Weights of the shape's models.
    pub(super) models: &'static [f64],
}

/// A gang of so many GPUs, and how much of each.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) gpus: u32,
    pub(super) share_milli: u32,
    /// How often, relative to the others of the class.
    pub(super) weight: f64,
}

/// A gang of whole GPUs.
pub(super) const fn whole(gpus: u32, weight: f64) -> Ask {
    Ask { gpus, share_milli: 1000, weight }
}

/// A model that jobs train.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) name: &'static str,
    /// Whether one tensor dominates it.
    pub(super) skewed: bool,
}

pub(super) const fn model(name: &'static str) -> Model {
    Model { name, skewed: false }
}

pub(super) const fn skewed(name: &'static str) -> Model {
    Model { name, skewed: true }
}

/// How jobs come in bursts.
#[derive(Debug)]
pub(super) struct Batches {
    /// Share of jobs that follow the one before them shortly.
    pub(super) follow: f64,
    /// How shortly, relative to the mean gap between jobs.
    pub(super) gap: f64,
}

/// Who submits jobs: shares fall with the rank of a tenant, to a power.
#[derive(Debug)]
pub(super) struct Tenants {
    pub(super) count: usize,
    pub(super) power: f64,
    /// What their names begin with; a number follows.
    pub(super) prefix: &'static str,
}
