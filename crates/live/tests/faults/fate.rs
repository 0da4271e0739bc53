//! What becomes of an attempt if nobody interferes, and how it takes it if somebody does.

use crate::chance::Chance;
use heeler_backend::Ending;

const SECOND: u64 = 1_000_000;

/// See above; times in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Fate {
    /// Until somebody takes it up.
    pub(crate) claim: u64,
    /// From then until its processes run.
    pub(crate) start: u64,
    pub(crate) refuses: bool,
    /// How long it runs; none, if it hangs.
    pub(crate) runs: Option<u64>,
    pub(crate) ending: Ending,
    /// How long its children outlive it.
    pub(crate) children: u64,
    /// Whether it ends when it is asked to.
    pub(crate) obeys: bool,
    /// Whether it saves itself when it is asked to.
    pub(crate) saves: bool,
    /// How long that, or standing still, takes.
    pub(crate) save: u64,
    pub(crate) dies_saving: bool,
    /// When it dies in its sleep.
    pub(crate) perishes: Option<u64>,
    /// How often it says something; zero for never.
    pub(crate) reports: u64,
}

impl Fate {
    pub(crate) fn draw(chance: &mut Chance, calm: bool) -> Fate {
        let odd = |chance: &mut Chance, percent| !calm && chance.percent(percent);
        let hangs = odd(chance, 4);
        let ending = match chance.below(100) {
            0..75 => Ending::Exited { code: 0 },
            75..90 => Ending::Exited { code: chance.between(1, 3) as i32 },
            90..96 => Ending::Killed { signal: 11, out_of_memory: false },
            _ => Ending::Killed { signal: 9, out_of_memory: true },
        };
        Fate {
            claim: chance.below(SECOND / 2),
            start: if odd(chance, 10) { chance.below(60 * SECOND) } else { chance.below(SECOND) },
            refuses: odd(chance, 4),
            runs: (!hangs).then(|| chance.between(1, 400) * SECOND + chance.below(SECOND)),
            ending,
            children: if odd(chance, 10) { chance.below(40 * SECOND) } else { 0 },
            obeys: !odd(chance, 20),
            saves: chance.percent(40),
            save: if odd(chance, 20) {
                chance.below(120 * SECOND)
            } else {
                chance.below(3 * SECOND)
            },
            dies_saving: odd(chance, 5),
            perishes: odd(chance, 10).then(|| chance.below(300 * SECOND)),
            reports: if chance.percent(40) { chance.between(5, 60) * SECOND } else { 0 },
        }
    }
}
