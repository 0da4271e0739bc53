//! Large problems as several small ones: whoever shares is dealt into groups, each group gets its
//! part of what is shared, is solved by itself, and the answers are put together (POP, Narayanan et
//! al., SOSP 2021). Works with any solver whose answer is a row for each who shares.

/// The group of somebody out of so many: as good as drawn, and the same for as long as its number
/// is, so that nobody changes groups because others come or go.
pub fn group_of(number: u64, seed: u64, groups: usize) -> usize {
    let mut mixed = number ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for factor in [0xbf58_476d_1ce4_e5b9_u64, 0x94d0_49bb_1331_11eb] {
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(factor);
    }
    ((mixed ^ (mixed >> 31)) % groups.max(1) as u64) as usize
}

/// Solve in groups: `solve` is given who is in a group, by position, and which part of everything
/// is the group's, in proportion to how many they are; it answers with a row for each of them.
pub fn in_groups<T: Clone + Default>(
    numbers: &[u64],
    seed: u64,
    groups: usize,
    mut solve: impl FnMut(&[usize], f64) -> Vec<T>,
) -> Vec<T> {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); groups.max(1)];
    for (position, number) in numbers.iter().enumerate() {
        members[group_of(*number, seed, groups)].push(position);
    }
    let mut united = vec![T::default(); numbers.len()];
    for group in members.iter().filter(|group| !group.is_empty()) {
        let part = group.len() as f64 / numbers.len() as f64;
        for (position, row) in group.iter().zip(solve(group, part)) {
            united[*position] = row;
        }
    }
    united
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_in_one_group_and_stays_there() {
        let numbers: Vec<u64> = (0..1000).collect();
        let mut sizes = Vec::new();
        let mut whole = 0.0;
        let seen = in_groups(&numbers, 7, 4, |group, part| {
            sizes.push(group.len());
            whole += part;
            group.iter().map(|position| Some(*position)).collect()
        });
        assert!(seen.iter().enumerate().all(|(at, position)| *position == Some(at)));
        assert!((whole - 1.0).abs() < 1e-9);
        assert!(sizes.iter().all(|size| (200..300).contains(size)), "{sizes:?}");
        assert_eq!(in_groups(&[5], 7, 1, |_, part| vec![part]), [1.0]);
        assert_ne!(
            (0..50).map(|number| group_of(number, 1, 4)).collect::<Vec<_>>(),
            (0..50).map(|number| group_of(number, 2, 4)).collect::<Vec<_>>()
        );
    }
}
