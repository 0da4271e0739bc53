//! Counts by reason: what a reader left out, and what it had to assume.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// How often something happened, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Tally(BTreeMap<String, u64>);

impl Tally {
    /// Count one more.
    pub fn add(&mut self, reason: &str) {
        match self.0.get_mut(reason) {
            Some(count) => *count += 1,
            None => {
                self.0.insert(reason.to_string(), 1);
            }
        }
    }

    /// How often something happened for this reason.
    pub fn count(&self, reason: &str) -> u64 {
        self.0.get(reason).copied().unwrap_or(0)
    }

    /// How often something happened for any reason.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reasons and counts, by reason.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(reason, count)| (reason.as_str(), *count))
    }
}

/// `3 still running, 1 asks for no GPU`.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (reason, count)) in self.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{count} {reason}")?;
        }
        Ok(())
    }
}
