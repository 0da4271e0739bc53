//! What the world said, taken up. A sign of a job or stretch that is not there is ignored: worlds
//! may say things twice, late, or of what was never asked for.

mod ended;
mod reported;

use crate::accounts::Worth;
use crate::job::{Attempt, PAST_MAX, Past};
use crate::live::Live;
use heeler_backend::{Resume, Sign, Way};
use heeler_model::{Event, Exit, Generation, JobId, Span};

impl Live {
    pub(crate) fn take_sign(&mut self, sign: &Sign) {
        match sign {
            Sign::Started { job, generation, took_ms: _, resumed } => {
                self.started(job.0, *generation, *resumed);
            }
            Sign::Stopped { job, generation, way, took_ms: _ } => {
                self.stopped(job.0, *generation, *way);
            }
            Sign::Ended { job, generation, ending, ago_ms } => {
                self.gone(job.0, *generation, *ago_ms);
                self.ended(job.0, *generation, ending);
            }
            Sign::Perished { job } => self.perished(job.0),
            Sign::Reported { job, generation, said } => {
                self.reported(job.0, *generation, &said.report);
            }
            Sign::NodeDown { node, message } => {
                let message = message.chars().take(500).collect();
                self.set_node(*node, |state| {
                    state.down = true;
                    state.note = Some(message);
                });
            }
            Sign::NodeUp { node } => self.set_node(*node, |state| {
                state.down = false;
                if !state.drained {
                    state.note = None;
                }
            }),
        }
    }

    fn started(&mut self, id: u32, generation: Generation, resumed: bool) {
        let now = self.now;
        let Some(job) = self.jobs.live_mut(id).filter(|job| job.is_at(generation)) else { return };
        let attempt = job.attempt.as_mut().expect("it is at this stretch");
        if attempt.started.is_some() {
            return;
        }
        attempt.started = Some(now);
        let anew = match attempt.resume {
            Resume::No => true,
            Resume::Processes => !resumed,
            Resume::Saved => false,
        };
        job.rests = None;
        if anew {
            job.ran = Span::ZERO;
            self.write_off(id);
            let known = self.engine.state().jobs().get(JobId(id));
            if known.is_some_and(|job| job.progress.done > 0.0) {
                self.tell_progress(id, generation, Some(0.0), 1.0);
            }
        }
        self.set_run_alarms(id);
        self.changed(id);
    }

    /// End the stretch that a job has, and book it.
    pub(crate) fn close(&mut self, id: u32, word: &str, worth: Worth) -> Option<(Attempt, u64)> {
        let attempt = self.jobs.live_mut(id)?.attempt.take()?;
        let until = attempt.until(self.now);
        let lost = self.book(id, &attempt, worth);
        self.clear_run_alarms(id);
        self.jobs.placed.remove(&id);
        let job = self.jobs.live_mut(id)?;
        job.had += until.since(attempt.since);
        if let Some(started) = attempt.started {
            job.ran += attempt.leaves.unwrap_or(until).max(started).since(started);
        }
        if job.past.len() >= PAST_MAX {
            job.past.remove(0);
        }
        job.past.push(Past {
            generation: attempt.generation,
            assignment: attempt.assignment.clone(),
            since: attempt.since,
            until,
            started: attempt.started,
            leaves: attempt.leaves,
            end: word.into(),
            lost,
        });
        Some((attempt, lost))
    }

    /// Work that the engine thinks a job has done, in its own units.
    pub(crate) fn work_done(&self, id: u32) -> f64 {
        let job = self.engine.state().jobs().get(JobId(id));
        job.map_or(0.0, |job| job.progress.done_at(self.now))
    }

    fn stopped(&mut self, id: u32, generation: Generation, way: Way) {
        let Some(job) = self.jobs.live_mut(id).filter(|job| job.is_at(generation)) else { return };
        let leaving = job.leaving;
        if let Some(leaving) = leaving {
            // It stopped as it was told first, and has to go as it was told then.
            job.rests = Some(way);
            return self.left(id, generation, leaving, None);
        }
        let kept = way != Way::Requeued;
        let (word, worth) = match way {
            Way::Saved => ("saved", Worth::Kept),
            Way::Checkpointed => ("checkpointed", Worth::Kept),
            Way::Frozen => ("frozen", Worth::Kept),
            Way::Requeued => ("requeued", Worth::Lost),
        };
        let done = if kept { self.work_done(id) } else { 0.0 };
        let Some((attempt, lost)) = self.close(id, word, worth) else { return };
        let Some(job) = self.jobs.live_mut(id) else { return };
        job.rests = kept.then_some(way);
        if !kept {
            job.ran = Span::ZERO;
        }
        self.eviction_over(id, &attempt, Some(way), lost);
        self.back(id, generation, Exit::Saved { done });
    }

    /// A stretch has ended, and the job waits again.
    pub(crate) fn back(&mut self, id: u32, generation: Generation, exit: Exit) {
        self.tell(Event::Stopped { job: JobId(id), generation, exit });
        self.keep(id);
        self.changed(id);
    }

    /// The processes of a suspended job are gone: it goes on from what it saved itself, if it did,
    /// or else from the beginning.
    fn perished(&mut self, id: u32) {
        let Some(job) = self.jobs.live_mut(id) else { return };
        if job.attempt.is_some() || !job.sleeps() {
            return;
        }
        let saved = job.saves();
        job.rests = saved.then_some(Way::Saved);
        job.restarts += 1;
        if !saved {
            job.ran = Span::ZERO;
            self.write_off(id);
        }
        self.changed(id);
    }
}
