//! Small changes to bytes, by a seed: what a fuzzer does, without one. What is found interesting
//! in text formats (numbers at their limits, brackets, quotes) is put in as often as plain noise.

/// Words that readers stumble over.
const WORDS: &[&[u8]] = &[
    b"0",
    b"-1",
    b"1",
    b"255",
    b"65536",
    b"4294967295",
    b"4294967296",
    b"9223372036854775807",
    b"18446744073709551615",
    b"99999999999999999999999",
    b"1e308",
    b"1e-320",
    b"NaN",
    b"inf",
    b"-0.0",
    b"null",
    b"true",
    b"\"\"",
    b"\"",
    b"'",
    b"{}",
    b"[]",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b":",
    b"-",
    b"=",
    b"#",
    b"%",
    b"|",
    b"\n",
    b"\r\n",
    b"\t",
    b" ",
    b"\0",
    b"\xff",
    b"../",
    b"&a *a",
    b"!!binary",
    b"2024-02-30T25:61:61",
    b"9999999-99:59:59",
    "é\u{200b}漢\u{1f40f}".as_bytes(),
];

/// How long an input may become.
const LONGEST: usize = 16 * 1024;

/// Changes bytes by chance.
#[derive(Clone, Debug)]
pub struct Mutator(u64);

impl Mutator {
    /// One that always does the same for the same seed.
    pub fn new(seed: u64) -> Mutator {
        Mutator(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`, or zero.
    pub fn below(&mut self, limit: usize) -> usize {
        // Marsaglia's xorshift: enough chance for noise, in three lines.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }

    /// A changed copy of one of these.
    pub fn mutate(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut data = corpus[self.below(corpus.len())].clone();
        for _ in 0..=self.below(4) {
            let other = &corpus[self.below(corpus.len())];
            self.once(&mut data, other);
        }
        data.truncate(LONGEST);
        data
    }

    fn once(&mut self, data: &mut Vec<u8>, other: &[u8]) {
        let (at, until) = self.range(data.len());
        match self.below(9) {
            0 => {
                if let Some(byte) = data.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
            1 => {
                data.drain(at..until);
            }
            2 => {
                let part = data[at..until].to_vec();
                data.splice(at..at, part);
            }
            3 => {
                let word = WORDS[self.below(WORDS.len())];
                data.splice(at..at, word.iter().copied());
            }
            4 => self.replace_token(data, |byte| byte.is_ascii_digit()),
            5 => self.replace_token(data, |byte| byte.is_ascii_alphanumeric() || byte == b'_'),
            6 => {
                let (from, to) = self.range(other.len());
                data.splice(at..until, other[from..to].iter().copied());
            }
            7 => {
                let byte = self.below(256) as u8;
                data.splice(at..until.min(at + 4), [byte]);
            }
            _ => self.swap_lines(data),
        }
    }

    /// A stretch of so many bytes, short more often than long.
    fn range(&mut self, length: usize) -> (usize, usize) {
        let at = self.below(length + 1);
        let most = if self.below(4) == 0 { length } else { 16 };
        (at, (at + self.below(most + 1)).min(length))
    }

    /// Put a word in the place of a run of such bytes.
    fn replace_token(&mut self, data: &mut Vec<u8>, is: impl Fn(u8) -> bool) {
        let places: Vec<usize> =
            (0..data.len()).filter(|&at| is(data[at]) && (at == 0 || !is(data[at - 1]))).collect();
        if places.is_empty() {
            return;
        }
        let at = places[self.below(places.len())];
        let length = data[at..].iter().take_while(|byte| is(**byte)).count();
        let word = WORDS[self.below(WORDS.len())];
        data.splice(at..at + length, word.iter().copied());
    }

    fn swap_lines(&mut self, data: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> =
            data.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let (a, b) = (self.below(lines.len()), self.below(lines.len()));
        if self.below(2) == 0 {
            lines.swap(a, b);
        } else {
            let line = lines[a].clone();
            lines.insert(b, line);
        }
        *data = lines.join(&b'\n');
    }
}
