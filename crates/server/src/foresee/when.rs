//! When a job will start: the same question to many futures, and how far their answers are apart.

use super::Scene;
use super::effort;
use super::future::{Budget, has_started};
use super::lengths::{Chance, Hint};
use super::names::Names;
use heeler_api::Forecast;
use heeler_engine::Phase;
use heeler_model::{JobId, JobSpec, Time, Truth};
use heeler_sim::Simulation;
use heeler_sim::workload::TraceJob;
use std::time::Duration;

/// So many futures are looked at, if there is time.
const FUTURES: u32 = 24;
/// So many at least, each as far as an equal part of the budget goes.
const FUTURES_MIN: u32 = 5;
/// Moments that are simulated for one answer, and how long that may be worked on.
const MOMENTS: u64 = 150_000;
const TIME_MAX: Duration = Duration::from_millis(1_000);

/// A job that has not been handed in.
pub struct Newcomer {
    /// What it asks for.
    pub spec: JobSpec,
    /// What is known of how long it runs.
    pub hint: Hint,
}

/// When a job starts and ends in one future.
struct Seen {
    starts: Option<Time>,
    ends: Option<Time>,
    on: Option<String>,
}

/// When a job will start and end.
pub fn when(scene: &Scene, job: JobId) -> Forecast {
    let state = scene.engine.state();
    let Some(known) = state.jobs().get(job) else {
        let over = if state.jobs().knows(job) { "it is over" } else { "it is not known" };
        return Forecast { job: job.0, assumes: vec![over.into()], ..Forecast::default() };
    };
    let running = known.phase == Phase::Running;
    let mut forecast = forecast(scene, job, None);
    if running {
        forecast.starts = known.started.map(|at| scene.seconds(at));
        forecast.between = None;
    }
    if let Some(held) = known.held
        && scene.hints.get(&job).is_none_or(|hint| hint.before.is_none())
    {
        let names = Names::of(&scene.engine, scene.epoch);
        let words = heeler_model::render(&held, &names).sentence;
        forecast.assumes.insert(0, format!("it does not start while {words}"));
    }
    forecast
}

/// When a job would start that has not been handed in, and where.
pub fn test_only(scene: &Scene, newcomer: &Newcomer) -> Forecast {
    let number = JobId(scene.engine.state().jobs().used());
    let mut forecast = forecast(scene, number, Some(newcomer));
    forecast.job = 0;
    forecast
}

fn forecast(scene: &Scene, job: JobId, newcomer: Option<&Newcomer>) -> Forecast {
    let until = effort::used() + TIME_MAX;
    let mut left = Budget::of(MOMENTS, until);
    let mut seen = Vec::new();
    let mut cut = 0;
    for future in 0..FUTURES {
        if left.is_spent() && future >= FUTURES_MIN {
            break;
        }
        let share = left.share(MOMENTS / u64::from(FUTURES_MIN));
        let mut own = Budget::of(share, until);
        let more = newcomer.map(|newcomer| scene.arrives(newcomer, job, future));
        let mut simulation = scene.future(scene.engine.fork(), future, more);
        let (found, whole) = look(scene, &mut simulation, job, &mut own);
        let late = effort::used() > until;
        // A future that the clock cut short says less than those before it.
        if late && !whole && !seen.is_empty() {
            break;
        }
        cut += u32::from(!whole);
        left.used(share - own.left());
        seen.push(found);
        if late {
            break;
        }
    }
    summed_up(scene, job, &seen, cut)
}

/// Watch one job in one future. Says whether it was watched to the end.
fn look(
    scene: &Scene,
    simulation: &mut Simulation,
    job: JobId,
    budget: &mut Budget,
) -> (Seen, bool) {
    let mut seen = Seen { starts: None, ends: None, on: None };
    if !budget.until(simulation, |simulation| has_started(simulation, job)) {
        return (seen, !budget.is_spent());
    }
    seen.starts = Some(simulation.now());
    let known = simulation.engine().state().jobs().get(job);
    let on = known.and_then(|known| known.assignment.as_ref());
    seen.on = on.map(|on| Names::of(&scene.engine, scene.epoch).place(on));
    let ended = |simulation: &Simulation| simulation.records()[job].ended.is_some();
    let whole = budget.until(simulation, ended) || !budget.is_spent();
    let record = &simulation.records()[job];
    // If it could not be watched to its end, it ends as it does if nobody disturbs it.
    let undisturbed = (record.pace > 0.0).then(|| record.finish());
    seen.ends = record.ended.or(undisturbed);
    (seen, whole)
}

fn summed_up(scene: &Scene, job: JobId, seen: &[Seen], cut: u32) -> Forecast {
    let mut assumes = scene.assumptions();
    let count = seen.len();
    let never = seen.iter().filter(|seen| seen.starts.is_none()).count();
    if cut > 0 {
        assumes.push(format!("{cut} of {count} futures were not followed to the job's end"));
    }
    if never > 0 {
        assumes.push(format!("in {never} of {count} futures it was not seen to start"));
    }
    let quantile = |of: &dyn Fn(&Seen) -> Option<Time>, part: f64| {
        let mut times: Vec<Time> = seen.iter().map(|seen| of(seen).unwrap_or(Time::MAX)).collect();
        times.sort_unstable();
        let rank = ((part * times.len() as f64).ceil() as usize).max(1) - 1;
        times.get(rank).filter(|time| **time < Time::MAX).map(|time| scene.seconds(*time))
    };
    let (starts, ends) = (|seen: &Seen| seen.starts, |seen: &Seen| seen.ends);
    let between = (quantile(&starts, 0.1), quantile(&starts, 0.9));
    Forecast {
        never: None,
        job: job.0,
        starts: quantile(&starts, 0.5),
        between: between.0.zip(between.1),
        ends: quantile(&ends, 0.5),
        on: most_often(seen),
        futures: count as u32,
        assumes,
        calibration: heeler_api::Calibration::default(),
    }
}

/// Where it starts in most futures.
fn most_often(seen: &[Seen]) -> Option<String> {
    let places: Vec<&String> = seen.iter().filter_map(|seen| seen.on.as_ref()).collect();
    let times = |place: &&String| places.iter().filter(|other| *other == place).count();
    places.iter().rev().max_by_key(|place| times(place)).map(|place| (*place).clone())
}

impl Scene {
    /// A job that is handed in now, as long as it is drawn to run in a future.
    pub(super) fn arrives(&self, newcomer: &Newcomer, job: JobId, future: u32) -> TraceJob {
        let mut chance = Chance::new(self.seed, future, job.0);
        let left = self.past.left(&newcomer.hint, &mut chance).micros() as f64;
        let work = left * newcomer.spec.nominal_pace;
        TraceJob::new(self.now(), newcomer.spec.clone().with_truth(Truth { work }))
    }
}
