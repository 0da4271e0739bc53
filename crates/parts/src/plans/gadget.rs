//! GADGET (Yu et al., INFOCOM 2022): in every slot, workers go one step at a time to the job whose
//! utility grows most by them. Utility is concave in the work that was done and grows no further
//! once the job is done; rings are kept on few nodes.

use super::{Reckoning, Utility};
use crate::goodput::{Allot, Candidate, Room, Shape, Shapes, speed};
use heeler_engine::{Predict, View};
use heeler_model::Span;

/// Seconds of work that is assumed to be left of a job of which nobody can tell.
const UNKNOWN_S: f64 = 3600.0;

/// Workers where they are worth most.
pub struct Gadget {
    /// How bent utility is: with 0, all work counts the same.
    pub bend: f64,
    /// When jobs would end.
    pub reckoning: Reckoning,
    /// How long a slot is.
    pub slot: Span,
}

/// What a job may have: the sizes of a kind, smallest first, with what each adds to its utility.
struct Steps {
    /// By kind.
    kinds: Vec<Vec<(Shape, f64)>>,
    /// What it has by now: which kind, and how many of its steps.
    has: Option<(usize, usize)>,
}

impl Steps {
    /// The shapes that it could have next, and what they add to what it has.
    fn next(&self) -> Vec<(usize, usize, Shape, f64, u32)> {
        let step = |kind: usize, at: usize, gain: f64, gpus: u32| {
            let (shape, worth) = *self.kinds[kind].get(at)?;
            Some((kind, at, shape, worth - gain, shape.gpus - gpus))
        };
        match self.has {
            Some((kind, at)) => {
                let (shape, worth) = self.kinds[kind][at];
                step(kind, at + 1, worth, shape.gpus).into_iter().collect()
            }
            None => (0..self.kinds.len()).filter_map(|kind| step(kind, 0, 0.0, 0)).collect(),
        }
    }

    fn shape(&self) -> Option<Shape> {
        self.has.map(|(kind, at)| self.kinds[kind][at].0)
    }
}

impl Gadget {
    /// Utility of a part of a job's work, from 0 to 1.
    fn utility(&self, part: f64) -> f64 {
        let part = part.clamp(0.0, 1.0);
        if self.bend == 0.0 { part } else { (self.bend * part).ln_1p() / self.bend.ln_1p() }
    }

    fn steps(&self, candidate: &Candidate, shapes: &Shapes, view: &View) -> Steps {
        let job = candidate.job;
        let done = job.progress.done_at(view.now());
        let sizes = shapes.for_job(job, u32::MAX, view);
        let fastest = sizes.iter().map(|s| speed(candidate, *s, shapes, view)).fold(0.0, f64::max);
        let work = self.reckoning.predict.work(job, view).unwrap_or(done + fastest * UNKNOWN_S);
        // A job that outlives its prediction has a slot's work left, or it would never run again.
        let work = if work > done { work } else { done + fastest * self.slot.secs_f64() };
        let work = work.max(f64::MIN_POSITIVE);
        let before = self.utility(done / work);
        let mut kinds: Vec<Vec<(Shape, f64)>> = vec![Vec::new(); shapes.up().len()];
        for shape in sizes {
            let start_s = self.reckoning.start_s(candidate, shape);
            let time_s = (self.slot.secs_f64() - start_s).max(self.slot.secs_f64() / 10.0);
            let more = speed(candidate, shape, shapes, view) * time_s;
            let gain = self.utility((done + more) / work) - before;
            let worth = gain * Utility::value(&job.spec);
            let list = &mut kinds[shape.kind.index()];
            if worth > 0.0 && list.last().is_none_or(|last| worth > last.1 + 1e-12) {
                list.push((shape, worth));
            }
        }
        kinds.retain(|list| !list.is_empty());
        Steps { kinds, has: None }
    }
}

impl Allot for Gadget {
    fn allot(&self, jobs: &[Candidate], view: &View) -> Vec<Option<Shape>> {
        let shapes = Shapes::of(view);
        let mut room = Room::of(&shapes, jobs);
        let mut steps: Vec<Option<Steps>> =
            jobs.iter().map(|job| (!job.pinned).then(|| self.steps(job, &shapes, view))).collect();
        loop {
            let mut best: Option<(f64, usize, (usize, usize, Shape))> = None;
            for (index, own) in steps.iter().enumerate() {
                for (kind, at, shape, gain, gpus) in own.iter().flat_map(Steps::next) {
                    let rate = gain / f64::from(gpus.max(1));
                    let mut more = room.clone();
                    own.as_ref().and_then(Steps::shape).into_iter().for_each(|has| {
                        more.give(&jobs[index], has);
                    });
                    let better = best.is_none_or(|(known, ..)| rate > known);
                    if better && more.has(&jobs[index], shape) {
                        best = Some((rate, index, (kind, at, shape)));
                    }
                }
            }
            let Some((_, index, (kind, at, shape))) = best else { break };
            let own = steps[index].as_mut().expect("it had a next step");
            own.shape().into_iter().for_each(|has| room.give(&jobs[index], has));
            room.take(&jobs[index], shape);
            own.has = Some((kind, at));
        }
        let shape = |(candidate, own): (&Candidate, &Option<Steps>)| match own {
            Some(own) => own.shape(),
            None => candidate.current,
        };
        jobs.iter().zip(&steps).map(shape).collect()
    }

    fn predictor(&self) -> Option<&dyn Predict> {
        Some(&*self.reckoning.predict)
    }

    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        Some(&mut *self.reckoning.predict)
    }

    fn fork(&self) -> Box<dyn Allot> {
        Box::new(Gadget { reckoning: self.reckoning.fork(), ..*self })
    }
}
