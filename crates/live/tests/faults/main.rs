//! The whole control plane in one thread and made-up time: the state machine, the journal on a disk
//! that fails, a world of processes that misbehave, and people. The server is killed at every kind
//! of point, and comes back. After each step: no job that was acknowledged is lost, none runs
//! twice at once, no GPU is given twice, the accounts add up; and the journal leads to the
//! same state. `HEELER_SEEDS` says how many lives, `HEELER_FIRST_SEED` from which on; a failure names
//! its seed, and `HEELER_SEED` lives that one alone.
#![allow(clippy::disallowed_methods)]

mod chance;
mod clients;
mod fate;
mod life;
mod oracle;
mod server;
mod world;

use heeler_api::{Gpus, Submission};
use heeler_backend::{Ending, Inventory, Order, Sign};
use heeler_live::{Ask, Input, Live, Record};
use heeler_model::{Cluster, Time};
use life::Life;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn nothing_that_was_promised_is_lost() {
    if let Some(seed) = number("HEELER_SEED") {
        Life::new(seed).live();
        return;
    }
    let (mut jobs, mut deaths, mut starts) = (0, 0, 0);
    let first = number("HEELER_FIRST_SEED").unwrap_or(0);
    for seed in first..first + number("HEELER_SEEDS").unwrap_or(200) {
        let lived = std::panic::catch_unwind(|| {
            let mut life = Life::new(seed);
            life.live();
            life.sums()
        });
        let Ok(sums) = lived else { panic!("seed {seed} failed: HEELER_SEED={seed} to see it") };
        jobs += sums.0;
        deaths += sums.1;
        starts += sums.2;
    }
    assert!(jobs > 0 && deaths > 0 && starts > 0, "{jobs} jobs, {deaths} deaths, {starts} starts");
}

#[test]
fn a_node_that_was_declared_lost_is_lost_though_the_server_died() {
    let inventory = Inventory { cluster: Cluster::uniform(2, 1), ..Inventory::default() };
    let open = Live::open(server::EPOCH, inventory, "fifo", 7);
    let mut live = open.unwrap_or_else(|problem| panic!("{}", problem.message));
    let who = oracle::admin();
    let gpus = Gpus { count: 1, ..Gpus::default() };
    let job = Submission { command: vec!["work".into()], gpus, ..Submission::default() };
    let mut turn = |second, input| {
        let record = Record { at: Time::from_secs(second), inputs: vec![input], digest: 0 };
        live.apply(&record);
        live.decide(record.at).orders
    };
    let asked = |ask| Input::Asked { who: who.clone(), ask };
    let orders = turn(1, asked(Ask::Submit(vec![job])));
    let [Order::Start(launch)] = &orders[..] else { panic!("{orders:?}") };
    let node = launch.assignment.placement.slices()[0].node;
    let lose = [Order::Lose { node }];
    assert_eq!(turn(2, asked(Ask::Lose { node: format!("n{node}") })), lose);
    // The server dies before it carries that out.
    assert_eq!(turn(3, Input::Restarted), lose);
    let (job, generation, ending) = (launch.job, launch.generation, Ending::Lost);
    turn(4, Input::Sign(Sign::Ended { job, generation, ending, ago_ms: 0 }));
    assert_eq!(turn(5, Input::Restarted), []);
}
