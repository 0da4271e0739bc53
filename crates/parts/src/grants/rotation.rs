//! Round robin: everybody has a turn before anybody has another. Whose turn was longest ago is next,
//! and of several jobs the one that has waited longest.

use super::ranked::{Ranked, longest_waiting};
use super::{Among, Floor, Party, Rule, Turns};
use heeler_engine::{Note, View};
use heeler_model::JobId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// More turns than anybody will ever count.
const MANY: i64 = 1 << 48;

/// Round robin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rotation {
    among: Among,
    /// Who had the latest turns: larger is later.
    latest: Vec<(Party, i64)>,
    count: i64,
}

impl Rotation {
    /// Turns among these.
    pub fn new(among: Among) -> Rotation {
        Rotation { among, latest: Vec::new(), count: 0 }
    }

    fn latest(&self, party: Party) -> i64 {
        let at = self.latest.binary_search_by_key(&party, |(party, _)| *party);
        at.map_or(0, |index| self.latest[index].1)
    }
}

impl Rule for Rotation {
    fn open<'a>(&'a self, floor: &Floor<'a>, view: &View<'a>) -> Box<dyn Turns + 'a> {
        let score = |party, given: super::ranked::Given, _: &heeler_engine::Job| {
            given.jobs.saturating_mul(MANY).saturating_add(self.latest(party))
        };
        Box::new(Ranked::new(floor, self.among, longest_waiting(view), Box::new(score)))
    }

    /// Turns went in the order of those before them: first one for everybody, then the second ones.
    fn granted(&mut self, jobs: &[JobId], view: &View) {
        let mut turns: BTreeMap<Party, u32> = BTreeMap::new();
        for id in jobs {
            *turns.entry(self.among.party(view.job(*id))).or_default() += 1;
        }
        let mut order: Vec<(i64, Party, u32)> =
            turns.into_iter().map(|(party, turns)| (self.latest(party), party, turns)).collect();
        order.sort_unstable();
        let mut latest: BTreeMap<Party, i64> = self.latest.drain(..).collect();
        let most = order.iter().map(|(.., turns)| *turns).max().unwrap_or(0);
        for turn in 0..most {
            for (_, party, turns) in &order {
                if *turns > turn {
                    self.count += 1;
                    latest.insert(*party, self.count);
                }
            }
        }
        self.latest = latest.into_iter().collect();
    }

    fn observe(&mut self, note: &Note, _view: &View) {
        if let Note::Left(id) = note {
            self.latest.retain(|(party, _)| *party != Party::Job(*id));
        }
    }

    fn save(&self) -> Value {
        serde_json::to_value(self).expect("plain data")
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        *self = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn fork(&self) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}
