//! A first way to choose: who loses most by not getting what is best at the prices goes first,
//! then rows take what became better, while there is room.

use super::core::{Core, Kept, Picks, least, priced};

/// Rounds of improving, at most.
const ROUNDS_MAX: u32 = 8;

pub(super) fn fill(core: &Core, prices: &[i64], work: &mut u64) -> Picks {
    let rows: Vec<&[Kept]> = core.rows().collect();
    let regret = |row: &&[Kept]| {
        let best = least(row, prices);
        let losses = row.iter().map(|offer| priced(offer, prices)).chain([0]);
        let above = losses.map(|cost| cost - best).filter(|loss| *loss > 0);
        above.min().unwrap_or(0)
    };
    let regrets: Vec<i64> = rows.iter().map(regret).collect();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|row| (-regrets[*row], *row));
    let mut left = core.capacities.clone();
    let mut picks: Picks = vec![None; rows.len()];
    for row in order {
        let fits = rows[row].iter().filter(|offer| offer.amount <= left[offer.kind]);
        let best = fits.min_by_key(|offer| priced(offer, prices));
        picks[row] = best.filter(|offer| priced(offer, prices) <= 0).copied();
        if let Some(pick) = picks[row] {
            left[pick.kind] -= pick.amount;
        }
    }
    for _ in 0..ROUNDS_MAX {
        *work += core.offer_count();
        let mut has_changed = false;
        for (row, pick) in rows.iter().zip(&mut picks) {
            let (cost, kind, amount) =
                pick.map_or((0, 0, 0), |pick| (pick.cost, pick.kind, pick.amount));
            let room =
                |offer: &Kept| left[offer.kind] + if offer.kind == kind { amount } else { 0 };
            let better =
                row.iter().filter(|offer| offer.cost < cost && offer.amount <= room(offer));
            let Some(better) = better.min_by_key(|offer| offer.cost) else { continue };
            if pick.is_some() {
                left[kind] += amount;
            }
            left[better.kind] -= better.amount;
            (*pick, has_changed) = (Some(*better), true);
        }
        if !has_changed {
            break;
        }
    }
    picks
}
