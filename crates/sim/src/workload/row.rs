//! Rows whose fields are asked for by name and by what they should be, with errors that say file,
//! line and field.

use super::date;
use super::error::{Field, TraceError};
use crate::suggest;
use heeler_model::{Span, Time};
use std::path::{Path, PathBuf};

/// Times from here on are mistakes: thirty thousand years.
const TOO_LATE_S: f64 = 1e12;
/// Longer spans, of which a few thousand in a row would not fit into a `Time`, are a slip.
const TOO_LONG_S: f64 = 1e9;

/// What the fields of a row are called, and the file it stands in.
#[derive(Clone, Debug)]
pub struct Header {
    /// The file.
    pub file: PathBuf,
    /// The names of its fields.
    pub columns: Vec<String>,
    /// Whether fields stand in columns; otherwise every line names its own.
    in_columns: bool,
}

impl Header {
    /// The header of a table.
    pub fn new(file: &Path, columns: Vec<String>) -> Header {
        Header { file: file.into(), columns, in_columns: true }
    }

    /// The names of the fields of one line.
    pub(super) fn of_line(file: &Path, names: Vec<String>) -> Header {
        Header { file: file.into(), columns: names, in_columns: false }
    }

    /// Where a column is.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Refuse a table that lacks one of these columns.
    pub(crate) fn must_have(&self, names: &[&str]) -> Result<(), TraceError> {
        match names.iter().find(|name| self.find(name).is_none()) {
            Some(name) => Err(self.no_column(name)),
            None => Ok(()),
        }
    }

    fn no_column(&self, name: &str) -> TraceError {
        let hint = match suggest::closest(name, self.columns.iter().map(String::as_str)) {
            Some(close) => format!("is `{close}` meant? call it `{name}`"),
            None => format!("the header has: {}", self.columns.join(", ")),
        };
        TraceError::line(&self.file, 1, format!("there is no column `{name}`")).hint(hint)
    }

    /// Whether all these columns are there.
    pub fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.find(name).is_some())
    }
}

/// One row of a table.
pub struct Row<'a> {
    header: &'a Header,
    record: &'a csv::StringRecord,
    line: u64,
}

impl<'a> Row<'a> {
    /// A row that stands on a line.
    pub(super) fn new(header: &'a Header, record: &'a csv::StringRecord, line: u64) -> Row<'a> {
        Row { header, record, line }
    }

    /// The line it stands on.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// What its fields are called.
    pub fn header(&self) -> &Header {
        self.header
    }

    /// A field that may be absent or empty.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        let field = self.record.get(self.header.find(name)?)?;
        (!field.is_empty()).then_some(field)
    }

    /// A field that must be there.
    pub fn text(&self, name: &str) -> Result<&'a str, TraceError> {
        match self.get(name) {
            Some(text) => Ok(text),
            None if self.header.find(name).is_some() => Err(self.wrong(name, "is empty")),
            None if self.header.in_columns => Err(self.header.no_column(name)),
            None => Err(self.wrong(name, "is missing")),
        }
    }

    /// A number that must be there.
    pub fn number(&self, name: &str) -> Result<f64, TraceError> {
        let text = self.text(name)?;
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(self.wrong(name, format!("expected a number, found `{text}`"))),
        }
    }

    /// A number from zero on that must be there.
    pub fn positive(&self, name: &str) -> Result<f64, TraceError> {
        let number = self.number(name)?;
        if number < 0.0 {
            let message = format!("expected a number from 0 on, found `{number}`");
            return Err(self.wrong(name, message));
        }
        Ok(number)
    }

    /// A whole number from zero on.
    pub fn count(&self, name: &str) -> Result<u32, TraceError> {
        let number = self.number(name)?;
        if number < 0.0 || number.fract() != 0.0 || number > f64::from(u32::MAX) {
            let text = self.text(name)?;
            let message = format!("expected a whole number from 0 on, found `{text}`");
            return Err(self.wrong(name, message));
        }
        Ok(number as u32)
    }

    /// A whole number from zero on that may be absent.
    pub fn maybe_count(&self, name: &str) -> Result<Option<u32>, TraceError> {
        self.get(name).map(|_| self.count(name)).transpose()
    }

    /// A time since the start, in a unit of so many seconds.
    pub fn time(&self, name: &str, unit_s: f64) -> Result<Time, TraceError> {
        let seconds = self.number(name)? * unit_s;
        Ok(Time::ZERO + self.span_below(name, seconds, TOO_LATE_S)?)
    }

    /// A span, in a unit of so many seconds.
    pub fn span(&self, name: &str, unit_s: f64) -> Result<Span, TraceError> {
        let number = self.number(name)?;
        self.span_of(name, number * unit_s)
    }

    /// A span that may be absent, in a unit of so many seconds.
    pub fn maybe_span(&self, name: &str, unit_s: f64) -> Result<Option<Span>, TraceError> {
        self.get(name).map(|_| self.span(name, unit_s)).transpose()
    }

    /// Seconds of a field as a span, if they can be one.
    pub fn span_of(&self, name: &str, seconds: f64) -> Result<Span, TraceError> {
        self.span_below(name, seconds, TOO_LONG_S)
    }

    fn span_below(&self, name: &str, seconds: f64, most_s: f64) -> Result<Span, TraceError> {
        if !(0.0..most_s).contains(&seconds) {
            let text = self.text(name)?;
            let most = format!("below {most_s:e} seconds");
            let expected = if seconds < 0.0 { "from 0 on" } else { &most };
            return Err(self.wrong(name, format!("expected a time {expected}, found `{text}`")));
        }
        Ok(Span::from_secs_f64(seconds))
    }

    /// A date, as a time since 1970.
    pub(super) fn date(&self, name: &str) -> Result<Time, TraceError> {
        let text = self.text(name)?;
        let expected = "expected a date such as 2024-05-31 09:30:00";
        date::seconds(text)
            .map(Time::from_secs)
            .ok_or_else(|| self.wrong(name, format!("{expected}, found `{text}`")))
    }

    /// The parts of a field that are joined by `|`.
    pub fn list(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let parts = self.get(name).unwrap_or_default().split('|').map(str::trim);
        parts.filter(|part| !part.is_empty())
    }

    /// Something is wrong with a field of this row.
    pub fn wrong(&self, name: &str, message: impl Into<String>) -> TraceError {
        let column = self.header.find(name).map(|index| index as u32 + 1);
        let column = column.filter(|_| self.header.in_columns);
        let field = Some(Field { column, name: name.to_string() });
        TraceError { field, ..self.broken(message) }
    }

    /// Something is wrong with this row.
    pub fn broken(&self, message: impl Into<String>) -> TraceError {
        TraceError::line(&self.header.file, self.line, message)
    }
}
