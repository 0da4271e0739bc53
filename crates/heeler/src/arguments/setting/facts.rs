//! A setting in words: which jobs, on which cluster, in which world.

use super::{LOAD, Setting, Source};
use heeler_model::{Cluster, Kind};
use std::path::Path;

impl Setting {
    /// What is simulated: what, and in words.
    pub(crate) fn facts(&self, load: Option<f64>, seed: u64) -> Vec<(String, String)> {
        self.facts_over(&[load], &[seed])
    }

    /// The same at several loads and over several seeds.
    pub(crate) fn facts_over(&self, loads: &[Option<f64>], seeds: &[u64]) -> Vec<(String, String)> {
        let (nodes, gpus) = (self.cluster.nodes.len(), self.cluster.gpus());
        let nodes = if nodes == 1 { "one node".into() } else { format!("{nodes} nodes") };
        let size = format!("{nodes}, {gpus} {}", if gpus == 1 { "GPU" } else { "GPUs" });
        let cluster = match &self.source {
            Source::History(..) => size,
            _ => format!("{} ({size})", self.arguments.cluster),
        };
        let jobs = self.jobs_in_words(loads);
        let mut facts = vec![("jobs", jobs), ("cluster", cluster)];
        if !self.services.is_empty() {
            let names: Vec<&str> = self.services.iter().map(|spec| &*spec.name).collect();
            facts.push(("services", names.join(", ")));
        }
        let prices = prices(&self.cluster);
        if !prices.is_empty() {
            facts.push(("prices an hour", prices));
        }
        facts.push(("world", self.world.name.clone()));
        facts.push(match seeds {
            [first, .., last] => ("seeds", format!("{first} to {last}")),
            [only] => ("seed", only.to_string()),
            [] => ("seeds", "none".to_string()),
        });
        facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }

    /// The load that jobs come at: the one asked for, or else what is usual.
    pub(crate) fn load(&self, asked: Option<f64>) -> Option<f64> {
        asked.or(self.is_generated().then_some(LOAD))
    }

    fn jobs_in_words(&self, loads: &[Option<f64>]) -> String {
        let loads: Vec<f64> = loads.iter().filter_map(|load| self.load(*load)).collect();
        let at = at_loads(&loads);
        let plural = |count: usize| if count == 1 { "job" } else { "jobs" };
        match &self.source {
            Source::Trace(trace) => {
                let path = self.arguments.trace.as_deref().unwrap_or(Path::new(""));
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let count = trace.jobs().len();
                format!("{count} {} of {name}{at}", plural(count))
            }
            Source::History(words, ..) => words.clone(),
            Source::Shape(shape) => {
                let count = self.arguments.generated.asked.jobs;
                let jobs = format!("{count} generated {} like {shape}{at}", plural(count));
                match self.arguments.generated.asked.study {
                    0 => jobs,
                    trials if count == 0 => format!("a study of {trials} trials"),
                    trials => format!("a study of {trials} trials, {jobs}"),
                }
            }
        }
    }
}

/// Loads behind the jobs; none where a trace stays as it was recorded.
fn at_loads(loads: &[f64]) -> String {
    let words: Vec<String> = loads.iter().map(ToString::to_string).collect();
    match words.len() {
        0 => String::new(),
        1 => format!(" at load {}", words[0]),
        _ => format!(" at loads {}", words.join(", ")),
    }
}

/// What an hour of a GPU costs, by kind: from the least to the most where that changes.
fn prices(cluster: &Cluster) -> String {
    let words = |kind: &Kind| {
        let each = || kind.prices.iter().map(|price| price.micro);
        let (least, most) = (each().min()? as f64 / 1e6, each().max()? as f64 / 1e6);
        let range = if least < most { format!("{least}–{most}") } else { least.to_string() };
        Some(format!("{} {range}", kind.name))
    };
    cluster.kinds.iter().filter_map(words).collect::<Vec<_>>().join(", ")
}
