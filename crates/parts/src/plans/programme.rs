//! The best plan of a job at given prices: a dynamic programme over slots and work left. In each
//! slot it may have one of several sizes or none; ending earlier is worth more, and busy slots cost
//! more (OASiS: Bao et al., INFOCOM 2018, subroutine for the best schedule of one job).

/// What may be had in a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Work that is done, in parts of the job.
    pub parts: u32,
    /// What it costs.
    pub cost: f64,
    /// What it is called.
    pub name: usize,
}

/// A slot of time: what may be had in it, and what ending with it is worth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slot {
    /// What may be had.
    pub choices: Vec<Choice>,
    /// What ending with this slot is worth; it does not rise from slot to slot.
    pub worth: f64,
}

/// A plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Best {
    /// The slots that are used, and what was chosen in each.
    pub uses: Vec<(usize, usize)>,
    /// What ending by then is worth.
    pub worth: f64,
    /// What it costs.
    pub cost: f64,
}

impl Best {
    /// What is gained.
    pub fn payoff(&self) -> f64 {
        self.worth - self.cost
    }
}

/// The plan for a job of so many parts with the largest payoff, if there is any that ends; the one
/// that ends first among equals. Slots are made as they are needed: none is looked at whose worth
/// could not make up for the best plan known.
pub fn best_plan(parts: u32, slots: impl Iterator<Item = Slot>) -> Option<Best> {
    let parts = parts.max(1) as usize;
    let mut cost = vec![f64::INFINITY; parts + 1];
    cost[0] = 0.0;
    // For each slot and number of parts done: which choice led there, if one of this slot did.
    let mut taken: Vec<Vec<Option<(u32, u32)>>> = Vec::new();
    let mut best: Option<(usize, f64, f64)> = None;
    let known = |best: &Option<(usize, f64, f64)>| best.map(|(_, worth, cost)| worth - cost);
    for slot in slots {
        if known(&best).is_some_and(|payoff| slot.worth <= payoff) {
            break;
        }
        let mut led = vec![None; parts + 1];
        for done in (0..=parts).rev() {
            for (at, choice) in slot.choices.iter().enumerate().filter(|(_, c)| c.parts > 0) {
                let gain = choice.parts as usize;
                // Whoever is done may have done more than was needed in its last slot.
                let before = if done == parts {
                    parts.saturating_sub(gain)..parts
                } else {
                    let Some(from) = done.checked_sub(gain) else { continue };
                    from..from + 1
                };
                for from in before {
                    let sum = cost[from] + choice.cost;
                    if sum < cost[done] {
                        cost[done] = sum;
                        led[done] = Some((at as u32, from as u32));
                    }
                }
            }
        }
        taken.push(
            led.into_iter()
                .map(|led| led.map(|(at, from)| (slot.choices[at as usize].name as u32, from)))
                .collect(),
        );
        let payoff = slot.worth - cost[parts];
        if cost[parts].is_finite() && known(&best).is_none_or(|known| payoff > known) {
            best = Some((taken.len() - 1, slot.worth, cost[parts]));
        }
    }
    let (last, worth, cost) = best?;
    let (mut done, mut uses) = (parts, Vec::new());
    for slot in (0..=last).rev() {
        if let Some((name, from)) = taken[slot][done] {
            uses.push((slot, name as usize));
            done = from as usize;
        }
    }
    uses.reverse();
    Some(Best { uses, worth, cost })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(worth: f64, costs: &[(u32, f64)]) -> Slot {
        let choice = |(name, (parts, cost)): (usize, &(u32, f64))| Choice {
            parts: *parts,
            cost: *cost,
            name,
        };
        Slot { choices: costs.iter().enumerate().map(choice).collect(), worth }
    }

    #[test]
    fn waiting_pays_where_it_saves_more_than_it_loses() {
        let slots = [slot(10.0, &[(1, 8.0)]), slot(9.0, &[(1, 1.0)]), slot(2.0, &[(1, 0.0)])];
        let best = best_plan(1, slots.clone().into_iter()).expect("a plan");
        assert_eq!((best.uses.clone(), best.payoff()), (vec![(1, 0)], 8.0));
        let best = best_plan(2, slots.into_iter()).expect("a plan");
        assert_eq!((best.uses.clone(), best.payoff()), (vec![(1, 0), (2, 0)], 1.0));
    }

    #[test]
    fn a_plan_is_the_best_of_all() {
        // Every way to choose in five slots, tried one by one.
        let prices = [3.0, 1.0, 4.0, 1.5, 0.5];
        let slots: Vec<Slot> = (0..5)
            .map(|t| slot(12.0 - 2.0 * t as f64, &[(1, prices[t]), (3, 2.5 * prices[t])]))
            .collect();
        let mut best = f64::NEG_INFINITY;
        for code in 0..3u32.pow(5) {
            let (mut parts, mut cost) = (0, 0.0);
            for (t, slot) in slots.iter().enumerate() {
                let chosen = code / 3u32.pow(t as u32) % 3;
                if chosen > 0 {
                    parts += slot.choices[chosen as usize - 1].parts;
                    cost += slot.choices[chosen as usize - 1].cost;
                }
                if parts >= 4 {
                    best = best.max(slot.worth - cost);
                }
            }
        }
        let found = best_plan(4, slots.into_iter()).expect("a plan");
        assert!((found.payoff() - best).abs() < 1e-9, "{} is not {best}", found.payoff());
    }

    #[test]
    fn there_may_be_no_plan() {
        assert_eq!(best_plan(3, [slot(1.0, &[(1, 0.0)])].into_iter()), None);
    }
}
