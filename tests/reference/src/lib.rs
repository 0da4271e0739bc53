//! Agreement with published programs. Their traces and results are read where they lie, in
//! `../shared/data` beside the repository (or below `HEELER_SHARED`); where they are absent, the
//! tests say so loudly and pass.

mod figures;
pub mod gavel;
pub mod muri;

pub use figures::{Within, shows};

use heeler_model::Cluster;
use heeler_recipes::Card;
use heeler_sim::Simulation;
use heeler_sim::metrics::Agreement;
use heeler_sim::workload::{Options, Trace, read};
use heeler_sim::world::{Profiles, World, WorldCard};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder with the data, if it is there.
pub fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let root = std::env::var_os("HEELER_SHARED").map_or(beside, PathBuf::from);
    let data = root.join("data");
    if data.is_dir() {
        return Some(data);
    }
    // Straight to the terminal: what tests print is kept back when they pass.
    let said = writeln!(std::io::stderr(), "*** SKIPPED: no data at {} ***", data.display());
    said.expect("the terminal takes it");
    None
}

/// A file or folder of the data, if they are there.
pub fn file(name: &str) -> Option<PathBuf> {
    Some(shared()?.join(name))
}

/// What to simulate.
pub struct Case<'a> {
    /// The trace, below the data folder.
    pub trace: &'a str,
    /// How to read it.
    pub options: Options,
    /// The cluster, as on the command line.
    pub cluster: &'a str,
    /// The recipe.
    pub recipe: &'a str,
    /// Its knobs.
    pub knobs: &'a [(&'a str, &'a str)],
    /// The world.
    pub world: &'a str,
}

impl Case<'_> {
    /// Run it to the end.
    pub fn run(&self, data: &Path) -> Simulation {
        self.run_in(data, |_, _, _| {})
    }

    /// Run it to the end in a world that is changed with a look at the jobs and the cluster.
    pub fn run_in(
        &self,
        data: &Path,
        change: impl FnOnce(&mut World, &Trace, &Cluster),
    ) -> Simulation {
        let mut simulation = self.prepare(data, change);
        simulation.run();
        simulation
    }

    /// All of it at the start, in such a world.
    pub fn prepare(
        &self,
        data: &Path,
        change: impl FnOnce(&mut World, &Trace, &Cluster),
    ) -> Simulation {
        let mut cluster: Cluster =
            heeler_sim::cluster::read(self.cluster).expect("the cluster can be read");
        let path = data.join(self.trace);
        let trace =
            read(&path, &self.options, &mut cluster).unwrap_or_else(|error| panic!("{error}"));
        let recipe = heeler_recipes::find(self.recipe).expect("the recipe is built in");
        let knobs: Vec<(String, String)> =
            self.knobs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let card = Card::read_with(recipe.text, recipe.name, &knobs)
            .unwrap_or_else(|error| panic!("{error}"));
        let world_card = WorldCard::find(self.world).expect("the world is built in");
        let mut world = world_card.world();
        if let (Some(settings), Some(folder)) = (&world_card.training, &self.options.profiles) {
            let profiles = Profiles::read(folder, settings, &trace.models, &cluster);
            world.profiles = Some(Arc::new(profiles.unwrap_or_else(|error| panic!("{error}"))));
        }
        change(&mut world, &trace, &cluster);
        let arrivals = Box::new(trace.workload);
        Simulation::of_recipe(&card, world, Arc::new(cluster), arrivals, 0)
    }

    /// Run it and compare with a table of results below the data folder.
    pub fn compare(&self, data: &Path, reference: &str) -> Agreement {
        let simulation = self.run(data);
        Agreement::with(&simulation, &data.join(reference)).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Run it and require that every completion time is the same.
    pub fn must_equal(&self, data: &Path, reference: &str) {
        let agreement = self.compare(data, reference);
        assert!(agreement.is_full(), "{} with {}: {agreement:#?}", reference, self.recipe);
        let name = reference.rsplit('/').next().unwrap_or(reference);
        let name = name.trim_end_matches(".gz").trim_end_matches(".csv");
        let (ours, theirs) = (agreement.equal as f64, agreement.jobs as f64);
        let figure = "jobs with the same completion time";
        shows(self.recipe, name, figure, (ours, theirs), Within::Equal);
    }
}
