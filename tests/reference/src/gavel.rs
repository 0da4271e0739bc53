//! Runs of Gavel's simulator by the names they have in its table of results: what they were run on,
//! when each job was done, and who ran where in each round.

use crate::{Case, Within, shows};
use flate2::read::GzDecoder;
use heeler_model::{Cluster, KindId};
use heeler_sim::Simulation;
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{Options, Trace};
use heeler_sim::world::{PairTable, World};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FOLDER: &str = "gavel/reference";

/// Who ran on which kind of GPU in each round, by name; rounds in which nobody did are left out.
pub type Rounds = Vec<BTreeMap<String, String>>;

/// A row of the table of results, and the files that belong to it.
pub struct Published {
    /// The name of the run.
    pub case: String,
    trace: String,
    cluster: String,
    /// The jobs that count, if not all do.
    window: Option<Range<u32>>,
    makespan_s: f64,
    folder: PathBuf,
}

impl Published {
    /// The run of that name.
    pub fn of(case: &str, data: &Path) -> Published {
        let folder = data.join(FOLDER);
        let mut rows = csv::Reader::from_path(folder.join("summary.csv")).expect("a table");
        let rows = rows.deserialize().map(|row| row.expect("a row"));
        let row = rows.into_iter().find(|row: &BTreeMap<String, String>| row["case"] == case);
        let row = row.unwrap_or_else(|| panic!("no run {case}"));
        let counts: Vec<&str> = row["cluster"].split(':').collect();
        let kinds = ["v100", "p100", "k80"].into_iter().zip(counts);
        let cluster: Vec<String> = kinds.map(|(kind, count)| format!("{kind}={count}")).collect();
        let number = |text: &str| text.parse::<u32>().expect("a number");
        let window = row["window"].split_once('-').map(|(from, to)| number(from)..number(to));
        Published {
            case: case.into(),
            trace: format!("gavel/traces/{}", row["trace"]),
            cluster: cluster.join(","),
            window,
            makespan_s: row["makespan_s"].parse().expect("a number"),
            folder,
        }
    }

    /// The same run with a recipe.
    pub fn run(&self, recipe: &str, knobs: &[(&str, &str)], world: &str, data: &Path) -> Done {
        self.run_in(recipe, knobs, world, data, |_, _, _| {})
    }

    /// The same where two jobs may share GPUs.
    pub fn run_in_pairs(&self, recipe: &str, knobs: &[(&str, &str)], data: &Path) -> Done {
        self.run_in(recipe, knobs, "gavel-perf", data, |world, trace, cluster| {
            world.sharing.table = Some(Arc::new(pair_table(data, trace, cluster)));
        })
    }

    fn run_in(
        &self,
        recipe: &str,
        knobs: &[(&str, &str)],
        world: &str,
        data: &Path,
        change: impl FnOnce(&mut World, &Trace, &Cluster),
    ) -> Done {
        let (options, cluster) = (Options::default(), self.cluster.as_str());
        let case = Case { trace: &self.trace, options, cluster, recipe, knobs, world };
        let mut simulation = case.prepare(data, change);
        let mut rounds = Rounds::new();
        simulation.run_watched(1, |simulation| rounds.push(who_runs(simulation)));
        rounds.retain(|round| !round.is_empty());
        Done { simulation, rounds, recipe: recipe.into() }
    }

    fn counts(&self, job: &str) -> bool {
        let Some(window) = &self.window else { return true };
        job.parse().is_ok_and(|job| window.contains(&job))
    }

    /// When the jobs that count were done, seconds after they came.
    fn completions(&self) -> BTreeMap<String, f64> {
        let mut rows = csv::Reader::from_reader(self.open("jct").expect("a table of jobs"));
        let rows = rows.records().map(|row| row.expect("a row"));
        let pair =
            |row: csv::StringRecord| (row[0].to_string(), row[1].parse::<f64>().expect("a number"));
        rows.map(pair).filter(|(job, _)| self.counts(job)).collect()
    }

    /// Mean completion time of the jobs that count, and the makespan, in hours.
    pub fn hours(&self) -> (f64, f64) {
        let jobs = self.completions();
        (jobs.values().sum::<f64>() / jobs.len() as f64 / 3600.0, self.makespan_s / 3600.0)
    }

    /// Who ran where, if that was written down.
    fn rounds(&self) -> Option<Rounds> {
        let mut rows = csv::ReaderBuilder::new().flexible(true).from_reader(self.open("schedule")?);
        let round = |row: csv::StringRecord| -> BTreeMap<String, String> {
            // Pairs have commas, and not every file has quotes.
            let all = row.iter().skip(3).collect::<Vec<_>>().join(",");
            let runs = all.split(';').filter_map(|run| run.split_once('@'));
            let kind = |on: &str| on.split('*').next().expect("a kind").to_string();
            // Two on the same GPUs are written (1, 2).
            let jobs = |jobs: &str| -> Vec<String> {
                let jobs = jobs.trim_matches(['(', ')']).split(',');
                jobs.map(|job| job.trim().to_string()).collect()
            };
            let each =
                runs.flat_map(|(both, on)| jobs(both).into_iter().map(move |job| (job, kind(on))));
            each.collect()
        };
        let all = rows.records().map(|row| round(row.expect("a row")));
        Some(all.filter(|round| !round.is_empty()).collect())
    }

    fn open(&self, what: &str) -> Option<Box<dyn Read>> {
        let plain = self.folder.join(format!("{what}_{}.csv", self.case));
        let packed = self.folder.join(format!("{what}_{}.csv.gz", self.case));
        match File::open(plain) {
            Ok(file) => Some(Box::new(file)),
            Err(_) => Some(Box::new(GzDecoder::new(File::open(packed).ok()?))),
        }
    }
}

/// A run of a recipe.
pub struct Done {
    /// As it was at the end.
    pub simulation: Simulation,
    rounds: Rounds,
    recipe: String,
}

impl Done {
    /// Mean completion time of the jobs that count, and the makespan, in hours.
    pub fn hours(&self, published: &Published) -> (f64, f64) {
        let jobs = published.completions();
        let took: Vec<f64> = jobs.keys().filter_map(|job| self.took(job)).collect();
        // These worlds give gangs up whose last steps do not go round, as the published program
        // does, and means are over the others; that must be rare.
        assert!(took.len() * 100 >= jobs.len() * 99, "{} of {} ended", took.len(), jobs.len());
        let mean = took.iter().sum::<f64>() / took.len() as f64;
        (mean / 3600.0, Summary::of(&self.simulation).makespan_s / 3600.0)
    }

    /// How long a job took, seconds; none if it was given up.
    fn took(&self, job: &str) -> Option<f64> {
        let id = self.simulation.find(job).unwrap_or_else(|| panic!("no job {job}"));
        Some(self.simulation.records()[id].completion()?.secs_f64())
    }

    /// Every job that counts was done when it was there, and ran where it ran there.
    pub fn equals(&self, published: &Published) {
        let theirs = published.completions();
        let is_same = |(job, there): &(&String, &f64)| {
            self.took(job).is_some_and(|here| (here - **there).abs() < 1e-3)
        };
        let same = theirs.iter().filter(is_same);
        let (same, all) = (same.count() as f64, theirs.len() as f64);
        let figure = "jobs with the same completion time";
        shows(&self.recipe, &published.case, figure, (same, all), Within::Equal);
        let Some(rounds) = published.rounds() else { return };
        let pairs = self.rounds.iter().zip(&rounds);
        let same = pairs.filter(|(ours, theirs)| ours == theirs).count() as f64;
        let against = format!("schedule_{}", published.case);
        let figure = "rounds with the same jobs on the same kinds";
        shows(&self.recipe, &against, figure, (same, rounds.len() as f64), Within::Equal);
    }

    /// The mean completion time is near, and so is the makespan where the run went on to its end;
    /// and about as many jobs run in a round, or fewer where they are done earlier.
    pub fn is_near(&self, published: &Published, (mean, makespan): (Within, Within)) {
        let theirs = published.completions();
        let there = theirs.values().sum::<f64>() / theirs.len() as f64 / 3600.0;
        let (here, end) = self.hours(published);
        let (recipe, case) = (&self.recipe, &published.case);
        shows(recipe, case, "mean JCT (h)", (here, there), mean);
        if published.window.is_none() {
            let ends = (end, published.makespan_s / 3600.0);
            shows(recipe, case, "makespan (h)", ends, makespan);
        }
        let Some(rounds) = published.rounds().filter(|_| published.window.is_none()) else {
            return;
        };
        let many = |rounds: &Rounds| {
            rounds.iter().map(BTreeMap::len).sum::<usize>() as f64 / rounds.len() as f64
        };
        let against = format!("schedule_{case}");
        let jobs = (many(&self.rounds), many(&rounds));
        let within = match mean {
            Within::NotMore => Within::NotMore,
            _ => Within::Part(0.08),
        };
        shows(recipe, &against, "jobs that run in a round, mean", jobs, within);
    }
}

/// What was measured of two jobs on the same GPUs.
pub fn pair_table(data: &Path, trace: &Trace, cluster: &Cluster) -> PairTable {
    let mut alone = BTreeMap::new();
    for job in trace.jobs() {
        alone.insert((job.spec.model, job.spec.demand.asked()), job.spec.rates().to_vec());
    }
    let alone = |model, kind: KindId, gpus| alone.get(&(model, gpus))?.get(kind.index()).copied();
    let path = data.join("gavel/throughput_colocated.csv.gz");
    PairTable::read(&path, &trace.models, cluster, &alone).unwrap_or_else(|e| panic!("{e}"))
}

fn who_runs(simulation: &Simulation) -> BTreeMap<String, String> {
    let cluster = simulation.cluster();
    let jobs = simulation.engine().state().jobs().iter().filter(|job| job.is_placed());
    let run = |job: &heeler_engine::Job| {
        let slice = *job.assignment.as_ref()?.placement.slices().first()?;
        let kind = cluster.nodes[slice.node.index()].kind;
        Some((simulation.name(job.id), cluster.kinds[kind.index()].name.to_string()))
    };
    jobs.filter_map(run).collect()
}
