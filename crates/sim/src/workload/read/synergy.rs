//! Synergy's traces (Mohan et al., OSDI 2022): `job, model, arrival [s], iterations, GPUs` without
//! a header line. How long iterations take, and what CPUs and memory do for them, stands in a file
//! of profiles: `{ "models": { "MODEL_GPUS": { … } }, "models-4": … }`, by the CPUs beside each GPU
//! of the servers they were measured on (three, where the name does not say).

use super::super::error::TraceError;
use super::super::table::{Table, open};
use super::reading::{Reading, stepped_job};
use heeler_model::{Appetite, Cluster, Demand, Portion};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

const COLUMNS: [&str; 5] = ["job", "model", "arrival", "iterations", "gpus"];
/// CPUs and GB of memory beside each GPU at which throughputs were measured …
const CPUS: [f64; 9] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0, 12.0, 24.0];
const MEMORY_GB: [f64; 5] = [20.83, 62.5, 125.0, 187.5, 250.0];
/// … and those of a GPU's proportional share: memory, and CPUs where a set does not say.
const SHARE_GB: f64 = 62.5;
const SHARE_CPUS: f64 = 3.0;

/// What is taken of nodes that do not say what they have.
const SERVERS: &str =
    "run on nodes that are taken to have 3 CPUs and 62,500 MB for each GPU where they do not say";

/// What was measured of a model on so many GPUs.
#[derive(Debug, Deserialize)]
struct Profile {
    cpus_per_gpu: f64,
    mem_gb_per_gpu: f64,
    /// How much faster it is with these than with the proportional share …
    speedup: f64,
    /// … with which an iteration takes so long.
    iter_time_s: f64,
    /// Throughput by CPUs and memory; zero where it was not measured.
    #[serde(default)]
    tput: Vec<Vec<f64>>,
}

/// Profiles of models on one sort of server.
struct Profiles {
    models: BTreeMap<String, Profile>,
    share_cpus: f64,
}

pub(super) fn read(reading: &mut Reading<'_>) -> Result<(), TraceError> {
    let name = "model_profiles.json";
    let Some(path) = reading.companion(reading.options.profiles.as_ref(), name) else {
        let message = "has no run times, and there are no profiles to tell them";
        return Err(TraceError::file(reading.path, message)
            .hint(format!("give option `profiles`, or put `{name}` beside the trace")));
    };
    let assumed = assume_servers(reading.cluster);
    let profiles = Profiles::read(&path, reading.cluster)?;
    let server = Server::of(reading.cluster);
    let two_speeds = reading.options.two_speeds;
    Table::open_bare(reading.path, &COLUMNS)?.each(|row| {
        let (model, gpus) = (row.text("model")?, row.count("gpus")?);
        let profiled = if two_speeds { gpus.min(1) } else { gpus };
        let Some(profile) = profiles.of(model, profiled) else {
            let message = format!("no profile of `{model}` on {gpus} GPUs or fewer");
            return Err(row.wrong("model", message));
        };
        let (submit, iterations) = (row.time("arrival", 1.0)?, row.positive("iterations")?);
        row.span_of("iterations", iterations * profile.iter_time_s)?;
        let mut job =
            stepped_job(submit, iterations, 1.0 / profile.iter_time_s, Demand::gpus(gpus));
        job.name = row.get("job").map(Into::into);
        job.spec.model = reading.model(model)?;
        job.spec.extras_mut().appetite = Some(match two_speeds {
            true => profile.two_speeds(gpus, &server),
            false => profile.appetite(profiles.share_cpus),
        });
        if assumed {
            reading.assumed.add(SERVERS);
        }
        reading.push(job);
        Ok(())
    })
}

/// Let nodes that do not say what they have beside their GPUs be those that were profiled.
fn assume_servers(cluster: &mut Cluster) -> bool {
    let share = portion(SHARE_CPUS, SHARE_GB);
    let mut any = false;
    for node in cluster.nodes.iter_mut().filter(|node| node.gpus > 0) {
        let gpus = u64::from(node.gpus);
        any |= node.cpu_milli == 0 || node.memory_mb == 0;
        if node.cpu_milli == 0 {
            node.cpu_milli = u64::from(share.cpu_milli) * gpus;
        }
        if node.memory_mb == 0 {
            node.memory_mb = u64::from(share.memory_mb) * gpus;
        }
    }
    any
}

fn portion(cpus: f64, memory_gb: f64) -> Portion {
    let milli = |amount: f64| (amount * 1000.0).round() as u32;
    Portion { cpu_milli: milli(cpus), memory_mb: milli(memory_gb) }
}

/// What a server has: GPUs, CPUs and GB of memory, in the mean.
struct Server([f64; 3]);

impl Server {
    fn of(cluster: &Cluster) -> Server {
        let servers: Vec<_> = cluster.nodes.iter().filter(|node| node.gpus > 0).collect();
        let mean = |sum: u64| sum as f64 / servers.len().max(1) as f64;
        Server([
            mean(servers.iter().map(|node| u64::from(node.gpus)).sum()),
            mean(servers.iter().map(|node| node.cpu_milli).sum()) / 1000.0,
            mean(servers.iter().map(|node| node.memory_mb).sum()) / 1000.0,
        ])
    }
}

impl Profiles {
    /// Those that were measured on servers like the cluster's; otherwise those without a number.
    fn read(path: &Path, cluster: &Cluster) -> Result<Profiles, TraceError> {
        let wrong = |error: serde_json::Error| {
            TraceError::file(path, format!("is no file of profiles: {error}"))
        };
        let mut sets: BTreeMap<String, BTreeMap<String, Profile>> =
            serde_json::from_reader(open(path)?).map_err(wrong)?;
        let nodes = cluster.nodes.iter().filter(|node| node.gpus > 0 && node.cpu_milli > 0);
        let each = nodes.map(|node| node.cpu_milli / u64::from(node.gpus) / 1000).min();
        let like = each.map(|cpus| (format!("models-{cpus}"), cpus as f64));
        let (name, share_cpus) = match like.filter(|(name, _)| sets.contains_key(name)) {
            Some((name, cpus)) => (name, cpus),
            None => ("models".to_string(), SHARE_CPUS),
        };
        let models = sets.remove(&name).ok_or_else(|| {
            TraceError::file(path, "is no file of profiles: there are no `models`")
        })?;
        let sound = |number: f64| number.is_finite() && (1e-9..1e6).contains(&number);
        for (model, profile) in &models {
            let Profile { cpus_per_gpu, mem_gb_per_gpu, speedup, iter_time_s, .. } = *profile;
            if ![cpus_per_gpu, mem_gb_per_gpu, speedup, iter_time_s].into_iter().all(sound) {
                let message = format!("`{model}`: expected numbers above 0");
                return Err(TraceError::file(path, message));
            }
        }
        Ok(Profiles { models, share_cpus })
    }

    /// The profile of a model on so many GPUs, or on the next smaller number.
    fn of(&self, model: &str, gpus: u32) -> Option<&Profile> {
        let exact = self.models.get(&format!("{model}_{gpus}"));
        let numbered = |name: &str| name.strip_prefix(model)?.strip_prefix('_')?.parse().ok();
        let smaller = || {
            let known = self.models.iter().filter_map(|(name, profile)| {
                numbered(name).filter(|size: &u32| *size <= gpus).map(|size| (size, profile))
            });
            known.max_by_key(|(size, _)| *size).map(|(_, profile)| profile)
        };
        exact.or_else(smaller)
    }
}

impl Profile {
    /// What CPUs and memory do for it, compared with the proportional share.
    fn appetite(&self, share_cpus: f64) -> Appetite {
        let mut measured = Vec::new();
        for (cpus, row) in CPUS.iter().zip(&self.tput) {
            // Gangs were measured without the least memory.
            let sizes = &MEMORY_GB[MEMORY_GB.len().saturating_sub(row.len())..];
            let points = sizes.iter().zip(row).filter(|(_, pace)| pace.is_finite() && **pace > 0.0);
            measured.extend(points.map(|(memory, pace)| (portion(*cpus, *memory), *pace)));
        }
        let share = portion(share_cpus, SHARE_GB);
        let covered = measured.iter().filter(|(with, _)| share.covers(*with));
        // Throughputs are compared with servers of three CPUs for each GPU, whatever these have.
        let unit = covered.map(|(_, pace)| *pace).reduce(f64::max).unwrap_or(1.0);
        measured.iter_mut().for_each(|(_, pace)| *pace /= unit);
        let enough = portion(self.cpus_per_gpu, self.mem_gb_per_gpu);
        Appetite { enough, best: self.speedup, measured }
    }

    /// The same as the published program has it: with anything less than enough a job is as fast as
    /// with its proportional share, whatever that is. A gang wants no more than a server has, and
    /// gains in proportion to the CPUs it has beyond its share then; what a gang that is larger
    /// than a server wants more of than one has comes in proportion. It gains nothing, because it
    /// always wants more of a server's storage than there is.
    fn two_speeds(&self, gpus: u32, server: &Server) -> Appetite {
        let (all, Server([gpus_there, cpus_there, _])) = (f64::from(gpus.max(1)), server);
        let wanted = [self.cpus_per_gpu, self.mem_gb_per_gpu];
        let is_larger = all > *gpus_there;
        let (mut granted, mut best) = (wanted, if is_larger { 1.0 } else { self.speedup });
        for (amount, there) in granted.iter_mut().zip(&server.0[1..]) {
            if *amount * all <= *there {
                continue;
            }
            *amount = if is_larger { there / gpus_there } else { there / all };
        }
        let share = cpus_there / gpus_there;
        if granted != wanted && !is_larger && wanted[0] != share {
            best = 1.0 + (best - 1.0) / (wanted[0] - share) * (granted[0] - share);
        }
        let enough = portion(granted[0], granted[1]);
        Appetite { enough, best, measured: vec![(Portion::default(), 1.0)] }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::folder;
    use crate::workload::{Format, Options, read};
    use heeler_model::{Cluster, Portion, Span, Time};

    const PROFILES: &str = r#"{
        "models": { "net_1": { "cpus_per_gpu": 12, "mem_gb_per_gpu": 125.0, "speedup": 2.94,
            "iter_time_s": 0.5, "tput": [[0.1, 0.3], [0.1, 0.6], [0.1, 1.0], [0.1, 1.25]] } },
        "models-4": { "net_1": { "cpus_per_gpu": 4, "mem_gb_per_gpu": 62.5, "speedup": 1.0,
            "iter_time_s": 0.4, "tput": [[0.1, 0.3], [0.1, 0.6], [0.1, 1.0], [0.1, 1.25]] } } }"#;

    #[test]
    fn profiles_tell_run_times_and_what_cpus_do() {
        let folder = folder();
        let path = folder.join("trace");
        std::fs::write(&path, "0,net,0.0,100,1\n1,net,1.5,10,2\n").expect("a trace");
        let mut cluster = Cluster::uniform(1, 8);
        let read = |cluster: &mut Cluster| read(&path, &Options::default(), cluster);
        let error = read(&mut cluster).expect_err("no profiles");
        assert_eq!(error.message, "has no run times, and there are no profiles to tell them");
        std::fs::write(folder.join("model_profiles.json"), PROFILES).expect("profiles");
        let trace = read(&mut cluster).expect("a trace");
        assert_eq!(trace.format, Some(Format::Synergy));
        let [first, second] = trace.jobs() else { panic!("two jobs") };
        assert_eq!(
            (second.submit, second.duration()),
            (Time::from_micros(1_500_000), Span::from_secs(5))
        );
        let appetite = first.spec.appetite().expect("a profile");
        assert_eq!(appetite.enough, Portion { cpu_milli: 12_000, memory_mb: 125_000 });
        let pace =
            |cpus: u32, memory_mb| appetite.pace(Portion { cpu_milli: cpus * 1000, memory_mb });
        assert_eq!([pace(3, 187_500), pace(11, 187_500), pace(12, 125_000)], [0.1, 0.1, 2.94]);
        assert_eq!([pace(3, 250_000), pace(11, 250_000)], [1.0, 1.25]);
        let node = &cluster.nodes[0];
        assert_eq!((node.cpu_milli, node.memory_mb), (24_000, 500_000), "as it does not say");
        two_speeds_are_those_of_the_published_program(&path);
        cluster.nodes[0].cpu_milli = 32_000;
        let trace = read(&mut cluster).expect("a trace");
        assert_eq!(trace.jobs()[0].duration(), Span::from_secs(40), "measured with four CPUs");
        std::fs::remove_dir_all(folder).expect("a folder");
    }

    /// On a server of 8 GPUs, 24 CPUs and 500 GB, by hand. Four GPUs want 48 CPUs and get 24: of
    /// the gain of 1.94 for the 36 beyond their share of 12, they get a third for 12 beyond.
    fn two_speeds_are_those_of_the_published_program(path: &std::path::Path) {
        let trace = "0,net,0,100,1\n1,net,0,100,4\n2,net,0,100,8\n3,net,0,100,16\n";
        std::fs::write(path, trace).expect("a trace");
        let options = Options { two_speeds: true, ..Options::default() };
        let mut plenty = Cluster::uniform(2, 8);
        (plenty.nodes[0].cpu_milli, plenty.nodes[0].memory_mb) = (400_000, 4_000_000);
        plenty.nodes[1] = plenty.nodes[0].clone();
        let all = read(path, &options, &mut plenty).expect("a trace");
        let best = |job: usize| all.jobs()[job].spec.appetite().expect("a profile").best;
        assert_eq!([best(2), best(3)], [2.94, 1.0], "who is larger than a server gains nothing");
        let trace = read(path, &options, &mut Cluster::uniform(2, 8)).expect("a trace");
        let share = Portion { cpu_milli: 3000, memory_mb: 62_500 };
        let expected = [
            (12_000, 125_000, 2.94),
            (6000, 125_000, 1.0 + 1.94 / 3.0),
            (3000, 62_500, 1.0),
            (3000, 62_500, 1.0),
        ];
        for (job, (cpu_milli, memory_mb, best)) in trace.jobs().iter().zip(expected) {
            let appetite = job.spec.appetite().expect("a profile");
            assert_eq!(appetite.enough, Portion { cpu_milli, memory_mb });
            assert!((appetite.best - best).abs() < 1e-12, "{}", appetite.best);
            assert_eq!(appetite.pace(share), 1.0, "as with the share, whatever was measured");
            assert_eq!(job.duration(), Span::from_secs(50));
        }
    }
}
