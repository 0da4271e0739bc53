//! What a simulation showed, in numbers.

mod against;
mod fairness;
mod interval;
mod jobs;
mod nodes;
mod pareto;
mod results;
mod services;
mod spread;
mod study;

pub use against::Agreement;
pub use fairness::{Fairness, FinishTime};
pub use interval::Interval;
pub use jobs::write_jobs;
pub use nodes::NodeFigures;
pub use pareto::pareto_front;
pub use services::ServiceFigures;
pub use spread::{Spread, quantile};
pub use study::{BestScore, StudySummary};

use crate::entitled::{TenantShare, gini};
use crate::loans::Loan;
use crate::record::{Outcome, Record};
use crate::simulation::Simulation;
use heeler_engine::Calibration;
use heeler_model::{Cluster, Span, TenantId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of the jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Jobs that were submitted.
    pub submitted: usize,
    /// Jobs that did their work.
    pub finished: usize,
    /// Jobs that were not done when the simulation ended.
    pub unfinished: usize,
    /// Jobs that could never run as asked.
    pub unrunnable: usize,
    /// Jobs that waited for one that never finished.
    pub stranded: usize,
    /// Jobs that the world gave up.
    pub dropped: usize,
    /// Trials of studies that were not worth finishing.
    pub stopped_early: usize,
    /// Jobs that the recipe would not take.
    #[serde(default)]
    pub turned_away: usize,
}

/// How often jobs were disturbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Restarts {
    /// Stops for another job.
    pub preemptions: u64,
    /// Moves and changes of size.
    pub moves: u64,
    /// Jobs lost with a node.
    pub losses: u64,
    /// All of them, for each job.
    pub per_job: f64,
}

/// Where GPU time went, in hours of one GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuHours {
    /// Work that was kept.
    pub useful: f64,
    /// Held without keeping anything: starting, saving, work that was lost.
    pub lost: f64,
    /// Not held by anybody.
    pub idle: f64,
    /// Of all that, time of GPUs that several jobs were on at once.
    pub shared: f64,
}

/// Deadlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Deadlines {
    /// Jobs that had one.
    pub jobs: usize,
    /// Of those, jobs that ended later or not at all.
    pub missed: usize,
    /// The same, where ending by a later deadline counts in part: what was not got of what ending
    /// by the best was worth, summed over jobs.
    pub value_lost: f64,
    /// Jobs that were promised to end by some time.
    pub promised: usize,
    /// Of those, jobs that ended later or not at all.
    pub broken: usize,
}

/// A part of the jobs: of one tenant, or of one size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Which.
    pub name: String,
    /// Jobs that finished.
    pub finished: usize,
    /// Time from submission to end, seconds.
    pub completion_s: Spread,
    /// Time without GPUs, seconds.
    pub waiting_s: Spread,
    /// GPU time held, hours.
    pub gpu_hours: f64,
    /// Part of them that finished later than an equal share would have let them (isolated).
    pub unfair: f64,
}

/// What a simulation showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// What became of the jobs.
    pub jobs: Counts,
    /// Time from submission to end, seconds.
    pub completion_s: Spread,
    /// Time without GPUs, seconds.
    pub waiting_s: Spread,
    /// From the first submission to the last end, seconds.
    pub makespan_s: f64,
    /// Part of the GPU time that jobs held until the last end.
    pub utilisation: f64,
    /// Finish-time fairness.
    pub fairness: Fairness,
    /// How often jobs were disturbed.
    pub restarts: Restarts,
    /// Where GPU time went.
    pub gpu_hours: GpuHours,
    /// What the GPUs that jobs held have cost, where kinds have prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// How nodes were used, where the recipe switches them off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeFigures>,
    /// Deadlines.
    pub deadlines: Deadlines,
    /// By tenant, in the order of the cluster.
    pub tenants: Vec<Group>,
    /// By size.
    pub sizes: Vec<Group>,
    /// How well predictors did, if the recipe has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<Calibration>,
    /// By study, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub studies: Vec<StudySummary>,
    /// How services fared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceFigures>,
    /// What tenants had beside what they were entitled to, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<TenantShare>,
    /// How unequally tenants had what they were entitled to (Gini), if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inequality: Option<f64>,
    /// GPU time that tenants with a quota lent and borrowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loans: Vec<Loan>,
}

/// Thousandths × microseconds in an hour of one GPU.
const GPU_HOUR: f64 = 3600.0 * 1e6 * 1e3;

impl Summary {
    /// What a simulation showed.
    pub fn of(simulation: &Simulation) -> Summary {
        let all = simulation.records().all();
        let jobs: Vec<&Record> = all.iter().filter(|record| !record.serves).collect();
        let (cluster, jobs) = (simulation.cluster(), jobs.as_slice());
        let finished = jobs.iter().copied().filter(|r| r.outcome == Outcome::Finished);
        let first = jobs.iter().map(|record| record.submitted).min().unwrap_or_default();
        let last = finished.clone().filter_map(|record| record.ended).max().unwrap_or(first);
        let total = simulation.timeline().total();
        let now = simulation.now();
        // The sum of nothing is minus zero.
        let held = all.iter().map(|record| record.held_milli_at(now)).sum::<f64>() + 0.0;
        let useful = all.iter().map(|record| record.useful_milli_at(now)).sum::<f64>() + 0.0;
        let shares = simulation.shares();
        let ratios: Vec<f64> = shares.iter().map(|share| share.ratio).collect();
        Summary {
            jobs: counts(jobs),
            completion_s: completions(finished.clone()),
            waiting_s: waits(finished.clone()),
            makespan_s: last.since(first).secs_f64(),
            utilisation: held / total.there_milli_us.max(1.0),
            fairness: Fairness::of(finished, f64::from(cluster.gpus()), jobs.len()),
            restarts: restarts(jobs),
            cost: simulation.cost(),
            gpu_hours: GpuHours {
                useful: useful / GPU_HOUR,
                lost: (held - useful).max(0.0) / GPU_HOUR,
                idle: (total.there_milli_us - held).max(0.0) / GPU_HOUR,
                shared: simulation.watch.shared_us() * 1000.0 / GPU_HOUR,
            },
            nodes: simulation.watch.node_time.as_ref().map(NodeFigures::of),
            deadlines: deadlines(jobs),
            tenants: by_tenant(jobs, cluster),
            sizes: by_size(jobs, cluster),
            predictions: predictions(simulation),
            services: services::of(simulation),
            inequality: (ratios.len() > 1).then(|| gini(&ratios)),
            shares,
            loans: simulation.loans(),
            studies: study::of(simulation),
        }
    }
}

/// Predictors of which anything was seen.
fn predictions(simulation: &Simulation) -> Vec<Calibration> {
    let all = simulation.engine().calibrations().into_iter();
    all.filter(|known| known.seen + known.unknown > 0).collect()
}

fn counts(records: &[&Record]) -> Counts {
    let mut counts = Counts { submitted: records.len(), ..Counts::default() };
    for record in records {
        match record.outcome {
            Outcome::Finished => counts.finished += 1,
            Outcome::Unfinished => counts.unfinished += 1,
            Outcome::Unrunnable => counts.unrunnable += 1,
            Outcome::Stranded => counts.stranded += 1,
            Outcome::StoppedEarly => counts.stopped_early += 1,
            Outcome::TurnedAway => counts.turned_away += 1,
            Outcome::Dropped => counts.dropped += 1,
            Outcome::Served => {}
        }
    }
    counts
}

fn completions<'a>(finished: impl Iterator<Item = &'a Record>) -> Spread {
    Spread::of(finished.filter_map(Record::completion).map(Span::secs_f64).collect())
}

fn waits<'a>(finished: impl Iterator<Item = &'a Record>) -> Spread {
    Spread::of(finished.map(|record| record.waited.secs_f64()).collect())
}

fn restarts(records: &[&Record]) -> Restarts {
    let preemptions = records.iter().map(|record| u64::from(record.preemptions)).sum();
    let moves = records.iter().map(|record| u64::from(record.moves)).sum();
    let losses = records.iter().map(|record| u64::from(record.losses)).sum();
    let all = (preemptions + moves + losses) as f64;
    Restarts { preemptions, moves, losses, per_job: all / records.len().max(1) as f64 }
}

fn deadlines(records: &[&Record]) -> Deadlines {
    let mut deadlines = Deadlines::default();
    for record in records {
        let Some(deadline) = record.deadline else { continue };
        // Who was turned away has not kept it.
        let over = matches!(record.outcome, Outcome::StoppedEarly | Outcome::TurnedAway);
        let late = |by| over || record.ended.is_none_or(|ended| ended > by);
        deadlines.jobs += 1;
        deadlines.missed += usize::from(late(deadline));
        deadlines.value_lost += f64::from(record.value_lost);
        deadlines.promised += usize::from(record.promised.is_some());
        deadlines.broken += usize::from(record.promised.is_some_and(late));
    }
    deadlines
}

fn by_tenant(records: &[&Record], cluster: &Cluster) -> Vec<Group> {
    let mut members: BTreeMap<TenantId, Vec<&Record>> = BTreeMap::new();
    for record in records {
        members.entry(record.tenant).or_default().push(record);
    }
    let name = |id: TenantId| cluster.tenants[id.index()].name.as_str();
    let groups = members.iter().map(|(id, members)| group(name(*id), members, records, cluster));
    groups.filter(|group| group.finished > 0).collect()
}

/// Largest size of each class.
const SIZES: [(u32, &str); 9] = [
    (0, "no GPU"),
    (1, "1"),
    (2, "2"),
    (4, "3-4"),
    (8, "5-8"),
    (16, "9-16"),
    (32, "17-32"),
    (64, "33-64"),
    (u32::MAX, "65 and more"),
];

fn by_size(records: &[&Record], cluster: &Cluster) -> Vec<Group> {
    let mut members: BTreeMap<usize, Vec<&Record>> = BTreeMap::new();
    for record in records {
        let class = SIZES.partition_point(|(largest, _)| *largest < record.gpus);
        members.entry(class).or_default().push(record);
    }
    let name = |class: usize| SIZES[class].1;
    let groups = members.iter().map(|(at, members)| group(name(*at), members, records, cluster));
    groups.filter(|group| group.finished > 0).collect()
}

fn group(name: &str, members: &[&Record], all: &[&Record], cluster: &Cluster) -> Group {
    let finished = members.iter().copied().filter(|r| r.outcome == Outcome::Finished);
    let fairness = Fairness::of(finished.clone(), f64::from(cluster.gpus()), all.len());
    Group {
        name: name.to_string(),
        finished: finished.clone().count(),
        completion_s: completions(finished.clone()),
        waiting_s: waits(finished),
        gpu_hours: members.iter().map(|record| record.held_milli).sum::<f64>() / GPU_HOUR,
        unfair: fairness.isolated.unfair,
    }
}
