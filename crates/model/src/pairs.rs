//! What was measured of two jobs on the same GPUs at the same time.

use crate::ids::{KindId, ModelId};
use serde::{Deserialize, Serialize};

/// What models keep of their pace alone beside others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pairs {
    /// In order, so that they are found quickly.
    rows: Vec<(Beside, u32)>,
}

/// Who beside whom: a kind of GPU, how many of them (zero: any), a model and its neighbour.
type Beside = (KindId, u32, ModelId, ModelId);

impl Pairs {
    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Enter the part of its pace alone that the first model keeps beside the second, each on so
    /// many GPUs of a kind; zero for any number of them.
    pub fn insert(&mut self, kind: KindId, gpus: u32, models: (ModelId, ModelId), pace: f64) {
        let (at, millionths) = ((kind, gpus, models.0, models.1), (pace * 1e6).round() as u32);
        match self.rows.binary_search_by_key(&at, |(at, _)| *at) {
            Ok(index) => self.rows[index].1 = millionths,
            Err(index) => self.rows.insert(index, (at, millionths)),
        }
    }

    /// The part of its pace alone that the first model keeps beside the second.
    pub fn pace(&self, kind: KindId, gpus: u32, models: (ModelId, ModelId)) -> Option<f64> {
        let of = |gpus: u32| {
            let at = (kind, gpus, models.0, models.1);
            let found = self.rows.binary_search_by_key(&at, |(at, _)| *at).ok()?;
            Some(f64::from(self.rows[found].1) / 1e6)
        };
        of(gpus).or_else(|| of(0))
    }
}
