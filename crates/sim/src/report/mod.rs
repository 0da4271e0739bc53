//! Reports: one HTML file that opens offline and shows a run, or several runs of one workload side
//! by side. Charts are drawn here; the script of the page only reads them out. What the page shows
//! is described in `docs/reference/report.md`.

mod axis;
mod bars;
mod colours;
mod curves;
mod factor;
mod frame;
mod fronts;
mod gantt;
mod groups;
mod labels;
mod means;
mod occupancy;
mod page;
mod panels;
mod picture;
mod rows;
mod run;
mod scale;
mod services;
mod shares;
mod strips;
mod studies;
mod sweeps;
mod table;
mod text;

pub use factor::Factor;
pub use fronts::{Figures, Front, Weighed};
pub use occupancy::{Look, Occupancy};
pub use rows::Rows;
pub use run::Run;
pub use sweeps::{Sweep, SweepLine};

use std::io::Write;

/// A report on some runs of one workload.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What stands above it.
    pub title: String,
    /// What was simulated, in words: the workload, the cluster, the world, the seed.
    pub facts: Vec<(String, String)>,
    /// The runs, in the order in which they are shown.
    pub runs: Vec<Run>,
    /// Which of several runs of each recipe those are, such as "load 0.8, seed 1"; empty if each
    /// ran once.
    pub runs_are_of: String,
    /// What has to be known to read the figures, in sentences.
    pub notes: Vec<String>,
    /// Recipes weighed against each other over all seeds, for each load.
    pub fronts: Vec<Front>,
    /// What came of changing the load or a knob.
    pub sweeps: Vec<Sweep>,
}

impl Report {
    /// Write the page. Equal reports are equal to the byte.
    pub fn write(&self, mut to: impl Write) -> std::io::Result<()> {
        to.write_all(page::page(self).as_bytes())?;
        to.flush()
    }
}
