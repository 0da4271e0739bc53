//! What people write about jobs: scripts, YAML files, and the small words in options.

use crate::text;
use heeler_api::Selection;
use heeler_api::read::{
    Context, Draft, array, depend, script as scripts, size, time, yaml as files,
};
use jiff::Zoned;
use std::collections::BTreeMap;

/// A moment that is always the same.
fn now() -> Zoned {
    "2026-03-01T12:00:00+00:00[UTC]".parse().expect("a moment")
}

/// Put a job together that was read. What it says must be what a server can read again.
fn build(draft: Draft) {
    let context = Context {
        now: now(),
        dir: "/home/ann".into(),
        env: BTreeMap::from([("PATH".into(), "/bin".into())]),
        name: "train.sh".into(),
        command: vec!["true".into()],
    };
    if let Ok(job) = draft.build(&[], &context) {
        let json = serde_json::to_string(&job.submission).expect("a submission is plain data");
        let again = serde_json::from_str(&json).expect("what was written can be read");
        assert_eq!(job.submission, again);
    }
}

/// A script with lines for us.
pub(crate) fn script(data: &[u8]) {
    if let Some(Ok(draft)) = text(data).map(|text| scripts::read(text, "job.sh")) {
        build(draft);
    }
}

/// A short YAML file.
pub(crate) fn yaml(data: &[u8]) {
    if let Some(Ok(draft)) = text(data).map(|text| files::read(text, "job.yaml")) {
        build(draft);
    }
}

/// The values of options, each line by every reader of such.
pub(crate) fn words(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let now = now();
    for line in text.lines() {
        // Arrays are checked against a limit after reading, so a reader must not unfold them.
        let _ = array::read(line);
        let _ = depend::read(line);
        let _ = time::read(line);
        let _ = time::ending(line);
        let _ = time::instant(line, &now);
        let _ = size::memory_mb(line);
        let _ = size::gpus(line);
        let _ = size::generic(line);
        let _ = size::number(line, 1);
        let _ = size::share_milli(line);
        let _ = size::signal(line);
        let _ = size::early(line);
        let _ = line.parse::<Selection>();
    }
}
