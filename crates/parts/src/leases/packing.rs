//! Admission by packing: newcomers fill a calendar of leases backwards from their deadlines, so
//! that early leases stay free for whoever comes later. If one does not fit, the earliest deadline
//! at which it would is found by bisection (Chronus: Gao et al., SoCC 2021, §4).

use super::calendar::Calendar;

/// What a job with a deadline needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// GPUs at once.
    pub gang: u32,
    /// Leases in all.
    pub leases: u32,
    /// The lease before which they must be over.
    pub until: u64,
}

/// Leases for all of them, in the order asked, which are taken in the calendar; or none for
/// anybody, and the calendar as it was. Large gangs first, then those with the least slack, then
/// those with the later deadline.
pub fn pack(calendar: &mut Calendar, asks: &[Ask]) -> Option<Vec<Vec<u64>>> {
    let slack = |ask: &Ask| ask.until as i64 - i64::from(ask.leases);
    let mut order: Vec<usize> = (0..asks.len()).collect();
    order.sort_by_key(|at| {
        let ask = &asks[*at];
        (std::cmp::Reverse(ask.gang), slack(ask), std::cmp::Reverse(ask.until))
    });
    let mut packed = vec![Vec::new(); asks.len()];
    for at in order {
        let Ask { gang, leases, until } = asks[at];
        let Some(found) = calendar.latest(gang, leases as usize, until, &[]) else {
            for (leases, ask) in packed.iter().zip(asks) {
                leases.iter().for_each(|lease| calendar.give(*lease, ask.gang));
            }
            return None;
        };
        found.iter().for_each(|lease| calendar.take(*lease, gang));
        packed[at] = found;
    }
    Some(packed)
}

/// The earliest lease before which the last of them could be over, its own wish aside, with the
/// others as they asked. None if it never could.
pub fn earliest(calendar: &Calendar, asks: &[Ask]) -> Option<u64> {
    let (ask, others) = asks.split_last()?;
    let fits = |until: u64| {
        let mut asks = others.to_vec();
        asks.push(Ask { until, ..*ask });
        pack(&mut calendar.clone(), &asks).is_some()
    };
    let last = others.iter().map(|ask| ask.until).max().unwrap_or(0).max(calendar.end());
    let (mut low, mut high) =
        (calendar.first() + u64::from(ask.leases), last + u64::from(ask.leases));
    if !fits(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_fit_changes_nothing() {
        let mut calendar = Calendar::new(0, 2);
        let ask = |gang, leases, until| Ask { gang, leases, until };
        let two = [ask(1, 2, 3), ask(2, 1, 3)];
        assert_eq!(pack(&mut calendar, &two), Some(vec![vec![0, 1], vec![2]]), "large ones first");
        assert_eq!(calendar.free(2), 0);
        assert_eq!(pack(&mut calendar, &[ask(1, 1, 2), ask(2, 1, 3)]), None);
        assert_eq!((calendar.free(0), calendar.free(1)), (1, 1));
    }

    #[test]
    fn the_earliest_deadline_is_found() {
        let mut calendar = Calendar::new(5, 2);
        for lease in 5..8 {
            calendar.take(lease, 1);
        }
        let ask = |gang, leases, until| Ask { gang, leases, until };
        assert_eq!(earliest(&calendar, &[ask(1, 2, 6)]), Some(7));
        assert_eq!(earliest(&calendar, &[ask(2, 2, 6)]), Some(10), "after those three");
        assert_eq!(earliest(&calendar, &[ask(1, 3, 8), ask(1, 1, 6)]), Some(9));
        assert_eq!(earliest(&calendar, &[ask(3, 1, 6)]), None);
    }
}
