//! The random generator of Python's standard library (the Mersenne Twister of Matsumoto and
//! Nishimura, 1998, seeded by `init_by_array`), for published programs that shuffle with it: only
//! the same numbers give the same order.

const SIZE: usize = 624;
const SHIFT: usize = 397;

/// Python's `random.Random`, as far as shuffling goes.
#[derive(Clone, Debug)]
pub struct PythonRandom {
    state: Vec<u32>,
    index: usize,
}

impl PythonRandom {
    /// As `random.Random(seed)`.
    pub fn new(seed: u32) -> PythonRandom {
        let mut state = vec![0u32; SIZE];
        state[0] = 19_650_218;
        let spread = |word: u32| word ^ (word >> 30);
        for i in 1..SIZE {
            state[i] = spread(state[i - 1]).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        // The key is one word long, so its index is always zero.
        let mut i = 1;
        for _ in 0..SIZE {
            let mixed = spread(state[i - 1]).wrapping_mul(1_664_525);
            state[i] = (state[i] ^ mixed).wrapping_add(seed);
            i = next(i, &mut state);
        }
        for _ in 0..SIZE - 1 {
            let mixed = spread(state[i - 1]).wrapping_mul(1_566_083_941);
            state[i] = (state[i] ^ mixed).wrapping_sub(i as u32);
            i = next(i, &mut state);
        }
        state[0] = 0x8000_0000;
        PythonRandom { state, index: SIZE }
    }

    /// The next 32 bits.
    pub fn bits(&mut self) -> u32 {
        if self.index == SIZE {
            self.refill();
        }
        let mut word = self.state[self.index];
        self.index += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    fn refill(&mut self) {
        for i in 0..SIZE {
            let joined = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % SIZE] & 0x7fff_ffff);
            let twist = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + SHIFT) % SIZE] ^ (joined >> 1) ^ twist;
        }
        self.index = 0;
    }

    /// A number below `limit`, all equally likely.
    pub fn below(&mut self, limit: u32) -> u32 {
        let bits = u32::BITS - limit.leading_zeros();
        loop {
            let number = self.bits() >> (32 - bits);
            if number < limit {
                return number;
            }
        }
    }

    /// As `random.shuffle`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i as u32 + 1) as usize;
            items.swap(i, j);
        }
    }
}

fn next(i: usize, state: &mut [u32]) -> usize {
    if i + 1 < SIZE {
        return i + 1;
    }
    state[0] = state[SIZE - 1];
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_numbers_that_python_gives() {
        assert_eq!(PythonRandom::new(5).bits(), 2_675_342_405);
        assert_eq!(PythonRandom::new(42).bits(), 2_746_317_213);
        let mut rows: Vec<u32> = (0..10_001).collect();
        PythonRandom::new(42).shuffle(&mut rows);
        assert_eq!(rows[..5], [3771, 6672, 7261, 760, 3779]);
    }
}
