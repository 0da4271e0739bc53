//! Fair shares by tickets, and trading between kinds of GPU.

use super::filling::{gpu_time_s, jobs};
use super::scene::{Row, Scene};
use heeler_model::Time;

const LONG: f64 = 1e12;

/// Jobs of one tenant with rates on both kinds.
fn rated(tenant: &'static str, count: u32, gpus: u32, rates: [f64; 2]) -> Vec<Row> {
    let jobs = jobs(tenant, count, gpus, 1).into_iter();
    jobs.map(|row| row.units(LONG, &rates)).collect()
}

/// Work that each tenant's jobs have done, in what one slow GPU does in a second.
fn done(scene: &Scene, knobs: &[(&str, &str)], hours: u64) -> Vec<f64> {
    let mut simulation = scene.simulation("gandiva-fair", knobs);
    simulation.run_until(Time::from_secs(hours * 3600));
    let mut done = vec![0.0; scene.cluster.tenants.len()];
    for job in simulation.engine().state().jobs().iter() {
        let slow = job.spec.rates()[1] / f64::from(job.spec.demand.asked());
        done[job.spec.tenant.index()] += job.progress.done_at(simulation.now()) / slow;
    }
    done.split_off(1)
}

/// Four fast and eight slow GPUs; three users whose jobs are four, two and one and a half times as
/// fast on the fast ones, in gangs of one and two.
#[test]
fn gandiva_fair_trading_harms_nobody_and_helps_somebody() {
    let mut table = rated("a", 12, 1, [4.0, 1.0]);
    table.extend(rated("b", 6, 2, [4.0, 2.0]));
    table.extend(rated("c", 12, 1, [1.5, 1.0]));
    let scene = Scene::new("v100=4,k80=8", table);
    let apart = done(&scene, &[("trading", "false")], 24);
    let traded = done(&scene, &[], 24);
    for (user, (before, after)) in apart.iter().zip(&traded).enumerate() {
        assert!(*after >= before * 0.995, "user {user}: {before} before, {after} after trading");
    }
    let (before, after): (f64, f64) = (apart.iter().sum(), traded.iter().sum());
    assert!(after > before * 1.05, "{before} before, {after} after trading");
    let gain = |user: usize| traded[user] / apart[user];
    assert!(gain(0) > 1.1 && gain(2) > 1.1, "buyer and seller gain: {} and {}", gain(0), gain(2));
}

/// Three tickets against one, many small jobs against few large ones.
#[test]
fn gandiva_fair_shares_go_by_tickets() {
    for draw in ["stride", "lottery"] {
        let mut table = jobs("vision", 3, 4, 10_000_000);
        table.extend(jobs("speech", 20, 1, 10_000_000));
        let mut scene = Scene::new("1x8", table);
        let vision = scene.cluster.tenant_named("vision");
        scene.cluster.tenants[vision.index()].weight = 3;
        let mut simulation = scene.simulation("gandiva-fair", &[("draw", draw)]);
        simulation.run_until(Time::from_secs(24 * 3600));
        let [vision, speech] = ["vision", "speech"].map(|t| gpu_time_s(&simulation, &mut scene, t));
        let part = vision / (vision + speech);
        let slack = if draw == "stride" { 0.01 } else { 0.1 };
        assert!((part - 0.75).abs() < slack, "{draw}: {part} instead of three quarters");
    }
}

#[test]
fn gandiva_fair_on_one_kind_has_nothing_to_trade() {
    let mut table = jobs("vision", 5, 2, 5000);
    table.extend(jobs("speech", 20, 1, 3000));
    let scene = Scene::new("1x8", table);
    let apart = scene.run("gandiva-fair", &[("trading", "false")]);
    assert_eq!(scene.run("gandiva-fair", &[]).ends(), apart.ends());
}
