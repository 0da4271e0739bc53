//! The examples of the reference pages are what they say they are.

use heeler_model::Cluster;
use heeler_sim::workload::{Format, Options, read};
use std::path::{Path, PathBuf};

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Every block of the page that is a trace can be read as one.
#[test]
fn examples_of_the_reference_work() {
    let page = std::fs::read_to_string(here("../../docs/reference/traces.md")).expect("the page");
    let folder = std::env::temp_dir().join(format!("heeler-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut examples = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').expect("a block");
        let format = match language {
            "csv" => Format::Csv,
            "jsonl" => Format::Jsonl,
            "swf" => Format::Swf,
            "sacct" => Format::Slurm,
            _ => continue,
        };
        let path = folder.join(format!("example.{language}"));
        std::fs::write(&path, text).expect("a file");
        let mut cluster = Cluster::default();
        let trace = read(&path, &Options::default(), &mut cluster);
        let trace = trace.unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(trace.format, Some(format));
        assert!(!trace.jobs().is_empty(), "{text}");
        examples += 1;
    }
    assert!(examples >= 4, "{examples}");
    std::fs::remove_dir_all(folder).expect("a folder");
}
