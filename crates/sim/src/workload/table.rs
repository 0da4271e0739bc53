//! Files as lines and as tables: unpacked if they are packed, row by row, with errors that say
//! file, line and column.

use super::error::TraceError;
use super::row::{Header, Row};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Open a file, unpacking it if its name ends in `.gz`.
pub fn open(path: &Path) -> Result<Box<dyn Read>, TraceError> {
    let file = File::open(path).map_err(|error| {
        TraceError::file(path, format!("cannot be opened: {error}")).hint("check the path")
    })?;
    let packed = path.extension().is_some_and(|extension| extension == "gz");
    Ok(if packed { Box::new(MultiGzDecoder::new(BufReader::new(file))) } else { Box::new(file) })
}

/// The lines of a file that are not empty, numbered from one.
pub(super) struct Lines {
    file: PathBuf,
    reader: BufReader<Box<dyn Read>>,
    number: u64,
    bytes: Vec<u8>,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Lines, TraceError> {
        Ok(Lines::new(path, open(path)?))
    }

    fn new(path: &Path, from: Box<dyn Read>) -> Lines {
        let reader = BufReader::with_capacity(1 << 16, from);
        Lines { file: path.into(), reader, number: 0, bytes: Vec::new() }
    }

    /// The next line, with its number.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &str)>, TraceError> {
        loop {
            self.bytes.clear();
            let read = self.reader.read_until(b'\n', &mut self.bytes);
            let count =
                read.map_err(|io| TraceError::file(&self.file, format!("cannot be read: {io}")))?;
            if count == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.number == 1 && self.bytes.starts_with(BYTE_ORDER_MARK) {
                self.bytes.drain(..BYTE_ORDER_MARK.len());
            }
            if !self.bytes.iter().all(u8::is_ascii_whitespace) {
                break;
            }
        }
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => Ok(Some((self.number, text.trim()))),
            Err(_) => Err(TraceError::line(&self.file, self.number, "is not text in UTF-8")),
        }
    }

    /// The next line that is no comment with `#`.
    fn next_row(&mut self) -> Result<Option<u64>, TraceError> {
        while let Some((number, text)) = self.next()? {
            if !text.starts_with('#') {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// The line that was read last.
    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("looked at when it was read").trim()
    }
}

/// The first line that is neither empty nor a comment with `#`; none in an empty file.
pub(super) fn first_line(path: &Path) -> Result<Option<String>, TraceError> {
    let mut lines = Lines::open(path)?;
    Ok(lines.next_row()?.map(|_| lines.text().to_string()))
}

/// A table with a header line. A row is a line; fields may be quoted.
pub struct Table {
    header: Header,
    lines: Lines,
    delimiter: char,
}

impl Table {
    /// Open a table with a header line.
    pub fn open(path: &Path, delimiter: char) -> Result<Table, TraceError> {
        Table::new(Lines::open(path)?, delimiter)
    }

    /// Open a table without a header line, whose columns are called so.
    pub(super) fn open_bare(path: &Path, columns: &[&str]) -> Result<Table, TraceError> {
        let columns = columns.iter().map(ToString::to_string).collect();
        let header = Header::new(path, columns);
        Ok(Table { header, lines: Lines::open(path)?, delimiter: ',' })
    }

    fn new(mut lines: Lines, delimiter: char) -> Result<Table, TraceError> {
        let Some(number) = lines.next_row()? else {
            return Err(
                TraceError::file(&lines.file, "is empty").hint("a table begins with a header line")
            );
        };
        let mut record = csv::StringRecord::new();
        split(lines.text(), delimiter, &mut record)
            .map_err(|message| TraceError::line(&lines.file, number, message))?;
        let columns = record.iter().map(ToString::to_string).collect();
        Ok(Table { header: Header::new(&lines.file, columns), lines, delimiter })
    }

    /// Its header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Go through the rows.
    pub fn each(
        mut self,
        mut row: impl FnMut(&Row<'_>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let header = &self.header;
        let mut record = csv::StringRecord::new();
        while let Some(number) = self.lines.next_row()? {
            record.clear();
            split(self.lines.text(), self.delimiter, &mut record)
                .map_err(|message| TraceError::line(&header.file, number, message))?;
            if record.len() != header.columns.len() {
                let (found, wanted) = (record.len(), header.columns.len());
                let message = format!("has {found} fields where the header has {wanted}");
                return Err(TraceError::line(&header.file, number, message)
                    .hint(format!("look for a missing or an extra `{}`", self.delimiter)));
            }
            row(&Row::new(header, &record, number))?;
        }
        Ok(())
    }
}

const NOT_CLOSED: &str = "a quote is not closed on its line";

/// Split a line into fields, without the space around them. A field in quotes may contain the
/// delimiter, and a quote written twice; where bars divide fields, quotes are letters like others.
fn split(line: &str, delimiter: char, record: &mut csv::StringRecord) -> Result<(), &'static str> {
    let mut rest = Some(line);
    while let Some(text) = rest.map(str::trim_start) {
        if delimiter == '|' || !text.starts_with('"') {
            let (field, after) = match text.split_once(delimiter) {
                Some((field, after)) => (field, Some(after)),
                None => (text, None),
            };
            record.push_field(field.trim_end());
            rest = after;
            continue;
        }
        let (field, after) = quoted(&text[1..])?;
        record.push_field(field.trim());
        let after = after.trim_start();
        rest = after.strip_prefix(delimiter);
        if rest.is_none() && !after.is_empty() {
            return Err("there is text behind a closing quote");
        }
    }
    Ok(())
}

/// What stands before a closing quote, and what behind it.
fn quoted(text: &str) -> Result<(String, &str), &'static str> {
    let mut field = String::new();
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once('"').ok_or(NOT_CLOSED)?;
        field.push_str(part);
        match after.strip_prefix('"') {
            None => return Ok((field, after)),
            Some(after) => {
                field.push('"');
                rest = after;
            }
        }
    }
}

/// A file of that name in the folder of another file, or in one of the three folders above.
pub fn find_beside(path: &Path, name: &str) -> Option<PathBuf> {
    // A bare file name stands in the folder one is in; `..` goes on where names end.
    let mut folder = path.parent()?.to_path_buf();
    for _ in 0..4 {
        let candidate = folder.join(name);
        if candidate.exists() {
            return Some(candidate);
        }
        folder = match folder.file_name() {
            Some(_) => folder.parent()?.to_path_buf(),
            None => folder.join(".."),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &'static str) -> Result<Vec<(u64, String)>, TraceError> {
        let mut rows = Vec::new();
        let lines = Lines::new(Path::new("t.csv"), Box::new(text.as_bytes()));
        Table::new(lines, ',')?.each(|row| {
            rows.push((row.line(), row.text("b")?.to_string()));
            Ok(())
        })?;
        Ok(rows)
    }

    #[test]
    fn rows_know_their_line() {
        let found = rows("\u{feff}a,b\r\n1,x\r\n\n# a comment\n2, y \n3,\"z\"").expect("a table");
        let names: Vec<_> = found.iter().map(|(line, name)| (*line, name.as_str())).collect();
        assert_eq!(names, [(2, "x"), (5, "y"), (6, "z")]);
    }

    #[test]
    fn fields_can_be_quoted() {
        let fields = |line: &str| {
            let mut record = csv::StringRecord::new();
            split(line, ',', &mut record).map(|()| record.iter().collect::<Vec<_>>().join(";"))
        };
        for (line, found) in [
            ("a,b", "a;b"),
            ("a,,", "a;;"),
            ("\"a,b\",c", "a,b;c"),
            (" \"a\" , b", "a;b"),
            ("\"\",x", ";x"),
            ("\"say \"\"no\"\"\",x", "say \"no\";x"),
            ("\"\"\"\"", "\""),
            ("5\" pipe,x", "5\" pipe;x"),
        ] {
            assert_eq!(fields(line).as_deref(), Ok(found), "{line}");
        }
        for line in ["\"a,b", "a,\"", "\"a\"\""] {
            assert_eq!(fields(line), Err(NOT_CLOSED), "{line}");
        }
        assert_eq!(fields("\"a\"b,c"), Err("there is text behind a closing quote"));
    }

    #[test]
    fn broken_tables_are_refused() {
        for (text, error) in [
            ("", "t.csv: is empty"),
            ("a,b\n1\n", "t.csv:2: has 1 fields where the header has 2"),
            ("a,b\n1,x\n1,\n", "t.csv:3: column 2 (`b`): is empty"),
            ("a,b\n1,\"x\n2,y\n", "t.csv:2: a quote is not closed on its line"),
            ("a,c\n1,x\n", "t.csv:1: there is no column `b`"),
        ] {
            assert_eq!(rows(text).expect_err(text).to_string(), error);
        }
    }

    #[test]
    fn files_beside_are_looked_for_upwards() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let found = find_beside(&here.join("src/workload/mod.rs"), "Cargo.toml").expect("found");
        assert_eq!(found, here.join("Cargo.toml"));
        assert_eq!(find_beside(&here.join("src/lib.rs"), "no such file"), None);
        assert!(
            find_beside(Path::new("lib.rs"), "Cargo.toml").is_some(),
            "in the folder one is in"
        );
    }
}
