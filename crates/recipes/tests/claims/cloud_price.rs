//! Prices that move: jobs run where the rest of their work costs least.

use super::scene::{Knobs, Row, Scene, job};
use heeler_model::{Price, Time};
use heeler_sim::metrics::Summary;

const PLAIN: Knobs<'static> =
    &[("round", "100 s"), ("restart", "0 s"), ("saving", "0.0"), ("patience", "1.0")];

/// A GPU on demand, always at 2 an hour, and one that can be had at 1 until 1000 s, at 4 then, and
/// at 1 again from 3000 s on.
fn market(rows: impl IntoIterator<Item = Row>) -> Scene {
    let mut scene = Scene::new("1x1:demand+1x1:spot", rows);
    let price =
        |from_s: u64, units: u64| Price { from: Time::from_secs(from_s), micro: units * 1_000_000 };
    scene.cluster.kinds[0].prices = vec![price(0, 2)];
    scene.cluster.kinds[1].prices = vec![price(0, 1), price(1000, 4), price(3000, 1)];
    scene
}

fn cost(scene: &Scene, recipe: &str, knobs: Knobs) -> f64 {
    Summary::of(&scene.run(recipe, knobs).simulation).cost.expect("kinds have prices")
}

/// A job of 4000 s is on the spot GPU until 1000, on demand until 3000, and back again: 1000 s at
/// 1, 2000 s at 2, 1000 s at 1. Where moving costs 1000 s, it is not worth coming back for the
/// rest.
#[test]
fn cloud_price_moves_when_that_saves() {
    let scene = market([job("long", 0, 1, 4000)]);
    let run = scene.run("cloud-price", PLAIN);
    let stays: Vec<(f64, f64)> = run.stays("long").iter().map(|s| (s.0, s.1)).collect();
    assert_eq!(stays, [(0.0, 1000.0), (1000.0, 3000.0), (3000.0, 4000.0)]);
    let paid = Summary::of(&run.simulation).cost.expect("a price");
    assert!((paid - (1000.0 + 2.0 * 2000.0 + 1000.0) / 3600.0).abs() < 1e-6, "{paid}");
    let dear: Vec<_> = PLAIN
        .iter()
        .map(|(name, value)| match *name {
            "restart" => (*name, "1000 s"),
            _ => (*name, *value),
        })
        .collect();
    let stays = scene.run("cloud-price", &dear).stays("long").len();
    assert_eq!(stays, 2, "it leaves once, and does not come back for the last 1000 s");
}

/// Twice as fast, on demand is four times as dear for the same work; a deadline that the other
/// cannot keep is worth it, but only until the other can: after 500 s, half of the work is left.
#[test]
fn cloud_price_pays_for_a_deadline() {
    let run = |due_s: u64| {
        let row = job("due", 0, 1, 1000).units(1000.0, &[1.0, 0.5]).due(&[(due_s, 1)]);
        let mut scene = market([row]);
        scene.cluster.kinds[0].prices[0].micro = 8_000_000;
        scene.cluster.kinds[1].prices.truncate(1);
        scene.run("cloud-price", PLAIN).end("due")
    };
    assert_eq!([run(2000), run(1500)], [2000.0, 1500.0]);
}

/// Jobs one after another for hours, against each of the kinds alone.
#[test]
fn cloud_price_is_cheaper_than_a_fixed_choice() {
    let rows = || (0..4).map(|index| job(&index.to_string(), index * 1000, 1, 900));
    let moving = cost(&market(rows()), "cloud-price", PLAIN);
    let fixed = |kind: u8| {
        let mut scene = market(rows());
        for job in &mut scene.jobs {
            job.spec.demand.kinds = heeler_model::KindSet::only(heeler_model::KindId(kind));
        }
        cost(&scene, "fifo", &[])
    };
    let (demand, spot) = (fixed(0), fixed(1));
    assert!(moving < demand && moving < spot);
}

#[test]
fn cloud_price_without_prices_takes_the_fastest() {
    let rows = ["a", "b", "c"].map(|name| job(name, 0, 1, 100).units(100.0, &[0.5, 1.0]));
    let mut scene = market(rows);
    scene.cluster.kinds.iter_mut().for_each(|kind| kind.prices.clear());
    let run = scene.run("cloud-price", PLAIN);
    assert_eq!(["a", "b", "c"].map(|name| run.end(name)), [100.0, 200.0, 200.0]);
    assert_eq!(Summary::of(&run.simulation).cost, None);
}

/// Nobody else is there, and only the dear GPU is fast enough: it stays there, though the other
/// would be cheaper.
#[test]
fn cloud_price_stays_where_it_is_in_time() {
    let row = job("due", 0, 1, 1000).units(1000.0, &[1.0, 0.5]).due(&[(1100, 1)]);
    let mut scene = market([row]);
    scene.cluster.kinds[1].prices.truncate(1);
    assert_eq!(scene.run("cloud-price", PLAIN).stays("due"), [(0.0, 1000.0, 1, 1)]);
}
