//! Philly: Jeon et al., *Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training
//! Workloads*, ATC 2019. Its trace was made public (msr-fiddle/philly-traces, CC-BY-4.0).
//! Figures without another source were computed from the 82,247 GPU jobs of that trace that the
//! Sia artifact holds (4 September to 22 December 2017).

use super::shape::{Batches, Class, Model, Profile, Tenants, model, skewed, whole};

/// The longest job here: 30 days. The trace has 16 longer ones, up to 54 days, which alone would
/// make the load depend on the seed.
const LONGEST_S: f64 = 2_592_000.0;

pub(super) static PROFILE: Profile = Profile {
    name: "philly",
    help: "Microsoft Philly 2017: 93 % one-GPU jobs, long gangs of 8 take half of the time",
    classes: &CLASSES,
    models: &MODELS,
    // The mean of the middle half of the days, hour by hour, because single bursts of thousands of
    // jobs would otherwise decide which hour is busy.
    hours: [
        1.17, 0.92, 1.07, 1.00, 0.92, 1.19, 1.46, 1.67, 1.19, 1.08, 0.89, 0.76, //
        0.69, 0.72, 0.66, 0.70, 0.78, 1.01, 1.00, 1.00, 0.89, 1.02, 1.05, 1.17,
    ],
    // Minutes in which a virtual cluster was active, for the same reason.
    days: [0.96, 1.20, 1.13, 1.25, 1.14, 0.69, 0.62],
    // Three quarters of the jobs come within 44 s of the one before, where the mean gap is 114 s.
    batches: Batches { follow: 0.78, gap: 0.1 },
    // The eleven virtual clusters with more than ten jobs have 50, 20, 12, 9, 2, 2, 2 … % of them.
    tenants: Tenants { count: 11, power: 1.6, prefix: "vc" },
    recurring: 0.0,
    // Of the 117,325 jobs of the whole trace 16 % failed and 12 % were killed.
    early: 0.281,
};

/// By GPUs. The shares of sizes, and the quantiles of the durations of each, are the trace's.
static CLASSES: [Class; 6] = [
    Class {
        share: 0.9317,
        asks: &[whole(1, 1.0)],
        durations: &[
            (0.0, 1.0),
            (0.01, 30.0),
            (0.05, 52.0),
            (0.1, 62.0),
            (0.25, 122.0),
            (0.375, 527.0),
            (0.5, 1_117.0),
            (0.625, 1_900.0),
            (0.75, 2_716.0),
            (0.85, 5_340.0),
            (0.9, 8_510.0),
            (0.925, 11_200.0),
            (0.95, 19_100.0),
            (0.975, 55_500.0),
            (0.99, 135_000.0),
            (0.995, 267_000.0),
            (0.999, 800_000.0),
            (1.0, 2_000_000.0),
        ],
        models: &MODEL_WEIGHTS,
    },
    Class {
        share: 0.0221,
        asks: &[whole(2, 1.0)],
        durations: &[
            (0.0, 2.0),
            (0.05, 9.0),
            (0.1, 11.0),
            (0.25, 16.0),
            (0.5, 21.0),
            (0.625, 26.0),
            (0.75, 76.0),
            (0.85, 22_400.0),
            (0.9, 73_600.0),
            (0.95, 197_000.0),
            (0.975, 290_000.0),
            (0.99, 526_000.0),
            (0.999, 1_520_000.0),
            (1.0, LONGEST_S),
        ],
        models: &MODEL_WEIGHTS,
    },
    Class {
        share: 0.0227,
        asks: &[whole(4, 1.0)],
        durations: &[
            (0.0, 3.0),
            (0.05, 75.0),
            (0.1, 138.0),
            (0.25, 772.0),
            (0.375, 5_580.0),
            (0.5, 17_400.0),
            (0.625, 45_500.0),
            (0.75, 89_400.0),
            (0.85, 150_000.0),
            (0.9, 184_000.0),
            (0.95, 274_000.0),
            (0.975, 485_000.0),
            (0.99, 880_000.0),
            (0.995, 1_200_000.0),
            (1.0, LONGEST_S),
        ],
        models: &MODEL_WEIGHTS,
    },
    Class {
        share: 0.0200,
        asks: &[whole(8, 1.0)],
        durations: &[
            (0.0, 1.0),
            (0.05, 125.0),
            (0.1, 216.0),
            (0.25, 1_870.0),
            (0.375, 10_300.0),
            (0.5, 23_700.0),
            (0.625, 90_000.0),
            (0.75, 173_000.0),
            (0.85, 242_000.0),
            (0.9, 350_000.0),
            (0.95, 525_000.0),
            (0.975, 740_000.0),
            (0.99, 1_060_000.0),
            (0.995, 1_800_000.0),
            (1.0, LONGEST_S),
        ],
        models: &MODEL_WEIGHTS,
    },
    Class {
        share: 0.0025,
        asks: &[whole(12, 0.034), whole(16, 0.966)],
        durations: &[
            (0.0, 2.0),
            (0.05, 40.0),
            (0.1, 55.0),
            (0.25, 387.0),
            (0.375, 4_450.0),
            (0.5, 41_700.0),
            (0.625, 87_600.0),
            (0.75, 162_000.0),
            (0.85, 241_000.0),
            (0.9, 341_000.0),
            (0.95, 506_000.0),
            (0.975, 625_000.0),
            (0.99, 1_150_000.0),
            (1.0, 1_710_000.0),
        ],
        models: &MODEL_WEIGHTS,
    },
    Class {
        share: 0.0010,
        asks: &[whole(24, 0.084), whole(32, 0.808), whole(64, 0.072), whole(128, 0.036)],
        durations: &[
            (0.0, 1.0),
            (0.05, 4.0),
            (0.1, 326.0),
            (0.25, 868.0),
            (0.375, 1_320.0),
            (0.5, 3_720.0),
            (0.625, 43_000.0),
            (0.75, 51_200.0),
            (0.9, 60_000.0),
            (0.95, 78_000.0),
            (0.99, 213_000.0),
            (1.0, 220_000.0),
        ],
        models: &MODEL_WEIGHTS,
    },
];

/// The trace does not say what was trained. These are the image, language and speech models that
/// schedulers of that time were evaluated with; the weights are an assumption.
static MODELS: [Model; 8] = [
    model("resnet50"),
    model("inception3"),
    skewed("vgg16"),
    skewed("vgg19"),
    skewed("alexnet"),
    model("googlenet"),
    model("lstm"),
    model("deepspeech"),
];

const MODEL_WEIGHTS: [f64; 8] = [0.25, 0.15, 0.1, 0.05, 0.05, 0.1, 0.2, 0.1];
