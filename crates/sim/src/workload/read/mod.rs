//! Readers: one small file for each format, from rows to jobs.

mod acme;
mod blox;
mod chronus;
mod finish;
mod format;
mod gavel;
mod hydra;
mod jsonl;
mod lucid;
mod muri;
mod native;
mod openb;
mod options;
mod pai;
mod phases;
mod philly;
mod pollux;
mod reading;
mod shockwave;
mod slurm;
mod swf;
mod synergy;
mod tiresias;
mod trials;

pub use format::Format;
pub use options::{Options, Sample};

pub(super) use native::COLUMNS;

use super::error::TraceError;
use super::table::Table;
use super::trace::Trace;
use heeler_model::Cluster;
use reading::Reading;
use std::path::Path;

/// Read a trace. Tenants it names are added to the cluster. So are kinds of GPU, if the cluster
/// has no nodes: then the trace is read for itself, not for a cluster.
pub fn read(path: &Path, options: &Options, cluster: &mut Cluster) -> Result<Trace, TraceError> {
    let format = match options.format {
        Some(format) => format,
        None => Format::of(path)?,
    };
    options.check(path, format)?;
    let mut reading = Reading::new(path, options, cluster);
    let table = || {
        let table = Table::open(path, ',')?;
        table.header().must_have(format.columns())?;
        Ok(table)
    };
    match format {
        Format::Csv => native::read(&mut reading, table()?)?,
        Format::Jsonl => jsonl::read(&mut reading)?,
        Format::Philly => philly::read(&mut reading, table()?)?,
        Format::Muri => muri::read(&mut reading, table()?)?,
        Format::Chronus => chronus::read(&mut reading, table()?)?,
        Format::Pai => pai::read(&mut reading, table()?)?,
        Format::Tiresias => tiresias::read(&mut reading, table()?)?,
        Format::Shockwave => shockwave::read(&mut reading, table()?)?,
        Format::Gavel => gavel::read(&mut reading, table()?)?,
        Format::Pollux => pollux::read(&mut reading, table()?)?,
        Format::Openb => openb::read(&mut reading, table()?)?,
        Format::Lucid => lucid::read(&mut reading, table()?)?,
        Format::Hydra => hydra::read(&mut reading, table()?)?,
        Format::Acme => acme::read(&mut reading, table()?)?,
        Format::Blox => blox::read(&mut reading, table()?)?,
        Format::Synergy => synergy::read(&mut reading)?,
        Format::Swf => swf::read(&mut reading)?,
        Format::Slurm => slurm::read(&mut reading, Table::open(path, '|')?)?,
    }
    finish::finish(reading, format)
}

#[cfg(test)]
mod hostile;

#[cfg(test)]
pub(crate) mod testing {
    //! Reading traces from text, for tests.

    use super::*;
    use crate::workload::TraceJob;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Read a trace from text, as if it stood in a file of that name.
    pub(crate) fn read_text(
        name: &str,
        text: &str,
        options: &Options,
        cluster: &mut Cluster,
    ) -> Result<Trace, TraceError> {
        let folder = folder();
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a temporary file");
        let trace = read(&path, options, cluster);
        std::fs::remove_dir_all(&folder).expect("a temporary folder");
        trace.map_err(|error| TraceError { file: name.into(), ..error })
    }

    /// The jobs of a trace on 4 nodes of 8 GPUs.
    pub(crate) fn jobs(text: &str) -> Vec<TraceJob> {
        let trace = read_text("t.csv", text, &Options::default(), &mut Cluster::uniform(4, 8));
        trace.expect("a sound trace").jobs().to_vec()
    }

    /// What is wrong with a trace, and the hint.
    pub(crate) fn wrong(text: &str) -> (String, String) {
        let trace = read_text("t.csv", text, &Options::default(), &mut Cluster::uniform(4, 8));
        let error = trace.expect_err("a broken trace");
        (error.to_string(), error.hint.unwrap_or_default())
    }

    static COUNT: AtomicU32 = AtomicU32::new(0);

    /// A new folder of this test alone.
    pub(crate) fn folder() -> PathBuf {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("heeler-test-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        folder
    }
}
