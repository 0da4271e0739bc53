//! Why a job waits, and which changes to it would let it start now. A handful of changes are tried
//! on copies, the mildest first; each costs one plan, so there is a limit to how many are tried
//! and to how long that may take.

use super::effort;
use super::names::Names;
use heeler_api::{Helps, ReasonView, Why};
use heeler_engine::{Edit, Engine, Phase, Verdict};
use heeler_model::{JobId, KindSet, Reason, Step, Time};
use std::time::Duration;

/// So many changes are tried at most.
const TRIES_MAX: usize = 8;
/// No further change is tried after so long a work.
const TRYING_MAX: Duration = Duration::from_millis(50);

/// Why a job waits, and what would let it start now.
pub fn why(engine: &Engine, names: &Names, epoch: u64, job: JobId) -> Why {
    let seconds = |at: Time| epoch as f64 + at.secs_f64();
    let now = engine.state().now();
    let mut why = Why { job: job.0, state: state(engine, job).into(), ..Why::default() };
    match engine.why(job) {
        Verdict::Unknown | Verdict::Done => {}
        Verdict::Running { on, .. } | Verdict::Starts { on, .. } => {
            why.on = Some(names.place(&on));
        }
        Verdict::Waits { reason, noted, reserved } => {
            why.reason = Some(ReasonView::of(&reason, names));
            why.noted = noted.map(|noted| (now.since(noted.since).secs_f64(), noted.times));
            if let Some(reserved) = reserved {
                let on = heeler_model::Assignment::whole(reserved.placement);
                (why.on, why.reserved) = (Some(names.place(&on)), Some(seconds(reserved.from)));
            }
            if !is_beyond_help(&reason) {
                why.helps = helps(engine, names, job);
            }
        }
    }
    why
}

fn state(engine: &Engine, id: JobId) -> &'static str {
    let Some(job) = engine.state().jobs().get(id) else { return "over" };
    match (job.phase, job.held) {
        (Phase::Running, _) => "running",
        (Phase::Held, _) => "starting",
        (Phase::Stopping, _) => "stopping",
        (_, Some(Reason::Suspended)) => "suspended",
        (_, Some(Reason::HeldBack)) => "held",
        (Phase::Waiting | Phase::Blocked, _) => "pending",
    }
}

/// Whether no other size, kind or priority lets it start now.
fn is_beyond_help(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::NeededJobFailed { .. }
            | Reason::AfterJobs { .. }
            | Reason::HeldBack
            | Reason::Suspended
            | Reason::NotBefore { .. }
            | Reason::ArrayFull { .. }
            | Reason::RoundNotOver { .. }
            | Reason::BeingSaved
            | Reason::Clearing { .. }
            | Reason::Withdrawn
    )
}

/// Changes that would let a waiting job start now.
fn helps(engine: &Engine, names: &Names, id: JobId) -> Vec<Helps> {
    let began = effort::used();
    let mut helps = Vec::new();
    // Whoever starts at one size need not be told of smaller ones.
    let mut size = 0;
    let mut any_kind = false;
    let mut tries = 0;
    for (change, edit) in edits(engine, id) {
        let wider = edit.kinds.is_some();
        if edit.gpus.is_some_and(|gpus| gpus <= size) || (wider && any_kind) {
            continue;
        }
        if tries == TRIES_MAX || effort::used() - began > TRYING_MAX {
            break;
        }
        tries += 1;
        if let Verdict::Starts { on, stops } = engine.what_if(id, edit) {
            size = size.max(edit.gpus.unwrap_or(0));
            any_kind |= wider;
            let on = names.place(&on);
            helps.push(Helps { change, on, stops: stops.iter().map(|job| job.0).collect() });
        }
    }
    helps
}

/// Changes to try, in words and as edits: other kinds, fewer GPUs, a higher priority.
fn edits(engine: &Engine, id: JobId) -> Vec<(String, Edit)> {
    let state = engine.state();
    let job = state.job(id);
    let demand = &job.spec.demand;
    let fleet = state.fleet();
    let cluster = fleet.cluster();
    let all = (0..cluster.kinds.len() as u8).map(heeler_model::KindId);
    let picky = all.clone().any(|kind| !demand.kinds.contains(kind));
    let any = picky.then_some(KindSet::ANY);
    let mut edits = Vec::new();
    if any.is_some() {
        edits.push(("kind=any".to_string(), Edit { kinds: any, ..Edit::default() }));
    }
    let most_free = |kinds: KindSet| {
        let nodes = cluster.nodes.iter().enumerate();
        let free = nodes.filter(|(_, node)| kinds.contains(node.kind)).map(|(index, node)| {
            let id = heeler_model::NodeId(index as u32);
            let free = |slot: &u32| fleet.left_of(id, *slot) >= demand.share.0;
            if fleet.is_up(id) { (0..node.gpus).filter(free).count() as u32 } else { 0 }
        });
        let free: Vec<u32> = free.collect();
        (free.iter().copied().max().unwrap_or(0), free.iter().sum::<u32>())
    };
    let mut sizes = Vec::new();
    for kinds in if picky { vec![None, any] } else { vec![None] } {
        let (together, free) = most_free(kinds.unwrap_or(demand.kinds));
        let unit = match demand.sizes.step {
            Step::MultiplesOf(unit) => unit.max(1),
            Step::Any | Step::PowersOfTwo => 1,
        };
        sizes.extend(smaller(demand.asked(), together, free, unit).into_iter().map(|gpus| {
            let edit = Edit { gpus: Some(gpus), kinds, priority: None };
            let words = if kinds.is_some() { " kind=any" } else { "" };
            (format!("gpus={gpus}{words}"), edit)
        }));
    }
    edits.extend(sizes);
    let first = state.jobs().iter().map(|job| job.spec.priority).max().unwrap_or(0);
    if let Some(priority) = first.checked_add(1).filter(|_| job.spec.priority <= first) {
        let edit = Edit { priority: Some(priority), ..Edit::default() };
        // Before sizes are exhausted: whoever cannot be smaller may still be more important.
        edits.insert(edits.len().min(TRIES_MAX - 1), (format!("priority={priority}"), edit));
    }
    edits
}

/// Sizes below what is asked for: what is free in all, what is free together, and halves of it.
fn smaller(asked: u32, together: u32, free: u32, unit: u32) -> Vec<u32> {
    let halves = std::iter::successors(Some(asked / 2), |size| Some(size / 2));
    let halves = halves.take_while(|size| *size > 0).take(3);
    let sizes = [free, together, 1].into_iter().chain(halves);
    let mut sizes: Vec<u32> = sizes.map(|size| size / unit * unit).collect();
    sizes.retain(|size| *size > 0 && *size < asked);
    sizes.sort_unstable_by_key(|size| std::cmp::Reverse(*size));
    sizes.dedup();
    sizes
}
