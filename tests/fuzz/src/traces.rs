//! Traces in every format, with the tables that lie beside some, and tables of measured paces.

use crate::scratch::Scratch;
use heeler_model::{Cluster, Span};
use heeler_sim::cluster;
use heeler_sim::workload::{Format, Names, Options, Sample, describe, read, write_to};
use heeler_sim::world::{PaceTable, PairTable};

/// Between a trace and the table beside it.
const BESIDE: &[u8] = b"\n%%\n";

/// A format's name (or anything else, to have it guessed), then the trace, then perhaps a table
/// that lies beside it.
pub(crate) fn trace(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let name = std::str::from_utf8(&data[..end]).unwrap_or("");
    let data = data.get(end + 1..).unwrap_or(&[]);
    let at = data.windows(BESIDE.len()).position(|bytes| bytes == BESIDE);
    let (data, beside) = match at {
        Some(at) => (&data[..at], Some(&data[at + BESIDE.len()..])),
        None => (data, None),
    };
    let scratch = Scratch::new();
    let path = scratch.file("t", data);
    let beside = beside.map(|data| scratch.file("beside", data));
    let format = name.parse::<Format>().ok();
    let pai = format == Some(Format::Pai);
    let of = |wanted| beside.clone().filter(|_| format == Some(wanted));
    let options = Options {
        format,
        cpu_jobs: true,
        by_user: true,
        any_kind: true,
        startup: of(Format::Muri),
        throughputs: of(Format::Gavel),
        estimates: of(Format::Lucid),
        profiles: of(Format::Synergy),
        run_time: (format == Some(Format::Openb)).then_some(Span::from_secs(1)),
        declared: pai.then(|| "user_dur".to_string()),
        sample: pai.then_some(Sample { count: 1, per_minute: 0, seed: 0 }),
        ..Options::default()
    };
    let mut cluster = Cluster::uniform(4, 8);
    if let Ok(trace) = read(&path, &options, &mut cluster) {
        let _ = describe(&trace, &cluster);
        let _ = write_to(&mut std::io::sink(), Format::Csv, &trace, &cluster);
    }
}

/// What kind of table, then the table.
pub(crate) fn table(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let scratch = Scratch::new();
    let content = data.get(end + 1..).unwrap_or(&[]);
    let mut models = Names::default();
    models.number("net");
    let cluster = Cluster::uniform(4, 8);
    match &data[..end] {
        b"pairs" => {
            let alone = |_, _, _| Some(1.0);
            drop(PairTable::read(&scratch.file("t.csv", content), &models, &cluster, &alone));
        }
        b"nodes" => {
            let path = scratch.file("t.csv", content);
            drop(cluster::read(&path.to_string_lossy()));
        }
        b"packed" => {
            scratch.file("t.csv.gz", content);
            let path = scratch.path().join("t.csv.gz");
            drop(read(&path, &Options::default(), &mut Cluster::uniform(4, 8)));
        }
        _ => drop(PaceTable::read(&scratch.file("t.csv", content), &models, &cluster)),
    }
}
