//! The policy: who is being tried out and who waits, in order of predicted service.

use super::floor::{Floor, HALF};
use super::pairing::{Alone, Pairing, Residents};
use super::trial::{Trial, could_be_tried};
use crate::predict::LoadForecast;
use heeler_engine::{Calibration, Job, Note, Phase, Policy, Predict, View};
use heeler_model::{Assignment, JobId, Milli, NodeId, Plan, Reason, Stop, Time, Wait};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Where a job stands: predicted service, when it came, its number.
type Place = (i64, Time, JobId);

/// What it remembers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    /// Who waits, in order.
    queue: BTreeSet<Place>,
    /// Predicted service of every job, in thousandths of GPU-seconds.
    keys: BTreeMap<JobId, i64>,
    /// Who has GPUs, in the order they got them.
    placed: BTreeSet<(Time, i64, JobId)>,
    /// Of those, who is being tried out.
    trying: BTreeSet<JobId>,
    /// Who waits for a trial, and until when he does.
    #[serde(default)]
    hopes: BTreeSet<(Time, JobId)>,
    load: LoadForecast,
    stirred: bool,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    books: Books,
    predict: Value,
}

/// Jobs are tried out first.
pub struct Profiled {
    trial: Trial,
    /// Who may share GPUs; nobody, if not given.
    pairing: Option<Pairing>,
    /// GPUs are shared only while more jobs than this are expected in ten minutes.
    quiet: f64,
    predict: Box<dyn Predict>,
    books: Books,
}

/// Keys stay below this, so that they can be multiplied.
const KEY_MAX: f64 = (i64::MAX / 4) as f64;

impl Profiled {
    /// Nothing seen yet.
    pub fn new(
        trial: Trial,
        pairing: Option<Pairing>,
        quiet: f64,
        predict: Box<dyn Predict>,
    ) -> Profiled {
        Profiled { trial, pairing, quiet, predict, books: Books::default() }
    }

    /// Predicted service of a job; more than any other, where nobody can tell.
    fn key(&self, job: &Job, view: &View) -> i64 {
        let seconds = self.predict.work(job, view).map(|work| work / job.spec.nominal_pace / 1e6);
        let gpus = f64::from(job.spec.demand.asked().max(1));
        let service = seconds.map_or(KEY_MAX, |seconds| (seconds * gpus * 1000.0).round());
        service.clamp(0.0, KEY_MAX) as i64
    }

    /// Whether a waiting job is to be tried out before anything else.
    fn is_new(&self, job: &Job, view: &View) -> bool {
        let could = || self.trials(view).any(|node| could_be_tried(job, node, &view.fleet()));
        self.trial.is_for(job) && view.now() < self.trial.hopes_until(job) && could()
    }

    /// The nodes for trials.
    fn trials(&self, view: &View) -> impl Iterator<Item = NodeId> + use<> {
        self.trial.nodes(&view.fleet())
    }

    /// Whether a job with these GPUs is tried out there, on the nodes for trials.
    fn is_a_trial(&self, job: &Job, on: &Assignment, trials: &[NodeId]) -> bool {
        let inside = on.placement.slices().iter().all(|slice| trials.contains(&slice.node));
        inside && self.trial.is_for(job)
    }

    /// When a job that is being tried out has been.
    fn tried_at(&self, job: &Job) -> Time {
        match job.phase {
            Phase::Running => job.since + self.trial.span.saturating_sub(job.attained),
            _ => Time::MAX,
        }
    }

    /// Whether GPUs are shared now.
    fn shares(&self) -> bool {
        let busy = || self.books.load.expected().is_none_or(|jobs| jobs > self.quiet);
        self.pairing.is_some() && (self.quiet <= 0.0 || busy())
    }

    fn joined(&mut self, id: JobId, view: &View) {
        let job = view.job(id);
        if job.started.is_none() && job.submitted == view.now() {
            self.books.load.came(view.now());
        }
        let key = self.key(job, view);
        self.books.keys.insert(id, key);
        self.books.queue.insert((key, job.submitted, id));
        if self.trial.nodes > 0 && self.trial.is_for(job) {
            self.books.hopes.insert((self.trial.hopes_until(job), id));
        }
        self.books.stirred = true;
    }

    fn leaves_queue(&mut self, id: JobId, view: &View) {
        if let Some(key) = self.books.keys.get(&id) {
            self.books.queue.remove(&(*key, view.job(id).submitted, id));
        }
        self.books.hopes.retain(|(_, other)| *other != id);
    }

    fn placed(&mut self, id: JobId, view: &View) {
        self.leaves_queue(id, view);
        self.loses(id);
        let job = view.job(id);
        let key = self.books.keys.get(&id).copied().unwrap_or_default();
        self.books.placed.insert((view.now(), key, id));
        let trials: Vec<NodeId> = self.trials(view).collect();
        if job.assignment.as_ref().is_some_and(|on| self.is_a_trial(job, on, &trials)) {
            self.books.trying.insert(id);
        }
    }

    fn loses(&mut self, id: JobId) {
        self.books.placed.retain(|(.., other)| *other != id);
        self.books.trying.remove(&id);
    }

    /// Jobs that have half of their GPUs, and nobody the other half.
    fn residents<'a>(&self, floor: &Floor, view: &View<'a>) -> Residents<'a> {
        let mut residents = Residents::default();
        for (_, key, id) in &self.books.placed {
            let job = view.state().job(*id);
            let halves = job.assignment.as_ref().filter(|on| on.share == HALF);
            let whole = job.spec.demand.share.is_whole();
            if let Some(on) = halves.filter(|on| whole && floor.is_half_free(&on.placement)) {
                residents.push(Alone { job, key: *key, placement: on.placement.clone() });
            }
        }
        residents
    }

    /// Try out those who are new, fewest GPUs first; nobody passes one for whom there is no room.
    fn try_out(&self, new: &[Place], floor: &mut Floor, view: &View, plan: &mut Plan) {
        let mut new: Vec<&Job> = new.iter().map(|place| view.state().job(place.2)).collect();
        new.sort_by_key(|job| (job.spec.demand.asked(), job.submitted, job.id));
        let mut first: Option<(u32, JobId)> = None;
        for job in new {
            let tried = match &mut first {
                Some((ahead, first)) => {
                    *ahead += 1;
                    Err(Reason::Behind { ahead: *ahead, first: *first })
                }
                None => floor.within_limits(job, Milli::WHOLE).and_then(|()| floor.try_out(job)),
            };
            match tried {
                Ok(placement) => {
                    let on = Assignment::new(placement, job.spec.demand.share);
                    floor.take(job, &on);
                    plan.start(job.id, on);
                }
                Err(reason) => {
                    let limited = matches!(reason, Reason::OverLimit { .. });
                    first = first.or((!limited).then_some((0, job.id)));
                    plan.wait.push(Wait { job: job.id, reason });
                }
            }
        }
    }

    /// What a job gets: a place beside another, or GPUs of its own.
    fn give<'a>(
        &self,
        (key, job): (i64, &'a Job),
        residents: &mut Residents<'a>,
        floor: &mut Floor<'a>,
    ) -> Result<Assignment, Reason> {
        let pairing = self.pairing.as_ref();
        let can_share = pairing.filter(|how| how.shares(job, floor.node_gpus));
        let share = can_share.map_or(job.spec.demand.share, |_| HALF);
        floor.within_limits(job, share)?;
        if let Some(how) = can_share.filter(|_| self.shares()) {
            let room = |alone: &Alone| floor.has_room_beside(job, alone);
            if let Some(alone) = residents.take_for(job, key, how, room) {
                return Ok(floor.join(job, &alone));
            }
        }
        let placement = floor.place_on(job, share)?;
        // Two who share are on one node.
        let share = if placement.nodes() == 1 { share } else { job.spec.demand.share };
        floor.within_limits(job, share)?;
        let on = Assignment::new(placement, share);
        floor.take(job, &on);
        if share == HALF && job.spec.demand.share.is_whole() {
            floor.keep_half(&on.placement);
            residents.push(Alone { job, key, placement: on.placement.clone() });
        }
        Ok(on)
    }

    /// Those who have been tried out, also who has been just now, least predicted service first.
    /// Where GPUs are shared, others pass a job for which there is no room.
    fn go_on<'a>(&self, old: &[Place], floor: &mut Floor<'a>, view: &View<'a>, plan: &mut Plan) {
        let mut residents = self.residents(floor, view);
        floor.close_trials(&residents);
        let mut empty = self.books.placed.iter().all(|(.., id)| self.books.trying.contains(id));
        let mut failed: Option<(u32, JobId)> = None;
        let mut left_out: Vec<JobId> = Vec::new();
        for (key, _, id) in old {
            let job = view.state().job(*id);
            let given = match &mut failed {
                Some((ahead, first)) if !self.shares() => {
                    *ahead += 1;
                    Err(Reason::Behind { ahead: *ahead, first: *first })
                }
                _ => self.give((*key, job), &mut residents, floor),
            };
            match given {
                Ok(on) => {
                    empty = false;
                    plan.start(*id, on);
                }
                Err(reason) => {
                    let limited = matches!(reason, Reason::OverLimit { .. });
                    failed = failed.or((!limited).then_some((0, *id)));
                    left_out.extend((!limited).then_some(*id));
                    if job.is_placed() {
                        let reason = Reason::Profiled { ran: job.attained_at(view.now()) };
                        plan.stop.push(Stop { job: *id, reason });
                    } else {
                        plan.wait.push(Wait { job: *id, reason });
                    }
                }
            }
        }
        // Those for whom there is no room even so may have the nodes for trials, too, as long as
        // nobody is elsewhere.
        if empty && !left_out.is_empty() {
            floor.open_trials();
            for id in left_out {
                let (job, share) = (view.state().job(id), view.job(id).spec.demand.share);
                let placed = floor.within_limits(job, share).and_then(|()| floor.place(job, share));
                let Ok(placement) = placed else { break };
                plan.wait.retain(|wait| wait.job != id);
                plan.stop.retain(|stop| stop.job != id);
                let on = Assignment::new(placement, share);
                floor.take(job, &on);
                let alike = !job.is_placed() && self.is_a_trial(job, &on, &floor.trials);
                plan.start(id, on);
                if !alike {
                    break;
                }
            }
        }
    }
}

impl Policy for Profiled {
    fn plan(&self, view: &View) -> Plan {
        let mut plan = Plan::none();
        let trials = self.trials(view).collect();
        let (new, mut old): (Vec<Place>, Vec<Place>) =
            self.books.queue.iter().partition(|place| self.is_new(view.job(place.2), view));
        let mut floor = Floor::new(view, trials);
        for id in &self.books.trying {
            let job = view.state().job(*id);
            if self.tried_at(job) <= view.now() {
                floor.give_back(job);
                let key = self.books.keys.get(id).copied().unwrap_or_default();
                old.push((key, job.submitted, *id));
            }
        }
        old.sort_unstable();
        self.try_out(&new, &mut floor, view, &mut plan);
        self.go_on(&old, &mut floor, view, &mut plan);
        plan
    }

    fn observe(&mut self, note: &Note, view: &View) {
        self.predict.observe(note, view);
        match note {
            Note::Joined(id) => self.joined(*id, view),
            Note::Placed(id) => self.placed(*id, view),
            Note::Paused(id) => {
                self.loses(*id);
                self.leaves_queue(*id, view);
                self.books.stirred = true;
            }
            Note::Left(id) => {
                self.loses(*id);
                self.leaves_queue(*id, view);
                self.books.keys.remove(id);
                self.books.stirred = true;
            }
            Note::Changed => self.books.stirred = true,
            Note::Deciding => {
                self.books.load.pass(view.now());
                self.books.hopes.retain(|(until, _)| *until > view.now());
            }
            Note::Decided => {
                self.books.stirred = false;
                // Who may stay where it was tried out just runs there.
                let trying = std::mem::take(&mut self.books.trying);
                let goes_on = |id: &JobId| self.tried_at(view.job(*id)) > view.now();
                self.books.trying = trying.into_iter().filter(goes_on).collect();
            }
            Note::Began(_)
            | Note::Progressed(_)
            | Note::Reported { .. }
            | Note::Ran { .. }
            | Note::Load { .. }
            | Note::Scattered(_)
            | Note::RoundOver { .. } => {}
        }
    }

    fn is_due(&self, view: &View) -> bool {
        let tried = |id: &JobId| self.tried_at(view.job(*id)) <= view.now();
        let gone = self.books.hopes.first().is_some_and(|(until, _)| *until <= view.now());
        self.books.stirred || gone || self.books.trying.iter().any(tried)
    }

    fn wake(&self, view: &View) -> Option<Time> {
        let ends = self.books.trying.iter().map(|id| self.tried_at(view.job(*id)));
        let hope = self.books.hopes.first().map(|(until, _)| *until);
        let next = ends.chain(hope).filter(|at| *at < Time::MAX).min();
        next.map(|at| at.max(view.now()))
    }

    fn packs(&self) -> bool {
        self.pairing.is_some()
    }

    fn leaves_room(&self) -> bool {
        self.packs()
    }

    fn calibrations(&self) -> Vec<Calibration> {
        let load = Some(self.books.load.calibration());
        self.predict.calibration().into_iter().chain(load).collect()
    }

    fn save(&self) -> Value {
        let saved = Saved { books: self.books.clone(), predict: self.predict.save() };
        serde_json::to_value(saved).expect("plain data")
    }

    fn restore(&mut self, saved: &Value, _view: &View) -> Result<(), String> {
        let saved = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        let Saved { books, predict } = saved;
        self.books = books;
        self.predict.restore(&predict)
    }

    fn fork(&self) -> Box<dyn Policy> {
        let (predict, books) = (self.predict.fork(), self.books.clone());
        Box::new(Profiled { predict, books, ..*self })
    }
}
