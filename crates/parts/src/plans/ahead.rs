//! Planned ahead at prices: when a job comes, GPUs of every kind have a price in every slot to
//! come, which rises exponentially with how much of them is reserved. The job's best plan at these
//! prices is reserved for good if it is worth more than it costs; otherwise the job is refused
//! (OASiS: Bao et al., INFOCOM 2018; A-online: the same with another worth).

use super::programme::{Best, Choice, Slot, best_plan};
use super::utility::Utility;
use crate::goodput::{Allot, Candidate, Room, Shape, Shapes, left};
use crate::leases::Calendar;
use crate::shares::rate;
use heeler_engine::{Job, Phase, Predict, View};
use heeler_model::{JobId, KindId, Reason, Span, Stop, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a job is reckoned to do in a step of its slowest size is cut into so many parts.
const PARTS_PER_STEP: f64 = 2.0;
/// A job that takes more slots than this, as it asked to run, is planned for in steps of several.
const STEPS_MAX: f64 = 64.0;

/// How a job stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Standing {
    /// What it has in which slots.
    Planned(BTreeMap<u64, (KindId, u32)>),
    /// It was refused: what it was worth and would have cost, in thousandths.
    Refused { worth: u64, price: Option<u64> },
    /// Nobody can tell how long it is, so it has what is left over.
    Unknown,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    jobs: BTreeMap<JobId, Standing>,
    /// The least and the most that jobs so far were worth, for each GPU and slot.
    worths: Option<(f64, f64)>,
    round: Span,
}

/// Plans made ahead, at prices.
pub struct Ahead {
    /// What jobs are worth.
    pub utility: Utility,
    /// The price of what nobody has reserved, as a part of the least that a job was worth.
    pub floor: f64,
    /// By how much estimates are raised.
    pub margin: f64,
    /// How far ahead plans are made.
    pub horizon: Span,
    /// Who says how long jobs are.
    pub predict: Box<dyn Predict>,
    books: Books,
}

/// A job as it is reckoned with.
struct Asking<'a> {
    job: &'a Job,
    /// Its length as it asked to run, on its best kind.
    length_s: f64,
    /// Slots that are planned for together.
    step: u64,
    /// The sizes it may have, and the parts of its work that each does in a step.
    sizes: Vec<(Shape, u32)>,
    parts: u32,
}

impl Ahead {
    /// Nothing is reserved yet.
    pub fn new(
        utility: Utility,
        (floor, margin): (f64, f64),
        horizon: Span,
        predict: Box<dyn Predict>,
    ) -> Ahead {
        Ahead { utility, floor, margin, horizon, predict, books: Books::default() }
    }

    fn slot(&self, at: Time) -> u64 {
        at.micros() / self.books.round.micros().max(1)
    }

    fn start(&self, slot: u64) -> Time {
        Time::from_micros(slot.saturating_mul(self.books.round.micros()))
    }

    /// What is reserved of each kind, from the present slot on.
    fn calendars(&self, shapes: &Shapes, view: &View) -> Vec<Calendar> {
        let first = self.slot(view.now());
        let mut calendars: Vec<Calendar> =
            shapes.up().iter().map(|gpus| Calendar::new(first, *gpus)).collect();
        for standing in self.books.jobs.values() {
            let Standing::Planned(plan) = standing else { continue };
            for (slot, (kind, gpus)) in plan.range(first..) {
                // Nodes may have gone since.
                let calendar = &mut calendars[kind.index()];
                calendar.take(*slot, (*gpus).min(calendar.free(*slot)));
            }
        }
        calendars
    }

    fn asking<'a>(&self, job: &'a Job, shapes: &Shapes, view: &View) -> Option<Asking<'a>> {
        let plain = job.spec.demand.share.is_whole() && job.spec.replica().is_none();
        let new = !job.is_placed() && job.attained.is_zero();
        let work = left(&*self.predict, job, self.margin, view).filter(|_| plain && new)?;
        let asked = f64::from(job.spec.demand.asked().max(1));
        let slot_s = self.books.round.secs_f64();
        let speed = |shape: &Shape| rate(job, shape.kind, view) * f64::from(shape.gpus) / asked;
        let offered = shapes.for_job(job, u32::MAX, view);
        let speeds: Vec<(Shape, f64)> =
            offered.into_iter().map(|s| (s, speed(&s))).filter(|(_, v)| *v > 0.0).collect();
        let slowest = speeds.iter().map(|(_, v)| *v).fold(f64::INFINITY, f64::min);
        let best = speeds.iter().map(|(s, v)| v * asked / f64::from(s.gpus)).fold(0.0, f64::max);
        let step = (work / (best * slot_s) / STEPS_MAX).ceil().max(1.0);
        let part = slowest * slot_s * step / PARTS_PER_STEP;
        let parts_in = |v: f64| (v * slot_s * step / part + 1e-9) as u32;
        let sizes = speeds.iter().map(|(s, v)| (*s, parts_in(*v))).collect();
        let parts = (work / part).ceil().max(1.0);
        let fits = parts / PARTS_PER_STEP * step <= self.horizon.secs_f64() / slot_s;
        (best > 0.0 && fits).then(|| Asking {
            job,
            length_s: work / best,
            step: step as u64,
            sizes,
            parts: parts as u32,
        })
    }

    /// What a job is worth for each GPU and slot it asks for, were it alone.
    fn density(&self, asking: &Asking, view: &View) -> f64 {
        let end = view.now() + Span::from_secs_f64(asking.length_s);
        let job = asking.job;
        let worth = self.utility.worth(&job.spec, job.submitted, asking.length_s, end);
        let slots = (asking.length_s / self.books.round.secs_f64()).max(1.0);
        worth / (f64::from(job.spec.demand.asked().max(1)) * slots)
    }

    /// The best plan of a job at present prices.
    fn plan(&self, asking: &Asking, calendars: &[Calendar], view: &View) -> Option<Best> {
        let (least, most) = self.books.worths.unwrap_or((1.0, 1.0));
        let (least, most) = (least * self.floor, most.max(least * self.floor));
        let price = |kind: KindId, slot: u64| {
            let calendar = &calendars[kind.index()];
            let used = 1.0 - f64::from(calendar.free(slot)) / f64::from(calendar.capacity().max(1));
            least * (most / least).powf(used)
        };
        let (first, step) = (self.slot(view.now()), asking.step);
        let steps = self.horizon.micros() / (self.books.round.micros().max(1) * step);
        let made = |at: u64| {
            let slots = first + at * step..first + (at + 1) * step;
            let choices = asking.sizes.iter().enumerate().filter_map(|(name, (shape, parts))| {
                let calendar = &calendars[shape.kind.index()];
                let free = slots.clone().all(|slot| calendar.free(slot) >= shape.gpus);
                let each: f64 = slots.clone().map(|slot| price(shape.kind, slot)).sum();
                let cost = each * f64::from(shape.gpus);
                free.then_some(Choice { parts: *parts, cost, name })
            });
            // Plans end with a slot; a job shorter than one ends within it.
            let alone =
                self.start(slots.start).max(view.now()) + Span::from_secs_f64(asking.length_s);
            let is_short = asking.length_s < self.books.round.secs_f64();
            let end = self.start(slots.end);
            let (job, end) = (asking.job, if is_short { end.min(alone) } else { end });
            let worth = self.utility.worth(&job.spec, job.submitted, asking.length_s, end);
            Slot { choices: choices.collect(), worth }
        };
        best_plan(asking.parts, (0..=steps).map(made))
    }

    fn decide(&mut self, job: &Job, shapes: &Shapes, calendars: &mut [Calendar], view: &View) {
        let Some(asking) = self.asking(job, shapes, view) else {
            self.books.jobs.insert(job.id, Standing::Unknown);
            return;
        };
        // A job that is worth nothing any more says nothing of what others are.
        let density = Some(self.density(&asking, view)).filter(|density| *density > 0.0);
        if let Some(density) = density {
            let (least, most) = self.books.worths.unwrap_or((density, density));
            self.books.worths = Some((least.min(density), most.max(density)));
        }
        let first = self.slot(view.now());
        let best = self.plan(&asking, calendars, view);
        let milli = |amount: f64| (amount * 1000.0).round() as u64;
        let standing = match best {
            Some(best) if best.payoff() > 0.0 => {
                let mut plan = BTreeMap::new();
                for (at, name) in best.uses {
                    let (shape, from) = (asking.sizes[name].0, first + at as u64 * asking.step);
                    for slot in from..from + asking.step {
                        calendars[shape.kind.index()].take(slot, shape.gpus);
                        plan.insert(slot, (shape.kind, shape.gpus));
                    }
                }
                Standing::Planned(plan)
            }
            Some(best) => {
                Standing::Refused { worth: milli(best.worth), price: Some(milli(best.cost)) }
            }
            None => Standing::Refused { worth: milli(Utility::value(&job.spec)), price: None },
        };
        self.books.jobs.insert(job.id, standing);
    }
}

impl Allot for Ahead {
    fn allot(&self, jobs: &[Candidate], view: &View) -> Vec<Option<Shape>> {
        let shapes = Shapes::of(view);
        let slot = self.slot(view.now());
        let mut room = Room::of(&shapes, jobs);
        let mut given: Vec<Option<Shape>> = Vec::with_capacity(jobs.len());
        for candidate in jobs {
            let planned = match self.books.jobs.get(&candidate.job.id) {
                Some(Standing::Planned(plan)) => plan.get(&slot).copied(),
                _ => None,
            };
            let shape = planned.map(|(kind, gpus)| shapes.fewest_nodes(kind, gpus));
            let shape = if candidate.pinned { candidate.current } else { shape };
            if let Some(shape) = shape.filter(|_| !candidate.pinned) {
                room.take(candidate, shape);
            }
            given.push(shape);
        }
        // Whoever has not ended as planned, or could not be planned for, has what is left.
        for (candidate, given) in jobs.iter().zip(&mut given) {
            let free = match self.books.jobs.get(&candidate.job.id) {
                Some(Standing::Planned(plan)) => plan.keys().next_back() < Some(&slot),
                Some(Standing::Unknown) => true,
                Some(Standing::Refused { .. }) | None => false,
            };
            if free && given.is_none() {
                let asked = candidate.job.spec.demand.asked();
                let sizes = shapes.for_job(candidate.job, asked, view);
                let fits = |shape: &&Shape| room.has(candidate, **shape);
                let kept = candidate.current.filter(|shape| room.has(candidate, *shape));
                *given = kept.or_else(|| sizes.iter().rev().find(fits).copied());
                given.iter().for_each(|shape| room.take(candidate, *shape));
            }
        }
        given
    }

    fn begin(&mut self, round: Span, view: &View) {
        self.books.round = round;
        let known = |job: &&Job| !self.books.jobs.contains_key(&job.id);
        let counts = |job: &&Job| {
            let gpus = job.spec.demand.asked() > 0;
            gpus && job.leaving.is_none() && job.phase != Phase::Blocked
        };
        let mut new: Vec<&Job> = view.state().jobs().iter().filter(known).filter(counts).collect();
        if new.is_empty() {
            return;
        }
        new.sort_by_key(|job| (job.submitted, job.id));
        let shapes = Shapes::of(view);
        let mut calendars = self.calendars(&shapes, view);
        for job in new {
            self.decide(job, &shapes, &mut calendars, view);
        }
    }

    fn left(&mut self, job: JobId) {
        self.books.jobs.remove(&job);
    }

    fn ends(&self, view: &View) -> Vec<Stop> {
        let over = |(id, standing): (&JobId, &Standing)| match *standing {
            Standing::Refused { worth, price } if view.state().jobs().knows(*id) => {
                Some(Stop { job: *id, reason: Reason::NotWorthIt { worth, price } })
            }
            _ => None,
        };
        self.books.jobs.iter().filter_map(over).collect()
    }

    fn why(&self, job: &Job, view: &View) -> Option<Reason> {
        let Standing::Planned(plan) = self.books.jobs.get(&job.id)? else { return None };
        let (from, last) =
            (plan.keys().find(|at| **at > self.slot(view.now()))?, plan.keys().max()?);
        Some(Reason::Planned { from: self.start(*from), by: self.start(last + 1) })
    }

    fn save(&self) -> Value {
        serde_json::to_value(&self.books).expect("plain data")
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.books = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn predictor(&self) -> Option<&dyn Predict> {
        Some(&*self.predict)
    }

    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        Some(&mut *self.predict)
    }

    fn fork(&self) -> Box<dyn Allot> {
        Box::new(Ahead {
            predict: self.predict.fork(),
            books: self.books.clone(),
            utility: self.utility,
            ..*self
        })
    }
}
