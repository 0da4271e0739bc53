//! Who may share GPUs with whom, as far as was measured beforehand.

use heeler_engine::{Job, View};
use heeler_model::{KindId, ModelId, Reach};
use heeler_solve::Beside;
use std::collections::BTreeMap;

/// What tells jobs apart where they share GPUs: model, GPUs, memory on each, and how far apart they
/// may be.
type Sort = (ModelId, u32, u32, Reach);

/// The sort of a job; none for one that does not have whole GPUs of a fixed number.
fn sort(job: &Job) -> Option<Sort> {
    let demand = &job.spec.demand;
    let whole = demand.share.is_whole() && demand.asked() > 0;
    whole.then_some((job.spec.model, demand.asked(), demand.gpu_memory_mb, demand.reach))
}

/// The parts of their rates alone that two sorts keep together on a kind of GPU.
fn kept(one: Sort, other: Sort, kind: KindId, view: &View) -> Option<(f64, f64)> {
    let memory = u64::from(one.2) + u64::from(other.2);
    let alike = (one.1, one.3) == (other.1, other.3);
    let fits = alike && memory <= u64::from(view.fleet().memory_of(kind));
    let fleet = view.fleet();
    let pairs = &fleet.cluster().pairs;
    let first = pairs.pace(kind, one.1, (one.0, other.0)).filter(|_| fits)?;
    let second = pairs.pace(kind, one.1, (other.0, one.0))?;
    Some((first, second))
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
