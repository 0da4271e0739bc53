//! What questions cost while ten thousand jobs wait: the copy that is made while the loop stands
//! still, why a job waits with what would help, when it starts, and another future beside.

use super::clock::{median, timed};
use super::report::Figure;
use super::{Scope, setup, step};
use anyhow::{Result, anyhow};
use heeler_api::WhatIf;
use heeler_engine::Engine;
use heeler_model::{Event, JobId, Time};
use heeler_recipes::Card;
use heeler_server::foresee::{Elsewise, Names, Scene, whatif, when, why};

const WAITING: usize = 10_000;
const NODES: usize = 64;
const TENANTS: usize = 8;
/// Jobs that are asked about.
const ASKED: usize = 5;

/// An answer to "why" may take so long, and a copy so long, milliseconds.
const WHY_MS: f64 = 100.0;
const COPY_MS: f64 = 20.0;

/// What questions cost under every recipe.
pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for card in setup::recipes(scope)? {
        step(&format!("asking: {}", card.name));
        let engine = engine(&card, scope.of(WAITING))?;
        let asked = waiting(&engine);
        let mut add = |what: &str, ms: f64, most: Option<f64>| {
            let figure = Figure::new(format!("{what} {}", card.name), ms, "ms");
            figures.push(match most {
                Some(most) => figure.at_most(most),
                None => figure,
            });
        };
        let copies = (0..ASKED).map(|_| timed(|| engine.fork()).1 * 1e3);
        add("copy", median(copies.collect()), Some(COPY_MS));
        let names = Names::of(&engine, 0);
        let whys = asked.iter().map(|job| timed(|| why(&engine, &names, 0, *job)).1 * 1e3);
        add("why", whys.fold(0.0, f64::max), Some(WHY_MS));
        let scene = Scene::of(engine.fork(), 0);
        let whens = asked.iter().map(|job| timed(|| when(&scene, *job)).1 * 1e3);
        add("when", median(whens.collect()), None);
        let question = WhatIf { add_nodes: 4, ..WhatIf::default() };
        let elsewise =
            Elsewise { asked: question, policy: None, in_charge: card.build(), newcomer: None };
        let (answer, seconds) = timed(|| whatif(&scene, elsewise));
        answer.map_err(|problem| anyhow!("{}: {}", card.name, problem.message))?;
        add("what if", seconds * 1e3, None);
    }
    Ok(figures)
}

/// An engine whose cluster is full and in whose queue about so many wait.
fn engine(card: &Card, waiting: usize) -> Result<Engine> {
    let gpus = setup::GPUS_PER_NODE as usize * NODES;
    let mut setup = setup::philly(NODES, waiting + gpus, 1.0, Some(TENANTS))?;
    let jobs = setup.take(waiting + gpus);
    let mut engine = Engine::new(setup.cluster.clone(), card.build(), setup::plain().rules, 0);
    for (number, job) in jobs.into_iter().enumerate() {
        let job_id = JobId(number as u32);
        engine.observe(Time::ZERO, Event::Submitted { job: job_id, spec: Box::new(job.spec) });
    }
    let mut step = heeler_engine::Step::default();
    // Where there are rounds, jobs start when the first is over.
    for at in [Some(Time::ZERO), None] {
        let at = at.or(step.wake).unwrap_or_default();
        engine.observe(at, Event::Tick);
        engine.decide_into(at, &mut step).map_err(|fault| anyhow!("{}: {fault}", card.name))?;
    }
    Ok(engine)
}

/// Some of those who wait, from all parts of the queue.
fn waiting(engine: &Engine) -> Vec<JobId> {
    let jobs = engine.state().jobs().iter().filter(|job| !job.is_placed());
    let all: Vec<JobId> = jobs.map(|job| job.id).collect();
    let step = (all.len() / ASKED).max(1);
    all.into_iter().rev().step_by(step).take(ASKED).collect()
}
