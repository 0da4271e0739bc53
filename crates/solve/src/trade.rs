//! Trading of fast for slow: whoever gains most by fast machines buys them from whoever gains
//! least, and pays with more slow ones than the seller needs to be as well off. As in Gandiva_fair
//! (Chaudhary et al., EuroSys 2020), the price is the second-highest speed-up, so that a buyer
//! cannot lower it by what it says of itself.

/// What somebody owns and how much more a fast machine is worth to it than a slow one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trader {
    /// Fast machines.
    pub fast: f64,
    /// Slow machines.
    pub slow: f64,
    /// What a fast machine is worth, in slow ones.
    pub speedup: f64,
}

impl Trader {
    /// What it owns, in slow machines.
    pub fn worth(&self) -> f64 {
        self.fast * self.speedup + self.slow
    }
}

/// A trade that was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trade {
    /// Who has more fast machines now.
    pub buyer: usize,
    /// Who has more slow ones.
    pub seller: usize,
    /// How many fast machines changed hands.
    pub fast: f64,
    /// Slow machines paid for each.
    pub price: f64,
}

/// Less than this many machines are not worth a trade.
const LEAST: f64 = 1e-9;

/// Trade until nobody is left to whom it is worth it. Ties go to who comes first. Every trade uses
/// up a seller's fast machines or a buyer's slow ones, so there are at most two for each trader.
pub fn trade(traders: &mut [Trader]) -> Vec<Trade> {
    let mut trades = Vec::new();
    // Whoever gains most first.
    let mut order: Vec<usize> = (0..traders.len()).collect();
    order.sort_by(|a, b| traders[*b].speedup.total_cmp(&traders[*a].speedup));
    let (mut first, mut last) = (0, order.len().saturating_sub(1));
    while first < last {
        let (buyer, seller) = (order[first], order[last]);
        let high = traders[buyer].speedup;
        let low = traders[seller].speedup;
        // The second-highest speed-up: that of the next who would buy. Where that is the seller's
        // own, both gain by what lies between.
        let next = traders[order[first + 1]].speedup;
        let price = if next > low && next < high { next } else { f64::midpoint(low, high) };
        if high - low <= LEAST {
            break;
        }
        let fast = traders[seller].fast.min(traders[buyer].slow / price);
        if fast > LEAST {
            traders[buyer].fast += fast;
            traders[buyer].slow -= fast * price;
            traders[seller].fast -= fast;
            traders[seller].slow += fast * price;
            trades.push(Trade { buyer, seller, fast, price });
        }
        match traders[seller].fast <= LEAST {
            true => last -= 1,
            false => first += 1,
        }
    }
    trades
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two users with two fast and two slow machines each; a fast one is worth four slow ones to
    /// the first and two to the second. For three slow ones each, the first buys two thirds of a
    /// fast one, until it has no slow one left: it has 10⅔ instead of 10, the second 6⅔ instead of
    /// 6.
    #[test]
    fn both_gain() {
        let each = |speedup| Trader { fast: 2.0, slow: 2.0, speedup };
        let mut traders = [each(4.0), each(2.0)];
        let trades = trade(&mut traders);
        assert_eq!(trades.len(), 1);
        assert_eq!((trades[0].buyer, trades[0].seller, trades[0].price), (0, 1, 3.0));
        assert!((traders[0].worth() - (10.0 + 2.0 / 3.0)).abs() < 1e-9);
        assert!((traders[1].worth() - (6.0 + 2.0 / 3.0)).abs() < 1e-9);
    }

    /// Of three, the one that gains most buys from the one that gains least at the speed-up of the
    /// one in between.
    #[test]
    fn the_price_is_the_second_highest_speedup() {
        let each = |speedup| Trader { fast: 1.0, slow: 6.0, speedup };
        let mut traders = [each(1.5), each(4.0), each(3.0)];
        let trades = trade(&mut traders);
        assert_eq!(trades[0], Trade { buyer: 1, seller: 0, fast: 1.0, price: 3.0 });
        assert_eq!((traders[0].fast, traders[0].slow), (0.0, 9.0));
    }

    proptest! {
        #[test]
        fn nobody_loses_and_nothing_is_lost(
            made in prop::collection::vec((0.0f64..8.0, 0.0f64..8.0, 1.0f64..6.0), 0..8),
        ) {
            let start: Vec<Trader> = made
                .iter()
                .map(|(fast, slow, speedup)| Trader { fast: *fast, slow: *slow, speedup: *speedup })
                .collect();
            let mut end = start.clone();
            let trades = trade(&mut end);
            let sum = |of: fn(&Trader) -> f64, all: &[Trader]| all.iter().map(of).sum::<f64>();
            prop_assert!((sum(|t| t.fast, &start) - sum(|t| t.fast, &end)).abs() < 1e-6);
            prop_assert!((sum(|t| t.slow, &start) - sum(|t| t.slow, &end)).abs() < 1e-6);
            for (before, after) in start.iter().zip(&end) {
                prop_assert!(after.worth() >= before.worth() - 1e-6);
                prop_assert!(after.fast >= -1e-6 && after.slow >= -1e-6);
            }
            prop_assert!(trades.len() <= 2 * start.len());
            if trades.iter().any(|trade| trade.fast > 1e-3) {
                prop_assert!(sum(Trader::worth, &end) >= sum(Trader::worth, &start));
            }
        }
    }
}
