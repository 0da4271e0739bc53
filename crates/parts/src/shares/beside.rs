//! Who may share GPUs with whom, as far as was measured beforehand.

use heeler_engine::{Job, View};
use heeler_model::{Demand, KindId, ModelId};
use heeler_solve::Beside;
use std::collections::BTreeMap;

/// What tells jobs apart where they share GPUs: what they train and what they ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sort {
    model: ModelId,
    demand: Demand,
}

/// The sort of a job; none for one that does not have whole GPUs.
fn sort(job: &Job) -> Option<Sort> {
    let demand = job.spec.demand;
    let whole = demand.share.is_whole() && demand.asked() > 0;
    whole.then_some(Sort { model: job.spec.model, demand })
}

/// What two take of each GPU that they share, and beside it.
pub(super) fn both(one: &Demand, other: &Demand) -> Demand {
    Demand {
        gpu_memory_mb: one.gpu_memory_mb.saturating_add(other.gpu_memory_mb),
        cpu_milli: one.cpu_milli.saturating_add(other.cpu_milli),
        memory_mb: one.memory_mb.saturating_add(other.memory_mb),
        ..*one
    }
}

/// The parts of their rates alone that two sorts keep together on a kind of GPU.
fn kept(one: Sort, other: Sort, kind: KindId, view: &View) -> Option<(f64, f64)> {
    let (a, b) = (&one.demand, &other.demand);
    let (gpus, fleet) = (a.asked(), view.fleet());
    let pairs = &fleet.cluster().pairs;
    let first = pairs.pace(kind, gpus, (one.model, other.model))?;
    let second = pairs.pace(kind, gpus, (other.model, one.model))?;
    let both = both(a, b);
    let alike = gpus == b.asked() && a.reach == b.reach;
    (alike && fleet.together_ever(kind, &both) >= gpus).then_some((first, second))
}

/// The parts of their rates alone that two jobs keep together on a kind of GPU.
pub(super) fn together(one: &Job, other: &Job, kind: usize, view: &View) -> Option<(f64, f64)> {
    kept(sort(one)?, sort(other)?, KindId(kind as u8), view)
}

/// What is known of all of these jobs, two by two.
pub(super) fn beside(jobs: &[&Job], kinds: usize, view: &View) -> Beside {
    let mut sorts: BTreeMap<Sort, usize> = BTreeMap::new();
    let of_jobs: Vec<Option<Sort>> = jobs.iter().map(|job| sort(job)).collect();
    for sort in of_jobs.iter().flatten() {
        sorts.entry(*sort).or_default();
    }
    sorts.values_mut().enumerate().for_each(|(index, at)| *at = index);
    let sort_of = of_jobs.iter().map(|sort| sort.map(|sort| sorts[&sort])).collect();
    let count = sorts.len();
    let mut parts = vec![0.0; kinds * count * count];
    for kind in 0..kinds {
        for (one, first) in &sorts {
            for (other, second) in &sorts {
                let both = kept(*one, *other, KindId(kind as u8), view);
                parts[(kind * count + first) * count + second] = both.map_or(0.0, |both| both.0);
            }
        }
    }
    Beside { sort_of, sorts: count, kept: parts }
}
