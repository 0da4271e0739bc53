//! More jobs than the cluster can serve, so that the queue grows to the end: the hard case for a
//! scheduler that looks at its queue.

use super::clock::timed;
use super::report::Figure;
use super::{Scope, setup, step};
use anyhow::Result;

const JOBS: usize = 200_000;
const LOAD: f64 = 1.3;

/// The fastest simulator that was published with a scheduler, in jobs per CPU second (Tiresias').
const PUBLISHED_PER_S: f64 = 1_300.0;

/// Jobs per CPU second under every recipe.
pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let jobs = scope.of(JOBS);
    step(&format!("overload: making {jobs} jobs"));
    // As many jobs for each GPU, however many jobs: else there would be nobody waiting.
    let (cluster, workload) =
        setup::philly(scope.of(setup::PHILLY_NODES), jobs, LOAD, None)?.in_memory();
    let mut figures = Vec::new();
    for card in setup::recipes(scope)? {
        step(&format!("overload: {}", card.name));
        let mut simulation = setup::simulation(&card, &cluster, Box::new(workload.clone()));
        let ((), seconds) = timed(|| simulation.run());
        let rate = jobs as f64 / seconds;
        let figure = Figure::new(format!("overload {}", card.name), 1e6 / rate, "µs/job");
        figures.push(figure.against("fastest published, 1,300/s", rate / PUBLISHED_PER_S));
    }
    Ok(figures)
}
