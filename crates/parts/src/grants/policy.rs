//! The policy of grants: who asks, who keeps what they have, and when leases are over. Leases end
//! together, at whole multiples of their length, so that large gangs find room; but nobody is
//! stopped before it has run for as long as its start has taken.

use super::desk::lay;
use super::{Floor, Rule};
use heeler_engine::{Calibration, Job, Note, Phase, Policy, RoundClock, View};
use heeler_model::{Assignment, JobId, Plan, Reason, Run, Span, Stop, Time, Wait};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What happens behind a job for which there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behind {
    /// Others that fit may pass.
    #[default]
    Passes,
    /// Nobody else starts before it does.
    Waits,
}

/// The lease of a job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Term {
    until: Time,
    began: Time,
    /// Whether it is known since when the job does work.
    works: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    terms: BTreeMap<JobId, Term>,
    /// No lease ends before.
    next: Time,
    /// Something happened that a decision may have to do with.
    stirred: bool,
    round_over: bool,
    /// Whose leases have begun since the latest decision.
    begun: BTreeSet<JobId>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    books: Books,
    rule: Value,
}

/// Whoever a rule puts next is given GPUs for a lease.
pub struct Grants {
    rule: Box<dyn Rule>,
    /// How long leases are; without one, jobs keep what they have until they are done.
    lease: Option<Span>,
    behind: Behind,
    books: Books,
}

impl Grants {
    /// Grants by a rule, for a lease, with others passing a job for which there is no room or not.
    pub fn new(rule: Box<dyn Rule>, lease: Option<Span>, behind: Behind) -> Grants {
        Grants { rule, lease, behind, books: Books::default() }
    }

    /// The first end of leases after a time.
    fn end_after(&self, at: Time) -> Time {
        let Some(lease) = self.lease else { return Time::MAX };
        let length = lease.micros().max(1);
        Time::from_micros((at.micros() / length + 1) * length)
    }

    /// Whether a job that has GPUs may lose them now.
    fn is_over(&self, job: &Job, view: &View) -> bool {
        // What is on a node that takes no new jobs is nobody else's loss.
        let closed = |on: &Assignment| !view.fleet().are_up(&on.placement);
        let alone = job.assignment.as_ref().is_some_and(closed);
        if self.lease.is_none() || job.phase != Phase::Running || alone {
            return false;
        }
        let over = |term: &Term| term.until <= view.now();
        let ends = self.books.terms.get(&job.id).is_none_or(over);
        ends || view.rules().rounds == RoundClock::World
    }

    /// Whether anything may change when leases end.
    fn ends_matter(&self, view: &View) -> bool {
        view.waiting() > 0 || self.rule.moves(view)
    }

    fn floor<'a>(&self, view: &View<'a>) -> Floor<'a> {
        let until = self.lease.map(|_| self.end_after(view.now()));
        let mut floor = Floor { asking: Vec::new(), keeping: Vec::new(), until };
        for job in view.state().jobs().iter() {
            if job.leaving.is_some() || job.phase == Phase::Blocked {
                continue;
            }
            match job.is_placed() && !self.is_over(job, view) {
                true => floor.keeping.push(job),
                false => floor.asking.push(job),
            }
        }
        floor
    }

    fn begins(&mut self, id: JobId, view: &View) {
        let (began, until) = (view.now(), self.end_after(view.now()));
        self.books.terms.insert(id, Term { until, began, works: false });
        self.books.next = self.books.next.min(until);
    }

    /// It is known since when a job does work: it may go on for as long as it took to get there.
    fn works(&mut self, id: JobId, view: &View) {
        let from = view.job(id).progress.from;
        let Some(term) = self.books.terms.get(&id).filter(|term| !term.works) else { return };
        let earned = from + from.since(term.began);
        let until = match earned > term.until {
            true => self.end_after(Time::from_micros(earned.micros().saturating_sub(1))),
            false => term.until,
        };
        self.books.terms.insert(id, Term { until, works: true, ..*term });
    }

    /// Leases that are over begin anew, for whoever was not stopped.
    fn renew(&mut self, view: &View) {
        let (now, until) = (view.now(), self.end_after(view.now()));
        for (id, term) in &mut self.books.terms {
            if term.until <= now {
                term.until = until;
                self.books.begun.insert(*id);
            }
        }
        let ends = self.books.terms.values().map(|term| term.until);
        self.books.next = ends.min().unwrap_or(Time::MAX);
    }
}

impl Policy for Grants {
    fn plan(&self, view: &View) -> Plan {
        let floor = self.floor(view);
        let mut turns = self.rule.open(&floor, view);
        let laid = lay(&floor, turns.as_mut(), self.behind, view);
        let mut plan = Plan::none();
        let moved = |job: &Job| {
            let to = laid.runs.get(&job.id)?;
            let stays = job.assignment.as_ref().is_some_and(|on| on.placement == *to);
            (!stays).then_some(job.id)
        };
        let newcomer = floor.asking.iter().find_map(|job| moved(job));
        for job in &floor.asking {
            if let Some(placement) = laid.runs.get(&job.id) {
                let share = job.spec.demand.share;
                let assignment = Assignment::new(placement.clone(), share);
                plan.run.push(Run { job: job.id, assignment, lease: floor.until });
                continue;
            }
            let free = || view.fleet().free_of(job.spec.demand.kinds);
            let need = job.spec.demand.asked();
            let refused = laid.refused.get(&job.id).copied();
            let reason = refused.unwrap_or_else(|| Reason::NotEnoughFree { need, free: free() });
            match job.is_placed() {
                false => plan.wait.push(Wait { job: job.id, reason }),
                true => {
                    let by = newcomer.map(|by| Reason::Displaced { by });
                    let reason = by.unwrap_or(reason);
                    plan.stop.push(Stop { job: job.id, reason });
                }
            }
        }
        plan
    }

    fn observe(&mut self, note: &Note, view: &View) {
        self.rule.observe(note, view);
        match note {
            Note::Placed(id) => {
                self.begins(*id, view);
                self.books.begun.insert(*id);
            }
            // GPUs that had to be cleared are its own only now.
            Note::Began(id) => self.begins(*id, view),
            Note::Progressed(id) => self.works(*id, view),
            Note::Paused(id) => drop(self.books.terms.remove(id)),
            Note::Left(id) => {
                self.books.terms.remove(id);
                self.books.begun.remove(id);
                self.books.stirred = true;
            }
            Note::Joined(_) | Note::Changed => self.books.stirred = true,
            Note::RoundOver { .. } => self.books.round_over = true,
            Note::Decided => {
                self.books.stirred = false;
                self.books.round_over = false;
                self.renew(view);
                let begun = std::mem::take(&mut self.books.begun);
                let begun: Vec<JobId> =
                    begun.into_iter().filter(|id| view.job(*id).is_placed()).collect();
                self.rule.granted(&begun, view);
            }
            Note::Deciding
            | Note::Reported { .. }
            | Note::Ran { .. }
            | Note::Load { .. }
            | Note::Scattered(_) => {}
        }
    }

    fn is_due(&self, view: &View) -> bool {
        match view.rules().rounds {
            RoundClock::World => self.books.round_over,
            RoundClock::Recipe | RoundClock::Multiples => {
                self.books.stirred || self.ends_matter(view) && self.books.next <= view.now()
            }
        }
    }

    fn wake(&self, view: &View) -> Option<Time> {
        let ends = self.ends_matter(view) && !self.books.terms.is_empty() && self.lease.is_some();
        let recipe = view.rules().rounds != RoundClock::World;
        (ends && recipe).then(|| self.books.next.max(view.now()))
    }

    fn calibrations(&self) -> Vec<Calibration> {
        self.rule.calibration().into_iter().collect()
    }

    fn save(&self) -> Value {
        let saved = Saved { books: self.books.clone(), rule: self.rule.save() };
        serde_json::to_value(saved).expect("plain data")
    }

    fn restore(&mut self, saved: &Value, _view: &View) -> Result<(), String> {
        let saved = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        let Saved { books, rule } = saved;
        self.books = books;
        self.rule.restore(&rule)
    }

    fn fork(&self) -> Box<dyn Policy> {
        let (rule, books) = (self.rule.fork(), self.books.clone());
        Box::new(Grants { rule, lease: self.lease, behind: self.behind, books })
    }
}
