//! When a round is over: the world says so, or it is at whole multiples of a length.

use heeler_engine::{Note, RoundClock, View};
use heeler_model::{Span, Time};
use serde::{Deserialize, Serialize};

/// The turn of rounds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RoundTurn {
    is_over: bool,
    next: Time,
}

impl RoundTurn {
    /// Learn from a note, where rounds have a length.
    pub(crate) fn observe(&mut self, note: &Note, length: Span, view: &View) {
        match note {
            Note::RoundOver { .. } => self.is_over = true,
            Note::Decided => {
                self.is_over = false;
                let rounds = view.now().micros() / length.micros().max(1) + 1;
                self.next = Time::from_micros(rounds * length.micros());
            }
            _ => {}
        }
    }

    /// Whether a round is over, and somebody is there.
    pub(crate) fn is_due(&self, view: &View) -> bool {
        match view.rules().rounds {
            RoundClock::World => self.is_over,
            RoundClock::Recipe | RoundClock::Multiples => {
                !view.jobs().is_empty() && view.now() >= self.next
            }
        }
    }

    /// When the round is over, if the recipe has to know.
    pub(crate) fn wake(&self, view: &View) -> Option<Time> {
        let recipe = view.rules().rounds != RoundClock::World;
        (recipe && !view.jobs().is_empty()).then_some(self.next)
    }

    /// When the next round begins.
    pub(crate) fn next(&self) -> Time {
        self.next
    }
}
