//! Times that jobs wait for: to begin, to be warned, to be stopped.

use crate::check::signal_number;
use crate::job::{Alarm, Leaving, Told};
use crate::live::Live;
use heeler_backend::Order;
use heeler_model::{Span, Time};

impl Live {
    pub(crate) fn set_alarm(&mut self, id: u32, at: Time, alarm: Alarm) {
        self.clear_alarm(id, alarm);
        let Some(job) = self.jobs.live_mut(id) else { return };
        job.alarms.push((at, alarm));
        self.alarms.insert((at, id, alarm));
    }

    pub(crate) fn clear_alarm(&mut self, id: u32, alarm: Alarm) {
        let Some(job) = self.jobs.live_mut(id) else { return };
        let alarms = &mut self.alarms;
        job.alarms.retain(|(at, kind)| {
            let keep = *kind != alarm;
            if !keep {
                alarms.remove(&(*at, id, *kind));
            }
            keep
        });
    }

    /// Nothing is to happen to a job any more by the clock of its run.
    pub(crate) fn clear_run_alarms(&mut self, id: u32) {
        self.clear_alarm(id, Alarm::Early);
        self.clear_alarm(id, Alarm::Limit);
    }

    /// A running job's time limit and warning, from what it has run by now.
    pub(crate) fn set_run_alarms(&mut self, id: u32) {
        self.clear_run_alarms(id);
        let Some(job) = self.jobs.live(id) else { return };
        let (Some(limit), Some(attempt)) = (job.time_limit_s, &job.attempt) else { return };
        let Some(started) = attempt.started.filter(|_| attempt.told == Told::Start) else { return };
        let limit = Span::from_secs(limit);
        let early = job.submission.early.as_ref().map(|early| Span::from_secs(early.before_s));
        let ends = started + limit.saturating_sub(job.ran);
        self.set_alarm(id, ends, Alarm::Limit);
        let warned = early.map(|before| ends.minus(before)).filter(|at| *at >= started);
        if let Some(at) = warned {
            self.set_alarm(id, at, Alarm::Early);
        }
    }

    /// Everything whose time has come.
    pub(crate) fn ring(&mut self) {
        while let Some(&(at, id, alarm)) = self.alarms.first() {
            if at > self.now {
                break;
            }
            self.clear_alarm(id, alarm);
            self.alarms.remove(&(at, id, alarm));
            match alarm {
                Alarm::Begin => {
                    if let Some(job) = self.jobs.live_mut(id) {
                        job.keeps.until = None;
                    }
                    self.keep(id);
                }
                Alarm::Early => self.warn(id),
                Alarm::Limit => self.end_for(id, Leaving::Timeout),
            }
        }
    }

    fn warn(&mut self, id: u32) {
        let Some(job) = self.jobs.live(id) else { return };
        let Some(attempt) = job.attempt.as_ref().filter(|attempt| attempt.told == Told::Start)
        else {
            return;
        };
        let early = job.submission.early.as_ref();
        let Some(signal) = early.and_then(|early| signal_number(&early.signal)) else { return };
        let (job, generation) = (job.number(), attempt.generation);
        self.outbox.push(Order::Signal { job, generation, signal });
    }
}
