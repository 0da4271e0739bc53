//! Tests of traffic.

use super::*;
use crate::SECOND_NS;

fn made(card: &TrafficCard, seconds: u64) -> Vec<Request> {
    Traffic::new(card, 1, 2, 0, seconds * SECOND_NS).collect()
}

#[test]
fn requests_come_at_their_rate_and_in_order() {
    for cv in [0.0, 0.5, 1.0, 4.0] {
        let card = TrafficCard { cv, ..TrafficCard::poisson(100.0) };
        let requests = made(&card, 1_000);
        assert!((requests.len() as f64 / 1e5 - 1.0).abs() < 0.05, "{cv}: {}", requests.len());
        assert!(requests.is_sorted_by_key(|request| request.at_ns));
        let gaps: Vec<f64> =
            requests.windows(2).map(|w| (w[1].at_ns - w[0].at_ns) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((square.sqrt() / mean - cv).abs() < 0.1 * (1.0 + cv), "{cv}");
    }
}

#[test]
fn a_shorter_trace_is_the_beginning_of_a_longer_one() {
    let card = TrafficCard { cv: 3.0, ..TrafficCard::poisson(50.0) };
    let (short, long) = (made(&card, 10), made(&card, 100));
    assert_eq!(short, long[..short.len()]);
    let other: Vec<Request> = Traffic::new(&card, 1, 3, 0, 10 * SECOND_NS).collect();
    assert_ne!(short, other);
}

#[test]
fn doubling_the_rate_keeps_the_order_of_bursts() {
    let card = TrafficCard { cv: 3.0, ..TrafficCard::poisson(50.0) };
    let twice = TrafficCard { rate_per_s: 100.0, ..card.clone() };
    let (one, two) = (made(&card, 20), made(&twice, 10));
    for (a, b) in one.iter().zip(&two) {
        assert!(a.at_ns.abs_diff(2 * b.at_ns) <= 2, "{} {}", a.at_ns, b.at_ns);
    }
}

#[test]
fn rates_follow_their_table() {
    let shape = ShapeCard { factors: vec![1.0, 0.0, 3.0], step_s: 10.0, repeat: true };
    assert!((shape.mean() - 4.0 / 3.0).abs() < 1e-12);
    let card = TrafficCard { shape: Some(shape), ..TrafficCard::poisson(1_000.0) };
    let mut counts = [0.0; 6];
    for request in made(&card, 60) {
        counts[(request.at_ns / (10 * SECOND_NS)) as usize] += 1.0;
    }
    for (count, expected) in counts.into_iter().zip([1e4, 0.0, 3e4, 1e4, 0.0, 3e4]) {
        let spread: f64 = 4.0 * f64::sqrt(expected);
        assert!((count - expected).abs() <= spread, "{counts:?}");
    }
}

#[test]
fn a_table_that_does_not_repeat_keeps_its_last_factor() {
    let end = |last: f64| {
        let shape = ShapeCard { factors: vec![1.0, last], step_s: 1.0, repeat: false };
        let card = TrafficCard { shape: Some(shape), ..TrafficCard::poisson(100.0) };
        made(&card, 50).last().map_or(0, |request| request.at_ns / SECOND_NS)
    };
    assert_eq!((end(2.0), end(0.0)), (49, 0));
}

#[test]
fn no_rate_is_no_requests() {
    assert_eq!(made(&TrafficCard::poisson(0.0), 10), []);
    let shape = ShapeCard { factors: vec![0.0, 0.0], step_s: 1.0, repeat: true };
    let card = TrafficCard { shape: Some(shape), ..TrafficCard::poisson(100.0) };
    assert_eq!(made(&card, 10), []);
}

#[test]
fn popularity_follows_zipfs_law() {
    for exponent in [0.0, 0.8, 1.0, 1.4] {
        let keys = KeysCard { count: 1_000, exponent };
        let card = TrafficCard { keys: Some(keys), ..TrafficCard::poisson(1_000.0) };
        let requests = made(&card, 300);
        let weight = |rank: u32| f64::from(rank).powf(-exponent);
        let total: f64 = (1..=1_000).map(weight).sum();
        for key in [0, 1, 9, 500, 999] {
            let expected = requests.len() as f64 * weight(key + 1) / total;
            let seen = requests.iter().filter(|request| request.key == key).count() as f64;
            assert!((seen - expected).abs() <= 4.0 * expected.sqrt() + 1.0, "{exponent} {key}");
        }
    }
}

#[test]
fn lengths_are_drawn_as_described() {
    let draw = |lengths| {
        let card = TrafficCard { lengths: Some(lengths), ..TrafficCard::poisson(1_000.0) };
        made(&card, 100)
    };
    let fixed = draw(LengthsCard::Fixed { prompt: 7, output: 9 });
    assert!(fixed.iter().all(|request| (request.prompt, request.output) == (7, 9)));
    let pairs = draw(LengthsCard::Pairs(vec![(1, 2), (3, 4)]));
    let first = pairs.iter().filter(|request| (request.prompt, request.output) == (1, 2)).count();
    assert!((first as f64 / pairs.len() as f64 - 0.5).abs() < 0.01);
    let (prompt_mean, prompt_cv, output_mean, output_cv) = (700.0, 1.0, 200.0, 0.5);
    let most = 1_000_000;
    let card = LengthsCard::LogNormal { prompt_mean, prompt_cv, output_mean, output_cv, most };
    let spread = draw(card);
    let mean = |of: fn(&Request) -> u32| {
        spread.iter().map(|request| f64::from(of(request))).sum::<f64>() / spread.len() as f64
    };
    assert!((mean(|request| request.prompt) / 700.0 - 1.0).abs() < 0.02);
    assert!((mean(|request| request.output) / 200.0 - 1.0).abs() < 0.02);
}

#[test]
fn a_list_is_handed_out_as_it_is() {
    let requests = made(&TrafficCard::poisson(100.0), 10);
    let mut traffic = Traffic::listed(requests.clone());
    assert_eq!(traffic.next_ns(), requests[0].at_ns);
    assert!(traffic.by_ref().eq(requests));
    assert_eq!((traffic.next_ns(), traffic.next()), (u64::MAX, None));
}

#[test]
fn mistakes_name_their_field() {
    let keys = KeysCard { count: 0, exponent: 1.0 };
    let card = TrafficCard { keys: Some(keys), ..TrafficCard::poisson(1.0) };
    let mistake = card.check().expect_err("no keys at all");
    assert_eq!(mistake.to_string(), "keys.count: expected a number from 1 to 100000000");
    assert!(TrafficCard { cv: -1.0, ..TrafficCard::poisson(1.0) }.check().is_err());
    assert!(TrafficCard::poisson(f64::NAN).check().is_err());
}
