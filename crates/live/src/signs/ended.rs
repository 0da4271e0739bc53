//! A job's processes are gone: it has ended, is tried again, or goes back to the queue.

use crate::accounts::Worth;
use crate::job::{Leaving, Over};
use crate::live::Live;
use heeler_api::JobState;
use heeler_backend::{Ending, Way};
use heeler_model::{Event, Exit, Generation, JobId, Span, Time};

/// Seconds between retries, at most.
const BACKOFF_MAX_S: u64 = 86_400;

impl Live {
    /// It ended a while ago, when nobody was there to be told: it has held nothing since.
    pub(super) fn gone(&mut self, id: u32, generation: Generation, ago_ms: u64) {
        let now = self.now;
        let Some(job) = self.jobs.live_mut(id).filter(|job| job.is_at(generation)) else { return };
        if let Some(attempt) = job.attempt.as_mut().filter(|_| ago_ms > 0) {
            let at = now.micros().saturating_sub(ago_ms.saturating_mul(1_000));
            let began = attempt.started.unwrap_or(attempt.since);
            attempt.gone = Some(Time::from_micros(at).max(began));
        }
    }

    pub(super) fn ended(&mut self, id: u32, generation: Generation, ending: &Ending) {
        let Some(job) = self.jobs.live(id).filter(|job| job.is_at(generation)) else { return };
        if let Some(leaving) = job.leaving {
            // One that finished before it could be told has finished.
            let finished = *ending == Ending::Exited { code: 0 } && leaving == Leaving::Stopped;
            if !finished {
                return self.left(id, generation, leaving, Some(ending));
            }
        }
        match ending {
            Ending::Exited { code: 0 } => {
                let over = said(JobState::Completed, self.now, Some(ending));
                self.finish(id, generation, over, Exit::Finished, "finished", Worth::Good);
            }
            Ending::Lost => self.lost(id, generation),
            Ending::Exited { .. } | Ending::Killed { .. } | Ending::NotStarted { .. } => {
                self.failed(id, generation, ending);
            }
        }
    }

    /// A stretch that was told to end has.
    pub(super) fn left(
        &mut self,
        id: u32,
        generation: Generation,
        leaving: Leaving,
        ending: Option<&Ending>,
    ) {
        if leaving.is_for_good() {
            let over = said(leaving.state(), self.now, ending);
            return self.finish(id, generation, over, Exit::Failed, leaving.word(), Worth::Good);
        }
        let Some((attempt, lost)) = self.close(id, leaving.word(), Worth::Lost) else { return };
        self.eviction_over(id, &attempt, None, lost);
        if let Some(job) = self.jobs.live_mut(id) {
            job.leaving = None;
            job.restarts += 1;
        }
        self.wake_no_more(id);
        self.back(id, generation, Exit::Saved { done: 0.0 });
    }

    fn finish(
        &mut self,
        id: u32,
        generation: Generation,
        over: Over,
        exit: Exit,
        word: &str,
        worth: Worth,
    ) {
        let Some((attempt, lost)) = self.close(id, word, worth) else { return };
        self.eviction_over(id, &attempt, None, lost);
        self.tell(Event::Stopped { job: JobId(id), generation, exit });
        let at = attempt.until(over.at);
        self.over(id, Over { at, ..over });
    }

    /// It ended with an error of its own: it is tried again, later each time, or has failed.
    fn failed(&mut self, id: u32, generation: Generation, ending: &Ending) {
        let now = self.now;
        let Some(job) = self.jobs.live_mut(id) else { return };
        job.failures += 1;
        let tries = job.failures <= job.submission.retries;
        let wait_s = backoff(job.submission.backoff_s, job.failures);
        let never_began = matches!(ending, Ending::NotStarted { .. });
        if !tries || never_began {
            let over = said(JobState::Failed, now, Some(ending));
            return self.finish(id, generation, over, Exit::Failed, "failed", Worth::Lost);
        }
        self.begin_again(id, generation, "failed");
        self.put_off(id, now + Span::from_secs(wait_s));
    }

    /// Nobody can say what became of it.
    fn lost(&mut self, id: u32, generation: Generation) {
        let comes_back = self.jobs.live(id).is_some_and(crate::job::Job::comes_back);
        if comes_back {
            return self.begin_again(id, generation, "lost");
        }
        let over = Over {
            message: Some("it was lost with what it ran on, and may not begin again".into()),
            ..said(JobState::Failed, self.now, None)
        };
        self.finish(id, generation, over, Exit::Failed, "lost", Worth::Lost);
    }

    /// A stretch came to nothing; the job goes on from what it saved itself, or begins anew.
    fn begin_again(&mut self, id: u32, generation: Generation, word: &str) {
        let Some(job) = self.jobs.live(id) else { return };
        let safe = match (job.saves(), job.heard.saved_step) {
            (true, Some(saved)) if job.heard.step > 0 => {
                let part = saved as f64 / job.heard.step as f64;
                (part.clamp(0.0, 1.0) * 1000.0) as u32
            }
            _ => 0,
        };
        let saved = job.saves();
        let done = self.work_done(id) * f64::from(safe) / 1000.0;
        let worth = if saved { Worth::Part(safe) } else { Worth::Lost };
        let Some((attempt, lost)) = self.close(id, word, worth) else { return };
        self.eviction_over(id, &attempt, None, lost);
        if let Some(job) = self.jobs.live_mut(id) {
            job.restarts += 1;
            job.rests = saved.then_some(Way::Saved);
            if !saved {
                job.ran = Span::ZERO;
            }
        }
        self.back(id, generation, Exit::Lost { done });
    }
}

/// Seconds before the next try: twice as long each time.
fn backoff(first_s: u64, failures: u32) -> u64 {
    let doublings = failures.saturating_sub(1).min(32);
    first_s.saturating_mul(1 << doublings).min(BACKOFF_MAX_S)
}

/// An end with what its processes said of it.
fn said(state: JobState, at: heeler_model::Time, ending: Option<&Ending>) -> Over {
    let mut over = Over { state, at, code: None, signal: None, message: None };
    match ending {
        Some(Ending::Exited { code }) => over.code = Some(*code),
        Some(Ending::Killed { signal, out_of_memory }) => {
            over.signal = Some(*signal);
            over.message = out_of_memory.then(|| "it ran out of memory".into());
        }
        Some(Ending::NotStarted { message }) => {
            over.message = Some(message.chars().take(1_000).collect());
        }
        Some(Ending::Lost) | None => {}
    }
    over
}

#[cfg(test)]
mod tests {
    use super::backoff;

    #[test]
    fn each_try_waits_twice_as_long() {
        let waits: Vec<u64> = (1..=4).map(|failures| backoff(5, failures)).collect();
        assert_eq!(waits, [5, 10, 20, 40]);
        assert_eq!(backoff(5, 1_000), 86_400);
        assert_eq!(backoff(0, 7), 0);
    }
}
