//! Names as numbers.

use std::collections::BTreeMap;

/// A list of names, each with its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    names: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

impl Names {
    /// The number of a name; new names get the next.
    pub fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len();
        self.names.push(name.to_string());
        self.numbers.insert(name.to_string(), number);
        number
    }

    /// The number of a name that is known.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The name of a number.
    pub fn name(&self, number: usize) -> &str {
        self.names.get(number).map_or("", String::as_str)
    }

    /// All names, by number.
    pub fn all(&self) -> &[String] {
        &self.names
    }
}
