//! ANDREAS (Filippini et al., FiCloud 2021): which job runs in which shape, or is put off, so that
//! energy and being late cost least together. Looked for by a randomised greedy search: jobs one
//! after the other, those first that are nearest to being late, each in the cheapest shape in which
//! it ends in time, and if there is none, in the one that costs it least; then again with the order
//! and the choices disturbed at random, and the cheapest of all is taken. Who runs and is put off
//! has to start again, which costs time and energy, so nobody gives way unless that saves more:
//! what is better has to be better than to let everybody go on.

use super::Reckoning;
use crate::goodput::{Allot, Candidate, Room, Shape, Shapes, left, speed};
use heeler_engine::{Job, Predict, View};
use heeler_model::{Milli, Reason, Span, Time};
use rand::RngExt;
use smallvec::SmallVec;
use std::cell::{OnceCell, RefCell};

/// Seconds that are assumed to be left of a job of which nobody can tell.
const UNKNOWN_S: f64 = 3600.0;

/// Watts of a GPU of which nobody said: then GPU hours are what counts.
const UNKNOWN_WATTS: f64 = 300.0;

/// Costs that differ by no more than this part are the same.
const EVEN: f64 = 1e-9;

/// Energy and being late, together cheap.
pub struct Andreas {
    /// What a kilowatt hour costs.
    pub energy: f64,
    /// What an hour that a job is late costs, for each GPU it asked for.
    pub late: f64,
    /// How often it is tried with a disturbed order.
    pub tries: u32,
    /// How long a job that is put off waits at least.
    pub round: Span,
    /// When jobs would end.
    pub reckoning: Reckoning,
}

/// What a job could have, and what that would save beside putting it off.
#[derive(Clone, Copy)]
struct Offer {
    shape: Shape,
    /// Thousandths of GPUs that it takes.
    takes: u64,
    saves: f64,
}

/// What came of one pass: what it saves, and who has which shape.
#[derive(Default)]
struct Found {
    saved: f64,
    given: Vec<(usize, Shape)>,
}

impl Found {
    fn is_better_than(&self, other: &Found) -> bool {
        self.saved > other.saved * (1.0 + EVEN)
    }
}

/// Jobs to go through, and what they can have. Most of those who wait are never reached, so what
/// they are offered is reckoned when somebody asks.
struct Search<'a> {
    andreas: &'a Andreas,
    jobs: &'a [Candidate<'a>],
    shapes: &'a Shapes,
    view: &'a View<'a>,
    /// Who is nearest to being late comes first.
    order: Vec<usize>,
    offers: Vec<OnceCell<Vec<Offer>>>,
    room: Room,
    /// The least that anybody takes of each kind, thousandths of GPUs.
    least: Vec<u64>,
}

fn due(job: &Job) -> Option<Time> {
    job.spec.deadlines().last().map(|deadline| deadline.at)
}

impl Andreas {
    /// What it costs a job to end so many seconds from now.
    fn lateness(&self, candidate: &Candidate, end_s: f64, view: &View) -> f64 {
        let job = candidate.job;
        // Who has no deadline is late by all the time that it takes, at a tenth of the price.
        let (from, part) = due(job).map_or((job.submitted, 0.1), |due| (due, 1.0));
        let end = view.now() + Span::from_secs_f64(end_s);
        let late_h = end.since(from).secs_f64() / 3600.0;
        late_h * part * self.late * f64::from(job.spec.demand.asked().max(1))
    }

    /// What a job can have that is no worse than to wait, the best first: shapes in which it ends
    /// in time, the cheapest first, and then those in which it is late.
    fn offers(&self, candidate: &Candidate, shapes: &Shapes, view: &View) -> Vec<Offer> {
        let (job, reckoning) = (candidate.job, &self.reckoning);
        let work = left(&*reckoning.predict, job, reckoning.margin, view);
        let again_s = reckoning.restart_s(job) * self.caution(candidate);
        let (mut put_off, mut to_stay) = (f64::INFINITY, 0.0);
        let mut costs: SmallVec<[(bool, f64, Shape); 4]> = SmallVec::new();
        for shape in shapes.for_job(job, u32::MAX, view) {
            let speed = speed(candidate, shape, shapes, view);
            if speed <= 0.0 {
                continue;
            }
            let stays = candidate.current.is_some_and(|current| current.is_like(shape));
            let runs_s = work.map_or(UNKNOWN_S, |work| work / speed);
            let anew_s = again_s + runs_s;
            let needs_s = if stays { runs_s } else { anew_s };
            let watts = match view.fleet().cluster().kinds[shape.kind.index()].watts {
                0 => UNKNOWN_WATTS,
                watts => f64::from(watts),
            };
            let energy =
                |seconds: f64| watts * f64::from(shape.gpus) * seconds / 3.6e6 * self.energy;
            let end = view.now() + Span::from_secs_f64(needs_s);
            let is_late = due(job).is_some_and(|due| end > due);
            let cost = energy(needs_s) + self.lateness(candidate, needs_s, view);
            costs.push((is_late, cost, shape));
            to_stay = if stays { cost } else { to_stay };
            // Whoever is put off starts again, in whatever shape.
            let later_s = anew_s + self.round.secs_f64();
            put_off = put_off.min(energy(anew_s) + self.lateness(candidate, later_s, view));
        }
        // Whoever can be in time is not put off for being late to be cheaper.
        let in_time = costs.iter().filter(|(is_late, ..)| !is_late).map(|(_, cost, _)| *cost);
        put_off = in_time.min_by(f64::total_cmp).map_or(put_off, |least| put_off.max(least));
        // Nor is anybody who runs stopped to wait for what is cheaper and may never come free.
        put_off = put_off.max(to_stay);
        costs.retain(|(_, cost, _)| *cost <= put_off * (1.0 + EVEN));
        let by_gpus = |a: &Shape, b: &Shape| a.gpus.cmp(&b.gpus);
        costs.sort_by(|a, b| {
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then_with(|| by_gpus(&a.2, &b.2))
        });
        ranked(&costs, put_off, job.spec.demand.share)
    }

    /// By how much what starting again takes a job is raised. A job that runs moves or gives way
    /// only where that is better even if it takes twice as long as was reckoned: a job that saved
    /// energy with a deadline near would come to be late by what was not reckoned, hurry back, have
    /// time to spare once more, and so go to and fro.
    fn caution(&self, candidate: &Candidate) -> f64 {
        if candidate.current.is_some() { 2.0 } else { 1.0 }
    }

    /// Seconds by which a job would be late at best; below zero, to spare.
    fn pressure(&self, candidate: &Candidate, shapes: &Shapes, view: &View) -> f64 {
        let Some(due) = due(candidate.job) else { return 0.0 };
        let soonest = shapes.for_job(candidate.job, u32::MAX, view).into_iter().filter_map(|s| {
            let runs = speed(candidate, s, shapes, view) > 0.0;
            let needs_s = self.reckoning.needs_s(candidate, s, shapes, view);
            runs.then_some(needs_s.unwrap_or(UNKNOWN_S))
        });
        let soonest_s = soonest.fold(UNKNOWN_S * 1e6, f64::min);
        view.now().secs_f64() + soonest_s - due.secs_f64()
    }
}

/// Offers in the order in which they are wanted, and what each saves beside putting the job off.
/// Being late never counts for more than being in time would, so nobody is late to save for itself.
fn ranked(costs: &[(bool, f64, Shape)], put_off: f64, share: Milli) -> Vec<Offer> {
    let mut saves = f64::INFINITY;
    let offer = |(_, cost, shape): &(bool, f64, Shape)| {
        saves = saves.min(put_off - cost);
        Offer { shape: *shape, takes: u64::from(shape.gpus) * u64::from(share.0), saves }
    };
    costs.iter().map(offer).collect()
}

/// Neighbours change places here and there, so the first stay near the front.
fn disturbed(
    order: impl Iterator<Item = usize>,
    mut chance: impl FnMut() -> bool,
) -> impl Iterator<Item = usize> {
    let mut order = order.fuse();
    let mut held = order.next();
    std::iter::from_fn(move || match order.next() {
        Some(next) if chance() => Some(next),
        next => std::mem::replace(&mut held, next),
    })
}

impl<'a> Search<'a> {
    fn new(
        andreas: &'a Andreas,
        jobs: &'a [Candidate<'a>],
        shapes: &'a Shapes,
        view: &'a View<'a>,
    ) -> Search<'a> {
        let open = (0..jobs.len()).filter(|index| !jobs[*index].pinned);
        let mut pressed: Vec<(f64, usize)> =
            open.map(|index| (andreas.pressure(&jobs[index], shapes, view), index)).collect();
        pressed.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let order: Vec<usize> = pressed.into_iter().map(|(_, index)| index).collect();
        let mut least = vec![u64::MAX; shapes.up().len()];
        for demand in order.iter().map(|index| &jobs[*index].job.spec.demand) {
            let takes = u64::from(demand.sizes.min.max(1)) * u64::from(demand.share.0);
            for kind in demand.kinds.iter(least.len()) {
                least[kind.index()] = takes.min(least[kind.index()]);
            }
        }
        let offers = vec![OnceCell::new(); jobs.len()];
        let room = Room::of(shapes, jobs);
        Search { andreas, jobs, shapes, view, order, offers, room, least }
    }

    fn offers(&self, index: usize) -> &[Offer] {
        let make = || self.andreas.offers(&self.jobs[index], self.shapes, self.view);
        self.offers[index].get_or_init(make)
    }

    /// The best that is found.
    fn best(&self) -> Found {
        let order = || self.order.iter().copied();
        let running =
            |runs: bool| order().filter(move |at| self.jobs[*at].current.is_some() == runs);
        // Those who run first: nobody stops for what is no better.
        let (mut best, all) = self.pass(running(true).chain(running(false)), || false);
        // Nothing is better than that everybody has what is best for it.
        if all {
            return best;
        }
        let (pressed, _) = self.pass(order(), || false);
        if pressed.is_better_than(&best) {
            best = pressed;
        }
        let random = RefCell::new(self.view.rng("andreas"));
        let below = |part: f64| random.borrow_mut().random::<f64>() < part;
        for _ in 0..self.andreas.tries {
            let (found, _) = self.pass(disturbed(order(), || below(0.3)), || below(0.1));
            if found.is_better_than(&best) {
                best = found;
            }
        }
        best
    }

    /// One pass: jobs in an order, each in the best shape that is left, or in the next one if
    /// chance will have it so; and whether everybody has its best.
    fn pass(
        &self,
        order: impl Iterator<Item = usize>,
        mut chance: impl FnMut() -> bool,
    ) -> (Found, bool) {
        let (mut room, mut found) = (self.room.clone(), Found::default());
        let mut all = true;
        let mut order = order;
        while !room.is_below(&self.least) {
            let Some(index) = order.next() else { return (found, all) };
            let offers = self.offers(index);
            let mut fitting = offers.iter().filter(|offer| room.left(offer.shape) >= offer.takes);
            let first = fitting.next();
            // Only who has a choice leaves it to chance.
            let picked = match offers.len() > 1 && chance() {
                true => fitting.next().or(first),
                false => first,
            };
            all &= offers.first().map(|offer| offer.shape) == picked.map(|offer| offer.shape);
            if let Some(offer) = picked {
                room.take_milli(offer.shape, offer.takes);
                found.given.push((index, offer.shape));
                found.saved += offer.saves;
            }
        }
        let rest = order.next().is_none();
        (found, all && rest)
    }
}

impl Allot for Andreas {
    fn allot(&self, jobs: &[Candidate], view: &View) -> Vec<Option<Shape>> {
        let shapes = Shapes::of(view);
        let best = Search::new(self, jobs, &shapes, view).best();
        let pinned = |candidate: &Candidate| candidate.current.filter(|_| candidate.pinned);
        let mut given: Vec<Option<Shape>> = jobs.iter().map(pinned).collect();
        best.given.into_iter().for_each(|(index, shape)| given[index] = Some(shape));
        given
    }

    fn why(&self, job: &Job, view: &View) -> Option<Reason> {
        let asked = due(job)?;
        (asked < view.now()).then_some(Reason::DeadlineLost { asked })
    }

    fn predictor(&self) -> Option<&dyn Predict> {
        Some(&*self.reckoning.predict)
    }

    fn predictor_mut(&mut self) -> Option<&mut dyn Predict> {
        Some(&mut *self.reckoning.predict)
    }

    fn fork(&self) -> Box<dyn Allot> {
        Box::new(Andreas { reckoning: self.reckoning.fork(), ..*self })
    }
}

#[cfg(test)]
mod tests {
    use super::disturbed;

    #[test]
    fn neighbours_change_places_and_nobody_is_lost() {
        let all = |chances: &[bool]| {
            let mut chances = chances.iter();
            let chance = move || chances.next().copied().unwrap_or(false);
            disturbed(0..4, chance).collect::<Vec<_>>()
        };
        assert_eq!(all(&[]), [0, 1, 2, 3]);
        assert_eq!(all(&[true]), [1, 0, 2, 3]);
        assert_eq!(all(&[true, true, true]), [1, 2, 3, 0]);
        assert_eq!(all(&[false, true]), [0, 2, 1, 3]);
        assert_eq!(disturbed(0..0, || true).count(), 0);
    }
}
