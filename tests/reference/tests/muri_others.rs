//! Two of the traces of Muri's paper whose jobs are at hand, but not the figures: those that its
//! authors printed beside their plots of the simulations (figures 9 to 12).

use heeler_reference::muri::{measured, run};
use heeler_reference::{Within, shared, shows};

const METRICS: [&str; 3] = ["avg_jct_s", "makespan_s", "p99_jct_s"];

/// A published run: who scheduled, by which recipe with which knobs, on what, and the mean, the
/// makespan and, where there is one, the 99th percentile, seconds.
type Run = (&'static str, &'static str, &'static [(&'static str, &'static str)], Figures);
type Figures = (&'static str, &'static [f64]);

const BARE: &[(&str, &str)] = &[("place", "anywhere")];
const WHOLE: &[(&str, &str)] = &[("unpack", "false")];
const TWOS: &[(&str, &str)] = &[("unpack", "false"), ("most", "2")];
const THREES: &[(&str, &str)] = &[("unpack", "false"), ("most", "3")];

/// Without groups, or with those of AntMan. Time is counted in microseconds here, which adds up.
const ALONE: [Run; 15] = [
    ("SRTF", "srtf", BARE, ("trace4", &[581982.9002, 14787990.59235, 7768533.005])),
    ("SRTF", "srtf", BARE, ("trace4_pr", &[1430856.446, 14272665.007687, 9443500.203])),
    ("SRTF", "srtf", BARE, ("trace2", &[2665607.375, 48847005.197635, 33128484.196403])),
    ("SRTF", "srtf", BARE, ("trace2_pr", &[4079154.454, 48697594.999386, 36640840.003736])),
    ("SRSF", "srsf", BARE, ("trace4", &[487167.1688, 14887908.86639, 7372568.184])),
    ("SRSF", "srsf", BARE, ("trace4_pr", &[1218501.968, 14426755.371188, 9227908.326])),
    ("SRSF", "srsf", BARE, ("trace2", &[2213949.687, 49026465.31107, 31241250.835485])),
    ("SRSF", "srsf", BARE, ("trace2_pr", &[3384600.437, 47972347.554251, 34656644.081924])),
    ("Tiresias_L", "tiresias", BARE, ("trace4", &[1319382.936, 13073838.61827, 8663311.856])),
    ("Tiresias_L", "tiresias", BARE, ("trace2", &[7396368.514, 48117093.307735, 37913098.47143])),
    (
        "Tiresias_L",
        "tiresias",
        BARE,
        ("trace2_pr", &[10555502.040026, 47686997.556889, 44369455.221804]),
    ),
    ("antman", "antman", &[], ("trace4", &[2212462.719, 12292270.736001, 6438230.798])),
    ("antman", "antman", &[], ("trace4_pr", &[4676092.801, 11793469.427804, 9940651.791])),
    ("antman", "antman", &[], ("trace2", &[15647814.621178, 48176959.246035, 38571847.994149])),
    ("antman", "antman", &[], ("trace2_pr", &[18163389.280198, 48327650.120433, 45081678.610968])),
];

/// With all jobs at once, what is in the sixteenth digit of a job's service decides there whether
/// it has left its queue.
const QUEUES: Run = (
    "Tiresias_L",
    "tiresias",
    BARE,
    ("trace4_pr", &[2674022.636, 12584603.56365, 11219877.952119]),
);

/// Groups, none of them undone. All but the first take minutes together.
const GROUPS: [Run; 12] = [
    ("Muri_S", "muri-s", WHOLE, ("trace4", &[365467.8911, 11029124.28025, 3734840.823])),
    ("Muri_L", "muri-l", WHOLE, ("trace4", &[429174.8679, 10918239.071764, 4719318.299])),
    ("Muri_S", "muri-s", WHOLE, ("trace4_pr", &[954225.2866, 9990192.513, 6575927.929])),
    ("Muri_L", "muri-l", WHOLE, ("trace4_pr", &[1488033.596, 10104721.762665, 6383955.683])),
    ("Muri_L_2", "muri-l", TWOS, ("trace4_pr", &[2170262.136, 11141527.953587])),
    ("Muri_L_3", "muri-l", THREES, ("trace4_pr", &[1994350.657, 10836071.391281])),
    ("Muri_S", "muri-s", WHOLE, ("trace2", &[1342400.019, 34163947.020445, 19994293.572932])),
    ("Muri_S", "muri-s", WHOLE, ("trace2_pr", &[2325962.044, 32250093.334499, 23106016.887981])),
    ("Muri_L", "muri-l", WHOLE, ("trace2", &[2544642.351, 32826803.046468, 22192059.12894])),
    ("Muri_L", "muri-l", WHOLE, ("trace2_pr", &[4152485.536, 31782578.758801, 24767218.772922])),
    ("Muri_L_2", "muri-l", TWOS, ("trace2_pr", &[5243437.378, 36514321.551734])),
    ("Muri_L_3", "muri-l", THREES, ("trace2_pr", &[5078885.537, 36971546.424126])),
];

fn compare((paper, recipe, knobs, (trace, figures)): &Run, within: Within) {
    let Some(data) = shared() else { return };
    let done = run(&data, trace, recipe, knobs, |_| {});
    for (metric, theirs) in METRICS.iter().zip(*figures) {
        let against = format!("published, {paper}, {trace}");
        shows(recipe, &against, metric, (measured(&done, metric), *theirs), within);
    }
}

#[test]
fn jobs_alone_have_published_figures() {
    ALONE.iter().for_each(|run| compare(run, Within::Part(1e-5)));
    compare(&QUEUES, Within::Part(0.01));
}

/// All of them have to be asked for.
#[test]
fn groups_are_near_published_figures() {
    let asked = std::env::var_os("HEELER_LONG").is_some();
    let count = if asked { GROUPS.len() } else { 1 };
    GROUPS.iter().take(count).for_each(|run| compare(run, Within::Part(0.03)));
}
