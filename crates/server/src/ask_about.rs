//! Questions about what is to come: what they need is copied from the live state in a moment, and
//! they are answered when the loop waits no more.

use crate::board::Board;
use crate::foresee::{self, Elsewise, Hint, Names, Newcomer, Past, Ran, Scene};
use heeler_api::{
    Forecast, Helps, Problem, RecipeChange, Submission, WhatIf, WhatIfAnswer, Who, Why,
};
use heeler_engine::Engine;
use heeler_live::{Live, Measured, Outlook};
use heeler_model::{JobId, Time};
use heeler_sim::Before;
use heeler_sim::world::{Cost, Costs};

/// Jobs that are over whose run times are looked at.
const PAST_RUNS: usize = 2_000;

/// A question that can be answered without the live state.
pub(crate) type Question<T> = Box<dyn FnOnce(&Board) -> Result<T, Problem> + Send>;

/// Why a job waits.
pub(crate) fn why(live: &Live, who: &Who, job: u32) -> Result<Question<Why>, Problem> {
    let (engine, epoch) = (engine(live), live.epoch());
    let view = live.job(who, job)?;
    let state = crate::metrics::name(view.state);
    let closed = closed(live, view.gpus);
    Ok(Box::new(move |_| {
        let names = Names::of(&engine, epoch);
        let mut why = Why { state, ..foresee::why(&engine, &names, epoch, JobId(job)) };
        if why.reason.as_ref().is_some_and(|reason| reason.name == "not-enough-free") {
            why.helps.extend(closed);
        }
        Ok(why)
    }))
}

/// Nodes that take no new jobs though so many of their GPUs are free.
fn closed(live: &Live, gpus: u32) -> Vec<Helps> {
    let nodes = live.nodes().into_iter().filter(|node| node.state.starts_with("drain"));
    let roomy = nodes.filter(|node| node.free_milli >= gpus.max(1) * 1_000);
    let help = |node: heeler_api::NodeView| Helps {
        change: format!("{} takes no new jobs; heeler undrain {}", node.name, node.name),
        on: node.name,
        stops: Vec::new(),
    };
    roomy.map(help).collect()
}

/// When a job will start.
pub(crate) fn when(live: &Live, job: u32) -> Question<Forecast> {
    let (scene, known) = (scene(live), Known::of(live));
    Box::new(move |board| {
        let mut forecast = foresee::when(&known.add_to(scene), JobId(job));
        board.estimates().give(&mut forecast);
        Ok(forecast)
    })
}

/// When a job would start that is not handed in.
pub(crate) fn test_only(
    live: &Live,
    who: &Who,
    job: Submission,
    at: Time,
) -> Result<Question<Forecast>, Problem> {
    let newcomer = newcomer(live, who, job, at)?;
    let never = live.never_starts(&newcomer.spec.demand);
    let (scene, known) = (scene(live), Known::of(live));
    Ok(Box::new(move |board| {
        let mut forecast = foresee::test_only(&known.add_to(scene), &newcomer);
        forecast.never = never;
        board.estimates().give(&mut forecast);
        Ok(forecast)
    }))
}

/// What would come if things were otherwise.
pub(crate) fn what_if(
    live: &Live,
    who: &Who,
    asked: WhatIf,
    at: Time,
) -> Result<Question<WhatIfAnswer>, Problem> {
    let job = asked.job.clone();
    let newcomer = job.map(|job| newcomer(live, who, job, at)).transpose()?;
    let policy = match &asked.recipe {
        Some(name) => {
            let knobs = asked.knobs.clone();
            Some(live.policy_of(&RecipeChange { name: Some(name.clone()), card: None, knobs })?)
        }
        None => None,
    };
    let elsewise = Elsewise { asked, policy, in_charge: live.policy(), newcomer };
    let (scene, known) = (scene(live), Known::of(live));
    Ok(Box::new(move |_| foresee::whatif(&known.add_to(scene), elsewise)))
}

fn newcomer(live: &Live, who: &Who, job: Submission, at: Time) -> Result<Newcomer, Problem> {
    let job = live.check_submission(who, job, at)?;
    let spec = live.imagined(&job, &who.user);
    Ok(Newcomer { spec, hint: hint(Outlook::of(&who.user, &job)) })
}

/// A copy of the engine as of now: jobs have run on since something last happened.
fn engine(live: &Live) -> Engine {
    let mut engine = live.engine().fork();
    engine.pass(live.seen());
    engine
}

/// The part that has to be copied while the loop waits.
fn scene(live: &Live) -> Scene {
    Scene { seed: live.digest(), ..Scene::of(engine(live), live.epoch()) }
}

/// What is known of jobs, as it was copied.
struct Known {
    now: Vec<Outlook>,
    past: Vec<Outlook>,
    measured: Measured,
}

impl Known {
    fn of(live: &Live) -> Known {
        let (now, past) = (live.outlooks(), live.past_runs(PAST_RUNS));
        Known { now, past, measured: live.measured() }
    }

    fn add_to(self, mut scene: Scene) -> Scene {
        scene.hints = self.now.into_iter().map(|known| (known.job, hint(known))).collect();
        scene.past = Past::of(self.past.into_iter().map(|known| Ran {
            alike: known.alike,
            owner: known.owner,
            ran: known.ran,
            expected: known.expected,
            limit: known.limit,
        }));
        scene.costs = costs(self.measured);
        scene
    }
}

/// What was measured, as the modelled world has it; what was never seen takes no time.
fn costs(measured: Measured) -> Costs {
    let cost = |seconds: Option<f64>| Cost::fixed(seconds.unwrap_or(0.0));
    let restore = cost(measured.resume_s.or(measured.start_s));
    Costs {
        start: cost(measured.start_s),
        save: cost(measured.stop_s),
        restore,
        relocate: restore,
        resize: restore,
        ..Costs::default()
    }
}

fn hint(known: Outlook) -> Hint {
    let Outlook { begins, ends, until, line, .. } = known;
    // Whoever waits for something else as well stands in no line yet.
    let alone = begins.is_empty() && ends.is_empty() && until.is_none();
    let line_ahead = line.filter(|_| known.in_line && alone);
    let before = Before { begins, ends, until, line: line_ahead };
    Hint {
        alike: known.alike,
        owner: known.owner,
        expected: known.expected,
        limit: known.limit,
        ran: known.ran,
        left: known.left,
        before: known.waits.then_some(before),
        line,
    }
}
