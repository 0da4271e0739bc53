//! An auction that makes truth pay: everybody says what each amount of one good is worth to it, the
//! amounts are chosen whose worths have the largest product, and everybody gives back a part of what
//! it won, the larger the more its presence costs the others. This is the partial-allocation
//! mechanism (Cole, Gkatzelis and Goel, EC 2013) that Themis (Mahajan et al., NSDI 2020) auctions
//! GPUs with.

/// What an amount would be worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bid {
    /// How much.
    pub amount: u32,
    /// What that is worth; above zero.
    pub worth: f64,
}

/// What somebody won.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Won {
    /// Which of its bids.
    pub bid: usize,
    /// The part of it that is left after the hidden payment, above 0 and up to 1.
    pub keeps: f64,
}

/// How an auction ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// By bidder.
    pub won: Vec<Won>,
    /// Logarithm of the product of worths, before payments.
    pub log_product: f64,
    /// Whether no other amounts have a larger product: not where amounts were rounded up to larger
    /// units, because there was too much to look at.
    pub exact: bool,
}

/// The best sums for bidders on one side of a place, by how much there is for them.
type Table = Vec<Vec<f64>>;

fn extend(best: &[f64], bids: &[(usize, f64)]) -> Vec<f64> {
    let with = |there: usize| {
        let fitting = bids.iter().filter(|(amount, _)| *amount <= there);
        fitting.map(|(amount, log)| best[there - amount] + log).fold(f64::NEG_INFINITY, f64::max)
    };
    (0..best.len()).map(with).collect()
}

/// Auction off so much. The first bid of everybody is for nothing at all. `steps` limits the work:
/// beyond it, amounts are counted in larger units.
pub fn auction(bids: &[Vec<Bid>], there: u32, steps: u64) -> Outcome {
    let options: u64 = bids.iter().map(|bids| bids.len() as u64).sum();
    let per_amount = (2 * options).max(1);
    let amounts = (steps / per_amount).max(2);
    let unit = (u64::from(there) + 1).div_ceil(amounts).max(1);
    let size = (u64::from(there) / unit) as usize + 1;
    let table: Vec<Vec<(usize, f64)>> = bids
        .iter()
        .map(|bids| {
            let one = |bid: &Bid| {
                let amount = u64::from(bid.amount).div_ceil(unit) as usize;
                (amount, bid.worth.max(f64::MIN_POSITIVE).ln())
            };
            bids.iter().map(one).collect()
        })
        .collect();
    let mut before: Table = vec![vec![0.0; size]];
    for bids in &table {
        before.push(extend(&before[before.len() - 1], bids));
    }
    let mut after: Table = vec![vec![0.0; size]];
    for bids in table.iter().rev() {
        after.push(extend(&after[after.len() - 1], bids));
    }
    after.reverse();
    let log_product = before[bids.len()][size - 1];
    let mut left = size - 1;
    let mut won = Vec::new();
    for (index, bids) in table.iter().enumerate() {
        // The smallest of equally good bids.
        let mut best = (f64::NEG_INFINITY, 0);
        for (bid, (amount, log)) in bids.iter().enumerate().filter(|(_, bid)| bid.0 <= left) {
            let sum = log + after[index + 1][left - amount];
            if sum > best.0 {
                best = (sum, bid);
            }
        }
        let (amount, log) = bids[best.1];
        left -= amount;
        // What the others would have without this one.
        let alone =
            (0..size).map(|split| before[index][split] + after[index + 1][size - 1 - split]);
        let without = alone.fold(f64::NEG_INFINITY, f64::max);
        won.push(Won { bid: best.1, keeps: (log_product - log - without).exp().min(1.0) });
    }
    Outcome { won, log_product, exact: unit == 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn linear(slope: f64, most: u32) -> Vec<Bid> {
        (0..=most).map(|amount| Bid { amount, worth: 0.001 + slope * f64::from(amount) }).collect()
    }

    /// Two who want the same: each gets half of ten, and would have let the other have all of it.
    #[test]
    fn equals_get_equal_parts_and_pay_half() {
        let outcome = auction(&[linear(1.0, 10), linear(1.0, 10)], 10, 1_000_000);
        assert!(outcome.exact);
        assert_eq!(outcome.won.iter().map(|won| won.bid).collect::<Vec<_>>(), [5, 5]);
        assert!(outcome.won.iter().all(|won| (won.keeps - 0.5).abs() < 1e-3));
    }

    #[test]
    fn whoever_is_alone_pays_nothing() {
        let outcome = auction(&[linear(1.0, 4)], 10, 1_000_000);
        assert_eq!(outcome.won, [Won { bid: 4, keeps: 1.0 }]);
        let outcome = auction(&[linear(1.0, 4), linear(2.0, 4)], 10, 1_000_000);
        assert!(outcome.won.iter().all(|won| won.bid == 4 && won.keeps == 1.0), "enough for both");
    }

    #[test]
    fn too_much_to_look_at_is_counted_in_larger_units() {
        let bids = vec![linear(1.0, 100); 20];
        let outcome = auction(&bids, 1000, 50_000);
        assert!(!outcome.exact);
        let sold: u32 = outcome.won.iter().zip(&bids).map(|(won, bids)| bids[won.bid].amount).sum();
        assert!((900..=1000).contains(&sold), "{sold} of 1000");
    }

    /// Up to four bidders of up to four bids each.
    fn bidders() -> impl Strategy<Value = Vec<Vec<Bid>>> {
        let bids = prop::collection::vec((1u32..6, 0.01f64..10.0), 0..4);
        let one = (0.01f64..1.0, bids).prop_map(|(nothing, bids)| {
            let made = bids.into_iter().map(|(amount, worth)| Bid { amount, worth });
            std::iter::once(Bid { amount: 0, worth: nothing }).chain(made).collect()
        });
        prop::collection::vec(one, 1..5)
    }

    fn brute(bids: &[Vec<Bid>], there: u32) -> f64 {
        let Some((first, rest)) = bids.split_first() else { return 0.0 };
        let fitting = first.iter().filter(|bid| bid.amount <= there);
        let each = fitting.map(|bid| bid.worth.ln() + brute(rest, there - bid.amount));
        each.fold(f64::NEG_INFINITY, f64::max)
    }

    proptest! {
        #[test]
        fn the_product_is_as_large_as_can_be(bids in bidders(), there in 0u32..12) {
            let outcome = auction(&bids, there, 1_000_000);
            prop_assert!(outcome.exact);
            prop_assert!((outcome.log_product - brute(&bids, there)).abs() < 1e-9);
            let chosen = || outcome.won.iter().zip(&bids).map(|(won, bids)| bids[won.bid]);
            prop_assert!(chosen().map(|bid| bid.amount).sum::<u32>() <= there);
            let product: f64 = chosen().map(|bid| bid.worth.ln()).sum();
            prop_assert!((product - outcome.log_product).abs() < 1e-9);
            for (index, won) in outcome.won.iter().enumerate() {
                let mut others = bids.clone();
                others.remove(index);
                let without = brute(&others, there);
                let with = product - bids[index][won.bid].worth.ln();
                prop_assert!((won.keeps - (with - without).exp()).abs() < 1e-9);
            }
        }

        /// Whatever the first bidder says, what it keeps is worth most to it if it says the truth.
        #[test]
        fn truth_pays(bids in bidders(), lies in prop::collection::vec(0.01f64..10.0, 4), there in 0u32..12) {
            let keeps = |said: &[Vec<Bid>]| {
                let won = auction(said, there, 1_000_000).won[0];
                won.keeps * bids[0][won.bid].worth
            };
            let mut said = bids.clone();
            for (bid, lie) in said[0].iter_mut().zip(&lies) {
                bid.worth = *lie;
            }
            prop_assert!(keeps(&bids) >= keeps(&said) - 1e-9);
        }
    }
}
