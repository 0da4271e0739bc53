//! What is wrong with the description of a cluster, where, and what to do about it.

use crate::workload::TraceError;
use std::fmt;

/// What is wrong with the description of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ClusterError {
    /// The file, or the short text.
    pub file: String,
    /// Line, counted from one.
    pub line: Option<usize>,
    /// Column, counted from one.
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        for place in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{place}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl ClusterError {
    pub(super) fn file(file: &str, message: impl Into<String>) -> ClusterError {
        let message = message.into();
        ClusterError { file: file.into(), line: None, column: None, message, hint: None }
    }

    /// Something is wrong at a byte of a text.
    pub(super) fn at(
        file: &str,
        text: &str,
        byte: usize,
        message: impl Into<String>,
    ) -> ClusterError {
        let before = text.get(..byte.min(text.len())).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before[start..].chars().count() + 1;
        ClusterError { line: Some(line), column: Some(column), ..ClusterError::file(file, message) }
    }

    /// The same with a hint.
    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> ClusterError {
        self.hint = Some(hint.into());
        self
    }
}

impl From<TraceError> for ClusterError {
    fn from(error: TraceError) -> ClusterError {
        let field = error.field.map_or_else(String::new, |field| format!("`{}`: ", field.name));
        ClusterError {
            file: error.file.display().to_string(),
            line: error.line.map(|line| line as usize),
            column: None,
            message: format!("{field}{}", error.message),
            hint: error.hint,
        }
    }
}
