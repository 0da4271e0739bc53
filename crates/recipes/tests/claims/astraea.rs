//! Long-term fairness in GPU time, between tenants and within them.

use super::filling::{gpu_time_s, jobs};
use super::scene::{Scene, job};
use heeler_model::Time;

const LEASE_S: f64 = 1200.0;

/// Eight GPUs; tenants whose jobs are gangs of one, two, three and eight, in unequal numbers. After
/// so many leases each has had its quarter, but for what a lease of the whole cluster is worth; so
/// the part it lacks falls with time. Who looks at single moments lets small gangs have it all.
#[test]
fn astraea_shares_converge_whatever_the_job_sizes() {
    let tenants = ["one", "two", "three", "eight"];
    let mut table = jobs("one", 20, 1, 10_000_000);
    table.extend(jobs("two", 4, 2, 10_000_000));
    table.extend(jobs("three", 3, 3, 10_000_000));
    table.extend(jobs("eight", 2, 8, 10_000_000));
    let mut scene = Scene::new("1x8", table);
    let worst = |scene: &mut Scene, recipe: &str, leases: f64| {
        let mut simulation = scene.simulation(recipe, &[]);
        simulation.run_until(Time::from_secs_f64(leases * LEASE_S));
        let times = tenants.map(|tenant| gpu_time_s(&simulation, scene, tenant));
        let fair_s = times.iter().sum::<f64>() / 4.0;
        times.iter().map(|time_s| (time_s / fair_s - 1.0).abs()).fold(0.0, f64::max)
    };
    let (early, late) = (worst(&mut scene, "astraea", 20.0), worst(&mut scene, "astraea", 400.0));
    assert!(late < 0.02, "{late} off after 400 leases");
    assert!(late < early / 4.0, "{early} off after 20 leases, {late} after 400");
    assert!(worst(&mut scene, "max-min", 400.0) > 0.9, "large gangs find no room by the moment");
}

#[test]
fn astraea_goes_by_quota() {
    let mut table = jobs("vision", 10, 1, 10_000_000);
    table.extend(jobs("speech", 3, 4, 10_000_000));
    let mut scene = Scene::new("1x8", table).quota("vision", 6).quota("speech", 2);
    let mut simulation = scene.simulation("astraea", &[]);
    simulation.run_until(Time::from_secs_f64(400.0 * LEASE_S));
    let [vision, speech] = ["vision", "speech"].map(|t| gpu_time_s(&simulation, &mut scene, t));
    let part = vision / (vision + speech);
    assert!((0.74..0.76).contains(&part), "{part} instead of three quarters");
}

/// Two gangs of two and one of four of a single tenant on four GPUs: a third of the GPU time each.
#[test]
fn astraea_is_fair_within_a_tenant() {
    let mut table = jobs("a", 2, 2, 10_000_000);
    table.push(job("wide", 0, 4, 10_000_000).of("a"));
    let scene = Scene::new("1x4", table);
    let mut simulation = scene.simulation("astraea", &[]);
    simulation.run_until(Time::from_secs_f64(400.0 * LEASE_S));
    let times: Vec<f64> = (simulation.engine().state().jobs().iter())
        .map(|job| job.attained_milli_at(simulation.now()) as f64)
        .collect();
    let all: f64 = times.iter().sum();
    for time in times {
        let part = time / all;
        assert!((0.32..0.35).contains(&part), "{part} instead of a third");
    }
}
