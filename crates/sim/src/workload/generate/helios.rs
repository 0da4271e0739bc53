//! Helios: Hu et al., *Characterization and Prediction of Deep Learning Workloads in Large-Scale
//! GPU Datacenters*, SC 2021. Its job logs are public (HeliosData, CC-BY-4.0): 1,580,464 GPU jobs
//! of four clusters of SenseTime, April to September 2020. Means and medians over all GPU jobs are
//! from the authors' artifact; figures by size, hour and weekday were computed from the job logs by
//! the public audit william19307/ai-grid-flexibility-research.

use super::shape::{Batches, Class, Model, Profile, Tenants, model, skewed, whole};

/// The longest job here: 30 days. The logs have longer ones, up to 50 days.
const LONGEST_S: f64 = 2_592_000.0;

pub(super) static PROFILE: Profile = Profile {
    name: "helios",
    help: "SenseTime Helios 2020: half of the jobs end in 3.5 minutes, gangs of 8 to 32 take 3/4",
    classes: &CLASSES,
    models: &MODELS,
    hours: HOURS,
    days: DAYS,
    // With 10-minute counts of Venus, one of the four, the variance is 13.7 times the mean after
    // the weekly cycle is taken out. Days that differ from each other are part of that, so that
    // bursts get two thirds of it.
    batches: Batches { follow: 0.8, gap: 0.05 },
    // The virtual clusters of Venus have 24, 15, 9, 8, 7, 7, 6 … % of its nodes.
    tenants: Tenants { count: 15, power: 0.8, prefix: "vc" },
    recurring: 0.0,
    // Final states of GPU jobs: 62.4 % completed.
    early: 0.376,
};

/// Jobs by hour of submission, Beijing time.
pub(super) const HOURS: [f64; 24] = [
    0.904, 0.843, 0.681, 0.596, 0.564, 0.555, 0.547, 0.511, 0.559, 0.815, 1.124, 1.237, //
    1.197, 1.224, 1.327, 1.427, 1.494, 1.330, 1.097, 1.199, 1.310, 1.225, 1.140, 1.094,
];

/// Jobs by weekday of submission.
pub(super) const DAYS: [f64; 7] = [0.967, 1.162, 1.145, 1.132, 1.016, 0.735, 0.842];

/// By GPUs: 1, 2 to 4, 5 to 8, 9 to 32, more. Shares of jobs, medians, 90 % quantiles and GPU hours
/// of each are published; the other quantiles were chosen so that the GPU hours come out. Sizes
/// within a class were chosen so that the mean over all jobs is the published 3.7 GPUs.
static CLASSES: [Class; 5] = [
    Class {
        share: 0.7219,
        asks: &[whole(1, 1.0)],
        durations: &[
            (0.0, 1.0),
            (0.1, 18.0),
            (0.25, 72.0),
            (0.5, 203.0),
            (0.75, 780.0),
            (0.9, 4_340.0),
            (0.95, 9_800.0),
            (0.99, 49_000.0),
            (0.999, 240_000.0),
            (1.0, 1_800_000.0),
        ],
        models: &MODEL_WEIGHTS,
    },
    Class {
        share: 0.0828,
        asks: &[whole(2, 0.4), whole(4, 0.6)],
        durations: &[
            (0.0, 1.0),
            (0.1, 12.0),
            (0.25, 45.0),
            (0.5, 184.0),
            (0.75, 1_500.0),
            (0.9, 14_200.0),
            (0.95, 43_000.0),
            (0.99, 235_000.0),
            (0.999, 850_000.0),
            (1.0, LONGEST_S),
        ],
        models: &MODEL_WEIGHTS,
    },
    Class {
        share: 0.1422,
        asks: &[whole(8, 1.0)],
        durations: &[
            (0.0, 1.0),
            (0.1, 12.0),
            (0.25, 48.0),
            (0.5, 209.0),
            (0.75, 1_700.0),
            (0.9, 19_000.0),
            (0.95, 53_000.0),
            (0.99, 215_000.0),
            (0.999, 700_000.0),
            (1.0, LONGEST_S),
        ],
        models: &MODEL_WEIGHTS,
    },
    Class {
        share: 0.0466,
        asks: &[whole(16, 0.75), whole(24, 0.05), whole(32, 0.2)],
        durations: &[
            (0.0, 1.0),
            (0.1, 14.0),
            (0.25, 70.0),
            (0.5, 428.0),
            (0.75, 6_500.0),
            (0.9, 63_100.0),
            (0.95, 130_000.0),
            (0.99, 345_000.0),
            (0.999, 900_000.0),
            (1.0, LONGEST_S),
        ],
        models: &MODEL_WEIGHTS,
    },
    Class {
        share: 0.0065,
        asks: &[whole(64, 0.7), whole(128, 0.2), whole(256, 0.08), whole(512, 0.02)],
        durations: &[
            (0.0, 1.0),
            (0.1, 12.0),
            (0.25, 50.0),
            (0.5, 212.0),
            (0.75, 2_500.0),
            (0.9, 33_600.0),
            (0.95, 60_000.0),
            (0.99, 125_000.0),
            (0.999, 300_000.0),
            (1.0, 604_800.0),
        ],
        models: &MODEL_WEIGHTS,
    },
];

/// The logs do not say what was trained; SenseTime's work is mostly on images. The weights are an
/// assumption.
static MODELS: [Model; 8] = [
    model("resnet50"),
    model("resnet18"),
    model("mobilenet3"),
    skewed("vgg11"),
    model("efficientnet"),
    model("yolov3"),
    model("pointnet"),
    model("bert"),
];

const MODEL_WEIGHTS: [f64; 8] = [0.25, 0.15, 0.15, 0.1, 0.1, 0.1, 0.05, 0.1];
