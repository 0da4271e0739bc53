//! The random numbers of Python's standard library, for traces and schedules that published
//! programs drew with it. The generator is MT19937 (Matsumoto and Nishimura 1998) with the
//! authors' seeding by an array of words; `below` and `shuffle` follow Python's documented ways.

const WORDS: usize = 624;
const MIDDLE: usize = 397;
/// Up to here Python's `sample` takes a list for short, if few are drawn.
const SHORT_LIST: u32 = 21;

/// A generator that draws what Python's `random.Random(seed)` draws.
#[derive(Clone, Debug)]
pub struct PythonRandom {
    words: Box<[u32; WORDS]>,
    next: usize,
    drawn: u64,
}

impl PythonRandom {
    /// The generator with a whole number for a seed.
    pub fn new(seed: impl Into<u64>) -> PythonRandom {
        let seed: u64 = seed.into();
        let key = match (seed as u32, (seed >> 32) as u32) {
            (low, 0) => vec![low],
            (low, high) => vec![low, high],
        };
        PythonRandom { words: Box::new(seeded_by(&key)), next: WORDS, drawn: 0 }
    }

    /// The generator as it stands after so many draws of bits.
    pub fn after(seed: impl Into<u64>, drawn: u64) -> PythonRandom {
        let mut random = PythonRandom::new(seed);
        (0..drawn).for_each(|_| {
            random.bits();
        });
        random
    }

    /// How often bits were drawn.
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Thirty-two random bits.
    pub fn bits(&mut self) -> u32 {
        if self.next == WORDS {
            self.renew();
        }
        let mut word = self.words[self.next];
        self.next += 1;
        self.drawn += 1;
        word ^= word >> 11;
        word ^= word << 7 & 0x9d2c_5680;
        word ^= word << 15 & 0xefc6_0000;
        word ^ word >> 18
    }

    /// A number below a limit above zero, each as likely: as many bits as the limit has, drawn
    /// again until they are below it.
    pub fn below(&mut self, limit: u32) -> u32 {
        assert!(limit > 0, "no number is below zero");
        let unused = limit.leading_zeros();
        loop {
            let drawn = self.bits() >> unused;
            if drawn < limit {
                return drawn;
            }
        }
    }

    /// Put a list in random order, from its end to its beginning.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for index in (1..list.len()).rev() {
            let limit = u32::try_from(index + 1).expect("a list of fewer than 2^32");
            list.swap(index, self.below(limit) as usize);
        }
    }

    /// The places of two that are drawn out of so many, as `sample` draws them: from short lists by
    /// closing the gap that the first leaves with the last, from long ones by drawing again.
    pub fn two_of(&mut self, count: u32) -> (u32, u32) {
        assert!(count > 1, "two are drawn from at least two");
        let first = self.below(count);
        if count <= SHORT_LIST {
            let second = self.below(count - 1);
            return (first, if second == first { count - 1 } else { second });
        }
        loop {
            let second = self.below(count);
            if second != first {
                return (first, second);
            }
        }
    }

    fn renew(&mut self) {
        for index in 0..WORDS {
            let upper = self.words[index] & 0x8000_0000;
            let mixed = upper | self.words[(index + 1) % WORDS] & 0x7fff_ffff;
            let twist = if mixed & 1 == 1 { 0x9908_b0df } else { 0 };
            self.words[index] = self.words[(index + MIDDLE) % WORDS] ^ mixed >> 1 ^ twist;
        }
        self.next = 0;
    }
}

/// The state after seeding with one word.
fn seeded_with(seed: u32) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    words[0] = seed;
    for index in 1..WORDS {
        let before = words[index - 1];
        words[index] =
            (before ^ before >> 30).wrapping_mul(1_812_433_253).wrapping_add(index as u32);
    }
    words
}

/// The state after seeding with several words.
fn seeded_by(key: &[u32]) -> [u32; WORDS] {
    let mut words = seeded_with(19_650_218);
    let mut index = 1;
    let mut step = |words: &mut [u32; WORDS], factor: u32, add: &dyn Fn(usize) -> u32| {
        let before = words[index - 1];
        let mixed = (before ^ before >> 30).wrapping_mul(factor);
        words[index] = (words[index] ^ mixed).wrapping_add(add(index));
        index += 1;
        if index == WORDS {
            words[0] = words[WORDS - 1];
            index = 1;
        }
    };
    for round in 0..WORDS.max(key.len()) {
        let place = round % key.len();
        step(&mut words, 1_664_525, &|_| key[place].wrapping_add(place as u32));
    }
    for _ in 1..WORDS {
        step(&mut words, 1_566_083_941, &|index| (index as u32).wrapping_neg());
    }
    words[0] = 0x8000_0000;
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_draws_are_those_of_python() {
        assert_eq!(PythonRandom::new(5u32).bits(), 2_675_342_405);
        assert_eq!(PythonRandom::new(42u32).bits(), 2_746_317_213);
    }

    #[test]
    fn shuffles_are_those_of_python() {
        let mut rows: Vec<u32> = (0..10_001).collect();
        PythonRandom::new(42u32).shuffle(&mut rows);
        assert_eq!(rows[..10], [3771, 6672, 7261, 760, 3779, 1772, 7509, 2679, 2305, 9215]);
    }

    #[test]
    fn short_lists_shuffled_again_and_again_are_those_of_python() {
        let mut random = PythonRandom::new(5u32);
        let mut orders = Vec::new();
        for _ in 0..8 {
            let mut kinds = ['v', 'p', 'k'];
            random.shuffle(&mut kinds);
            orders.push(kinds.iter().collect::<String>());
        }
        assert_eq!(orders.join(" "), "vpk vpk pvk kvp pvk pkv vkp kpv");
    }

    #[test]
    fn twos_are_those_of_python() {
        let mut random = PythonRandom::new(0u32);
        let short: Vec<_> = (0..4).map(|_| random.two_of(10)).collect();
        assert_eq!(short, [(6, 9), (0, 4), (8, 7), (6, 4)]);
        let long: Vec<_> = (0..4).map(|_| random.two_of(40)).collect();
        assert_eq!(long, [(30, 22), (37, 13), (32, 8), (18, 8)]);
    }

    #[test]
    fn draws_go_on_where_they_were_left() {
        let mut random = PythonRandom::new(7u32);
        (0..1000).for_each(|_| assert!(random.below(3) < 3));
        let mut again = PythonRandom::after(7u32, random.drawn());
        assert_eq!(random.bits(), again.bits());
    }

    #[test]
    fn seeds_of_more_than_a_word_count_in_full() {
        assert_eq!(PythonRandom::new((1u64 << 40) + 3).bits(), 943_978_446);
        assert_eq!(PythonRandom::new(0u32).bits(), 3_626_764_237);
    }
}
