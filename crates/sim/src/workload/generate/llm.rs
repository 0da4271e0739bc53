//! A cluster where language models are made: Hu et al., *Characterization of Large Language Model
//! Development in the Datacenter*, NSDI 2024, after its cluster Kalos (19,907 GPU jobs, 2023;
//! AcmeTrace, CC-BY-4.0). Means and medians over all GPU jobs are from the summary
//! that comes with the trace.

use super::helios;
use super::shape::{Batches, Class, Model, Profile, Tenants, model, whole};

pub(super) static PROFILE: Profile = Profile {
    name: "llm",
    help: "Language models, like Acme Kalos 2023: 3 % of the jobs pretrain, with 94 % of the time",
    classes: &CLASSES,
    models: &MODELS,
    // The paper shows no cycle; that of Helios, where much of the same work was done, stands in.
    hours: helios::HOURS,
    days: helios::DAYS,
    // Evaluations are submitted as a batch (the paper). Twenty jobs at a time is an assumption.
    batches: Batches { follow: 0.95, gap: 0.02 },
    // An assumption: nothing is published on teams.
    tenants: Tenants { count: 12, power: 1.0, prefix: "team" },
    recurring: 0.0,
    // Final states of GPU jobs: 54.1 % completed.
    early: 0.459,
};

/// Evaluation, pretraining, and the rest (fine-tuning, debugging and what has no name).
///
/// Published: 3.2 % of the jobs pretrain and take 94.0 % of the GPU time, evaluations take 0.8 %;
/// the mean job has 26.8 GPUs and runs 1,260 s, the median one has 1 and runs 124 s; 73 % end
/// within five minutes; single GPUs take less than 2 % of the GPU time, gangs of 256 and more over
/// 96 %; fewer than 7 % of the jobs have more than eight GPUs; the longest ran 625,740 s. The
/// shares of evaluation and the rest, and the quantiles, were chosen so that all this comes out.
static CLASSES: [Class; 3] = [
    Class {
        share: 0.929,
        // As evaluations in Seren, the other cluster: mean 2.3 GPUs, median 1, 95 % quantile 8.
        asks: &[whole(1, 0.70), whole(2, 0.05), whole(4, 0.08), whole(8, 0.17)],
        durations: &[
            (0.0, 2.0),
            (0.1, 30.0),
            (0.25, 63.0),
            (0.5, 120.0),
            (0.75, 300.0),
            (0.9, 1_150.0),
            (0.95, 2_500.0),
            (0.99, 9_000.0),
            (0.999, 42_000.0),
            (1.0, 300_000.0),
        ],
        models: &[0.5, 0.3, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0],
    },
    Class {
        share: 0.032,
        // As the completed jobs of 64 and more GPUs of Kalos, most of which have 256 to 1,024.
        asks: &[whole(128, 0.06), whole(256, 0.27), whole(512, 0.45), whole(1024, 0.22)],
        durations: &[
            (0.0, 2.0),
            (0.1, 30.0),
            (0.25, 80.0),
            (0.5, 330.0),
            (0.75, 4_500.0),
            (0.9, 36_000.0),
            (0.95, 80_000.0),
            (0.99, 210_000.0),
            (1.0, 625_740.0),
        ],
        models: &[0.0, 0.0, 0.0, 0.4, 0.4, 0.2, 0.0, 0.0],
    },
    Class {
        share: 0.039,
        asks: &[
            whole(8, 0.28),
            whole(64, 0.2),
            whole(128, 0.1),
            whole(256, 0.25),
            whole(512, 0.17),
        ],
        durations: &[
            (0.0, 2.0),
            (0.1, 15.0),
            (0.25, 45.0),
            (0.5, 150.0),
            (0.75, 700.0),
            (0.9, 3_000.0),
            (0.95, 8_000.0),
            (0.99, 33_000.0),
            (1.0, 129_600.0),
        ],
        models: &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.6, 0.4],
    },
];

/// Models of the sizes that were made there. The weights are an assumption.
static MODELS: [Model; 8] = [
    model("evaluate-7b"),
    model("evaluate-20b"),
    model("evaluate-104b"),
    model("pretrain-7b"),
    model("pretrain-20b"),
    model("pretrain-104b"),
    model("finetune-7b"),
    model("debug"),
];
