//! How people write jobs: Slurm-shaped options, scripts with `#HEELER` and `#SBATCH` lines, and
//! short YAML files. Everything here is a function of its text (and of what time it is), so that
//! the command line, a server and a fuzzer can call it.

pub mod array;
mod build;
pub mod depend;
mod flag;
pub mod script;
mod share;
pub mod size;
pub mod time;
mod wish;
pub mod yaml;

pub use build::{Context, Job};
pub use flag::{FLAGS, Flag, Takes, find};

use std::fmt;

/// The most bytes that a job's file may have.
pub const LARGEST_FILE: usize = 1 << 20;

/// Where an option was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// On the command line.
    #[default]
    Typed,
    /// In a file.
    File {
        /// Its name.
        file: String,
        /// The line, from 1.
        line: u32,
    },
}

/// An option with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Which.
    pub flag: &'static Flag,
    /// What it was given.
    pub value: Option<String>,
    /// Where it was written.
    pub origin: Origin,
}

/// What was read of a job, before it is put together with what the command line says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// Options, in the order they were written; later ones win.
    pub given: Vec<Given>,
    /// A whole script.
    pub script: Option<String>,
    /// Variables that the file sets.
    pub env: Vec<(String, String)>,
    /// What the person should know, such as options that are not understood.
    pub notes: Vec<String>,
}

/// A mistake in what was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrong {
    /// The file, if it is in one.
    pub file: Option<String>,
    /// The line in it, from 1.
    pub line: Option<u32>,
    /// The option or field, as it was written.
    pub field: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Wrong {
    /// A mistake.
    pub fn new(message: impl Into<String>) -> Wrong {
        Wrong { message: message.into(), ..Wrong::default() }
    }

    /// With what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Wrong {
        self.hint = Some(hint.into());
        self
    }

    /// With the option or field it is about.
    #[must_use]
    pub fn about(mut self, field: impl Into<String>) -> Wrong {
        self.field = Some(field.into());
        self
    }

    /// With where it was written.
    #[must_use]
    pub fn within(mut self, origin: &Origin) -> Wrong {
        if let Origin::File { file, line } = origin {
            self.file = Some(file.clone());
            self.line = Some(*line);
        }
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            _ => {}
        }
        if let Some(field) = &self.field {
            write!(f, "`{field}`: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Wrong {}

impl From<String> for Wrong {
    fn from(message: String) -> Wrong {
        Wrong::new(message)
    }
}
