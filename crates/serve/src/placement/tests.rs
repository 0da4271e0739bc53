//! Tests of placement on examples small enough to follow.

use super::*;
use crate::{Cell, Recurrence, RecurrenceCard, Request, Setting};

fn model(target_ms: f64) -> Model {
    let cut = |stages_ms: Vec<f64>, memory_mb| Cut { stages_ms, memory_mb };
    Model { target_ms, cuts: vec![cut(vec![100.0], 10), cut(vec![50.0, 50.0], 5)] }
}

fn setup(models: usize) -> Setup {
    let models = vec![model(250.0); models];
    Setup { gpus: 2, memory_mb: 10, models, overhead_ms: 0.0, slower_per_stage: 0.0 }
}

fn at_ms(times: &[(u64, u32)]) -> Vec<Call> {
    times.iter().map(|(ms, model)| Call { at_ns: ms * 1_000_000, model: *model }).collect()
}

/// The paper's first example: a burst to one of two models that fill a GPU each. Alone on its GPU
/// it takes its turn; cut into two stages, both GPUs work on the burst.
#[test]
fn a_burst_is_served_faster_by_a_pipeline() {
    let setup = setup(2);
    let later = [(1_000, 1), (2_000, 1), (3_000, 1)];
    let burst = at_ms(&[[(0, 0); 4].as_slice(), &later].concat());
    let alone = replicate(&setup, &burst);
    let good = |plan: &Plan| simulate(&setup, plan, &burst, 0..4).good[0];
    // 100, 200 and then too late; 100, 150, 200, 250.
    assert_eq!(good(&alone), 2);
    let together = greedy(&setup, Plan::empty(2, 2), &burst);
    assert_eq!(together.groups, [Group { gpus: 2, models: vec![0, 1] }]);
    assert_eq!(good(&together), 4);
    assert_eq!(search(&setup, &burst), together);
}

#[test]
fn without_bursts_copies_are_better_than_stages_with_a_cost() {
    let mut setup = setup(2);
    setup.slower_per_stage = 0.3;
    let steady = at_ms(&[(0, 0), (0, 1), (200, 0), (200, 1), (400, 0), (400, 1)]);
    let found = search(&setup, &steady);
    assert_eq!(found, replicate(&setup, &steady));
    assert_eq!(simulate(&setup, &found, &steady, 0..6).goodput(), 1.0);
}

#[test]
fn replicas_go_where_requests_are_unserved() {
    let mut setup = setup(2);
    setup.memory_mb = 20;
    setup.models.push(Model { target_ms: 250.0, cuts: Vec::new() });
    // Model 1 is asked more often, so it comes first and gets a second replica as well.
    let calls = at_ms(&[(0, 1), (0, 1), (0, 1), (0, 0), (0, 2)]);
    let plan = replicate(&setup, &calls);
    assert_eq!(plan.replicas(), 4);
    assert!(plan.groups.iter().all(|group| group.models.contains(&1)));
    assert!(plan.groups.iter().all(|group| !group.models.contains(&2)), "it cannot be cut");
    assert_eq!(simulate(&setup, &plan, &calls, 0..5).good, [1, 3, 0]);
}

#[test]
fn round_robin_takes_turns() {
    let plan = round_robin(&Setup { gpus: 4, memory_mb: 20, ..setup(3) }, Plan::empty(4, 1));
    let models: Vec<&[u32]> = plan.groups.iter().map(|group| group.models.as_slice()).collect();
    assert_eq!(models, [&[0, 1][..], &[1, 2], &[2, 0], &[0, 1]]);
}

#[test]
fn what_is_left_over_is_cut_by_powers_of_two() {
    let sizes = |gpus, group| -> Vec<u32> {
        Plan::empty(gpus, group).groups.iter().map(|group| group.gpus).collect()
    };
    assert_eq!(sizes(8, 4), [4, 4]);
    assert_eq!(sizes(7, 4), [4, 2, 1]);
}

#[test]
fn one_model_on_groups_is_a_cell_with_as_many_replicas() {
    let setup = Setup { gpus: 4, overhead_ms: 3.0, ..setup(1) };
    let calls = calls(&[TrafficCard { cv: 3.0, ..TrafficCard::poisson(30.0) }], 5, 60_000_000_000);
    let group = Group { gpus: 2, models: vec![0] };
    let plan = Plan { groups: vec![group.clone(), group] };
    let outcome = simulate(&setup, &plan, &calls, 0..calls.len());
    let requests = calls.iter().map(|c| Request { at_ns: c.at_ns, ..Request::default() });
    let traffic = Traffic::listed(requests.collect::<Vec<_>>());
    let (target_ms, stages_ms) = (250.0, vec![50.0, 50.0]);
    let card = RecurrenceCard { target_ms, stages_ms, overhead_ms: 3.0, admit: true };
    let mut cell = Recurrence::new(&card, traffic, Setting::default());
    cell.set_replicas(0, 2);
    cell.advance(u64::MAX);
    let summary = cell.look();
    assert_eq!(u64::from(outcome.good[0]), summary.answered);
    assert_eq!(u64::from(outcome.asked[0]), summary.arrived);
    assert!(summary.rejected > 0);
}
