//! What must be true, kept apart from the server: what was promised to whom, every record that is
//! safe, and GPU time counted from orders and signs alone.

use heeler_api::{JobState, Role, Submitted, Who};
use heeler_backend::{Expected, Order, Sign};
use heeler_live::{Decision, Filter, Input, Live, Record, Which};
use heeler_model::{Generation, JobId, NodeId, Time};
use serde_json::Value;
use std::collections::BTreeMap;

/// Somebody who may see everything.
pub(crate) fn admin() -> Who {
    Who { user: "root".into(), role: Role::Admin, ..Who::default() }
}

/// See above.
#[derive(Default)]
pub(crate) struct Oracle {
    /// Every record that is safe, the first first.
    pub(crate) records: Vec<Vec<u8>>,
    /// What was being written when everything stopped, or when writing failed so that nobody knows:
    /// one of these may be there.
    pub(crate) doubt: Vec<Vec<u8>>,
    /// Jobs that somebody was told are handed in, by their key.
    promised: BTreeMap<String, (u32, u32)>,
    /// How jobs ended, as soon as that was seen.
    ended: BTreeMap<u32, JobState>,
    /// GPU time that is being held: since when, and thousandths of GPUs.
    holding: BTreeMap<(JobId, Generation), (Time, u64)>,
    /// GPU time held by what has ended, thousandths of a GPU × microseconds.
    held: u128,
    stretches: u64,
    /// Records counted so far.
    counted: u64,
}

impl Oracle {
    /// Somebody was told that jobs are handed in.
    pub(crate) fn promise(&mut self, key: &str, done: &Submitted) {
        let known = self.promised.insert(key.to_owned(), (done.job, done.tasks));
        if let Some(known) = known {
            assert_eq!(known, (done.job, done.tasks), "{key} is two jobs");
            assert!(done.again, "{key} was handed in again and it was not noticed");
        }
    }

    pub(crate) fn promised(&self) -> usize {
        self.promised.len()
    }

    /// A record was applied and a decision followed, for the first time or in a replay.
    pub(crate) fn count(&mut self, number: u64, record: &Record, decision: &Decision, now: Time) {
        if number <= self.counted {
            return;
        }
        assert_eq!(number, self.counted + 1, "a record was left out");
        self.counted = number;
        for input in &record.inputs {
            let key = match input {
                Input::Sign(Sign::Stopped { job, generation, .. })
                | Input::Sign(Sign::Ended { job, generation, .. }) => (*job, *generation),
                _ => continue,
            };
            if let Some((since, milli)) = self.holding.remove(&key) {
                self.held += u128::from(milli) * u128::from(now.since(since).micros());
                self.stretches += 1;
            }
        }
        for order in &decision.orders {
            if let Order::Start(launch) = order {
                let key = (launch.job, launch.generation);
                let known = self.holding.insert(key, (now, launch.assignment.milli()));
                assert!(known.is_none(), "{key:?} was ordered twice");
            }
        }
        assert_eq!(decision.fault, None, "a plan that cannot be");
    }

    /// What must be true at any time.
    pub(crate) fn check(&mut self, live: &Live) {
        self.check_jobs(live);
        check_gpus(live);
        self.check_accounts(live);
    }

    fn check_jobs(&mut self, live: &Live) {
        let filter = Filter { which: Which::All, ..Filter::default() };
        let jobs = live.jobs(&admin(), &filter);
        let states: BTreeMap<u32, JobState> = jobs.iter().map(|job| (job.id, job.state)).collect();
        for (key, (first, tasks)) in &self.promised {
            for job in *first..first + tasks {
                assert!(states.contains_key(&job), "job {job} ({key}) is lost");
            }
        }
        for (job, state) in states {
            let before = self.ended.get(&job);
            assert!(before.is_none_or(|it| *it == state), "job {job} was {before:?}, is {state:?}");
            if state.is_over() {
                self.ended.insert(job, state);
            }
        }
        for job in &jobs {
            let (all, lost) = (job.gpu_s, job.lost_gpu_s);
            assert!(lost <= all + 1e-6, "job {} lost {lost} of {all} GPU seconds", job.id);
        }
    }

    fn check_accounts(&self, live: &Live) {
        let running = self.holding.values().map(|(since, milli)| {
            u128::from(*milli) * u128::from(live.now().since(*since).micros())
        });
        let held = (self.held + running.sum::<u128>()) as f64 / 1e9;
        let usage = live.usage(&admin());
        let booked: f64 = usage.rows.iter().map(|row| row.useful_gpu_s + row.lost_gpu_s).sum();
        let room = 1e-3 * (self.stretches + self.holding.len() as u64 + 1) as f64 + held * 1e-9;
        assert!((held - booked).abs() <= room, "{held} GPU seconds were held, {booked} are booked");
        assert!(usage.rows.iter().all(|row| row.useful_gpu_s >= 0.0 && row.lost_gpu_s >= 0.0));
        let filter = Filter { which: Which::All, ..Filter::default() };
        let jobs: f64 = live.jobs(&admin(), &filter).iter().map(|job| job.gpu_s).sum();
        assert!((jobs - booked).abs() <= room, "jobs had {jobs} GPU seconds, {booked} are booked");
    }

    /// Everything is over.
    pub(crate) fn check_end(&self, live: &Live) {
        let left = live.jobs(&admin(), &Filter::default());
        let left: Vec<_> = left.iter().map(|job| (job.id, job.state, job.reason.clone())).collect();
        assert!(left.is_empty(), "jobs never ended: {left:?}");
        assert!(self.holding.is_empty(), "GPUs are held by nobody: {:?}", self.holding);
        assert_eq!(live.used_milli(), 0, "GPUs are in use by nobody");
    }
}

/// No GPU is given twice in what the state believes.
fn check_gpus(live: &Live) {
    let mut used: BTreeMap<(NodeId, u32), u32> = BTreeMap::new();
    for expected in live.expected() {
        let launch = match &expected {
            Expected::Runs(it) | Expected::Stops(it) | Expected::Ends(it) => it,
            Expected::Sleeps { .. } => continue,
        };
        for slice in launch.assignment.placement.slices() {
            for slot in slice.slots.iter() {
                *used.entry((slice.node, slot)).or_default() += launch.assignment.share.0;
            }
        }
    }
    let over = used.iter().find(|(_, share)| **share > 1000);
    assert!(over.is_none(), "a GPU was given twice: {over:?}");
}

/// Where two states differ first, if they do.
pub(crate) fn differs(one: &Live, other: &Live) -> Option<String> {
    let state = |live: &Live| {
        let mut saved = live.save();
        let jobs = saved.pointer_mut("/engine/jobs").and_then(Value::as_array_mut);
        for job in jobs.into_iter().flatten().filter_map(Value::as_object_mut) {
            // Equal demands have equal numbers, but which is no matter.
            job.remove("demand");
            // Which reason was found last depends on what the engine remembers of failures, which
            // is not saved.
            job.remove("noted");
        }
        saved
    };
    difference(&state(one), &state(other))
}

fn difference(one: &Value, other: &Value) -> Option<String> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.len() == other.len() => {
            let mut pairs = one.iter();
            pairs.find_map(|(key, value)| {
                let found = difference(value, other.get(key).unwrap_or(&Value::Null))?;
                Some(format!("{key}.{found}"))
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let mut pairs = one.iter().zip(other).enumerate();
            pairs.find_map(|(place, (one, other))| {
                Some(format!("{place}.{}", difference(one, other)?))
            })
        }
        _ => (one != other).then(|| format!(" {one} or {other}")),
    }
}
