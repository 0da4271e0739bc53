//! What is wrong with a card, and where.

use std::fmt;

/// What is wrong with a card: file, line and column where they are known, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardError {
    /// The card.
    pub file: String,
    /// Line and column, counted from one.
    pub position: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl CardError {
    pub(crate) fn in_text(error: &toml::de::Error, text: &str, file: &str) -> CardError {
        let position = error.span().map(|span| {
            let before = &text[..span.start.min(text.len())];
            let line = before.matches('\n').count() + 1;
            let column = before.len() - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
            (line, column)
        });
        let message = error.message().trim().replace('\n', "; ");
        let hint = Some("`heeler recipes show fifo --card` prints a card that works".into());
        CardError { file: file.into(), position, message, hint }
    }

    pub(crate) fn plain(file: &str, message: String, hint: Option<String>) -> CardError {
        CardError { file: file.into(), position: None, message, hint }
    }
}

impl fmt::Display for CardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for CardError {}
