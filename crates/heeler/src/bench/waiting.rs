//! What a decision costs when a hundred times as many jobs wait. The engine is fed by hand, always
//! with the same: a job comes, then the job that has run longest ends.

use super::clock::{median, timed};
use super::report::Figure;
use super::{Scope, setup, step};
use anyhow::Result;
use heeler_engine::{Engine, Step};
use heeler_model::{Action, Event, Exit, Generation, JobId, JobSpec, Span, Time};
use heeler_recipes::Card;
use std::collections::VecDeque;

const FEW: usize = 1_000;
const MANY: usize = 100_000;
/// The cluster runs fewer jobs at a time than wait in either queue, so that a recipe that lets jobs
/// take turns has the same to do in both.
const NODES: usize = 64;
const GPUS: usize = setup::GPUS_PER_NODE as usize * NODES;
/// Every kind of job is looked at once, and with many tenants the short queue would not have all
/// kinds that the long one has.
const TENANTS: usize = 4;
/// Jobs that come, and jobs that end, while the clock runs.
const PAIRS: usize = 1_000;
const ROUNDS: usize = 3;

/// A decision may cost so many times as much.
const TARGET: f64 = 3.0;

/// Cost of a decision with many waiting against few, under every recipe.
pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let (few, many) = (FEW, scope.of(MANY));
    let mut figures = Vec::new();
    for card in setup::recipes(scope)? {
        step(&format!("waiting: {}", card.name));
        let (mut costs, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let before = cost(&card, few)?;
            let most = cost(&card, many)?;
            let after = cost(&card, few)?;
            ratios.push(most / ((before + after) / 2.0));
            costs.push(most * 1e6);
        }
        let figure = Figure::new(format!("waiting {}", card.name), median(costs), "µs/decision");
        let peer = "1,000 waiting";
        figures.push(figure.against(peer, median(ratios)).at_most(TARGET));
    }
    Ok(figures)
}

/// CPU seconds for each decision, while about so many wait.
fn cost(card: &Card, waiting: usize) -> Result<f64> {
    let first = waiting + GPUS;
    let mut setup = setup::philly(NODES, first + PAIRS, 1.0, Some(TENANTS))?;
    let gap = Span::from_secs_f64(setup.generator.gpu_seconds_per_job() / GPUS as f64);
    let specs = |jobs: Vec<_>| jobs.into_iter().map(|job: heeler_sim::workload::TraceJob| job.spec);
    let engine = Engine::new(setup.cluster.clone(), card.build(), setup::plain().rules, 0);
    let mut driver = Driver::new(engine);
    for spec in specs(setup.take(first)) {
        driver.submit(spec);
    }
    driver.decide();
    driver.decisions = 0;
    let coming: Vec<JobSpec> = specs(setup.take(PAIRS)).collect();
    let ((), seconds) = timed(|| {
        for spec in coming {
            driver.pass(Span::from_micros(gap.micros() / 2));
            driver.submit(spec);
            driver.decide();
            driver.pass(Span::from_micros(gap.micros() / 2));
            driver.finish_oldest();
            driver.decide();
        }
    });
    Ok(seconds / f64::from(driver.decisions))
}

/// A world of its own around an engine: whoever is told to stop has stopped, and nobody finishes
/// unless told to.
struct Driver {
    engine: Engine,
    step: Step,
    now: Time,
    submitted: u32,
    /// How often the engine was asked what to do.
    decisions: u32,
    /// Jobs in the order they were started; those that were stopped since are still in it.
    started: VecDeque<(JobId, Generation)>,
}

impl Driver {
    fn new(engine: Engine) -> Driver {
        let step = Step::default();
        let (now, started) = (Time::ZERO, VecDeque::new());
        Driver { engine, step, now, submitted: 0, decisions: 0, started }
    }

    fn submit(&mut self, spec: JobSpec) {
        let job = JobId(self.submitted);
        self.submitted += 1;
        self.engine.observe(self.now, Event::Submitted { job, spec: Box::new(spec) });
    }

    fn finish_oldest(&mut self) {
        while let Some((job, generation)) = self.started.pop_front() {
            let known = self.engine.state().jobs().get(job);
            if known.is_some_and(|job| job.is_running() && job.generation == generation) {
                let exit = Exit::Finished;
                self.engine.observe(self.now, Event::Stopped { job, generation, exit });
                return;
            }
        }
    }

    /// Let time pass, and wake the engine when it wants to be.
    fn pass(&mut self, span: Span) {
        let until = self.now + span;
        while let Some(wake) = self.step.wake.filter(|wake| *wake <= until) {
            self.now = wake;
            self.engine.observe(wake, Event::Tick);
            self.decide();
        }
        self.now = until;
    }

    fn decide(&mut self) {
        loop {
            let mut step = std::mem::take(&mut self.step);
            let plan = self.engine.decide_into(self.now, &mut step);
            plan.unwrap_or_else(|fault| panic!("a plan cannot be: {fault}"));
            self.decisions += 1;
            let mut answered = false;
            for action in step.actions.drain(..) {
                match action {
                    Action::Start { job, generation, .. } => {
                        self.started.push_back((job, generation));
                    }
                    Action::End { .. } => {}
                    Action::Stop { job, generation, .. } => {
                        let done = self.engine.state().job(job).progress.done;
                        let exit = Exit::Saved { done };
                        self.engine.observe(self.now, Event::Stopped { job, generation, exit });
                        answered = true;
                    }
                }
            }
            self.step = step;
            if !answered {
                return;
            }
        }
    }
}
