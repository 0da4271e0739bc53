//! Heeler's own fields as JSON: an object on each line. Lists and pairs may be written as arrays
//! and objects or as in the table.

use super::super::error::TraceError;
use super::super::row::{Header, Row};
use super::super::table::Lines;
use super::native;
use super::reading::Reading;
use serde_json::{Map, Value};

pub(super) fn read(reading: &mut Reading<'_>) -> Result<(), TraceError> {
    reading.cpu_jobs = true;
    let path = reading.path;
    let mut lines = Lines::open(path)?;
    let mut any = false;
    while let Some((number, line)) = lines.next()? {
        any = true;
        let object: Map<String, Value> = serde_json::from_str(line).map_err(|error| {
            let message = format!("is not a JSON object, at column {}: {error}", error.column());
            TraceError::line(path, number, message)
                .hint("a line looks like {\"submit_s\": 0, \"gpus\": 4, \"duration_s\": 3600}")
        })?;
        let header = Header::of_line(path, object.keys().cloned().collect());
        let empty = csv::StringRecord::new();
        let wrong =
            |name: &str, message: String| Row::new(&header, &empty, number).wrong(name, message);
        let mut record = csv::StringRecord::new();
        for (name, value) in &object {
            record.push_field(&text(value).map_err(|message| wrong(name, message))?);
        }
        native::check_names(&header, number)?;
        native::enter(reading, &Row::new(&header, &record, number))?;
    }
    if any { Ok(()) } else { Err(TraceError::file(path, "is empty")) }
}

/// A value as it stands in a table.
fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::Array(items) => {
            let parts: Result<Vec<String>, String> = items.iter().map(part).collect();
            Ok(parts?.join("|"))
        }
        Value::Object(pairs) => {
            let pair = |(key, value)| Ok(format!("{key}={}", part(value)?));
            let parts: Result<Vec<String>, String> = pairs.iter().map(pair).collect();
            Ok(parts?.join("|"))
        }
        _ => simple(value),
    }
}

fn part(value: &Value) -> Result<String, String> {
    let text = simple(value)?;
    if text.contains('|') { Err(format!("`{text}` may not contain `|`")) } else { Ok(text) }
}

fn simple(value: &Value) -> Result<String, String> {
    match value {
        Value::Null => Ok(String::new()),
        Value::Bool(yes) => Ok(u8::from(*yes).to_string()),
        Value::Number(number) => Ok(number.to_string()),
        Value::String(text) => Ok(text.trim().to_string()),
        Value::Array(_) | Value::Object(_) => Err("lists in lists are not understood".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::read_text;
    use super::*;
    use crate::workload::Options;
    use heeler_model::{Cluster, JobId, Span};

    fn read(text: &str) -> Result<Vec<crate::workload::TraceJob>, TraceError> {
        let mut cluster = Cluster::uniform(4, 8);
        let trace = read_text("t.jsonl", text, &Options::default(), &mut cluster)?;
        Ok(trace.jobs().to_vec())
    }

    #[test]
    fn lists_can_be_arrays_or_text() {
        let jobs = read(
            "{\"id\": \"a\", \"submit_s\": 0, \"gpus\": 1, \"duration_s\": 5.5}\n\n\
             {\"id\": 7, \"submit_s\": 1, \"gpus\": 1, \"duration_s\": 1, \"after\": [\"a\"]}\n\
             {\"submit_s\": 1, \"gpus\": 2, \"steps\": 10, \"rates\": {\"gpu\": 2.5}, \
              \"after\": \"a|7\", \"deadline_s\": [60, \"90:5\"], \"skewed\": true, \
              \"x_y\": null}\n",
        )
        .expect("a sound trace");
        assert_eq!(jobs[0].duration(), Span::from_micros(5_500_000));
        assert_eq!(jobs[1].spec.after(), [JobId(0)]);
        assert_eq!(jobs[2].spec.after(), [JobId(0), JobId(1)]);
        assert_eq!(jobs[2].spec.rates(), [2.5]);
        assert_eq!(jobs[2].spec.deadlines().len(), 2);
        assert!(jobs[2].spec.skewed);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, error) in [
            ("\n", "t.jsonl: is empty"),
            ("{\"gpus\": 1, \"duration_s\": 1}", "t.jsonl:1: field `submit_s`: is missing"),
            ("{\"submit_s\": 0, \"gpu\": 1}", "t.jsonl:1: there is no field `gpu`"),
            ("\n{\"gpus\": [[1]]}", "t.jsonl:2: field `gpus`: lists in lists are not understood"),
            (
                "{\"submit_s\": 0, \"gpus\": \"x\", \"duration_s\": 1}",
                "t.jsonl:1: field `gpus`: expected a number, found `x`",
            ),
        ] {
            assert_eq!(read(text).expect_err(text).to_string(), error);
        }
        let error = read("{\"submit_s\": 0,").expect_err("cut off").to_string();
        assert!(error.starts_with("t.jsonl:1: is not a JSON object, at column"), "{error}");
    }
}
