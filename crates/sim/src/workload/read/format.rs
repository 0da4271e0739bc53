//! The formats of traces: their names, a line of help for each, and how to tell them apart.

use super::super::error::TraceError;
use super::super::table::first_line;
use crate::suggest;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Heeler's own table.
    Csv,
    /// Heeler's own fields, a JSON object on each line.
    Jsonl,
    /// Jobs of Microsoft's Philly cluster as a table.
    Philly,
    /// Muri's simulator.
    Muri,
    /// Chronus' simulator.
    Chronus,
    /// Alibaba's simulator of PAI.
    Pai,
    /// Tiresias' simulator.
    Tiresias,
    /// Shockwave's traces.
    Shockwave,
    /// Gavel's traces.
    Gavel,
    /// Workloads of Pollux and Sia.
    Pollux,
    /// Alibaba's openb lists of pods.
    Openb,
    /// Lucid's simulator.
    Lucid,
    /// Hydra's cases.
    Hydra,
    /// Acme's Kalos trace, converted.
    Acme,
    /// Blox' workloads.
    Blox,
    /// Synergy's traces.
    Synergy,
    /// The Standard Workload Format.
    Swf,
    /// What Slurm's `sacct -P` prints.
    Slurm,
}

/// All formats, each with its name, a line of help, and the columns it is known by. Where the
/// columns of one are among those of another, the more special one is first.
type Known = (Format, &'static str, &'static str, &'static [&'static str]);

const KNOWN: &[Known] = &[
    (Format::Csv, "csv", "Heeler's own table; seconds", &["submit_s", "gpus"]),
    (Format::Jsonl, "jsonl", "Heeler's own fields, a JSON object on each line; seconds", &[]),
    (
        Format::Philly,
        "philly",
        "jobs of Microsoft's Philly cluster; dates, one tenant per virtual cluster",
        &["timestamp", "duration", "num_gpus", "cluster"],
    ),
    (
        Format::Muri,
        "muri",
        "Muri's simulator; milliseconds and iterations, start-up costs in a table of their own",
        &["num_gpu", "submit_time", "iterations", "iteration_time"],
    ),
    (
        Format::Chronus,
        "chronus",
        "Chronus' simulator; minutes, lists of deadlines",
        &["num_gpu", "submit_time", "duration", "expect_time_list", "expect_value_list"],
    ),
    (
        Format::Pai,
        "pai",
        "Alibaba's simulator of PAI; seconds, estimates by user and group, can be sampled",
        &["num_gpu", "num_cpu", "num_inst", "submit_time", "duration"],
    ),
    (
        Format::Tiresias,
        "tiresias",
        "Tiresias' simulator; seconds",
        &["num_gpu", "submit_time", "duration"],
    ),
    (
        Format::Shockwave,
        "shockwave",
        "Shockwave's traces; as Gavel's, of jobs that change their batch on the way",
        &["arrival_s", "job_type", "num_gpus", "total_steps", "adaptation_mode"],
    ),
    (
        Format::Gavel,
        "gavel",
        "Gavel's traces; steps, with a table of throughputs by kind of GPU",
        &["arrival_s", "job_type", "num_gpus", "total_steps"],
    ),
    (
        Format::Pollux,
        "pollux",
        "workloads of Pollux and Sia; run times from a folder of profiles",
        &["name", "time", "application", "num_replicas", "batch_size"],
    ),
    (
        Format::Openb,
        "openb",
        "Alibaba's openb lists of pods; seconds, shares of GPUs, CPUs and memory",
        &["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"],
    ),
    (
        Format::Lucid,
        "lucid",
        "Lucid's simulator; dates, estimates in a table of their own",
        &["gpu_num", "submit_time", "duration", "vc"],
    ),
    (
        Format::Hydra,
        "hydra",
        "Hydra's cases; seconds on each kind of GPU, deadlines",
        &["norm_job_submit_time", "ddl"],
    ),
    (
        Format::Acme,
        "acme",
        "Acme's Kalos trace as converted for simulators; seconds and iterations",
        &["arrival_time", "num_iteration", "iteration_computing_time", "gpu_workers"],
    ),
    (
        Format::Blox,
        "blox",
        "workloads as Blox draws them; seconds",
        &["job_id", "submit", "duration", "gpus"],
    ),
    (
        Format::Synergy,
        "synergy",
        "Synergy's traces; iterations, without a header, with profiles of CPUs and memory",
        &[],
    ),
    (Format::Swf, "swf", "the Standard Workload Format of parallel computers", &[]),
    (Format::Slurm, "slurm", "what Slurm's `sacct -P` prints", &[]),
];

impl Format {
    /// All formats.
    pub fn all() -> impl Iterator<Item = Format> {
        KNOWN.iter().map(|known| known.0)
    }

    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        self.known().1
    }

    /// What it is, in a line.
    pub fn help(self) -> &'static str {
        self.known().2
    }

    /// The columns it is known by.
    pub(super) fn columns(self) -> &'static [&'static str] {
        self.known().3
    }

    fn known(self) -> &'static Known {
        KNOWN.iter().find(|known| known.0 == self).expect("every format is in the list")
    }

    /// The format of a file, by its extension and its first line.
    pub fn of(path: &Path) -> Result<Format, TraceError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        if name.ends_with(".jsonl") || name.ends_with(".ndjson") {
            return Ok(Format::Jsonl);
        }
        if name.ends_with(".swf") {
            return Ok(Format::Swf);
        }
        let Some(line) = first_line(path)? else {
            return Err(TraceError::file(path, "is empty").hint("a trace has at least a header"));
        };
        Format::of_line(&line).ok_or_else(|| {
            let message = "is in no format that can be told from its first line";
            TraceError::file(path, message).hint(
                "name the format, or begin with a header line such as \
                 `id,submit_s,gpus,duration_s`",
            )
        })
    }

    /// The format of a file whose first line is this.
    fn of_line(line: &str) -> Option<Format> {
        if line.starts_with('{') {
            return Some(Format::Jsonl);
        }
        if line.starts_with(';') {
            return Some(Format::Swf);
        }
        if line.split('|').any(|column| matches!(column, "JobID" | "JobIDRaw")) {
            return Some(Format::Slurm);
        }
        let columns: Vec<&str> =
            line.split(',').map(|column| column.trim().trim_matches('"')).collect();
        let has = |known: &&Known| {
            !known.3.is_empty() && known.3.iter().all(|name| columns.contains(name))
        };
        let named = KNOWN.iter().find(has).map(|known| known.0);
        named.or_else(|| is_synergys(&columns).then_some(Format::Synergy))
    }
}

/// Whether a line is a job of Synergy: `0,alexnet,0.0,3349,1`.
fn is_synergys(fields: &[&str]) -> bool {
    let [id, model, arrival, iterations, gpus] = fields else { return false };
    let whole = |text: &str| text.parse::<u64>().is_ok();
    let number = |text: &str| text.parse::<f64>().is_ok();
    whole(id)
        && !model.is_empty()
        && !number(model)
        && number(arrival)
        && whole(iterations)
        && whole(gpus)
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = String;
    fn from_str(text: &str) -> Result<Format, String> {
        let text = match text {
            "sia" => "pollux",
            "sacct" => "slurm",
            other => other,
        };
        let names = KNOWN.iter().map(|known| known.1);
        let found = KNOWN.iter().find(|known| known.1 == text).map(|known| known.0);
        found.ok_or_else(|| format!("no trace format `{text}`; {}", suggest::hint(text, names)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_names() {
        for format in Format::all() {
            assert_eq!(format.to_string().parse(), Ok(format));
            assert!(!format.help().is_empty());
        }
        assert_eq!("sia".parse(), Ok(Format::Pollux));
        let error = "tiresas".parse::<Format>().expect_err("no such format");
        assert_eq!(error, "no trace format `tiresas`; did you mean `tiresias`?");
    }

    #[test]
    fn first_lines_tell_formats_apart() {
        for (line, format) in [
            ("gpus,submit_s,duration_s", Some(Format::Csv)),
            ("{\"gpus\": 1}", Some(Format::Jsonl)),
            ("; Version: 2.2", Some(Format::Swf)),
            ("JobID|User|State", Some(Format::Slurm)),
            ("job_id,num_gpu,submit_time,duration", Some(Format::Tiresias)),
            ("num_gpu,num_cpu,num_inst,submit_time,duration", Some(Format::Pai)),
            (
                "num_gpu,submit_time,duration,expect_time_list,expect_value_list",
                Some(Format::Chronus),
            ),
            ("\"num_gpu\",\"submit_time\",\"iterations\",\"iteration_time\"", Some(Format::Muri)),
            ("job_id,submit,duration,gpus", Some(Format::Blox)),
            ("0,alexnet,0.0,3349,1", Some(Format::Synergy)),
            ("a,b,c", None),
        ] {
            assert_eq!(Format::of_line(line), format, "{line}");
        }
    }
}
