//! Water-filling over owners: what is due to an owner is shared by its rows, and whoever cannot get
//! more is settled while the others go on rising, as in Gavel (Narayanan et al., OSDI 2020). Who is
//! settled is told by prices: at the optimum, a row has one exactly if it holds the level down.

use super::merged::{Merged, SLACK};
use super::{Division, STEPS_MAX, Sharing};
use crate::linear::{Answer, Status};

/// How an owner's part is shared by its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// All rise together.
    Fair,
    /// The first rises until it is settled, then the next.
    Fifo,
}

/// Rows with less than this part of all prices are not what holds the level down.
const PRICE_MIN: f64 = 1e-6;
/// What a settled row may lose again, as a part of what it has.
const GIVE: f64 = 1e-8;

impl Sharing {
    /// Raise all owners in proportion to their weights, each by its rows; settle whoever cannot
    /// have more, and go on until all are settled. Then the smallest sum of squares. The level is
    /// the sum of all rises.
    pub fn water_fill(&self, owners: &[usize], weights: &[f64], within: Within) -> Division {
        let mark = |row: usize| match within {
            Within::Fair => [owners[row] as u64, 0, 0, 0],
            Within::Fifo => [owners[row] as u64, row as u64, 0, 0],
        };
        let merged = Merged::of(self, mark);
        let mut owner_of = vec![0; merged.rows.len()];
        for (class, owner) in merged.class_of.iter().zip(owners) {
            owner_of[*class] = *owner;
        }
        let classes = owner_of.len();
        let (mut levels, mut is_settled) = (vec![0.0; classes], vec![false; classes]);
        let mut last = Answer {
            values: vec![0.0; classes * self.places.len()],
            worth: 0.0,
            status: Status::Optimal,
            steps: 0,
            prices: Vec::new(),
        };
        while is_settled.iter().any(|settled| !settled) {
            let rises = merged.rises(&owner_of, weights, &is_settled, within);
            let answer = merged.raise(&levels, &rises);
            if answer.status == Status::Impossible {
                last.status = Status::Stopped;
                break;
            }
            let rise = answer.worth.max(0.0);
            let held = |class: usize| answer.prices[class] * rises[class];
            let all: f64 = (0..classes).map(held).sum();
            let rising = (0..classes).filter(|class| rises[*class] > 0.0);
            let most = rising.clone().map(held).fold(0.0, f64::max);
            for class in rising {
                levels[class] += rises[class] * rise;
                // Whoever holds the level down most is settled in any case, so that this ends.
                is_settled[class] = held(class) > PRICE_MIN * all || held(class) >= most;
            }
            let (worth, steps) = (last.worth + rise, last.steps + answer.steps);
            last = Answer { worth, steps, ..answer };
        }
        let floors: Vec<f64> = levels.iter().map(|level| level * (1.0 - SLACK)).collect();
        merged.least_squares(&floors, &last)
    }
}

impl Merged {
    /// By how much each class rises: its part of its owner's weight.
    fn rises(
        &self,
        owner_of: &[usize],
        weights: &[f64],
        is_settled: &[bool],
        within: Within,
    ) -> Vec<f64> {
        let mut rising = vec![0.0; weights.len()];
        for (class, owner) in owner_of.iter().enumerate().filter(|(at, _)| !is_settled[*at]) {
            rising[*owner] += self.counts[class];
        }
        let mut is_served = vec![false; weights.len()];
        let mut rises = vec![0.0; owner_of.len()];
        for (class, owner) in owner_of.iter().enumerate().filter(|(at, _)| !is_settled[*at]) {
            let first = !std::mem::replace(&mut is_served[*owner], true);
            rises[class] = match within {
                Within::Fair => weights[*owner] / rising[*owner],
                Within::Fifo if first => weights[*owner],
                Within::Fifo => 0.0,
            };
        }
        rises
    }

    /// Raise classes above what they have as far as it goes.
    fn raise(&self, levels: &[f64], rises: &[f64]) -> Answer {
        let needs: Vec<f64> = levels.iter().map(|level| level * (1.0 - GIVE)).collect();
        if let Some(answer) = self.interior(&needs, Some(rises)) {
            return answer;
        }
        let level_at = self.rows.len() * self.places.len();
        let mut programme = self.programme(level_at + 1);
        let before = self.rows.len() + self.places.len();
        programme.set_worth(level_at, 1.0);
        for (index, row) in self.rows.iter().enumerate() {
            let mut terms = self.terms(index, &row.worth, -1.0);
            terms.push((level_at, rises[index]));
            programme.at_most(terms, -needs[index]);
        }
        let mut answer = programme.maximise(STEPS_MAX);
        answer.prices.drain(..before);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::*;

    fn row(worth: &[f64]) -> Row {
        Row { size: 1.0, worth: worth.to_vec() }
    }

    fn worths(sharing: &Sharing, division: &Division) -> Vec<f64> {
        let rows = sharing.rows.iter().zip(&division.parts);
        rows.map(|(row, parts)| row.worth.iter().zip(parts).map(|(w, p)| w * p).sum()).collect()
    }

    fn near(seen: &[f64], wanted: &[f64]) {
        assert_eq!(seen.len(), wanted.len());
        for (seen, wanted) in seen.iter().zip(wanted) {
            assert!((seen - wanted).abs() < 1e-4, "{seen} {wanted}");
        }
    }

    /// Four places; an owner with one row and one with three of the same weight. By halves the
    /// first would have two places, but can use one; the others have one each of the rest.
    #[test]
    fn what_one_cannot_use_goes_to_others() {
        let sharing = Sharing { places: vec![3.0], rows: vec![row(&[1.0]); 4] };
        let division = sharing.water_fill(&[0, 1, 1, 1], &[1.0, 1.0], Within::Fair);
        assert!(division.is_optimal);
        near(&worths(&sharing, &division), &[1.0, 2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]);
    }

    /// Owners with weights 1 and 2, two rows each, on one and a half places.
    #[test]
    fn owners_rise_by_weight() {
        let sharing = Sharing { places: vec![1.5], rows: vec![row(&[1.0]); 4] };
        let owners = [0, 0, 1, 1];
        let fair = sharing.water_fill(&owners, &[1.0, 2.0], Within::Fair);
        near(&worths(&sharing, &fair), &[0.25, 0.25, 0.5, 0.5]);
        let fifo = sharing.water_fill(&owners, &[1.0, 2.0], Within::Fifo);
        near(&worths(&sharing, &fifo), &[0.5, 0.0, 1.0, 0.0]);
    }

    /// One owner whose rows are alike has what max-min gives.
    #[test]
    fn one_owner_is_max_min() {
        let rows = vec![row(&[4.0, 1.0]), row(&[3.0, 1.0]), row(&[2.0, 1.0])];
        let sharing = Sharing { places: vec![1.0, 1.0], rows };
        let division = sharing.water_fill(&[0; 3], &[3.0], Within::Fair);
        let level = sharing.max_min().level;
        for worth in worths(&sharing, &division) {
            assert!(worth > level - 1e-4, "{worth} {level}");
        }
    }
}
