//! Who should be with whom where many are alike. How many of one class are with how many of another
//! is a transport problem between the classes, which takes as long for a thousand members as for
//! ten; what its halves leave over, a few members of each class at most, is matched one by one.

use super::heaviest_matching;

/// The heaviest weight is so much in whole numbers, of which sums of paths are made.
const WHOLE: f64 = (1u64 << 40) as f64;
/// Members of a class that are left over and looked at one by one.
const LEFT_MAX: u32 = 2;
/// Changes of prices after which a matching of those left over is taken as it is.
const CHANGES_MAX: usize = 10_000;

/// Twos of classes, and what is proved of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Twos {
    /// How many twos of which two classes, the first no larger than the second.
    pub twos: Vec<(usize, usize, u32)>,
    /// Their weights together.
    pub weight: f64,
    /// No twos weigh more than this.
    pub bound: f64,
}

/// Match members of classes so that the weights together are large: no more than one two for each
/// class below the heaviest there are. `weights[a][b]`, the same as `weights[b][a]`, is what two of
/// these classes weigh together, and nothing where they may not be. Work: classes cubed for each
/// path, and there are rarely more paths than twice the classes.
pub fn heaviest_twos(counts: &[u32], weights: &[Vec<f64>]) -> Twos {
    let size = counts.len();
    let largest = weights.iter().flatten().copied().fold(0.0, f64::max);
    if largest <= 0.0 {
        return Twos::default();
    }
    let mut transport = Transport::new(counts, weights, largest);
    while transport.push() {}
    let mut many = vec![vec![0; size]; size];
    let (mut left, mut bound) = (counts.to_vec(), 0.0);
    for one in 0..size {
        for other in one..size {
            let there = transport.sent[one * size + other] + transport.sent[other * size + one];
            // Both ways are the same one where a class is with itself.
            let halves = if one == other { there / 2 } else { there };
            bound += f64::from(halves) * weights[one][other] / 2.0;
            many[one][other] = halves / 2;
            left[one] -= halves / 2;
            left[other] -= halves / 2;
        }
    }
    for (one, other) in match_left(&left, weights) {
        many[one.min(other)][one.max(other)] += 1;
    }
    let mut found = Twos { bound, ..Twos::default() };
    for (one, row) in many.iter().enumerate() {
        for (other, count) in row.iter().enumerate().filter(|(_, count)| **count > 0) {
            found.twos.push((one, other, *count));
            found.weight += f64::from(*count) * weights[one][other];
        }
    }
    found
}

/// Twos of those left over, by class.
fn match_left(left: &[u32], weights: &[Vec<f64>]) -> Vec<(usize, usize)> {
    let copies =
        |(class, count): (usize, &u32)| std::iter::repeat_n(class, (*count).min(LEFT_MAX) as usize);
    let members: Vec<usize> = left.iter().enumerate().flat_map(copies).collect();
    if members.len() < 2 {
        return Vec::new();
    }
    let mut own = vec![vec![0.0; members.len()]; members.len()];
    for (at, one) in members.iter().enumerate() {
        for (place, other) in members.iter().enumerate().filter(|(place, _)| *place != at) {
            own[at][place] = weights[*one][*other];
        }
    }
    let with = heaviest_matching(&own, CHANGES_MAX).with;
    let twos = with.iter().enumerate().filter_map(|(at, with)| Some((at, (*with)?)));
    twos.filter(|(at, with)| at < with).map(|(at, with)| (members[at], members[with])).collect()
}

/// From every class to every class, each with as many as it has members on both sides: the best
/// way to send something more is taken until nothing is gained. Every member counts twice in it.
struct Transport {
    size: usize,
    /// What is gained by class and class; nothing below zero.
    gains: Vec<i64>,
    sent: Vec<u32>,
    /// Who sends something to each class, in order.
    senders: Vec<Vec<usize>>,
    /// What classes have left to send, and to take.
    have: Vec<u32>,
    room: Vec<u32>,
    /// Of the way that is being looked for: what is gained by a unit that gets to a sender or to a
    /// taker, and where it comes from. Whoever gains nothing more has nothing new to tell.
    at_sender: Vec<i64>,
    at_taker: Vec<i64>,
    from_sender: Vec<usize>,
    from_taker: Vec<Option<usize>>,
    new_sender: Vec<bool>,
    new_taker: Vec<bool>,
    way: Vec<(usize, usize, bool)>,
}

/// Where nothing gets to.
const NEVER: i64 = i64::MIN;

impl Transport {
    fn new(counts: &[u32], weights: &[Vec<f64>], largest: f64) -> Transport {
        let size = counts.len();
        let whole = |weight: &f64| (weight / largest * WHOLE).round() as i64;
        let gains = weights.iter().flatten().map(whole).collect();
        Transport {
            size,
            gains,
            sent: vec![0; size * size],
            senders: vec![Vec::new(); size],
            have: counts.to_vec(),
            room: counts.to_vec(),
            at_sender: vec![NEVER; size],
            at_taker: vec![NEVER; size],
            from_sender: vec![0; size],
            from_taker: vec![None; size],
            new_sender: vec![false; size],
            new_taker: vec![false; size],
            way: Vec::new(),
        }
    }

    /// Nothing has got anywhere yet but where classes have something left to send.
    fn begin(&mut self) {
        for (class, have) in self.have.iter().enumerate() {
            self.at_sender[class] = if *have > 0 { 0 } else { NEVER };
            self.new_sender[class] = *have > 0;
        }
        self.at_taker.fill(NEVER);
        self.from_taker.fill(None);
    }

    /// Send more along the way that gains most; says whether any does.
    fn push(&mut self) -> bool {
        let size = self.size;
        self.begin();
        let mut changed = true;
        while changed {
            changed = false;
            for one in 0..size {
                if !std::mem::take(&mut self.new_sender[one]) {
                    continue;
                }
                let gain = self.at_sender[one];
                let takers = self.at_taker.iter_mut().zip(&mut self.from_sender);
                let more = self.gains[one * size..][..size].iter().zip(&mut self.new_taker);
                for ((more, new), (there, from)) in more.zip(takers) {
                    if *more > 0 && gain + more > *there {
                        (*there, *from, *new) = (gain + more, one, true);
                    }
                }
            }
            for other in 0..size {
                if !std::mem::take(&mut self.new_taker[other]) {
                    continue;
                }
                for one in &self.senders[other] {
                    let less = self.at_taker[other] - self.gains[one * size + other];
                    if less > self.at_sender[*one] {
                        (self.at_sender[*one], self.from_taker[*one]) = (less, Some(other));
                        (self.new_sender[*one], changed) = (true, true);
                    }
                }
            }
        }
        let mut best: Option<(i64, usize)> = None;
        for other in (0..size).filter(|other| self.room[*other] > 0 && self.at_taker[*other] > 0) {
            if best.is_none_or(|(known, _)| self.at_taker[other] > known) {
                best = Some((self.at_taker[other], other));
            }
        }
        let Some((_, end)) = best else { return false };
        self.send(end);
        true
    }

    /// Send as much as goes along a way.
    fn send(&mut self, end: usize) {
        let (mut most, mut taker) = (self.room[end], end);
        let mut way = std::mem::take(&mut self.way);
        loop {
            let sender = self.from_sender[taker];
            way.push((sender, taker, true));
            let Some(before) = self.from_taker[sender] else {
                most = most.min(self.have[sender]);
                self.have[sender] -= most;
                break;
            };
            most = most.min(self.sent[sender * self.size + before]);
            way.push((sender, before, false));
            taker = before;
        }
        self.room[end] -= most;
        for (sender, taker, forth) in way.drain(..) {
            let sent = &mut self.sent[sender * self.size + taker];
            let senders = &mut self.senders[taker];
            if *sent == 0 {
                let at = senders.partition_point(|other| *other < sender);
                senders.insert(at, sender);
            }
            *sent = if forth { *sent + most } else { *sent - most };
            if *sent == 0 {
                senders.retain(|other| *other != sender);
            }
        }
        self.way = way;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn symmetric(size: usize, entries: &[u32]) -> Vec<Vec<f64>> {
        let mut weights = vec![vec![0.0; size]; size];
        let twos = (0..size).flat_map(|one| (one..size).map(move |other| (one, other)));
        for ((one, other), entry) in twos.zip(entries) {
            weights[one][other] = f64::from(*entry) / 16.0;
            weights[other][one] = weights[one][other];
        }
        weights
    }

    /// The heaviest twos, member by member.
    fn exact(counts: &[u32], weights: &[Vec<f64>]) -> f64 {
        let members: Vec<usize> = (0..counts.len())
            .flat_map(|class| std::iter::repeat_n(class, counts[class] as usize))
            .collect();
        let row = |at: usize| {
            let with = |(place, class): (usize, &usize)| match place == at {
                true => 0.0,
                false => weights[members[at]][*class],
            };
            members.iter().enumerate().map(with).collect()
        };
        let own: Vec<Vec<f64>> = (0..members.len()).map(row).collect();
        heaviest_matching(&own, 100_000).weight
    }

    #[test]
    fn two_classes_that_complement_each_other() {
        let weights = symmetric(2, &[4, 16, 4]);
        let found = heaviest_twos(&[1000, 600], &weights);
        assert_eq!(found.twos, [(0, 0, 200), (0, 1, 600)]);
        assert_eq!((found.weight, found.bound), (650.0, 650.0));
        assert!(heaviest_twos(&[3, 2], &symmetric(2, &[0, 0, 0])).twos.is_empty());
        assert!(heaviest_twos(&[], &[]).twos.is_empty());
    }

    #[test]
    fn a_ring_of_three_leaves_one_over() {
        // One of each: halves of all three twos weigh as much as one and a half.
        let weights = symmetric(3, &[0, 16, 16, 0, 16, 0]);
        let found = heaviest_twos(&[1, 1, 1], &weights);
        assert_eq!((found.weight, found.bound), (1.0, 1.5));
    }

    proptest! {
        #[test]
        fn nothing_weighs_much_more(
            counts in prop::collection::vec(0u32..9, 1..5),
            entries in prop::collection::vec(0u32..12, 10),
        ) {
            let weights = symmetric(counts.len(), &entries);
            let found = heaviest_twos(&counts, &weights);
            let mut used = vec![0; counts.len()];
            for (one, other, count) in &found.twos {
                prop_assert!(one <= other && weights[*one][*other] > 0.0);
                used[*one] += count;
                used[*other] += count;
            }
            prop_assert!(used.iter().zip(&counts).all(|(used, count)| used <= count));
            let (exact, near) = (exact(&counts, &weights), 1e-9);
            prop_assert!(found.weight <= exact + near && exact <= found.bound + near);
            let largest = weights.iter().flatten().copied().fold(0.0, f64::max);
            prop_assert!(found.bound - found.weight <= largest * counts.len() as f64);
        }
    }
}
