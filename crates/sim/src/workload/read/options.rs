//! What a reader may need to know beside the file.

use super::super::error::TraceError;
use super::Format;
use heeler_model::Span;
use std::path::{Path, PathBuf};

/// What a reader may need to know. The default is right for most traces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The format, if it cannot be told from the file.
    pub format: Option<Format>,
    /// Submit all jobs at time zero, in the order of their submission.
    pub all_at_once: bool,
    /// Make each user a tenant below theirs, where the trace names both.
    pub by_user: bool,
    /// Keep jobs that ask for no GPU, where the format leaves them out otherwise.
    pub cpu_jobs: bool,
    /// Let jobs run on any kind of GPU if the cluster has none of the kinds they name; otherwise
    /// naming one is an error.
    pub any_kind: bool,
    /// Muri: a table of start-up costs by GPUs and model.
    pub startup: Option<PathBuf>,
    /// Gavel and Shockwave: a table of throughputs by kind, job type and GPUs.
    pub throughputs: Option<PathBuf>,
    /// Pollux: the folder of profiles. Synergy: the file.
    pub profiles: Option<PathBuf>,
    /// Synergy: let jobs know two speeds, and gangs be profiled as single GPUs are, as in its
    /// published program.
    pub two_speeds: bool,
    /// Pollux: let jobs change their size and batch, where a world has measured that.
    pub adaptive: bool,
    /// Pollux: let jobs change their size, at the batch they asked for.
    pub elastic: bool,
    /// Lucid: a table of estimated run times by job.
    pub estimates: Option<PathBuf>,
    /// PAI: the column of the run time that users declared.
    pub declared: Option<String>,
    /// PAI: draw jobs as its simulator does.
    pub sample: Option<Sample>,
    /// SWF: how many processors make one GPU; one if not said.
    pub processors_per_gpu: Option<u32>,
    /// openb: how long pods run where the list has no times.
    pub run_time: Option<Span>,
}

/// How Alibaba's simulator of PAI draws jobs from its trace and submits them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// How many jobs, from among the first ten times as many rows and one.
    pub count: u32,
    /// How many are submitted each minute.
    pub per_minute: u32,
    /// The seed of Python's generator; the simulator's own is 42.
    pub seed: u64,
}

impl Options {
    /// Refuse options that mean nothing for a format: they would be forgotten silently.
    pub(super) fn check(&self, path: &Path, format: Format) -> Result<(), TraceError> {
        let given = [
            ("startup", self.startup.is_some(), Format::Muri),
            (
                "throughputs",
                self.throughputs.is_some() && format != Format::Shockwave,
                Format::Gavel,
            ),
            ("profiles", self.profiles.is_some() && format != Format::Synergy, Format::Pollux),
            ("adaptive", self.adaptive, Format::Pollux),
            ("elastic", self.elastic, Format::Pollux),
            ("estimates", self.estimates.is_some(), Format::Lucid),
            ("declared", self.declared.is_some(), Format::Pai),
            ("sample", self.sample.is_some(), Format::Pai),
            ("processors-per-gpu", self.processors_per_gpu.is_some(), Format::Swf),
            ("run-time", self.run_time.is_some(), Format::Openb),
        ];
        let strange = given.iter().find(|(_, given, meant_for)| *given && *meant_for != format);
        let Some((name, _, meant_for)) = strange else { return Ok(()) };
        let message = format!("is read as `{format}`, where option `{name}` means nothing");
        Err(TraceError::file(path, message)
            .hint(format!("leave it out, or say that the format is `{meant_for}`")))
    }
}
