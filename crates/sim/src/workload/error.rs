//! What is wrong with a trace, where, and what to do about it.

use std::path::{Path, PathBuf};

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TraceError {
    /// The file.
    pub file: PathBuf,
    /// Line, counted from one.
    pub line: Option<u64>,
    /// The field of that line.
    pub field: Option<Field>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// A field of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its column, counted from one, where fields stand in columns.
    pub column: Option<u32>,
    /// Its name.
    pub name: String,
}

impl std::fmt::Display for TraceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match &self.field {
            Some(Field { column: Some(column), name }) => {
                write!(f, ": column {column} (`{name}`)")?;
            }
            Some(Field { column: None, name }) => write!(f, ": field `{name}`")?,
            None => {}
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
            field: None,
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
