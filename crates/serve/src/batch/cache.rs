//! A cache of answers with the CLOCK rule: a hand goes round, takes the mark off those that were
//! asked for since it last came by, and replaces the first that bears none. Questions that are
//! being answered are in it, too: equal ones wait for the same answer.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cache {
    capacity: usize,
    slots: Vec<Slot>,
    hand: usize,
    /// Where each kept answer is.
    place: BTreeMap<u32, usize>,
    /// When equal questions came for each that is being answered.
    under_way: BTreeMap<u32, Vec<u64>>,
    /// How many these are.
    followers: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Slot {
    key: u32,
    asked: bool,
}

/// What the cache knows of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Its answer.
    Answer,
    /// It is being answered, and this one will be told.
    UnderWay,
    /// Nothing.
    Nothing,
}

impl Cache {
    pub(super) fn new(capacity: u32) -> Cache {
        let (place, under_way) = (BTreeMap::new(), BTreeMap::new());
        Cache {
            capacity: capacity as usize,
            slots: Vec::new(),
            hand: 0,
            place,
            under_way,
            followers: 0,
        }
    }

    /// Ask for an answer.
    pub(super) fn ask(&mut self, key: u32, at_ns: u64) -> Known {
        if let Some(index) = self.place.get(&key) {
            self.slots[*index].asked = true;
            return Known::Answer;
        }
        match self.under_way.get_mut(&key) {
            Some(followers) => {
                followers.push(at_ns);
                self.followers += 1;
                Known::UnderWay
            }
            None => Known::Nothing,
        }
    }

    /// A question goes to a replica.
    pub(super) fn begin(&mut self, key: u32) {
        self.under_way.insert(key, Vec::new());
    }

    /// A question was dropped: one that waited for the same answer takes its place, if any.
    pub(super) fn succeed(&mut self, key: u32) -> Option<u64> {
        let followers = self.under_way.get_mut(&key)?;
        if followers.is_empty() {
            self.under_way.remove(&key);
            return None;
        }
        self.followers -= 1;
        Some(followers.remove(0))
    }

    /// An answer is there: keep it, and say when all came that waited for it.
    pub(super) fn answer(&mut self, key: u32) -> Vec<u64> {
        self.keep(key);
        let followers = self.under_way.remove(&key).unwrap_or_default();
        self.followers -= followers.len() as u64;
        followers
    }

    /// Questions that wait for the answer to an equal one.
    pub(super) fn followers(&self) -> u64 {
        self.followers
    }

    fn keep(&mut self, key: u32) {
        if self.slots.len() < self.capacity {
            self.place.insert(key, self.slots.len());
            self.slots.push(Slot { key, asked: true });
            return;
        }
        while self.slots[self.hand].asked {
            self.slots[self.hand].asked = false;
            self.hand = (self.hand + 1) % self.capacity;
        }
        self.place.remove(&self.slots[self.hand].key);
        self.place.insert(key, self.hand);
        self.slots[self.hand] = Slot { key, asked: true };
        self.hand = (self.hand + 1) % self.capacity;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(cache: &Cache) -> Vec<u32> {
        cache.place.keys().copied().collect()
    }

    #[test]
    fn the_hand_spares_what_was_asked_for() {
        let mut cache = Cache::new(3);
        for key in [1, 2, 3] {
            cache.begin(key);
            cache.answer(key);
        }
        // All bear the mark, so the hand goes round once and takes the first.
        cache.answer(4);
        assert_eq!(kept(&cache), [2, 3, 4]);
        assert_eq!(cache.ask(2, 0), Known::Answer);
        cache.answer(5);
        assert_eq!(kept(&cache), [2, 4, 5]);
    }

    #[test]
    fn equal_questions_wait_for_one_answer() {
        let mut cache = Cache::new(3);
        assert_eq!(cache.ask(7, 10), Known::Nothing);
        cache.begin(7);
        assert_eq!(cache.ask(7, 11), Known::UnderWay);
        assert_eq!(cache.ask(7, 12), Known::UnderWay);
        assert_eq!(cache.succeed(7), Some(11));
        assert_eq!(cache.answer(7), [12]);
        assert_eq!(cache.ask(7, 13), Known::Answer);
    }
}
