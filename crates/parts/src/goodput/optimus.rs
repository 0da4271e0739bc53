//! Optimus (Peng et al., EuroSys 2018): everybody has the least it can use, in the order they came;
//! then one GPU after the other goes to whom it saves most time. How much is left is told by a
//! predictor, such as one that fits loss curves; how long a step takes on more GPUs by a curve that
//! is fitted to what the job reported, or by a profile that was measured before.

use super::growth::Growth;
use super::rounds::{Allot, Candidate, Settling};
use super::shapes::{Shape, Shapes};
use super::speed::{left, speed};
use heeler_engine::{Predict, View};
use heeler_model::KindId;
use heeler_solve::fit_nonnegative;
use serde_json::Value;

/// Seconds of work that are taken to be left of a job of which nobody can tell.
const UNKNOWN_S: f64 = 3600.0;

/// Optimus' greedy choice.
pub struct Optimus {
    /// Who says how much is left of a job.
    pub predict: Box<dyn Predict>,
    /// Whether profiles say how jobs go, where there are some.
    pub profiled: bool,
    /// Which GPUs.
    pub settling: Settling,
}

/// What is known of how long a job has yet to run.
enum Outlook {
    /// So many steps, each as long as a profile says.
    Profiled { steps: f64 },
    /// So many units of work, in steps as long as was fitted to reports.
    Expected { work: f64, fitted: Option<[f64; 3]> },
}

/// Seconds of a step as a sum of what the GPUs share, what is always the same, and what every
/// further GPU adds; none before two sizes were seen.
fn fitted(candidate: &Candidate, kind: KindId) -> Option<[f64; 3]> {
    let batch = candidate.job.spec.batch().filter(|batch| !batch.adapts && batch.asked > 0)?;
    let steps = candidate.learned.steps(kind, batch.asked);
    let first = steps.first()?.0;
    let several = steps.iter().any(|(gpus, _)| *gpus != first);
    let row = |(gpus, _): &(u32, f64)| vec![1.0 / f64::from(*gpus), 1.0, f64::from(*gpus)];
    let rows: Vec<Vec<f64>> = steps.iter().map(row).collect();
    let times: Vec<f64> = steps.iter().map(|(_, step_s)| *step_s).collect();
    several.then(|| fit_nonnegative(&rows, &times))?.try_into().ok()
}

fn step_s(fitted: &[f64; 3], gpus: u32) -> f64 {
    let gpus = f64::from(gpus);
    fitted[0] / gpus + fitted[1] + fitted[2] * gpus
}

impl Optimus {
    fn outlook(&self, candidate: &Candidate, kind: KindId, view: &View) -> Outlook {
        let job = candidate.job;
        let done = job.progress.done_at(view.now());
        match job.spec.course().filter(|_| self.profiled) {
            Some(course) => Outlook::Profiled { steps: course.left_after_epoch(done) },
            None => {
                let nominal = job.spec.nominal_pace * 1e6 * UNKNOWN_S;
                // Who outlives what was predicted is one of whom nobody can tell.
                let told = left(&*self.predict, job, 0.0, view).filter(|work| *work > 0.0);
                let work = told.unwrap_or(nominal);
                Outlook::Expected { work, fitted: fitted(candidate, kind) }
            }
        }
    }
}

/// Seconds that a job saves by another shape.
fn saves_s(
    candidate: &Candidate,
    outlook: &Outlook,
    (from, to): (Shape, Shape),
    shapes: &Shapes,
    view: &View,
) -> f64 {
    match outlook {
        Outlook::Profiled { steps } => {
            let course = candidate.job.spec.course();
            let each = |shape: Shape| course?.step_s(shape.kind.index(), shape.gpus);
            each(from).zip(each(to)).map_or(0.0, |(from, to)| (from - to) * steps)
        }
        Outlook::Expected { work, fitted } => {
            let pace = candidate.job.progress.pace * 1e6;
            let current = candidate.current.filter(|has| has.kind == from.kind && pace > 0.0);
            let speed = |shape: Shape| match (fitted, current) {
                (Some(fitted), Some(has)) => {
                    pace * step_s(fitted, has.gpus) / step_s(fitted, shape.gpus)
                }
                _ => speed(candidate, shape, shapes, view),
            };
            let (slow, fast) = (speed(from), speed(to));
            if slow > 0.0 && fast > 0.0 { work / slow - work / fast } else { 0.0 }
        }
    }
}

impl Allot for Optimus {
    fn allot(&self, jobs: &[Candidate], view: &View) -> Vec<Option<Shape>> {
        let mut growth = Growth::new(jobs, view);
        let order: Vec<usize> = (0..jobs.len()).collect();
        growth.start(&order, view);
        let outlook =
            |index: usize| growth.kind(index).map(|kind| self.outlook(&jobs[index], kind, view));
        let outlooks: Vec<Option<Outlook>> = (0..jobs.len()).map(outlook).collect();
        growth.grow(|index, from, to, shapes| {
            let outlook = outlooks[index].as_ref();
            outlook.map_or(0.0, |known| saves_s(&jobs[index], known, (from, to), shapes, view))
        })
    }

    fn settling(&self) -> Settling {
        self.settling
    }

    /// What the predictor knows was saved here once.
    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        if saved.is_null() { Ok(()) } else { self.predict.restore(saved) }
    }

    fn predictor(&self) -> Option<&dyn Predict> {
        Some(&*self.predict)
    }

    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        Some(&mut *self.predict)
    }

    fn fork(&self) -> Box<dyn Allot> {
        Box::new(Optimus { predict: self.predict.fork(), ..*self })
    }
}
