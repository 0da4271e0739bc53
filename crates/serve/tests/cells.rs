//! What holds for every kind of cell: many small advances are one large one, a stored cell goes on
//! as if nothing had happened, requests are neither lost nor made up, and replicas come and go.

use heeler_serve::{Answer, Cell, Replicas, SECOND_NS, Service, ServiceCard, Summary};
use proptest::prelude::*;

/// Cards as users write them; here in JSON, since this crate reads no files.
const KINDS: [&str; 6] = [
    r#"{"recurrence": {"target-ms": 60, "stages-ms": [8, 9], "overhead-ms": 1}}"#,
    r#"{"batch": {"target-ms": 60, "latency": {"linear": {"fixed-ms": 4, "per-request-ms": 5}},
        "batcher": {"fixed": 8}, "delay-ms": 2, "noise-cv": 0.1, "expire": true}}"#,
    r#"{"batch": {"target-ms": 60, "latency": {"table-ms": [6, 8, 11, 15]},
        "batcher": {"aimd": {"batch-target-ms": 20}}, "router": "two-choices", "cache": 50}}"#,
    r#"{"batch": {"target-ms": 60, "latency": {"linear": {"fixed-ms": 4, "per-request-ms": 5}},
        "batcher": {"fixed": 4}, "admit": true, "router": "shortest-queue"}}"#,
    r#"{"llm": {"first-token-target-ms": 400, "per-token-target-ms": 60, "kv-tokens": 3000,
        "prefill": {"fixed-ms": 2, "per-token-ms": 0.02, "per-square-ms": 1e-6},
        "decode": {"fixed-ms": 2, "per-context-token-ms": 1e-4, "per-request-ms": 0.02}}}"#,
    r#"{"llm": {"first-token-target-ms": 400, "per-token-target-ms": 60, "kv-tokens": 3000,
        "prefill": {"fixed-ms": 2, "per-token-ms": 0.02}, "chunk-tokens": 64, "noise-cv": 0.2,
        "decode": {"fixed-ms": 2, "per-context-token-ms": 1e-4, "per-request-ms": 0.02},
        "router": "least-clock"}}"#,
];

fn card(kind: usize, rate: f64) -> ServiceCard {
    let text = format!(
        r#"{{"traffic": {{"rate-per-s": {rate}, "cv": 2, "keys": {{"count": 500}},
            "shape": {{"factors": [0.5, 1, 3], "step-s": 2}},
            "lengths": {{"log-normal": {{"prompt-mean": 100, "prompt-cv": 1, "output-mean": 40,
                "output-cv": 1, "most": 900}}}}}},
            "load-s": 1.5, "model": {}}}"#,
        KINDS[kind]
    );
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn start(kind: usize, rate: f64, seed: u64) -> Service {
    let mut cell = card(kind, rate).start(seed, 1, 0, 20 * SECOND_NS).expect("the card is right");
    cell.keep_answers();
    cell
}

/// What may be done to a cell.
#[derive(Clone, Copy, Debug)]
enum Touch {
    Set(u32),
    Lose(u32),
    Store,
}

fn touches() -> impl Strategy<Value = Vec<(u64, Touch)>> {
    let touch = prop_oneof![
        4 => (0_u32..6).prop_map(Touch::Set),
        1 => (0_u32..3).prop_map(Touch::Lose),
        2 => Just(Touch::Store),
    ];
    prop::collection::vec((0_u64..20_000, touch), 0..6).prop_map(|mut touches| {
        touches.sort_by_key(|(at, _)| *at);
        touches
    })
}

/// Run to the end; `step_ns` is how far the cell is advanced at a time.
fn run(mut cell: Service, touches: &[(u64, Touch)], step_ns: u64) -> (Service, Summary) {
    cell.set_replicas(0, 2);
    let mut sum = cell.look();
    for (at_ms, touch) in touches {
        let at_ns = at_ms * 1_000_000;
        while cell.now_ns() + step_ns < at_ns {
            cell.advance(cell.now_ns() + step_ns);
            sum.then(&cell.look());
        }
        match touch {
            Touch::Set(count) => cell.set_replicas(at_ns, *count),
            Touch::Lose(count) => cell.lose_replicas(at_ns, *count),
            Touch::Store if step_ns < SECOND_NS => {
                let text = serde_json::to_string(&cell).expect("a cell can be stored");
                cell = serde_json::from_str(&text).expect("and read again");
            }
            Touch::Store => {}
        }
    }
    cell.set_replicas(20 * SECOND_NS, 3);
    cell.advance(500 * SECOND_NS);
    sum.then(&cell.look());
    (cell, sum)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn small_steps_and_stored_cells_change_nothing(
        kind in 0..KINDS.len(),
        rate in 5.0..300.0_f64,
        seed in 0_u64..1_000,
        touches in touches(),
        step_ms in 3_u64..300,
    ) {
        let (large, one) = run(start(kind, rate, seed), &touches, u64::MAX / 2);
        let (small, many) = run(start(kind, rate, seed), &touches, step_ms * 1_000_000);
        prop_assert_eq!(large.answers(), small.answers());
        prop_assert_eq!(&one, &many);
        // Everything that came was answered or turned away, once.
        prop_assert_eq!(one.waiting + one.running, 0);
        prop_assert_eq!(one.arrived, one.answered + one.rejected + one.expired);
        prop_assert_eq!(one.answered as usize, large.answers().len());
        prop_assert_eq!(one.latency.count(), one.answered);
        let ordered = |a: &Answer| a.at_ns <= a.first_ns && a.first_ns <= a.end_ns;
        prop_assert!(large.answers().iter().all(ordered));
        prop_assert_eq!(large.replicas(), Replicas { serving: 3, ..Replicas::default() });
    }

    #[test]
    fn another_number_of_replicas_sees_the_same_requests(
        kind in 0..KINDS.len(),
        seed in 0_u64..1_000,
    ) {
        let arrived = |replicas| {
            let mut cell = start(kind, 50.0, seed);
            cell.set_replicas(0, replicas);
            cell.advance(10 * SECOND_NS);
            cell.look().arrived
        };
        prop_assert_eq!(arrived(1), arrived(4));
    }
}

#[test]
fn new_replicas_load_and_old_ones_drain() {
    for kind in 0..KINDS.len() {
        let mut cell = start(kind, 200.0, 7);
        cell.set_replicas(0, 2);
        assert_eq!(cell.replicas(), Replicas { loading: 2, ..Replicas::default() });
        cell.advance(SECOND_NS);
        assert!(cell.answers().iter().all(|answer| answer.end_ns > 3 * SECOND_NS / 2));
        cell.set_replicas(2 * SECOND_NS, 4);
        assert_eq!(cell.replicas(), Replicas { serving: 2, loading: 2, draining: 0 });
        cell.set_replicas(3 * SECOND_NS, 3);
        assert_eq!(cell.replicas(), Replicas { serving: 2, loading: 1, draining: 0 });
        cell.set_replicas(6 * SECOND_NS, 1);
        let after = cell.replicas();
        assert_eq!((after.serving, after.loading), (1, 0));
        assert!(after.draining <= 2);
        cell.set_replicas(19 * SECOND_NS, 0);
        cell.advance(400 * SECOND_NS);
        assert_eq!(cell.replicas(), Replicas::default());
        let summary = cell.look();
        assert!(summary.busy_ns <= summary.held_ns, "{kind}");
    }
}

#[test]
fn more_replicas_answer_more_in_time() {
    for kind in 0..KINDS.len() {
        let goodput = |replicas| {
            let mut cell = start(kind, 300.0, 7);
            cell.set_replicas(0, replicas);
            cell.advance(u64::MAX);
            cell.look().in_time()
        };
        let (few, many) = (goodput(1), goodput(8));
        assert!(many > few + 0.05, "{kind}: {few} {many}");
    }
}

#[test]
fn a_fork_goes_its_own_way() {
    for kind in 0..KINDS.len() {
        let mut cell = start(kind, 100.0, 7);
        cell.set_replicas(0, 2);
        cell.advance(5 * SECOND_NS);
        let mut fork = cell.clone();
        let mut same = cell.clone();
        fork.set_replicas(5 * SECOND_NS, 8);
        for cell in [&mut cell, &mut fork, &mut same] {
            cell.advance(15 * SECOND_NS);
        }
        assert_eq!(cell.look(), same.look(), "{kind}");
        assert_ne!(cell.look(), fork.look(), "{kind}");
    }
}

#[test]
fn mistakes_are_named() {
    let mut wrong = card(1, 10.0);
    wrong.load_s = -1.0;
    let mistake = wrong.start(0, 0, 0, 1).expect_err("a negative load time");
    assert_eq!(mistake.to_string(), "load-s: expected seconds, not negative");
    let text = KINDS[1].replace("\"fixed\": 8", "\"fixed\": 0");
    let model = serde_json::from_str(&text).expect("it has the right shape");
    let mistake = ServiceCard { model, ..card(1, 10.0) }.check().expect_err("no requests at all");
    assert_eq!(mistake.field, "model.batch.batcher.fixed");
    let unknown = KINDS[0].replace("target-ms", "target-sm");
    assert!(serde_json::from_str::<heeler_serve::ModelCard>(&unknown).is_err());
}
