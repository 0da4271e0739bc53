//! Muri's simulator: its three baselines and itself on whole traces, job by job, and its published
//! averages to all printed digits.

use heeler_recipes::Card;
use heeler_reference::muri::{self, mean, measured};
use heeler_reference::{Case, Within, shared, shows};
use heeler_sim::Simulation;
use heeler_sim::metrics::Agreement;
use heeler_sim::workload::{Cut, Options, Table, cut, read};
use heeler_sim::world::WorldCard;
use heeler_solve::interleave::Turns;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What the program and the paper call a schedule, and the recipe.
const SCHEDULES: [(&str, &str, &str); 3] = [
    ("shortest", "SRTF", "srtf"),
    ("shortest-gpu", "SRSF", "srsf"),
    ("dlas-gpu", "Tiresias_L", "tiresias"),
];

/// Muri itself with the least service left, and with the least attained.
const GROUPS: [(&str, &str, &str); 2] = [
    ("multi-resource-blossom-same-gpu", "Muri_S", "muri-s"),
    ("multi-resource-blossom-same-gpu-unaware", "Muri_L", "muri-l"),
];

fn case<'a>(trace: &'a str, all_at_once: bool, recipe: &'a str) -> Case<'a> {
    let options = Options { all_at_once, ..Options::default() };
    let groups = recipe.starts_with("muri");
    let knobs: &[(&str, &str)] = if groups { &[] } else { &[("place", "anywhere")] };
    Case { trace, options, cluster: "8x8", recipe, knobs, world: "muri" }
}

#[test]
fn every_completion_time_is_equal() {
    let Some(data) = shared() else { return };
    for (trace, at_once, name) in [
        ("muri/traces/trace1.csv.gz", false, "full_trace1"),
        ("muri/traces/trace3.csv.gz", false, "full_trace3"),
        ("muri/traces/trace3.csv.gz", true, "full_trace3_pr"),
    ] {
        for (schedule, _, recipe) in SCHEDULES {
            let reference = format!("muri/reference/{name}__{schedule}.csv.gz");
            case(trace, at_once, recipe).must_equal(&data, &reference);
        }
    }
}

/// Average completion times, makespans and 99th percentiles by scheduler, trace and metric.
fn published(data: &Path) -> BTreeMap<(String, String, String), String> {
    let mut values = BTreeMap::new();
    let path = data.join("muri/reference/published_simulation.csv");
    let table = Table::open(&path, ',').unwrap_or_else(|error| panic!("{error}"));
    let each = table.each(|row| {
        let key = |name| row.text(name).map(ToString::to_string);
        values.insert((key("scheduler")?, key("trace")?, key("metric")?), key("value")?);
        Ok(())
    });
    each.unwrap_or_else(|error| panic!("{error}"));
    values
}

/// A number to as many decimals as another is printed with.
fn like(value: f64, printed: &str) -> String {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let text = format!("{value:.decimals$}");
    // Printed numbers have no zeros at the end.
    if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[test]
fn published_averages_are_equal_to_all_printed_digits() {
    let Some(data) = shared() else { return };
    let published = published(&data);
    let mut compared = 0;
    let traces = ["trace1", "trace1_pr", "trace3", "trace3_pr"];
    let kinds = ["job_type_1", "job_type_2", "job_type_3", "job_type_4"];
    for name in traces.into_iter().chain(kinds) {
        let at_once = name.ends_with("_pr");
        let trace = format!("muri/traces/{}.csv.gz", name.trim_end_matches("_pr"));
        for (_, paper, recipe) in SCHEDULES {
            // Where there are four kinds of job, the paper calls it by its plain name.
            let paper = if kinds.contains(&name) { paper.trim_end_matches("_L") } else { paper };
            let of = |metric: &str| (paper.to_string(), name.to_string(), metric.to_string());
            if !published.contains_key(&of("avg_jct_s")) {
                continue;
            }
            let simulation = case(&trace, at_once, recipe).run(&data);
            for metric in ["avg_jct_s", "makespan_s", "p99_jct_s"] {
                let Some(theirs) = published.get(&of(metric)) else { continue };
                let ours = like(measured(&simulation, metric), theirs);
                assert_eq!(&ours, theirs, "{name}, {paper}, {metric}");
                compared += 1;
            }
        }
    }
    assert!(compared == 44, "{compared} published values were found");
}

/// Averages of the authors' program on whole traces of which no figure was published.
const UNPUBLISHED: [(&str, &str, &str); 5] = [
    ("trace2", "srtf", "2665607.375"),
    ("trace2", "srsf", "2213949.687"),
    ("trace4", "srtf", "581982.9"),
    ("trace4", "srsf", "487167.169"),
    ("trace4", "tiresias", "1319382.936"),
];

#[test]
fn other_traces_come_to_what_the_authors_program_says() {
    let Some(data) = shared() else { return };
    for (name, recipe, theirs) in UNPUBLISHED {
        let trace = format!("muri/traces/{name}.csv.gz");
        let simulation = case(&trace, false, recipe).run(&data);
        assert_eq!(like(mean(&simulation), theirs), theirs, "{name}, {recipe}");
    }
}

/// AntMan as Muri's program has it, which was compared with Muri.
fn antman(trace: &str, all_at_once: bool) -> Case<'_> {
    Case { world: "antman", knobs: &[], ..case(trace, all_at_once, "antman") }
}

#[test]
fn antman_has_published_figures_to_all_digits() {
    let Some(data) = shared() else { return };
    let published = published(&data);
    for name in ["trace1", "trace1_pr", "trace3", "trace3_pr"] {
        let trace = format!("muri/traces/{}.csv.gz", name.trim_end_matches("_pr"));
        let simulation = antman(&trace, name.ends_with("_pr")).run(&data);
        let theirs = |metric: &str| &published[&("antman".into(), name.into(), metric.into())];
        assert_eq!(&like(mean(&simulation), theirs("avg_jct_s")), theirs("avg_jct_s"), "{name}");
        for (metric, figure) in [
            ("avg_jct_s", "mean completion time, s"),
            ("makespan_s", "makespan, s"),
            ("p99_jct_s", "99th percentile of completion times, s"),
        ] {
            let there: f64 = theirs(metric).parse().expect("a number");
            let ours = measured(&simulation, metric);
            // Some are printed to the microsecond, which is what time is rounded to here.
            assert!((ours - there).abs() < 1e-3, "{name}, {metric}: {ours} and {there}");
            shows("antman", name, figure, (ours, there), Within::Equal);
        }
    }
}

/// A recipe in a world on the first two hundred jobs of a trace, job by job.
fn first_jobs_agree(data: &Path, case: &Case, reference: &str) {
    let mut cluster = heeler_sim::cluster::read(case.cluster).expect("sound");
    let path = data.join(case.trace);
    let trace = read(&path, &case.options, &mut cluster).unwrap_or_else(|error| panic!("{error}"));
    let first = Cut { first: Some(200), ..Cut::default() };
    let trace = cut(&trace, &cluster, &first).expect("a part of it");
    let recipe = heeler_recipes::find(case.recipe).expect("the recipe is built in");
    let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
    let knobs: Vec<(String, String)> = case.knobs.iter().map(own).collect();
    let card = Card::read_with(recipe.text, recipe.name, &knobs).expect("sound knobs");
    let world = WorldCard::find(case.world).expect("the world is built in").world();
    let jobs = Box::new(trace.workload);
    let mut simulation = Simulation::of_recipe(&card, world, Arc::new(cluster), jobs, 0);
    simulation.run();
    let path = data.join(format!("muri/reference/{reference}.csv.gz"));
    let agreement = Agreement::with(&simulation, &path).unwrap_or_else(|error| panic!("{error}"));
    assert!(agreement.missing == 0 && agreement.jobs == 200, "{reference}: {agreement:#?}");
    assert!(agreement.largest_difference_s < 0.002, "{reference}: {agreement:#?}");
    let (ours, theirs) = (agreement.mean_here_s, agreement.mean_there_s);
    let against = format!("{reference}, all jobs to 2 ms");
    shows(case.recipe, &against, "mean completion time, s", (ours, theirs), Within::Equal);
}

#[test]
fn first_jobs_complete_at_the_same_time() {
    let Some(data) = shared() else { return };
    for (trace, run) in [("trace1", "run_t1_200"), ("trace3", "run_t3_200")] {
        let path = format!("muri/traces/{trace}.csv.gz");
        for (schedule, _, recipe) in SCHEDULES {
            first_jobs_agree(&data, &case(&path, false, recipe), &format!("{run}__{schedule}"));
        }
        first_jobs_agree(&data, &antman(&path, false), &format!("{run}__antman"));
        for (schedule, _, recipe) in GROUPS.iter().filter(|_| trace == "trace3") {
            first_jobs_agree(&data, &case(&path, false, recipe), &format!("{run}__{schedule}"));
        }
    }
}

#[test]
fn antman_completes_every_job_at_the_same_time() {
    let Some(data) = shared() else { return };
    let reference = "muri/reference/full_trace3__antman.csv.gz";
    let agreement = antman("muri/traces/trace3.csv.gz", false).compare(&data, reference);
    assert!(agreement.missing == 0 && agreement.jobs == 992, "{agreement:#?}");
    assert!(agreement.largest_difference_s < 0.002, "{agreement:#?}");
    let means = (agreement.mean_here_s, agreement.mean_there_s);
    let against = "full_trace3__antman, all jobs to 2 ms";
    shows("antman", against, "mean completion time, s", means, Within::Equal);
}

#[test]
fn groups_complete_every_job_at_the_same_time() {
    let Some(data) = shared() else { return };
    for (schedule, _, recipe) in GROUPS {
        let reference = format!("muri/reference/full_trace3__{schedule}.csv.gz");
        let agreement = case("muri/traces/trace3.csv.gz", false, recipe).compare(&data, &reference);
        // Time is counted in microseconds here; what that rounds adds up over two thousand events.
        assert!(agreement.missing == 0, "{agreement:#?}");
        assert!(agreement.largest_difference_s < 0.002, "{agreement:#?}");
        let means = (agreement.mean_here_s, agreement.mean_there_s);
        let against = format!("full_trace3__{schedule}, all jobs to 2 ms");
        shows(recipe, &against, "mean completion time, s", means, Within::Equal);
    }
}

const MEAN: &[&str] = &["avg_jct_s"];
const SPAN: &[&str] = &["avg_jct_s", "makespan_s"];
const ALL: &[&str] = &["avg_jct_s", "makespan_s", "p99_jct_s"];

/// Published figures of one run, and how they come about here.
struct Figure {
    paper: &'static str,
    trace: &'static str,
    metrics: &'static [&'static str],
    unpack: &'static str,
}

const fn figure(
    paper: &'static str,
    trace: &'static str,
    metrics: &'static [&'static str],
    unpack: &'static str,
) -> Figure {
    Figure { paper, trace, metrics, unpack }
}

impl Figure {
    /// Run it and compare.
    fn check(&self, data: &Path, within: Within) {
        let recipe = if self.paper == "Muri_S" { "muri-s" } else { "muri-l" };
        let knobs = [("unpack", self.unpack)];
        let run = muri::run(data, self.trace, recipe, &knobs, |_| {});
        self.compare(data, &run, recipe, within);
    }

    fn compare(&self, data: &Path, run: &Simulation, recipe: &str, within: Within) {
        let published = published(data);
        for metric in self.metrics {
            let ours = measured(run, metric);
            let key = (self.paper.to_string(), self.trace.to_string(), (*metric).to_string());
            let theirs: f64 = published[&key].parse().expect("a number");
            if matches!(within, Within::Equal) {
                // All digits, but for microseconds that add up.
                let off = (ours - theirs).abs() / theirs;
                assert!(off < 1e-9, "{} {}: {ours} and {theirs}", self.paper, self.trace);
            }
            let against = format!("published, {}, {}", self.paper, self.trace);
            shows(recipe, &against, metric, (ours, theirs), within);
        }
    }
}

/// Which of the published figures come about with slow groups undone, and which without, was found
/// out by trying both.
const EQUAL: [Figure; 11] = [
    figure("Muri_S", "trace1", ALL, "false"),
    figure("Muri_S", "trace3", ALL, "false"),
    figure("Muri_L", "trace3", SPAN, "true"),
    figure("Muri_L", "trace3", &["p99_jct_s"], "false"),
    figure("Muri_S", "job_type_1", MEAN, "true"),
    figure("Muri_S", "job_type_2", MEAN, "true"),
    figure("Muri_S", "job_type_3", MEAN, "true"),
    figure("Muri_S", "job_type_4", MEAN, "false"),
    figure("Muri_L", "job_type_2", MEAN, "true"),
    figure("Muri_L", "job_type_3", MEAN, "true"),
    figure("Muri_L", "job_type_4", MEAN, "true"),
];

/// Where all jobs come at once, thousands of decisions hang on which of many equal matchings is
/// taken.
const NEAR: [Figure; 2] =
    [figure("Muri_S", "trace3_pr", ALL, "false"), figure("Muri_L", "trace3_pr", ALL, "false")];

/// And where thousands of decisions follow each other.
const NEAR_LONG: [Figure; 3] = [
    figure("Muri_S", "trace1_pr", ALL, "false"),
    figure("Muri_L", "trace1", ALL, "false"),
    figure("Muri_L", "trace1_pr", ALL, "false"),
];

/// Jobs take turns in the worst order.
fn worst(world: &mut WorldCard) {
    world.sharing.interleave.as_mut().expect("stages interleave").turns = Turns::Worst;
}

/// Without matching, four jobs were taken to slow each other down less.
fn unmatched(world: &mut WorldCard) {
    world.sharing.interleave.as_mut().expect("stages interleave").slowdown[2] = 1.3 / 1.015;
}

/// What each of Muri's ideas is worth, on a trace.
fn ablations(data: &Path, trace: &'static str, within: Within) {
    let knobs = [("unpack", "false"), ("turns", "worst")];
    let run = muri::run(data, trace, "muri-l", &knobs, worst);
    figure("Muri_L_w_worstordering", trace, SPAN, "false").compare(data, &run, "muri-l", within);
    let knobs = [("unpack", "false"), ("pairing", "in-order")];
    let run = muri::run(data, trace, "muri-l", &knobs, unmatched);
    figure("Muri_L_wo_blossom", trace, SPAN, "false").compare(data, &run, "muri-l", within);
}

/// With groups of two, three and four. Groups of up to three ask for half as much again as there
/// is, and who goes without decides the figures: nothing was undone, so the largest run first.
fn sizes(data: &Path, trace: &'static str) {
    for (paper, most) in [("Muri_L_2", "2"), ("Muri_L_3", "3"), ("Muri_L_4", "4")] {
        let run = muri::run(data, trace, "muri-l", &[("most", most), ("unpack", "false")], |_| {});
        figure(paper, trace, SPAN, "false").compare(data, &run, "muri-l", Within::Part(0.03));
    }
}

/// Themis, as one convex programme at every event: the least worst ratio of the time to complete to
/// the time with an equal part of the cluster, and then those with the largest share for the time
/// they have had. Its published figures are not those of the program that was published.
///
/// - They cannot be: nobody could complete as early (the test below). Without the stretch of 1.015
///   they could.
/// - A replica of that program, with the solver it calls, comes to other figures. Mean, makespan
///   and 99th percentile are off by +3.7, +0.0 and +44.0 % on trace3, +13.2, +1.1 and +1.8 % on
///   trace3_pr, +12.1, +1.7 and +3.6 % on trace1, and +0.6, +0.7 and -1.3 % on trace1_pr.
/// - In half to 99 % of its decisions one old job alone decides the worst ratio, and what the
///   others get is open. Where everybody comes at once the mean on trace3_pr is 1.49 to 1.58
///   million seconds if the middle of all best answers is moved by chance by 0.1 to 10 %, 1.70 as
///   that solver ends, 3.77 with the least shares and 4.11 in the middle itself; on trace1_pr 3.2
///   (by 1 %), 3.33, 7.02 and 8.47. Published were 1.50 and 3.31.
/// - Nothing that was tried has all within 3 %: with and without the stretch and the costs of
///   starting, with ratios of times or, as in that program, of times to numbers of iterations, with
///   an equal part rounded up or not, by time or GPU time served, with rounds of six minutes. The
///   mean on trace1 stays 6 to 23 % above, or, by GPU time served, others are off by 26 % and more.
const NOT_HERE: [&str; 1] = ["themis"];

#[test]
fn published_themis_is_not_of_the_published_program() {
    let Some(data) = shared() else { return };
    let key = ("themis".to_string(), "trace3".to_string(), "makespan_s".to_string());
    let theirs: f64 = published(&data)[&key].parse().expect("a number");
    let path = data.join("muri/traces/trace3.csv.gz");
    let table = Table::open(&path, ',').unwrap_or_else(|error| panic!("{error}"));
    // Every job at once when it is submitted, without any cost, and with the stretch or without.
    let (mut stretched, mut plain) = (0.0_f64, 0.0_f64);
    let each = table.each(|row| {
        let submitted = row.number("submit_time")? / 1000.0;
        let alone = row.number("iterations")? * row.number("iteration_time")? / 1000.0;
        stretched = stretched.max(submitted + 1.015 * alone);
        plain = plain.max(submitted + alone);
        Ok(())
    });
    each.unwrap_or_else(|error| panic!("{error}"));
    assert!(plain < theirs && theirs < stretched, "{plain}, {theirs} and {stretched}");
}

#[test]
fn every_published_figure_is_compared_or_known_not_to_be() {
    let Some(data) = shared() else { return };
    let tables = [&EQUAL[..], &NEAR, &NEAR_LONG];
    let queues = figure("Muri_L", "job_type_1", MEAN, "true");
    let others = tables.into_iter().flatten().chain([&queues]);
    for ((scheduler, trace, metric), _) in published(&data) {
        let baseline = SCHEDULES
            .iter()
            .any(|(_, paper, _)| paper.trim_end_matches("_L") == scheduler.trim_end_matches("_L"));
        let in_table = others.clone().any(|figure| {
            figure.paper == scheduler
                && figure.trace == trace
                && figure.metrics.contains(&metric.as_str())
        });
        let ablated = ["Muri_L_w_worstordering", "Muri_L_wo_blossom"].contains(&scheduler.as_str());
        let sized = ["Muri_L_2", "Muri_L_3", "Muri_L_4"].contains(&scheduler.as_str());
        let known = baseline || in_table || ablated || sized || scheduler == "antman";
        assert!(known || NOT_HERE.contains(&scheduler.as_str()), "{scheduler}, {trace}, {metric}");
    }
}

#[test]
fn groups_have_published_figures_to_all_digits() {
    let Some(data) = shared() else { return };
    EQUAL.iter().for_each(|figure| figure.check(&data, Within::Equal));
    ablations(&data, "trace3", Within::Equal);
    // With one kind of job nobody shares, and the published figure goes by the queues of Tiresias.
    let queues = "{ queues = { limits = ['3250 gpu-s', '7200 gpu-s'] } }";
    let run = muri::run(&data, "job_type_1", "muri-l", &[("order", queues)], |_| {});
    let alone = figure("Muri_L", "job_type_1", MEAN, "true");
    alone.compare(&data, &run, "muri-l", Within::Equal);
}

#[test]
fn groups_are_near_other_published_figures() {
    let Some(data) = shared() else { return };
    NEAR.iter().for_each(|figure| figure.check(&data, Within::Part(0.03)));
    sizes(&data, "trace3_pr");
}

#[test]
fn groups_on_the_long_trace() {
    let Some(data) = shared() else { return };
    NEAR_LONG.iter().for_each(|figure| figure.check(&data, Within::Part(0.03)));
    ablations(&data, "trace1", Within::Part(0.03));
    sizes(&data, "trace1_pr");
}

#[test]
fn muri_is_below_tiresias_is_below_fifo() {
    let Some(data) = shared() else { return };
    let of = |recipe: &str| mean(&case("muri/traces/trace3.csv.gz", false, recipe).run(&data));
    let (tiresias, fifo) = (of("tiresias"), of("fifo"));
    assert!(tiresias < fifo, "{tiresias} and {fifo}");
    for recipe in ["muri-s", "muri-l"] {
        assert!(of(recipe) < tiresias / 3.0, "{recipe}: {} and {tiresias}", of(recipe));
    }
}
