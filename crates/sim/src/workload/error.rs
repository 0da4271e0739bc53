//! What is wrong with a trace, where, and what to do about it.

use std::path::{Path, PathBuf};

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TraceError {
    /// The file.
    pub file: PathBuf,
    /// Line, counted from one.
    pub line: Option<u64>,
    /// Column: its number, counted from one, and its name.
    pub column: Option<(usize, String)>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl std::fmt::Display for TraceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some((number, name)) = &self.column {
            write!(f, ": column {number} (`{name}`)")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl TraceError {
    /// Something is wrong with a file as a whole.
    pub fn file(file: &Path, message: impl Into<String>) -> TraceError {
        TraceError {
            file: file.into(),
            line: None,
            column: None,
            message: message.into(),
            hint: None,
        }
    }

    /// Something is wrong with a line.
    pub fn line(file: &Path, line: u64, message: impl Into<String>) -> TraceError {
        TraceError { line: Some(line), ..TraceError::file(file, message) }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> TraceError {
        self.hint = Some(hint.into());
        self
    }
}
