//! Boosted regression trees: small trees, each grown on what those before it still miss. Values
//! are sorted into a few bins first, so that a tree takes one pass over the rows for each of its
//! levels. Ties go to the first feature and the smallest threshold, so that the same rows give the
//! same forest.

use serde::{Deserialize, Serialize};

/// How a forest is grown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boosting {
    /// How many trees.
    pub trees: u32,
    /// How many decisions lead to a leaf, at most.
    pub depth: u32,
    /// The part of what is missed that each tree makes up for.
    pub rate: f32,
    /// Rows of a leaf, at least.
    pub leaf_min: u32,
    /// Bins of a feature, at most; up to 255.
    pub bins: usize,
    /// So many rows that miss nothing are added to each leaf, so that few rows say little.
    pub smooth: f64,
}

/// A decision, or a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Node {
    /// Up to the threshold it goes on at one node, beyond it at the next.
    Split { feature: u16, threshold: f32, below: u32 },
    /// What the tree says.
    Leaf(f32),
}

/// A forest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forest {
    base: f32,
    trees: Vec<Vec<Node>>,
}

impl Forest {
    /// Grow a forest on rows of equal length and what each should say.
    pub fn grow(rows: &[&[f32]], aims: &[f32], how: &Boosting) -> Forest {
        if rows.is_empty() {
            return Forest::default();
        }
        let mean = aims.iter().map(|aim| f64::from(*aim)).sum::<f64>() / aims.len() as f64;
        let mut forest = Forest { base: mean as f32, trees: Vec::new() };
        let binned = Binned::of(rows, how.bins);
        let mut missed: Vec<f32> = aims.iter().map(|aim| aim - forest.base).collect();
        for _ in 0..how.trees {
            let tree = Growing { binned: &binned, missed: &missed, how }.tree();
            for (row, missed) in rows.iter().zip(&mut missed) {
                *missed -= value(&tree, row);
            }
            forest.trees.push(tree);
        }
        forest
    }

    /// What the forest says of a row.
    pub fn value(&self, row: &[f32]) -> f32 {
        self.base + self.trees.iter().map(|tree| value(tree, row)).sum::<f32>()
    }
}

fn value(tree: &[Node], row: &[f32]) -> f32 {
    let mut at = 0;
    loop {
        match tree[at] {
            Node::Leaf(value) => return value,
            Node::Split { feature, threshold, below } => {
                let beyond = row[usize::from(feature)] > threshold;
                at = below as usize + usize::from(beyond);
            }
        }
    }
}

/// Rows in bins.
struct Binned {
    /// The largest value of each bin but the last, by feature.
    cuts: Vec<Vec<f32>>,
    /// Bins of each row, one feature after the other.
    bins: Vec<Vec<u8>>,
}

impl Binned {
    fn of(rows: &[&[f32]], bins_max: usize) -> Binned {
        let features = rows[0].len();
        let mut binned = Binned { cuts: Vec::new(), bins: Vec::new() };
        for feature in 0..features {
            let mut values: Vec<f32> = rows.iter().map(|row| row[feature]).collect();
            let column = values.clone();
            values.sort_unstable_by(f32::total_cmp);
            let count = bins_max.clamp(2, 255);
            // As many rows in each bin, or nearly; a value is in one bin only.
            let mut cuts: Vec<f32> =
                (1..count).map(|bin| values[(bin * values.len() / count).max(1) - 1]).collect();
            cuts.dedup();
            cuts.retain(|cut| *cut < values[values.len() - 1]);
            let bin = |value: &f32| cuts.partition_point(|cut| cut < value) as u8;
            binned.bins.push(column.iter().map(bin).collect());
            binned.cuts.push(cuts);
        }
        binned
    }
}

/// Rows of a node that is to be split.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: f64,
    missed: f64,
}

impl Sums {
    fn add(&mut self, missed: f64) {
        self.count += 1.0;
        self.missed += missed;
    }

    fn without(self, other: Sums) -> Sums {
        Sums { count: self.count - other.count, missed: self.missed - other.missed }
    }

    /// How much less is missed if a leaf says the mean.
    fn gain(self, smooth: f64) -> f64 {
        self.missed * self.missed / (self.count + smooth)
    }
}

/// A tree that is being grown.
struct Growing<'a> {
    binned: &'a Binned,
    missed: &'a [f32],
    how: &'a Boosting,
}

impl Growing<'_> {
    fn tree(&self) -> Vec<Node> {
        let mut tree = vec![Node::Leaf(0.0)];
        let rows: Vec<u32> = (0..self.missed.len() as u32).collect();
        let mut open = vec![(0, rows)];
        for level in 0..=self.how.depth {
            let mut next = Vec::new();
            for (at, rows) in open {
                let mut all = Sums::default();
                rows.iter().for_each(|row| all.add(f64::from(self.missed[*row as usize])));
                let split = (level < self.how.depth).then(|| self.split(&rows, all)).flatten();
                let Some((feature, bin)) = split else {
                    let mean = all.missed / (all.count + self.how.smooth);
                    tree[at] = Node::Leaf(self.how.rate * mean as f32);
                    continue;
                };
                let bins = &self.binned.bins[feature];
                let (low, high): (Vec<u32>, Vec<u32>) =
                    rows.into_iter().partition(|row| usize::from(bins[*row as usize]) <= bin);
                let below = tree.len();
                tree.extend([Node::Leaf(0.0); 2]);
                let threshold = self.binned.cuts[feature][bin];
                tree[at] = Node::Split { feature: feature as u16, threshold, below: below as u32 };
                next.extend([(below, low), (below + 1, high)]);
            }
            open = next;
        }
        tree
    }

    /// The feature and the bin up to which to go one way, so that most is gained.
    fn split(&self, rows: &[u32], all: Sums) -> Option<(usize, usize)> {
        let least = f64::from(self.how.leaf_min);
        let mut best = (all.gain(self.how.smooth) + 1e-9, None);
        for (feature, cuts) in self.binned.cuts.iter().enumerate() {
            let mut bins = vec![Sums::default(); cuts.len() + 1];
            for row in rows {
                let bin = self.binned.bins[feature][*row as usize];
                bins[usize::from(bin)].add(f64::from(self.missed[*row as usize]));
            }
            let mut low = Sums::default();
            for (bin, sums) in bins.iter().enumerate().take(cuts.len()) {
                low.count += sums.count;
                low.missed += sums.missed;
                let high = all.without(low);
                if low.count < least || high.count < least {
                    continue;
                }
                let gain = low.gain(self.how.smooth) + high.gain(self.how.smooth);
                if gain > best.0 {
                    best = (gain, Some((feature, bin)));
                }
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: Boosting =
        Boosting { trees: 60, depth: 3, rate: 0.3, leaf_min: 2, bins: 16, smooth: 0.1 };

    /// A step in one feature, the sign of another, and one that says nothing.
    fn table() -> (Vec<[f32; 3]>, Vec<f32>) {
        let rows: Vec<[f32; 3]> = (0..240)
            .map(|index| [(index % 12) as f32, (index % 2) as f32, (index * 7 % 31) as f32])
            .collect();
        let aims = rows.iter().map(|[a, b, _]| if *a > 5.0 { 3.0 } else { 1.0 } - 2.0 * b);
        let aims = aims.collect();
        (rows, aims)
    }

    #[test]
    fn a_forest_learns_steps_and_what_two_features_say_together() {
        let (rows, aims) = table();
        let rows: Vec<&[f32]> = rows.iter().map(|row| &row[..]).collect();
        let forest = Forest::grow(&rows, &aims, &HOW);
        for (row, aim) in rows.iter().zip(&aims) {
            assert!((forest.value(row) - aim).abs() < 0.05, "{row:?}");
        }
        assert_eq!(forest, Forest::grow(&rows, &aims, &HOW), "always the same");
    }

    #[test]
    fn nothing_and_all_alike_are_no_trouble() {
        assert_eq!(Forest::grow(&[], &[], &HOW).value(&[1.0]), 0.0);
        let rows = [&[1.0f32][..]; 9];
        let forest = Forest::grow(&rows, &[2.0; 9], &HOW);
        assert!((forest.value(&[5.0]) - 2.0).abs() < 1e-6);
    }

    #[test]
    fn leaves_hold_as_many_rows_as_they_must() {
        let rows: Vec<[f32; 1]> = (0..10).map(|index| [index as f32]).collect();
        let rows: Vec<&[f32]> = rows.iter().map(|row| &row[..]).collect();
        let mut aims = vec![0.0; 10];
        aims[9] = 100.0;
        let how = Boosting { trees: 1, rate: 1.0, smooth: 0.0, leaf_min: 5, ..HOW };
        let forest = Forest::grow(&rows, &aims, &how);
        assert_eq!(forest.value(&[9.0]), forest.value(&[5.0]));
        assert!(forest.value(&[9.0]) > forest.value(&[4.0]));
    }
}
