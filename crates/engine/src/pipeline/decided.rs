//! What a pipeline does about a decision: before it, whatever changes with time is looked at anew;
//! after it, nothing is due until something happens.

use super::{Cadence, Pipeline};
use crate::rules::{Crossing, Ties};
use crate::traits::{Key, Line};
use crate::view::View;
use heeler_model::{JobId, Time};

impl Pipeline {
    /// A decision was taken; nothing is due until something happens.
    pub(super) fn decided(&mut self, view: &View) {
        self.stirred = false;
        self.round_over = false;
        self.leases.pass(view.jobs(), view.now());
        if view.rules().crossing != Crossing::Exact {
            self.forecast_all(view);
        }
        if let Cadence::Round(every) = self.parts.cadence {
            let rounds = view.now().micros() / every.micros().max(1) + 1;
            self.next_round = Time::from_micros(rounds * every.micros());
        }
    }

    /// Where forecasts are not exact they are made anew at every decision.
    fn forecast_all(&mut self, view: &View) {
        for job in view.jobs().iter() {
            let bend = self.parts.order.bends(job, view);
            self.bends.set(view.jobs(), job.id, bend);
        }
    }

    /// Everything anew: jobs whose lines bend, and, where ties go by the last order, all jobs.
    pub(super) fn refresh(&mut self, view: &View) {
        self.takes_over = false;
        let due: Vec<JobId> = if view.rules().crossing == Crossing::Exact {
            let due = self.bends.iter().take_while(|(at, _)| *at <= view.now());
            due.map(|(_, id)| id).collect()
        } else {
            view.jobs().iter().map(|job| job.id).collect()
        };
        for id in &due {
            self.parts.order.bend(view.job(*id), view);
        }
        for id in due {
            let job = view.job(id);
            if job.is_placed() || self.queue.is_waiting(view.jobs(), id) {
                self.seat(id, view);
            }
        }
        if view.rules().ties == Ties::Previous {
            let lines = self.previous.iter().map(|id| {
                let job = view.job(*id);
                (self.parts.order.line(job, view).key, *id)
            });
            let mut sorted: Vec<(Key, JobId)> = lines.collect();
            sorted.sort_by_key(|(key, _)| *key);
            self.previous = sorted.iter().map(|(_, id)| *id).collect();
            for (position, (_, id)) in sorted.into_iter().enumerate() {
                let job = view.job(id);
                if job.is_placed() || self.queue.is_waiting(view.jobs(), id) {
                    let line = Line { key: Key::of(position as i64), slope: 0 };
                    self.seat_at(job, line, view);
                }
            }
        }
    }
}
