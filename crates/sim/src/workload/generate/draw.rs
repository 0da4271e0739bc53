//! Ways to draw: from a deck of cards, by shares, by quantiles, and from streams that have names.

use heeler_engine::stream;
use heeler_model::Time;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// What is drawn at random, each from a stream of its own: another draw for one thing changes
/// nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// Times of submission.
    Arrivals,
    /// GPUs, and with them the class of a job.
    Sizes,
    /// Durations, given the class.
    Durations,
    /// Tenants.
    Tenants,
    /// Models, and which jobs recur.
    Models,
    /// Declared run times.
    Declared,
    /// Which jobs are elastic.
    Elastic,
    /// Which jobs have a deadline, and when.
    Deadlines,
    /// Which jobs follow which.
    Dependencies,
}

impl Stream {
    /// All of them.
    pub const ALL: [Stream; 9] = [
        Stream::Arrivals,
        Stream::Sizes,
        Stream::Durations,
        Stream::Tenants,
        Stream::Models,
        Stream::Declared,
        Stream::Elastic,
        Stream::Deadlines,
        Stream::Dependencies,
    ];

    const fn name(self) -> &'static str {
        match self {
            Stream::Arrivals => "generate/arrivals",
            Stream::Sizes => "generate/sizes",
            Stream::Durations => "generate/durations",
            Stream::Tenants => "generate/tenants",
            Stream::Models => "generate/models",
            Stream::Declared => "generate/declared",
            Stream::Elastic => "generate/elastic",
            Stream::Deadlines => "generate/deadlines",
            Stream::Dependencies => "generate/dependencies",
        }
    }
}

/// All the streams of one generator.
#[derive(Clone, Debug)]
pub(super) struct Streams([Xoshiro256PlusPlus; Stream::ALL.len()]);

impl Streams {
    pub(super) fn new(seed: u64) -> Streams {
        Streams(Stream::ALL.map(|which| fresh(which, seed)))
    }

    /// Begin one of them anew from another seed.
    pub(super) fn reseed(&mut self, which: Stream, seed: u64) {
        self.0[which as usize] = fresh(which, seed);
    }

    pub(super) fn of(&mut self, which: Stream) -> &mut Xoshiro256PlusPlus {
        &mut self.0[which as usize]
    }

    /// A number from zero to one, one excluded.
    pub(super) fn uniform(&mut self, which: Stream) -> f64 {
        self.of(which).random()
    }
}

fn fresh(which: Stream, seed: u64) -> Xoshiro256PlusPlus {
    stream(seed, Time::ZERO, which.name())
}

const CARDS: usize = 16;

/// Numbers from zero to one, dealt like cards: of every 16 draws each 16th part of the range gets
/// one, of every 256 each 256th part, in random order.
///
/// Where one job in a thousand decides the load, independent draws would need millions of jobs
/// until the load is what was asked for; dealt ones come close much sooner, and each number by
/// itself is as evenly distributed as an independent one.
#[derive(Clone, Debug)]
pub(super) struct Deck {
    coarse: Pack,
    fine: [Pack; CARDS],
}

/// Sixteen cards; when all are dealt they are gathered and shuffled.
#[derive(Clone, Copy, Debug)]
struct Pack {
    cards: [u8; CARDS],
    left: u8,
}

impl Pack {
    fn new() -> Pack {
        Pack { cards: std::array::from_fn(|index| index as u8), left: CARDS as u8 }
    }

    /// A card, chosen by 16 random bits.
    fn draw(&mut self, bits: u16) -> u8 {
        let index = (usize::from(bits) * usize::from(self.left)) >> 16;
        self.left -= 1;
        let left = usize::from(self.left);
        self.cards.swap(index, left);
        if self.left == 0 {
            self.left = CARDS as u8;
        }
        self.cards[left]
    }
}

impl Deck {
    pub(super) fn new() -> Deck {
        Deck { coarse: Pack::new(), fine: [Pack::new(); CARDS] }
    }

    pub(super) fn draw(&mut self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let bits: u64 = random.random();
        let coarse = self.coarse.draw((bits >> 48) as u16);
        let fine = self.fine[usize::from(coarse)].draw((bits >> 32) as u16);
        let within = f64::from(bits as u32) / 4_294_967_296.0;
        let cards = CARDS as f64;
        (f64::from(coarse) + (f64::from(fine) + within) / cards) / cards
    }
}

/// Ascending limits from zero to one, and for each 256th part of the range how many are below it:
/// looking a number up takes a step or two.
#[derive(Clone, Debug)]
struct Ladder {
    limits: Vec<f64>,
    below: Vec<u32>,
}

impl Ladder {
    fn new(limits: Vec<f64>) -> Ladder {
        let start = |part: u32| limits.partition_point(|limit| *limit <= f64::from(part) / 256.0);
        let below = (0..256).map(|part| start(part) as u32).collect();
        Ladder { limits, below }
    }

    /// How many limits are not above a number from zero to one.
    fn rank(&self, uniform: f64) -> usize {
        let mut rank = self.below[(uniform * 256.0) as usize & 255] as usize;
        while self.limits.get(rank).is_some_and(|limit| *limit <= uniform) {
            rank += 1;
        }
        rank
    }
}

/// Picks by weight.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    ladder: Ladder,
}

impl FromIterator<f64> for Shares {
    fn from_iter<T: IntoIterator<Item = f64>>(weights: T) -> Shares {
        let mut sum = 0.0;
        let add = |weight| {
            sum += weight;
            sum
        };
        let mut up_to: Vec<f64> = weights.into_iter().map(add).collect();
        for limit in &mut up_to {
            *limit /= sum;
        }
        Shares { ladder: Ladder::new(up_to) }
    }
}

impl Shares {
    /// Shares that fall with the rank, to a power.
    pub(super) fn by_rank(count: usize, power: f64) -> Shares {
        (1..=count).map(|rank| (rank as f64).powf(-power)).collect()
    }

    /// The one that a number from zero to one falls to.
    pub(super) fn pick(&self, uniform: f64) -> usize {
        self.ladder.rank(uniform).min(self.ladder.limits.len() - 1)
    }

    /// The mean of a value of each.
    pub(super) fn mean(&self, value: impl Fn(usize) -> f64) -> f64 {
        let limits = &self.ladder.limits;
        let below = std::iter::once(0.0).chain(limits.iter().copied());
        let shares = limits.iter().zip(below).map(|(limit, below)| limit - below);
        shares.enumerate().map(|(index, share)| share * value(index)).sum()
    }
}

/// A distribution given by its quantiles, the logarithm even between two of them.
#[derive(Clone, Debug)]
pub(super) struct Quantiles {
    ladder: Ladder,
    knots: Vec<Knot>,
    mean: f64,
    longest: f64,
}

#[derive(Clone, Copy, Debug)]
struct Knot {
    from: f64,
    log: f64,
    slope: f64,
}

impl Quantiles {
    pub(super) fn new(table: &[(f64, f64)]) -> Quantiles {
        let mut mean = 0.0;
        let between = |pair: &[(f64, f64)]| {
            let [(from, low), (to, high)] = [pair[0], pair[1]];
            let width = to - from;
            let rise = (high / low).ln();
            mean += width * if rise == 0.0 { low } else { (high - low) / rise };
            Knot { from, log: low.ln(), slope: rise / width }
        };
        let knots: Vec<Knot> = table.windows(2).map(between).collect();
        let ladder = Ladder::new(knots.iter().map(|knot| knot.from).collect());
        let longest = table.last().map_or(0.0, |(_, value)| *value);
        Quantiles { ladder, knots, mean, longest }
    }

    /// The value below which a share of all values lies.
    pub(super) fn at(&self, share: f64) -> f64 {
        let knot = self.knots[self.ladder.rank(share).max(1) - 1];
        (knot.log + knot.slope * (share - knot.from)).exp()
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    pub(super) fn longest(&self) -> f64 {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_card_comes_once_a_round() {
        let mut random = fresh(Stream::Sizes, 1);
        let mut deck = Deck::new();
        for _ in 0..3 {
            let round: Vec<f64> = (0..256).map(|_| deck.draw(&mut random)).collect();
            assert!(!round[..16].is_sorted(), "shuffled");
            for (cards, parts) in [(&round[..16], 16), (&round[240..], 16), (&round[..], 256)] {
                let mut cards: Vec<u32> =
                    cards.iter().map(|card| (card * f64::from(parts)) as u32).collect();
                cards.sort_unstable();
                assert_eq!(cards, (0..parts).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn quantiles_are_hit_and_the_mean_is_that_of_the_draws() {
        let table = [(0.0, 1.0), (0.5, 10.0), (0.9, 10.0), (1.0, 1_000.0)];
        let quantiles = Quantiles::new(&table);
        for (share, value) in [(0.0, 1.0), (0.25, 10f64.sqrt()), (0.7, 10.0), (0.95, 100.0)] {
            let found = quantiles.at(share);
            assert!((found / value - 1.0).abs() < 1e-9, "{share}: {found}");
        }
        let steps = 100_000;
        let middle = |step: i32| quantiles.at((f64::from(step) + 0.5) / f64::from(steps));
        let mean = (0..steps).map(middle).sum::<f64>() / f64::from(steps);
        assert!((mean / quantiles.mean() - 1.0).abs() < 1e-6, "{mean} {}", quantiles.mean());
        assert_eq!(quantiles.longest(), 1_000.0);
    }

    #[test]
    fn shares_are_picked_by_weight() {
        let shares: Shares = [1.0, 0.0, 3.0].into_iter().collect();
        assert_eq!([0.0, 0.24, 0.25, 0.99].map(|u| shares.pick(u)), [0, 0, 2, 2]);
        assert!((shares.mean(|index| index as f64) - 1.5).abs() < 1e-12);
        let ranked = Shares::by_rank(2, 1.0);
        assert_eq!([0.66, 0.67].map(|u| ranked.pick(u)), [0, 1]);
    }
}
