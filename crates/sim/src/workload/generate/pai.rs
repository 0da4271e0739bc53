//! PAI: Weng et al., *MLaaS in the Wild: Workload Analysis and Scheduling in Large-Scale
//! Heterogeneous GPU Clusters*, NSDI 2022. Its tables are public (alibaba/clusterdata,
//! cluster-trace-gpu-v2020, CC-BY-4.0), July and August 2020. Figures without another source were
//! computed from the 714,903 successful GPU jobs of those tables by the public audit
//! william19307/ai-grid-flexibility-research.

use super::shape::{Ask, Batches, Class, Model, Profile, Tenants, model, skewed, whole};

/// The longest job here: seven days, as the longest of the trace (626,371 s, by the summary that
/// comes with the Acme trace).
const LONGEST_S: f64 = 604_800.0;

pub(super) static PROFILE: Profile = Profile {
    name: "pai",
    help: "Alibaba PAI 2020: half of the jobs take less than a GPU, gangs of small instances",
    classes: &CLASSES,
    models: &MODELS,
    // Jobs by hour of submission, Beijing time: recurring jobs come right after midnight.
    hours: [
        1.667, 1.056, 0.900, 0.687, 0.870, 0.868, 1.096, 1.151, 0.905, 0.910, 1.277, 1.256, //
        0.992, 1.000, 1.003, 1.077, 1.056, 1.146, 1.069, 0.938, 0.909, 0.804, 0.699, 0.664,
    ],
    // No figure was found; what recurs daily does so on Sundays too.
    days: [1.0; 7],
    // An assumption: thousands of users smooth what each of them submits in a burst.
    batches: Batches { follow: 0.5, gap: 0.2 },
    // More than 1,300 users, of whom the first 5 % submit 77 % of the task instances (the paper).
    tenants: Tenants { count: 1300, power: 1.2, prefix: "user" },
    // About 65 % of the tasks repeat (the paper).
    recurring: 0.65,
    // Of the jobs that ended 26 % failed.
    early: 0.26,
};

const fn part(gpus: u32, share_milli: u32, weight: f64) -> Ask {
    Ask { gpus, share_milli, weight }
}

/// One instance, or a gang of several. GPUs asked for, over all jobs, have the published quantiles:
/// 0.1 (10 %), 0.25 (25 %), 1 (50 and 75 %), 5 (90 %), 10 (95 %) and 30 (99 %); half of the
/// instances ask for no more than half a GPU, as published. Durations of both together have the
/// published quantiles, which are the seconds below; gangs run longer, by as much as the published
/// 6.6 GPU hours of the mean job require.
static CLASSES: [Class; 2] = [
    Class {
        share: 0.75,
        asks: &[
            part(1, 100, 0.12),
            part(1, 200, 0.05),
            part(1, 250, 0.14),
            part(1, 500, 0.14),
            whole(1, 0.30),
        ],
        durations: &[
            (0.0, 1.0),
            (0.11, 41.0),
            (0.2733, 137.0),
            (0.5467, 632.0),
            (0.7967, 3_856.0),
            (0.93, 12_924.0),
            (0.9667, 24_057.0),
            (0.995, 69_347.0),
            (0.9997, 170_000.0),
            (1.0, LONGEST_S),
        ],
        models: &MODEL_WEIGHTS,
    },
    Class {
        share: 0.25,
        asks: &[
            part(2, 500, 0.035),
            part(4, 500, 0.04),
            whole(2, 0.03),
            part(10, 250, 0.02),
            whole(4, 0.02),
            part(10, 500, 0.025),
            whole(5, 0.015),
            whole(8, 0.012),
            part(20, 500, 0.014),
            whole(10, 0.011),
            part(40, 500, 0.006),
            whole(20, 0.006),
            part(60, 500, 0.006),
            whole(30, 0.005),
            whole(100, 0.004),
            whole(200, 0.001),
        ],
        durations: &[
            (0.0, 1.0),
            (0.07, 41.0),
            (0.18, 137.0),
            (0.36, 632.0),
            (0.61, 3_856.0),
            (0.81, 12_924.0),
            (0.9, 24_057.0),
            (0.975, 69_347.0),
            (0.997, 170_000.0),
            (1.0, LONGEST_S),
        ],
        models: &MODEL_WEIGHTS,
    },
];

/// The kinds of work that the trace names, with their counts; seven of eight jobs have no name.
static MODELS: [Model; 10] = [
    model("other"),
    model("bert"),
    model("ctr"),
    model("nmt"),
    model("inception"),
    model("graphlearn"),
    model("xlnet"),
    model("resnet"),
    model("rl"),
    skewed("vgg"),
];

const MODEL_WEIGHTS: [f64; 10] =
    [627_896.0, 45_550.0, 25_270.0, 8_732.0, 5_220.0, 1_534.0, 335.0, 296.0, 54.0, 16.0];
