//! Results that programs have written down as JSON rather than as a table: Pollux' simulator
//! (`{ "jcts": { WORKLOAD: { JOB: seconds } } }`) and Blox (`{ JOB: [submission, end] }`).

use crate::workload::{TraceError, open};
use serde_json::{Map, Value};
use std::path::Path;

/// Whether a file is such a one, by its name.
pub(super) fn is_json(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    [".json", ".json.gz"].iter().any(|end| name.ends_with(end))
}

/// Jobs and their completion times, seconds. Where there are those of several workloads, of the
/// one that is called like this.
pub(super) fn read(path: &Path, workload: Option<&str>) -> Result<Vec<(String, f64)>, TraceError> {
    let results: Value = serde_json::from_reader(open(path)?)
        .map_err(|error| TraceError::file(path, format!("is no JSON: {error}")))?;
    let strange = || {
        TraceError::file(path, "has no results that can be told").hint(
            "have `{ \"jcts\": { WORKLOAD: { JOB: seconds } } }` or `{ JOB: [submission, end] }`",
        )
    };
    let results = results.as_object().ok_or_else(strange)?;
    let jobs = match results.get("jcts").and_then(Value::as_object) {
        Some(workloads) => one_of(workloads, workload, path)?.as_object().ok_or_else(strange)?,
        None => results,
    };
    let time = |value: &Value| match value.as_array().map(Vec::as_slice) {
        Some([from, to]) => Some(to.as_f64()? - from.as_f64()?),
        Some(_) => None,
        None => value.as_f64(),
    };
    jobs.iter()
        .map(|(job, value)| Some((job.clone(), time(value)?)))
        .collect::<Option<Vec<_>>>()
        .ok_or_else(strange)
}

/// The results of a workload; of the only one, if there is no other.
fn one_of<'a>(
    workloads: &'a Map<String, Value>,
    workload: Option<&str>,
    path: &Path,
) -> Result<&'a Value, TraceError> {
    let only = || workloads.values().next().filter(|_| workloads.len() == 1);
    workload.and_then(|name| workloads.get(name)).or_else(only).ok_or_else(|| {
        let names: Vec<&str> = workloads.keys().map(String::as_str).collect();
        let message = format!("has results of {}", names.join(", "));
        TraceError::file(path, message).hint("call the trace as one of them, such as NAME.csv")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::testing::folder;

    #[test]
    fn results_of_pollux_and_blox_are_told() {
        let folder = folder();
        let path = folder.join("summary.json");
        let read = |text: &str, workload| {
            std::fs::write(&path, text).expect("a file");
            read(&path, workload).map_err(|error| error.message)
        };
        assert!(is_json(&path) && is_json(Path::new("a.json.gz")) && !is_json(Path::new("a.csv")));
        let jobs = |seconds| Ok(vec![("a".to_string(), seconds)]);
        let pollux = r#"{ "jcts": { "one": { "a": 7.5 }, "two": { "a": 8 } }, "mean": 1.0 }"#;
        assert_eq!(read(pollux, Some("two")), jobs(8.0));
        assert_eq!(read(pollux, Some("three")), Err("has results of one, two".into()));
        assert_eq!(read(r#"{ "jcts": { "one": { "a": 7.5 } } }"#, None), jobs(7.5));
        assert_eq!(read(r#"{ "a": [100, 400.5] }"#, None), jobs(300.5));
        for broken in ["[]", r#"{ "a": [1] }"#, r#"{ "a": "b" }"#, r#"{ "jcts": { "one": 1 } }"#] {
            assert_eq!(read(broken, None), Err("has no results that can be told".into()));
        }
        assert!(read("{", None).expect_err("no JSON").starts_with("is no JSON"));
        std::fs::remove_dir_all(folder).expect("a folder");
    }
}
