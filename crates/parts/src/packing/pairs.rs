//! Who should share GPUs: on a node with more seats than GPUs, as many twos as are needed for
//! everybody to run, first those not yet tried together and then those that did best. Two that did
//! worse side by side than in turns are never tried again.

use super::Ledger;
use crate::slices::Seats;
use heeler_engine::{Job, View};
use heeler_model::{JobId, KindId, NodeId};

/// What taking turns would give two jobs together, relative to their paces alone.
pub(crate) const TURNS: f64 = 1.0;

/// Let two and two have one seat together on a node, as far as seats are missing.
pub fn pair_up(node: NodeId, seats: &mut Seats, ledger: &Ledger, view: &View) {
    let there = u64::from(view.fleet().cluster().nodes[node.index()].gpus) * 1000;
    let mut asked = seats.load_of_seats(node);
    if asked <= there {
        return;
    }
    let kind = view.fleet().kind_of(node);
    let single = |id: &JobId| {
        let seat = seats.get(*id).filter(|seat| seat.beside.is_none() && seat.gpus() > 0);
        let job = view.job(*id);
        let whole =
            seat.is_some_and(|seat| seat.node().is_some()) && job.spec.demand.share.is_whole();
        whole && ledger.alone(*id, kind).is_some()
    };
    let free: Vec<&Job> = seats.on(node).filter(single).map(|id| view.state().job(id)).collect();
    let mut twos: Vec<(f64, JobId, JobId)> = Vec::new();
    for (index, one) in free.iter().enumerate() {
        for other in &free[index + 1..] {
            let sum = ledger.sum(kind, one.spec.model, other.spec.model);
            let slower = sum.is_some_and(|sum| sum < TURNS);
            if !slower && fit_together(one, other, node, kind, view) {
                twos.push((sum.unwrap_or(f64::INFINITY), one.id, other.id));
            }
        }
    }
    twos.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    for (_, one, other) in twos {
        let paired = |id| seats.get(id).is_none_or(|seat| seat.beside.is_some());
        if asked > there && !paired(one) && !paired(other) {
            asked -= u64::from(view.job(one).spec.demand.asked()) * 1000;
            seats.pair(one, other);
        }
    }
}

/// Whether two jobs are of one size and fit side by side into memory, and beside it.
fn fit_together(one: &Job, other: &Job, node: NodeId, kind: KindId, view: &View) -> bool {
    let (a, b) = (&one.spec.demand, &other.spec.demand);
    let fleet = view.fleet();
    let there = &fleet.cluster().nodes[node.index()];
    let gpus = u64::from(a.asked());
    let memory = u64::from(a.gpu_memory_mb) + u64::from(b.gpu_memory_mb);
    let within = |there: u64, one: u32, other: u32| {
        there == 0 || (u64::from(one) + u64::from(other)) * gpus <= there
    };
    a.asked() == b.asked()
        && memory <= u64::from(fleet.memory_of(kind))
        && within(there.cpu_milli, a.cpu_milli, b.cpu_milli)
        && within(there.memory_mb, a.memory_mb, b.memory_mb)
}
