//! What was seen of a service over time, in a fixed number of stretches: when time runs out of
//! them, neighbours are put together and every stretch lasts twice as long.

use heeler_model::{Span, Time};
use heeler_serve::Summary;

const STRETCHES: usize = 512;

/// What was seen in one stretch of time.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// When it ended.
    pub until: Time,
    /// Replicas that held GPUs in the end.
    pub replicas: u32,
    /// What happened in it.
    pub seen: Summary,
}

/// Everything that was seen of a service.
#[derive(Clone, Debug)]
pub struct History {
    from: Time,
    width: Span,
    looks: Vec<Look>,
    all: Summary,
}

impl History {
    pub(super) fn new(from: Time) -> History {
        let width = Span::from_micros(1);
        History { from, width, looks: Vec::new(), all: Summary::default() }
    }

    /// When the service began.
    pub fn from(&self) -> Time {
        self.from
    }

    /// Stretch by stretch.
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// All together.
    pub fn all(&self) -> &Summary {
        &self.all
    }

    pub(super) fn add(&mut self, until: Time, seen: Summary, replicas: u32) {
        self.all.then(&seen);
        let stretch = |at: Time| at.since(self.from).micros() / self.width.micros();
        match self.looks.last_mut() {
            Some(last) if stretch(last.until) == stretch(until) => {
                last.seen.then(&seen);
                last.until = until;
                last.replicas = replicas;
            }
            _ => self.looks.push(Look { until, replicas, seen }),
        }
        while self.looks.len() > STRETCHES {
            self.width = self.width * 2;
            self.halve();
        }
    }

    fn halve(&mut self) {
        let (from, width) = (self.from, self.width.micros());
        let mut fewer: Vec<Look> = Vec::new();
        for look in self.looks.drain(..) {
            let stretch = |at: Time| at.since(from).micros() / width;
            match fewer.last_mut() {
                Some(last) if stretch(last.until) == stretch(look.until) => {
                    last.seen.then(&look.seen);
                    last.until = look.until;
                    last.replicas = look.replicas;
                }
                _ => fewer.push(look),
            }
        }
        self.looks = fewer;
    }
}
