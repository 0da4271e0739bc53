//! Every recipe on the traces of `traces/`, in numbers that are kept: whatever changes a decision
//! changes one of them. To accept a change that is meant, run `INSTA_UPDATE=always cargo test -p
//! heeler-recipes --test golden` and look at the difference. When the generator has changed on
//! purpose, first write the traces anew: `HEELER_WRITE_TRACES=1 cargo test -p heeler-recipes --test
//! golden traces`.

use heeler_model::{Cluster, Milli, Time};
use heeler_recipes::{Card, all};
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{
    Arrivals, Format, Generator, GeneratorOptions, Options, Shape, Trace, Workload, read,
    replace_file, write_to,
};
use heeler_sim::world::{Cost, Costs, World};
use heeler_sim::{Record, Simulation, cluster};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A trace, how it was made, and what it is run on.
struct Golden {
    name: &'static str,
    /// The cluster it was made for, and is run on.
    cluster: &'static str,
    options: GeneratorOptions,
    /// What it costs to stop and to go on, seconds.
    costs_s: (f64, f64),
    /// Quota of each tenant.
    quota: Option<u32>,
    /// Speed of the second kind of GPU, thousandths.
    slower: Option<u32>,
    /// The file, for the comparison by bytes.
    bytes: &'static [u8],
}

fn philly() -> Golden {
    let shape = Shape::Philly;
    Golden {
        name: "philly-200",
        cluster: "2x8",
        options: GeneratorOptions { shape, jobs: 200, load: 1.6, seed: 21, ..Default::default() },
        costs_s: (0.0, 0.0),
        quota: Some(2),
        slower: None,
        bytes: include_bytes!("../../../traces/philly-200.csv"),
    }
}

fn helios() -> Golden {
    let (shape, elastic) = (Shape::Helios, 0.4);
    let options =
        GeneratorOptions { shape, jobs: 200, load: 3.0, seed: 22, elastic, ..Default::default() };
    Golden {
        name: "helios-200",
        cluster: "4x8:v100/2+2x8:k80",
        options,
        costs_s: (10.0, 30.0),
        quota: None,
        slower: Some(400),
        bytes: include_bytes!("../../../traces/helios-200.csv"),
    }
}

fn llm() -> Golden {
    let (shape, deadlines) = (Shape::Llm, 0.3);
    let options =
        GeneratorOptions { shape, jobs: 120, load: 8.0, seed: 23, deadlines, ..Default::default() };
    Golden {
        name: "llm-120",
        cluster: "16x8/4",
        options,
        costs_s: (5.0, 15.0),
        quota: Some(32),
        slower: None,
        bytes: include_bytes!("../../../traces/llm-120.csv"),
    }
}

fn study() -> Golden {
    let (shape, trials) = (Shape::Philly, 60);
    let options =
        GeneratorOptions { shape, jobs: 40, load: 1.2, seed: 24, trials, ..Default::default() };
    Golden {
        name: "study-100",
        cluster: "1x8",
        options,
        costs_s: (0.0, 30.0),
        quota: None,
        slower: None,
        bytes: include_bytes!("../../../traces/study-100.csv"),
    }
}

impl Golden {
    fn cluster(&self) -> Cluster {
        cluster::parse(self.cluster).expect("a cluster")
    }

    fn path(&self) -> PathBuf {
        let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces");
        traces.join(self.name).with_extension("csv")
    }

    /// The trace as the generator makes it now.
    fn generated(&self) -> Vec<u8> {
        let mut cluster = self.cluster();
        let options = GeneratorOptions { gpus: cluster.gpus(), ..self.options.clone() };
        let mut generator = Generator::new(&options).expect("options that can be");
        generator.add_tenants_to(&mut cluster);
        let models = generator.models().clone();
        let jobs = std::iter::from_fn(|| generator.next_job()).collect();
        let trace = Trace { workload: Workload::new(jobs), models, ..Trace::default() };
        let mut bytes = Vec::new();
        write_to(&mut bytes, Format::Csv, &trace, &cluster).expect("a vector takes everything");
        bytes
    }

    /// The file equals what the generator makes.
    fn is_what_the_generator_makes(&self) {
        let made = self.generated();
        if writes_traces() {
            let write = |out: &mut dyn Write| out.write_all(&made);
            replace_file(&self.path(), write).expect("a file that can be written");
            return;
        }
        let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for (file, made) in lines(self.bytes).lines().zip(lines(&made).lines()) {
            assert_eq!(file, made, "{}", self.name);
        }
        assert!(self.bytes == made, "{} has other lines than the generator makes", self.name);
        assert!(made.len() < 40_000, "{} has {} bytes", self.name, made.len());
    }

    /// A line of numbers for each recipe.
    fn table(&self) -> String {
        let mut table = format!(
            "{:<18} {:>4} {:>12} {:>12} {:>12} {:>12} {:>5} {:>5} {:>5}  ends\n",
            "recipe", "done", "mean_s", "p99_s", "wait_s", "makespan_s", "use", "stops", "moves"
        );
        for recipe in all() {
            let card = Card::read(recipe.text, recipe.name).expect("a built-in card");
            table += &line(recipe.name, &self.run(&card));
        }
        table
    }

    fn run(&self, card: &Card) -> Simulation {
        let mut cluster = self.cluster();
        let trace = read(&self.path(), &Options::default(), &mut cluster).expect("a trace");
        for tenant in &mut cluster.tenants {
            tenant.quota = self.quota;
        }
        if let Some(speed) = self.slower {
            cluster.kinds[1].speed = Milli(speed);
        }
        let (save, restore) = self.costs_s;
        let costs = Costs {
            save: Cost::fixed(save),
            restore: Cost::fixed(restore),
            relocate: Cost::fixed(restore),
            ..Costs::default()
        };
        let world = World { costs, ..World::default() };
        let jobs = Box::new(trace.workload);
        let mut simulation = Simulation::of_recipe(card, world, Arc::new(cluster), jobs, 1);
        simulation.run();
        simulation
    }
}

/// The numbers of a run; the last one tells any two lists of completion times apart.
fn line(recipe: &str, simulation: &Simulation) -> String {
    let summary = Summary::of(simulation);
    let ends = simulation.records().all().iter().map(|record: &Record| record.ended);
    // Fowler, Noll and Vo's hash (FNV-1a) of the microseconds at which jobs ended, in order.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in ends.flat_map(|end| end.map_or(u64::MAX, Time::micros).to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let (completion, waiting) = (&summary.completion_s, &summary.waiting_s);
    format!(
        "{recipe:<18} {:>4} {:>12.3} {:>12.3} {:>12.3} {:>12.3} {:.3} {:>5} {:>5}  {hash:016x}\n",
        summary.jobs.finished,
        completion.mean,
        completion.p99,
        waiting.mean,
        summary.makespan_s,
        summary.utilisation,
        summary.restarts.preemptions,
        summary.restarts.moves,
    )
}

/// Whether somebody wants the traces written anew.
#[allow(clippy::disallowed_methods)]
fn writes_traces() -> bool {
    std::env::var_os("HEELER_WRITE_TRACES").is_some()
}

#[test]
fn traces_are_what_the_generator_makes() {
    for golden in [philly(), helios(), llm(), study()] {
        golden.is_what_the_generator_makes();
    }
}

#[test]
fn philly_200() {
    insta::assert_snapshot!(philly().table());
}

#[test]
fn helios_200() {
    insta::assert_snapshot!(helios().table());
}

#[test]
fn study_100() {
    insta::assert_snapshot!(study().table());
}

#[test]
fn llm_120() {
    insta::assert_snapshot!(llm().table());
}
