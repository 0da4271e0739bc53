//! Tables with a header line: rows whose fields are asked for by name and by what they should be,
//! with errors that say file, line and column.

use super::error::TraceError;
use flate2::read::MultiGzDecoder;
use heeler_model::{Span, Time};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// Open a file, unpacking it if its name ends in `.gz`.
pub fn open(path: &Path) -> Result<Box<dyn Read>, TraceError> {
    let file = File::open(path).map_err(|error| {
        TraceError::file(path, format!("cannot be opened: {error}")).hint("check the path")
    })?;
    let file = BufReader::new(file);
    let packed = path.extension().is_some_and(|extension| extension == "gz");
    Ok(if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

/// A table in memory, row by row.
pub struct Table {
    file: PathBuf,
    header: Vec<String>,
    rows: csv::StringRecordsIntoIter<Box<dyn Read>>,
}

/// One row of a table.
pub struct Row<'a> {
    table: &'a Header,
    record: csv::StringRecord,
    line: u64,
}

/// The header of a table, and the file it stands in.
#[derive(Clone, Debug)]
pub struct Header {
    /// The file.
    pub file: PathBuf,
    /// The names of its columns.
    pub columns: Vec<String>,
}

impl Table {
    /// Open a table with a header line.
    pub fn open(path: &Path, delimiter: u8) -> Result<Table, TraceError> {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .from_reader(open(path)?);
        let header = reader.headers().map_err(|error| broken(path, &error))?;
        let header: Vec<String> = header.iter().map(ToString::to_string).collect();
        if header.iter().all(String::is_empty) {
            return Err(
                TraceError::file(path, "is empty").hint("a table begins with a header line")
            );
        }
        Ok(Table { file: path.into(), header, rows: reader.into_records() })
    }

    /// Its header.
    pub fn header(&self) -> Header {
        Header { file: self.file.clone(), columns: self.header.clone() }
    }

    /// Go through the rows.
    pub fn each(
        self,
        mut row: impl FnMut(&Row<'_>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let header = self.header();
        for record in self.rows {
            let record = record.map_err(|error| broken(&header.file, &error))?;
            let line = record.position().map_or(0, csv::Position::line);
            if record.len() != header.columns.len() {
                let (found, wanted) = (record.len(), header.columns.len());
                let message = format!("has {found} fields where the header has {wanted}");
                return Err(TraceError::line(&header.file, line, message)
                    .hint("look for a missing or an extra comma, or an unclosed quote"));
            }
            row(&Row { table: &header, record, line })?;
        }
        Ok(())
    }
}

fn broken(path: &Path, error: &csv::Error) -> TraceError {
    let line = error.position().map(csv::Position::line);
    let message = match error.kind() {
        csv::ErrorKind::Utf8 { .. } => "is not text in UTF-8".to_string(),
        csv::ErrorKind::Io(io) => format!("cannot be read: {io}"),
        _ => error.to_string(),
    };
    TraceError { line, ..TraceError::file(path, message) }
}

impl Header {
    /// Where a column is.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Whether all these columns are there.
    pub fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.find(name).is_some())
    }
}

impl Row<'_> {
    /// The line it stands on.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// A field that may be absent or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let field = self.record.get(self.table.find(name)?)?;
        (!field.is_empty()).then_some(field)
    }

    /// A field that must be there.
    pub fn text(&self, name: &str) -> Result<&str, TraceError> {
        if self.table.find(name).is_none() {
            let message = format!("there is no column `{name}`");
            let columns = self.table.columns.join(", ");
            return Err(TraceError::line(&self.table.file, 1, message)
                .hint(format!("the header has: {columns}")));
        }
        self.get(name).ok_or_else(|| self.wrong(name, "is empty"))
    }

    /// A number that must be there.
    pub fn number(&self, name: &str) -> Result<f64, TraceError> {
        let text = self.text(name)?;
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(self.wrong(name, format!("expected a number, found `{text}`"))),
        }
    }

    /// A number that may be absent.
    pub fn maybe_number(&self, name: &str) -> Result<Option<f64>, TraceError> {
        self.get(name).map(|_| self.number(name)).transpose()
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

    /// A time since the start, in a unit of so many seconds.
    pub fn time(&self, name: &str, unit_s: f64) -> Result<Time, TraceError> {
        Ok(Time::ZERO + self.span(name, unit_s)?)
    }

    /// A span, in a unit of so many seconds.
    pub fn span(&self, name: &str, unit_s: f64) -> Result<Span, TraceError> {
        let number = self.number(name)?;
        if number < 0.0 {
            let message = format!("expected a time from 0 on, found `{number}`");
            return Err(self.wrong(name, message));
        }
        Ok(Span::from_secs_f64(number * unit_s))
    }

    /// Something is wrong with a field of this row.
    pub fn wrong(&self, name: &str, message: impl Into<String>) -> TraceError {
        let column = self.table.find(name).map(|index| (index + 1, name.to_string()));
        TraceError { column, ..TraceError::line(&self.table.file, self.line, message) }
    }
}
