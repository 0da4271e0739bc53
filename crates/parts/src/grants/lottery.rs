//! Lottery scheduling (Waldspurger and Weihl, OSDI 1994): for every lease tickets are drawn, and
//! whoever holds more of them wins more often.
//!
//! Drawing again and again is the same as letting every party win at random times, at a rate of its
//! tickets: the next to win is whoever holds the next time. So each party's times are drawn apart,
//! and one party's draws disturb nobody else's.

use super::ranked::{Given, Ranked, longest_waiting};
use super::{Among, Floor, Party, Rule, Turns};
use heeler_engine::View;
use rand::{Rng, RngExt};
use std::collections::BTreeMap;

/// Tickets are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Lottery {
    /// Who holds tickets: as many as its weight.
    pub among: Among,
}

/// The times at which a party wins, drawn one after the other.
struct Wins<R> {
    rng: R,
    /// How often it was drawn.
    drawn: i64,
    at: f64,
}

impl<R: Rng> Wins<R> {
    /// When it wins for the so-manieth time, in millionths of what a party of one ticket waits.
    /// Whoever asks goes forward only.
    fn at(&mut self, times: i64, tickets: i64) -> i64 {
        while self.drawn <= times {
            // Above zero, so that the logarithm is a number.
            let drawn: f64 = 1.0 - self.rng.random::<f64>();
            self.at -= drawn.ln() / tickets as f64;
            self.drawn += 1;
        }
        (self.at * 1e6).min(1e15) as i64
    }
}

impl Rule for Lottery {
    fn open<'a>(&'a self, floor: &Floor<'a>, view: &View<'a>) -> Box<dyn Turns + 'a> {
        let view = *view;
        let mut wins: BTreeMap<Party, Wins<_>> = BTreeMap::new();
        let score = move |party: Party, given: Given, _: &heeler_engine::Job| {
            let rng = || view.rng(&format!("lottery of {party:?}"));
            let new = || Wins { rng: rng(), drawn: 0, at: 0.0 };
            let wins = wins.entry(party).or_insert_with(new);
            wins.at(given.fresh, party.weight(&view))
        };
        Box::new(Ranked::new(floor, self.among, longest_waiting(&view), Box::new(score)))
    }

    fn fork(&self) -> Box<dyn Rule> {
        Box::new(*self)
    }
}
