//! A set of node numbers that finds its first member, or the first after another, in a few
//! instructions however many nodes there are: bits, with a summary bit for every word of them.

/// A set of small numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSet {
    /// `levels[0]` holds the members; bit `i` of `levels[k + 1]` says that word `i` of
    /// `levels[k]` is not zero.
    levels: Vec<Vec<u64>>,
    len: usize,
}

impl NodeSet {
    /// An empty set for numbers below `size`.
    pub fn new(size: usize) -> NodeSet {
        let mut levels = Vec::new();
        let mut words = size.div_ceil(64).max(1);
        loop {
            levels.push(vec![0; words]);
            if words == 1 {
                return NodeSet { levels, len: 0 };
            }
            words = words.div_ceil(64);
        }
    }

    /// How many members.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Put a number in.
    pub fn insert(&mut self, mut number: usize) {
        for (depth, level) in self.levels.iter_mut().enumerate() {
            let (word, bit) = (number / 64, 1 << (number % 64));
            if depth == 0 && level[word] & bit == 0 {
                self.len += 1;
            }
            let was_empty = level[word] == 0;
            level[word] |= bit;
            if !was_empty {
                return;
            }
            number = word;
        }
    }

    /// Take a number out.
    pub fn remove(&mut self, mut number: usize) {
        for (depth, level) in self.levels.iter_mut().enumerate() {
            let (word, bit) = (number / 64, 1 << (number % 64));
            if depth == 0 && level[word] & bit != 0 {
                self.len -= 1;
            }
            level[word] &= !bit;
            if level[word] != 0 {
                return;
            }
            number = word;
        }
    }

    /// Whether the number is a member.
    #[cfg(test)]
    fn contains(&self, number: usize) -> bool {
        self.levels[0][number / 64] >> (number % 64) & 1 == 1
    }

    /// The smallest member.
    pub fn first(&self) -> Option<usize> {
        self.at_or_after(0)
    }

    /// The smallest member that is not below `from`.
    pub fn at_or_after(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut mask = u64::MAX << (from % 64);
        let mut depth = 0;
        // Climb until a level has a member to the right, then descend to the leftmost below it.
        loop {
            let level = self.levels.get(depth)?;
            let found = level.get(word).map_or(0, |bits| bits & mask);
            if found != 0 {
                let mut number = word * 64 + found.trailing_zeros() as usize;
                for level in self.levels[..depth].iter().rev() {
                    number = number * 64 + level[number].trailing_zeros() as usize;
                }
                return Some(number);
            }
            let next = word + 1;
            mask = if next.is_multiple_of(64) { u64::MAX } else { u64::MAX << (next % 64) };
            word = next / 64;
            depth += 1;
        }
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let number = self.at_or_after(next)?;
            next = number + 1;
            Some(number)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_as_an_ordered_set(
            size in 1usize..6000,
            steps in prop::collection::vec((any::<bool>(), 0usize..6000), 0..200),
        ) {
            let mut set = NodeSet::new(size);
            let mut model = BTreeSet::new();
            for (insert, number) in steps {
                let number = number % size;
                if insert {
                    set.insert(number);
                    model.insert(number);
                } else {
                    set.remove(number);
                    model.remove(&number);
                }
                prop_assert_eq!(set.len(), model.len());
                prop_assert_eq!(set.contains(number), model.contains(&number));
                prop_assert_eq!(
                    set.at_or_after(number),
                    model.range(number..).next().copied()
                );
            }
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), model.into_iter().collect::<Vec<_>>());
        }
    }
}
