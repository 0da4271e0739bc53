//! Plans of leases against all plans there are, on small instances.

use super::*;
use crate::leases::{Ask, pack};
use heeler_engine::stream;
use heeler_model::Time;
use rand::RngExt;

const CAPACITY: u32 = 4;
const FIRST: u64 = 7;

fn holder(gang: u32, leases: Vec<u64>, choices: &[(u64, i64)], chosen: usize) -> Holder {
    let choices = choices.iter().map(|(until, value)| Choice { until: *until, value: *value });
    Holder { gang, leases, choices: choices.collect(), chosen, first: false }
}

fn entered(holders: &[Holder]) -> Calendar {
    let mut calendar = Calendar::new(FIRST, CAPACITY);
    for holder in holders {
        holder.leases.iter().for_each(|lease| calendar.take(*lease, holder.gang));
    }
    calendar
}

/// GPUs of the first lease that are in use.
fn in_use(holders: &[Holder]) -> u32 {
    holders.iter().filter(|holder| holder.has(FIRST)).map(|holder| holder.gang).sum()
}

/// The fewest and the most GPUs of the first lease over all plans, by trying all of them.
fn extremes(holders: &[Holder], calendar: &mut Calendar, used: u32) -> Option<(u32, u32)> {
    let Some((holder, rest)) = holders.split_first() else { return Some((used, used)) };
    let slots: Vec<u64> = (FIRST..holder.until()).collect();
    let mut found: Option<(u32, u32)> = None;
    for bits in 0u32..1 << slots.len() {
        if bits.count_ones() as usize != holder.leases.len() {
            continue;
        }
        let chosen = slots.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
        let leases: Vec<u64> = chosen.map(|(_, lease)| *lease).collect();
        if leases.iter().any(|lease| calendar.free(*lease) < holder.gang) {
            continue;
        }
        leases.iter().for_each(|lease| calendar.take(*lease, holder.gang));
        let more = if leases.contains(&FIRST) { holder.gang } else { 0 };
        if let Some((low, high)) = extremes(rest, calendar, used + more) {
            found = Some(found.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
        }
        leases.iter().for_each(|lease| calendar.give(*lease, holder.gang));
    }
    found
}

/// A plan for a few random jobs, packed backwards.
fn packed(seed: u64) -> Option<Vec<Holder>> {
    let mut rng = stream(seed, Time::ZERO, "leases");
    let ask = |_| {
        let leases = rng.random_range(1..4u32);
        let until = FIRST + u64::from(leases) + rng.random_range(0..3u64);
        Ask { gang: [1, 1, 2, 4][rng.random_range(0..4usize)], leases, until }
    };
    let asks: Vec<Ask> = (0..5).map(ask).collect();
    let leases = pack(&mut Calendar::new(FIRST, CAPACITY), &asks)?;
    let each = asks.iter().zip(leases);
    Some(each.map(|(ask, leases)| holder(ask.gang, leases, &[(ask.until, 1)], 0)).collect())
}

#[test]
fn plans_are_nearly_always_the_best_and_never_lose_a_lease() {
    let (mut plans, mut best) = (0, 0);
    for before in (0..1000).filter_map(packed) {
        let (low, high) =
            extremes(&before, &mut Calendar::new(FIRST, CAPACITY), 0).expect("a plan");
        for (aim, bound) in [(FirstLease::Fill, high), (FirstLease::Spare, low)] {
            let mut after = before.clone();
            let mut calendar = entered(&after);
            improve(&mut calendar, &mut after, aim, 1000);
            for (old, new) in before.iter().zip(&after) {
                assert_eq!(old.leases.len(), new.leases.len());
                assert!(new.leases.is_sorted_by(|a, b| a < b), "{new:?}");
                assert!(new.leases.iter().all(|lease| (FIRST..new.until()).contains(lease)));
            }
            // Taking what does not fit would panic.
            entered(&after);
            plans += 1;
            best += usize::from(in_use(&after) == bound);
        }
    }
    assert!(plans > 200, "{plans}");
    assert!(best * 100 >= plans * 97, "{best} of {plans}");
}

/// A job that could end earlier, which is worth more, does; one that could not, does not.
#[test]
fn the_best_deadline_that_can_be_kept_is_taken() {
    let choices = [(FIRST + 2, 9), (FIRST + 5, 4)];
    let mut holders = [
        holder(4, vec![FIRST], &[(FIRST + 1, 1)], 0),
        holder(2, vec![FIRST + 4], &choices, 1),
        holder(2, vec![FIRST + 3, FIRST + 4], &choices, 1),
    ];
    let mut calendar = entered(&holders);
    improve(&mut calendar, &mut holders, FirstLease::Fill, 1000);
    assert_eq!((holders[1].chosen, &holders[1].leases), (0, &vec![FIRST + 1]));
    assert_eq!(holders[2].chosen, 1, "it needs two leases and has one before");
}
