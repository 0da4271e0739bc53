//! Several gates, one behind the other: whoever passes all of them may be considered.

use heeler_engine::{Door, Gate, Job, Note, View};
use heeler_model::{Reason, Stop};
use serde_json::Value;

/// Several gates.
pub struct AllOf(pub Vec<Box<dyn Gate>>);

struct Doors<'a>(Vec<Box<dyn Door + 'a>>);

impl Gate for AllOf {
    fn open<'a>(&'a self, view: &View<'a>) -> Box<dyn Door + 'a> {
        Box::new(Doors(self.0.iter().map(|gate| gate.open(view)).collect()))
    }

    fn stops(&self, view: &View) -> Vec<Stop> {
        let mut ends = self.ends(view).into_iter().map(|stop| stop.job).collect();
        once(self.0.iter().flat_map(|gate| gate.stops(view)), &mut ends)
    }

    fn ends(&self, view: &View) -> Vec<Stop> {
        once(self.0.iter().flat_map(|gate| gate.ends(view)), &mut Vec::new())
    }

    fn class(&self, job: &Job) -> u64 {
        self.0.iter().fold(0, |class: u64, gate| class.rotate_left(32) ^ gate.class(job))
    }

    fn observe(&mut self, note: &Note, view: &View) -> bool {
        // All of them learn, whatever the first says.
        self.0.iter_mut().fold(false, |due, gate| gate.observe(note, view) | due)
    }

    fn save(&self) -> Value {
        self.0.iter().map(|gate| gate.save()).collect()
    }

    fn restore(&mut self, saved: &Value, view: &View) -> Result<(), String> {
        let mut gates = self.0.iter_mut().enumerate();
        gates.try_for_each(|(index, gate)| gate.restore(&saved[index], view))
    }

    fn fork(&self) -> Box<dyn Gate> {
        Box::new(AllOf(self.0.iter().map(|gate| gate.fork()).collect()))
    }
}

/// Each job once, and none that was named before.
fn once(stops: impl Iterator<Item = Stop>, named: &mut Vec<heeler_model::JobId>) -> Vec<Stop> {
    let fresh = |stop: &Stop| {
        let fresh = !named.contains(&stop.job);
        named.push(stop.job);
        fresh
    };
    stops.filter(fresh).collect()
}

impl Door for Doors<'_> {
    fn ask(&mut self, job: &Job, milli: u64) -> Result<(), Reason> {
        // All of them hear of it; the first refusal is the one that is told.
        let answers: Vec<Result<(), Reason>> =
            self.0.iter_mut().map(|door| door.ask(job, milli)).collect();
        answers.into_iter().collect()
    }

    fn entered(&mut self, job: &Job, milli: u64) {
        self.0.iter_mut().for_each(|door| door.entered(job, milli));
    }

    fn left(&mut self, job: &Job, milli: u64) {
        self.0.iter_mut().for_each(|door| door.left(job, milli));
    }

    fn reopened(&mut self) -> bool {
        self.0.iter_mut().fold(false, |open, door| door.reopened() | open)
    }
}
