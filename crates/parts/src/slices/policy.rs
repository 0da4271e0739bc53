//! A policy of time slices: what a paper says of seats, the turns that jobs take on them, and when
//! they are over.

use super::{Books, take_turns};
use heeler_engine::{Note, Policy, View};
use heeler_model::{JobId, Plan, Reason, Span, Stop, Time, Wait};
use serde_json::Value;

/// Who gets which seat.
pub trait Seating: Send {
    /// Before a decision: seat who stands, and improve how others sit.
    fn improve(&self, books: &mut Books, view: &View);

    /// Whether two jobs may have one seat together.
    fn packs(&self) -> bool;

    /// Whether jobs may grow beyond their seats.
    fn grows(&self) -> bool;

    /// A copy.
    fn fork(&self) -> Box<dyn Seating>;
}

/// A policy of time slices.
pub struct Slices {
    seating: Box<dyn Seating>,
    turn: Span,
    books: Books,
}

impl Slices {
    /// Turns of a length on seats that somebody gives out.
    pub fn new(seating: Box<dyn Seating>, turn: Span) -> Slices {
        Slices { seating, turn, books: Books::default() }
    }

    /// Why a job with a seat does not run.
    fn takes_turns(&self, id: JobId) -> Reason {
        let parts = self.books.seats.get(id).map_or(&[][..], |seat| &seat.parts);
        let most = parts.iter().map(|(node, _)| self.books.seats.count(*node)).max();
        Reason::TakesTurns { others: most.unwrap_or(1).saturating_sub(1), turn: self.turn }
    }

    /// Why a job has no seat.
    fn stands(&self, id: JobId, view: &View) -> Reason {
        let job = view.job(id);
        let demand = &job.spec.demand;
        let limits = view.tenants().within_limits(job.spec.tenant, job.milli() as i64, |_| 0);
        let free = view.fleet().free_of(demand.kinds);
        limits.err().unwrap_or(Reason::NotEnoughFree { need: demand.asked(), free })
    }

    /// Whether anything may change when turns are over.
    fn waits_for_turns(&self, view: &View) -> bool {
        let placed = |id| view.job(id).is_placed();
        let seated = || self.books.seats.iter().map(|(id, _)| id);
        let waits = seated().any(|id| !placed(id)) && seated().any(placed);
        waits || self.books.is_curious(self.seating.grows(), view)
    }
}

impl Policy for Slices {
    fn plan(&self, view: &View) -> Plan {
        let targets = take_turns(view, &self.books.seats, self.books.over);
        let mut plan = Plan::none();
        for (id, _) in self.books.seats.iter() {
            let job = view.job(id);
            match targets.runs.get(&id) {
                Some(to) if job.assignment.as_ref() == Some(to) => {}
                Some(to) => plan.start(id, to.clone()),
                None if targets.others_stay && job.is_placed() => {}
                None => {
                    let refused = targets.refused.get(&id).copied();
                    let reason = refused.unwrap_or_else(|| self.takes_turns(id));
                    match job.is_placed() {
                        true => plan.stop.push(Stop { job: id, reason }),
                        false => plan.wait.push(Wait { job: id, reason }),
                    }
                }
            }
        }
        let standing = self.books.standing.iter();
        plan.wait.extend(standing.map(|id| Wait { job: *id, reason: self.stands(*id, view) }));
        plan
    }

    fn observe(&mut self, note: &Note, view: &View) {
        match note {
            Note::Joined(id) => {
                self.books.joined(view.job(*id));
                self.books.settled = false;
                self.books.stirred = true;
            }
            Note::Left(id) => {
                self.books.left(*id);
                self.books.stirred = true;
            }
            Note::Paused(id) if view.job(*id).leaving.is_some() => self.books.left(*id),
            Note::Began(_) | Note::Paused(_) => self.books.stirred = true,
            Note::Changed => {
                self.books.settled = false;
                self.books.stirred = true;
            }
            // Where a job gets on may have changed.
            Note::Reported { .. } => self.books.settled = false,
            Note::Deciding => {
                self.books.over = view.now() >= self.books.next;
                self.seating.improve(&mut self.books, view);
            }
            Note::Decided => {
                self.books.stirred = false;
                if std::mem::take(&mut self.books.over) {
                    self.books.next = view.now() + self.turn;
                }
            }
            Note::Placed(_)
            | Note::Progressed(_)
            | Note::Ran { .. }
            | Note::Load { .. }
            | Note::Scattered(_)
            | Note::RoundOver { .. } => {}
        }
    }

    fn is_due(&self, view: &View) -> bool {
        self.books.stirred || view.now() >= self.books.next && self.waits_for_turns(view)
    }

    fn wake(&self, view: &View) -> Option<Time> {
        self.waits_for_turns(view).then(|| self.books.next.max(view.now()))
    }

    fn packs(&self) -> bool {
        self.seating.packs()
    }

    fn save(&self) -> Value {
        serde_json::to_value(&self.books).expect("plain data")
    }

    fn restore(&mut self, saved: &Value, _view: &View) -> Result<(), String> {
        self.books = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn fork(&self) -> Box<dyn Policy> {
        let (seating, books) = (self.seating.fork(), self.books.clone());
        Box::new(Slices { seating, turn: self.turn, books })
    }
}
