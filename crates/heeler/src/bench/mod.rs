//! `heeler bench`: how fast this build is, in CPU time and as multiples of a peer measured in the
//! same run, so that the answer hardly depends on the machine. What each measure means stands in
//! `docs/reference/speed.md`.

mod asking;
mod bare;
mod choose;
mod clock;
mod live;
mod memory;
mod million;
mod muri;
mod overload;
mod pairs;
mod placements;
mod report;
mod serve;
mod setup;
mod shares;
mod sia;
mod trace;
mod waiting;

use anyhow::{Result, bail};
use clap::ValueEnum;
use report::Figure;
use std::path::PathBuf;

/// Measure how fast this build is.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// What to measure; everything, if nothing is named.
    #[arg(value_name = "NAME")]
    names: Vec<Measure>,
    /// Ten times fewer jobs: a first impression in a fraction of the time.
    #[arg(long)]
    quick: bool,
    /// Only these recipes, where a measure goes through several.
    #[arg(long = "recipe", value_name = "RECIPE")]
    recipes: Vec<String>,
    /// The trace for `trace`, in any format that `heeler trace formats` lists.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Another workload for `live`, as Kueue's performance tests describe theirs.
    #[arg(long, value_name = "FILE")]
    generator: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Simulate so many jobs and print the memory that took: how `memory` starts itself.
    #[arg(long, hide = true, value_name = "JOBS")]
    memory_child: Option<usize>,
    /// Give the jobs of `--memory-child` names.
    #[arg(long, hide = true, requires = "memory_child")]
    memory_child_named: bool,
}

/// Something to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measure {
    /// Cost of a job among a million, against a bare event loop.
    Million,
    /// Cost of a million jobs against half a million.
    Doubling,
    /// Cost of a decision with 100,000 jobs waiting against 1,000.
    Waiting,
    /// Memory that stays with a finished job.
    Memory,
    /// Placements per second on 5,000 nodes.
    Placements,
    /// Every recipe with more jobs than the cluster can serve.
    Overload,
    /// Every recipe on a whole trace (`--trace FILE`), against the simulators of their authors.
    Trace,
    /// Requests to served models, against one heap for all events.
    Serve,
    /// One configuration for each of a thousand jobs, against its linear relaxation.
    Choose,
    /// Fair shares of three kinds for a thousand jobs, against one linear programme.
    Shares,
    /// Shares where two may be on one GPU, against one linear programme over all pairs of fewer.
    Pairs,
    /// A decision of `sia` on 1,024 GPUs.
    Sia,
    /// A decision of `muri-s` with 500 jobs waiting.
    Muri,
    /// The live control plane: handing in, starting, a deep queue of small jobs, asking why.
    Live,
    /// Why, when and what if with 10,000 jobs waiting.
    Asking,
}

impl Measure {
    fn figures(self, scope: &Scope) -> Result<Vec<Figure>> {
        match self {
            Measure::Million => million::measure(scope),
            Measure::Doubling => million::measure_doubling(scope),
            Measure::Waiting => waiting::measure(scope),
            Measure::Memory => memory::measure(scope),
            Measure::Placements => placements::measure(scope),
            Measure::Overload => overload::measure(scope),
            Measure::Trace => trace::measure(scope),
            Measure::Serve => serve::measure(scope),
            Measure::Choose => choose::measure(scope),
            Measure::Shares => shares::measure(scope),
            Measure::Pairs => pairs::measure(scope),
            Measure::Sia => sia::measure(scope),
            Measure::Muri => muri::measure(scope),
            Measure::Live => live::measure(scope),
            Measure::Asking => asking::measure(scope),
        }
    }
}

/// How much to measure.
#[derive(Clone, Debug)]
struct Scope {
    quick: bool,
    /// Only these; all, if there are none.
    recipes: Vec<String>,
    /// A file with another workload for the live control plane.
    generator: Option<PathBuf>,
    /// A file with a trace.
    trace: Option<PathBuf>,
}

impl Scope {
    /// How many jobs to measure with, or on how many nodes.
    fn of(&self, count: usize) -> usize {
        if self.quick { count / 10 } else { count }
    }

    /// Whether a recipe is to be measured.
    fn has(&self, recipe: &str) -> bool {
        self.recipes.is_empty() || self.recipes.iter().any(|name| name == recipe)
    }
}

/// Measure, print, and fail if a target is missed.
pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    if let Some(jobs) = args.memory_child {
        return memory::run_child(jobs, args.memory_child_named);
    }
    if cfg!(debug_assertions) {
        step("this is a debug build, which is many times slower; use `cargo build --release`");
    }
    for name in &args.recipes {
        setup::recipe(name)?;
    }
    let (quick, recipes) = (args.quick, args.recipes.clone());
    let (generator, trace) = (args.generator.clone(), args.trace.clone());
    let scope = Scope { quick, recipes, generator, trace };
    let mut figures = Vec::new();
    for measure in Measure::value_variants() {
        if args.names.is_empty() || args.names.contains(measure) {
            figures.extend(measure.figures(&scope)?);
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&figures)?);
    } else {
        println!("{}", report::table(&figures));
    }
    let over: Vec<&str> =
        figures.iter().filter(|figure| figure.is_over()).map(|f| f.measure.as_str()).collect();
    if !over.is_empty() {
        let targets = figures.iter().filter(|figure| figure.verdict.is_some()).count();
        bail!("{} of {targets} targets missed: {}", over.len(), over.join(", "));
    }
    Ok(())
}

/// Say what is being done, so that a long run is not silent.
fn step(what: &str) {
    eprintln!("{what}");
}
