//! How many machines each of some applications gets, so that as many as possible are used while
//! nobody is far from its fair part and few are disturbed: Dorm's programme (Sun et al., SMARTCOMP
//! 2017) for one kind of machine, solved exactly by dynamic programming over machines used and
//! applications disturbed.

/// An application.
#[derive(Clone, Debug, PartialEq)]
pub struct Application {
    /// Numbers of machines that it can run on; zero, if it may wait.
    pub sizes: Vec<u32>,
    /// What it has now, if it runs. Another number disturbs it.
    pub has: Option<u32>,
    /// Machines that would be its fair part …
    pub fair: f64,
    /// … and what it counts to be one machine away from that.
    pub weight: f64,
}

impl Application {
    fn loss(&self, size: u32) -> f64 {
        (f64::from(size) - self.fair).abs() * self.weight
    }

    fn is_disturbed(&self, size: u32) -> bool {
        self.has.is_some_and(|has| has != size)
    }
}

/// A partition of the machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// Machines by application.
    pub sizes: Vec<u32>,
    /// The sum of what applications are away from their fair parts.
    pub loss: f64,
    /// How many are disturbed.
    pub disturbed: usize,
    /// Whether the loss is within its limit; otherwise it is the least that could be.
    pub within: bool,
}

/// The most machines used with a loss up to a limit and at most so many applications disturbed;
/// among those, the least loss, then the fewest disturbed. If the limit cannot be kept, the least
/// loss instead. None if not even everybody's smallest size fits, or if the tables would have more
/// than so many cells.
pub fn partition(
    applications: &[Application],
    there: u32,
    loss: f64,
    disturbed: usize,
    cells: u64,
) -> Option<Partition> {
    let most = applications.iter().filter(|app| app.has.is_some()).count().min(disturbed);
    let (width, height) = (there as usize + 1, most + 1);
    let layer = width * height;
    if (applications.len() as u64 + 1).saturating_mul(layer as u64) > cells {
        return None;
    }
    // The least loss with exactly so many machines used and so many disturbed.
    let mut least = vec![f64::INFINITY; layer];
    least[0] = 0.0;
    let mut choices: Vec<Vec<u32>> = Vec::with_capacity(applications.len());
    for app in applications {
        let mut next = vec![f64::INFINITY; layer];
        let mut choice = vec![u32::MAX; layer];
        for size in app.sizes.iter().copied().filter(|size| *size <= there) {
            let (step, loss) = (usize::from(app.is_disturbed(size)), app.loss(size));
            for changes in 0..height - step {
                for used in 0..width - size as usize {
                    let from = least[changes * width + used];
                    let to = (changes + step) * width + used + size as usize;
                    if from + loss < next[to] {
                        next[to] = from + loss;
                        choice[to] = size;
                    }
                }
            }
        }
        least = next;
        choices.push(choice);
    }
    let finite = (0..layer).filter(|cell| least[*cell].is_finite());
    let used = |cell: usize| cell % width;
    // Losses are compared to millionths, so that sums in another order are equal.
    let rounded = |cell: usize| (least[cell] * 1e6).round() as i64;
    let limit = (loss * 1e6).round() as i64;
    let key = |cell: &usize| {
        let within = rounded(*cell) <= limit;
        let first = if within { -(used(*cell) as i64) } else { rounded(*cell) };
        (!within, first, rounded(*cell), cell / width, std::cmp::Reverse(used(*cell)))
    };
    let best = finite.min_by_key(key)?;
    let (mut cell, mut sizes) = (best, vec![0; applications.len()]);
    for (index, app) in applications.iter().enumerate().rev() {
        let size = choices[index][cell];
        sizes[index] = size;
        cell -= size as usize + usize::from(app.is_disturbed(size)) * width;
    }
    let within = rounded(best) <= limit;
    Some(Partition { sizes, loss: least[best], disturbed: best / width, within })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn app(sizes: &[u32], has: Option<u32>, fair: f64) -> Application {
        Application { sizes: sizes.to_vec(), has, fair, weight: 1.0 }
    }

    /// Two have four of eight machines each, and a third comes that would have a third of them by
    /// right. With nobody disturbed it waits; with one disturbed it gets two.
    #[test]
    fn few_are_disturbed() {
        let old = || app(&[1, 2, 4, 8], Some(4), 8.0 / 3.0);
        let apps = [old(), old(), app(&[0, 1, 2, 4, 8], None, 8.0 / 3.0)];
        let found = |disturbed| partition(&apps, 8, 100.0, disturbed, 10_000).unwrap().sizes;
        assert_eq!(found(0), [4, 4, 0]);
        assert_eq!(found(1), [4, 2, 2], "all are used; of equals, the first keeps what it has");
    }

    /// One could use everything; a tight limit on unfairness leaves machines idle instead.
    #[test]
    fn use_is_limited_by_fairness() {
        let apps = [app(&[2, 6], None, 2.0), app(&[2], None, 2.0)];
        let found = |loss| partition(&apps, 8, loss, 9, 10_000).unwrap();
        assert_eq!(found(4.0).sizes, [6, 2]);
        assert_eq!(found(3.9).sizes, [2, 2]);
        let apps = [app(&[6], None, 2.0)];
        let tight = partition(&apps, 8, 1.0, 9, 10_000).unwrap();
        assert!(!tight.within && tight.sizes == [6], "the least loss there is");
    }

    proptest! {
        #[test]
        fn nothing_better_is_missed(
            made in prop::collection::vec(
                (
                    prop::collection::btree_set(0u32..6, 1..4),
                    prop::option::of(1u32..6),
                    0.0f64..4.0,
                ),
                1..5,
            ),
            there in 0u32..12,
            limit in 0.0f64..8.0,
            disturbed in 0usize..4,
        ) {
            let apps: Vec<Application> = made
                .iter()
                .map(|(sizes, has, fair)| {
                    let sizes: Vec<u32> = sizes.iter().copied().collect();
                    app(&sizes, *has, *fair)
                })
                .collect();
            let mut best: Option<u32> = None;
            let mut any = false;
            let mut counter = vec![0; apps.len()];
            'all: loop {
                let chosen = counter.iter().zip(&apps);
                let sizes: Vec<u32> = chosen.map(|(at, app): (&usize, _)| app.sizes[*at]).collect();
                let used: u32 = sizes.iter().sum();
                let loss: f64 = sizes.iter().zip(&apps).map(|(size, app)| app.loss(*size)).sum();
                let touched =
                    sizes.iter().zip(&apps).filter(|(size, app)| app.is_disturbed(**size)).count();
                if used <= there && touched <= disturbed {
                    any = true;
                    if loss <= limit - 1e-5 {
                        best = best.max(Some(used));
                    }
                }
                for (at, app) in counter.iter_mut().zip(&apps) {
                    *at += 1;
                    if *at < app.sizes.len() {
                        continue 'all;
                    }
                    *at = 0;
                }
                break;
            }
            let found = partition(&apps, there, limit, disturbed, 100_000);
            prop_assert_eq!(found.is_some(), any);
            if let (Some(found), Some(best)) = (found, best) {
                prop_assert!(found.within && found.sizes.iter().sum::<u32>() >= best);
                prop_assert!(found.disturbed <= disturbed && found.loss <= limit + 1e-5);
            }
        }
    }
}
