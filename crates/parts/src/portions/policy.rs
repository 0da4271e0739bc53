//! Rounds in which jobs get CPUs and memory by what they can make use of (TUNE), as in Synergy
//! (Mohan et al., OSDI 2022): who is sensitive to them gets more than in proportion to its GPUs,
//! which those leave who are not, and nobody gets less than its proportional share has to offer.

use super::desk::Desk;
use super::inherited::Inherited;
use super::measure::{Give, Measure};
use super::rank::{Rank, Ranking};
use heeler_engine::{Calibration, Job, Note, Phase, Place, Policy, RoundClock, View};
use heeler_model::{KindSet, Plan, Span, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cmp::Reverse;

/// When rounds turn, and who was there before the first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Turn {
    /// The world says that a round is over.
    is_over: bool,
    /// When the next begins, where the world does not say.
    next: Time,
    #[serde(default, skip_serializing_if = "Inherited::is_nobody")]
    inherited: Inherited,
}

/// Rounds in which jobs get CPUs and memory by what they can make use of.
pub struct Portions {
    ranking: Ranking,
    place: Box<dyn Place>,
    round: Span,
    turn: Turn,
}

impl Portions {
    /// Rounds of a length, counted from the first decision.
    pub fn new(ranking: Ranking, place: Box<dyn Place>, round: Span) -> Portions {
        Portions { ranking, place, round, turn: Turn::default() }
    }

    /// Jobs in the order in which they are served, and those who have no turn.
    fn order<'a>(&self, measure: &Measure, view: &View<'a>) -> (Vec<&'a Job>, Vec<&'a Job>) {
        let counts = |job: &&Job| job.leaving.is_none() && job.phase != Phase::Blocked;
        let mut jobs: Vec<&Job> = view.state().jobs().iter().filter(counts).collect();
        jobs.sort_by_cached_key(|job| {
            (self.ranking.key(job, measure, view), job.submitted, job.id)
        });
        let (las, tunes) = (self.ranking.rank == Rank::Las, self.ranking.give == Give::Tune);
        if !las || !(tunes || view.rules().least_served_by_count) {
            return (jobs, Vec::new());
        }
        let mut left = view.fleet().up_of(KindSet::ANY);
        let (mut first, others): (Vec<&Job>, Vec<&Job>) = jobs.into_iter().partition(|job| {
            let rest = left.checked_sub(job.spec.demand.asked());
            left = rest.unwrap_or(left);
            rest.is_some()
        });
        if tunes {
            // The largest of those who fit by count find their place first.
            first.sort_by_key(|job| Reverse(job.spec.demand.asked()));
        }
        if !view.rules().least_served_by_count {
            first.extend(&others);
            return (first, Vec::new());
        }
        (first, others)
    }
}

impl Policy for Portions {
    fn plan(&self, view: &View) -> Plan {
        let measure = Measure::of(view.fleet().cluster(), view.rules().shares);
        let (jobs, passed) = self.order(&measure, view);
        let mut desk = Desk::new(view, &measure, &*self.place);
        for job in jobs {
            match self.turn.inherited.keeps(job) {
                true => desk.keep(job, self.ranking.give),
                false => desk.serve(job, self.ranking.give),
            }
        }
        for job in passed {
            desk.pass_over(job);
        }
        desk.plan()
    }

    fn observe(&mut self, note: &Note, view: &View) {
        self.ranking.predict.observe(note, view);
        self.turn.inherited.observe(note, view);
        match note {
            Note::RoundOver { .. } => self.turn.is_over = true,
            Note::Decided => {
                self.turn.is_over = false;
                self.turn.next = view.now() + self.round;
            }
            _ => {}
        }
    }

    fn is_due(&self, view: &View) -> bool {
        match view.rules().rounds {
            RoundClock::World => self.turn.is_over,
            RoundClock::Recipe | RoundClock::Multiples => {
                !view.jobs().is_empty() && view.now() >= self.turn.next
            }
        }
    }

    fn wake(&self, view: &View) -> Option<Time> {
        let recipe = view.rules().rounds != RoundClock::World;
        (recipe && !view.jobs().is_empty()).then_some(self.turn.next)
    }

    fn feeds(&self) -> bool {
        true
    }

    fn calibrations(&self) -> Vec<Calibration> {
        self.ranking.predict.calibration().into_iter().collect()
    }

    fn save(&self) -> Value {
        let saved = (&self.turn, self.ranking.predict.save());
        serde_json::to_value(saved).expect("plain data")
    }

    fn restore(&mut self, saved: &Value, _view: &View) -> Result<(), String> {
        let saved: (Turn, Value) =
            serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        self.turn = saved.0;
        self.ranking.predict.restore(&saved.1)
    }

    fn fork(&self) -> Box<dyn Policy> {
        let Ranking { rank, give, .. } = self.ranking;
        let ranking = Ranking { rank, give, predict: self.ranking.predict.fork() };
        let (place, round, turn) = (self.place.fork(), self.round, self.turn.clone());
        Box::new(Portions { ranking, place, round, turn })
    }
}
