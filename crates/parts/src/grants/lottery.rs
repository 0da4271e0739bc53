//! Lottery scheduling (Waldspurger and Weihl, OSDI 1994): for every lease tickets are drawn, and
//! whoever holds more of them wins more often.
//!
//! Drawing again and again is the same as letting every party win at random times, at a rate of its
//! tickets: the next to win is whoever holds the next time. So each party's times are drawn apart,
//! and one party's draws disturb nobody else's.

use super::ranked::{Given, Ranked, longest_waiting};
use super::{Among, Floor, Party, Rule, Turns};
use heeler_engine::View;
use rand::RngExt;

/// Tickets are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Lottery {
    /// Who holds tickets: as many as its weight.
    pub among: Among,
}

/// When a party wins for the so-manieth time, in millionths of what a party of one ticket waits.
fn wins(party: Party, times: i64, tickets: i64, view: &View) -> i64 {
    let mut rng = view.rng(&format!("lottery of {party:?}"));
    let mut at = 0.0;
    for _ in 0..=times {
        // Above zero, so that the logarithm is a number.
        let drawn: f64 = 1.0 - rng.random::<f64>();
        at -= drawn.ln() / tickets as f64;
    }
    (at * 1e6).min(1e15) as i64
}

impl Rule for Lottery {
    fn open<'a>(&'a self, floor: &Floor<'a>, view: &View<'a>) -> Box<dyn Turns + 'a> {
        let at = *view;
        let score = move |party: Party, given: Given, _: &heeler_engine::Job| {
            wins(party, given.fresh, party.weight(&at), &at)
        };
        Box::new(Ranked::new(floor, self.among, longest_waiting(view), Box::new(score)))
    }

    fn fork(&self) -> Box<dyn Rule> {
        Box::new(*self)
    }
}
