//! What must hold whatever people and worlds do: nothing is given twice or lost, accounts add up,
//! and the same records give the same orders, also after saving and loading.

use crate::steps::{RECIPES, Step, steps};
use crate::world::{EPOCH, Plane, admin, inventory};
use heeler_live::{Filter, Live, Record, Which};
use heeler_model::Time;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// GPU-seconds that the world saw being held, by watching each step.
#[derive(Default)]
struct Meter {
    seen: Time,
    milli: u64,
    held: f64,
}

impl Meter {
    fn read(&mut self, plane: &Plane) {
        let span = plane.at.since(self.seen).secs_f64();
        self.held += span * self.milli as f64 / 1000.0;
        self.seen = plane.at;
        self.milli = plane.world.runs.values().map(|proc| proc.launch.assignment.milli()).sum();
    }
}

fn accounts_add_up(plane: &Plane, meter: &Meter) {
    let usage = plane.live.usage(&admin());
    let booked: f64 = usage.rows.iter().map(|row| row.useful_gpu_s + row.lost_gpu_s).sum();
    let off = (booked - meter.held).abs();
    assert!(off < 0.01, "{booked} GPU-seconds are booked, {} were held", meter.held);
    let filter = Filter { which: Which::All, ..Filter::default() };
    let jobs = plane.live.jobs(&admin(), &filter);
    let of_jobs: f64 = jobs.iter().map(|job| job.gpu_s).sum();
    assert!((of_jobs - booked).abs() < 0.01, "jobs have {of_jobs}, {booked} are booked");
    let lost: f64 = jobs.iter().map(|job| job.lost_gpu_s).sum();
    let rows: f64 = usage.rows.iter().map(|row| row.lost_gpu_s).sum();
    assert!((lost - rows).abs() < 0.01, "jobs lost {lost}, {rows} are booked");
}

/// What the control plane and the world know of each other.
fn they_agree(plane: &Plane, handed_in: u32) {
    let filter = Filter { which: Which::All, ..Filter::default() };
    let jobs = plane.live.jobs(&admin(), &filter);
    assert_eq!(jobs.len(), handed_in as usize, "no job is lost");
    for job in &jobs {
        let runs = plane.world.runs.contains_key(&job.id);
        assert_eq!(job.on.is_some(), runs, "job {} is {:?}", job.id, job.state);
        let forgotten = plane.world.forgotten.contains(&job.id);
        assert_eq!(job.state.is_over(), forgotten, "job {} is {:?}", job.id, job.state);
        let known = plane.live.engine().state().jobs().get(heeler_model::JobId(job.id));
        assert_eq!(known.is_none(), job.state.is_over(), "job {}", job.id);
    }
}

fn run(recipe: &str, moves: &[Step], saves: &[bool]) {
    let mut plane = Plane::new(3, 2, recipe);
    let mut twin = Live::open(EPOCH, inventory(3, 2), recipe, 7).expect("a recipe");
    let mut meter = Meter::default();
    let mut handed_in = 0;
    for (index, step) in moves.iter().enumerate() {
        let inputs = step.inputs(&mut plane);
        if inputs.is_empty() {
            continue;
        }
        let (answers, decision) = plane.take(inputs);
        for answer in answers.into_iter().flatten() {
            if let heeler_live::Done::Submitted(jobs) = answer {
                handed_in += jobs.iter().filter(|job| !job.again).map(|job| job.tasks).sum::<u32>();
            }
        }
        let record = plane.records.last().expect("just taken up");
        let text = serde_json::to_string(record).expect("records can be written");
        let record: Record = serde_json::from_str(&text).expect("and read");
        twin.apply(&record);
        let again = twin.decide(record.at);
        assert_eq!(again.orders, decision.orders, "step {index}");
        assert_eq!(again.wake, decision.wake, "step {index}");
        assert_eq!(twin.digest(), plane.live.digest());
        if saves[index % saves.len()] {
            let text = twin.save_text();
            twin = Live::load_text(&text).expect("it was saved");
            let value = serde_json::from_slice(&text).expect("JSON");
            assert_eq!(Live::load(value).expect("it was saved").save(), twin.save());
        }
        they_agree(&plane, handed_in);
        meter.read(&plane);
        accounts_add_up(&plane, &meter);
    }
    let mut replay = Live::open(EPOCH, inventory(3, 2), recipe, 7).expect("a recipe");
    for record in &plane.records {
        assert_eq!(replay.digest(), record.digest, "a replay goes the same way");
        replay.apply(record);
        replay.decide(record.at);
    }
    assert_eq!(replay.digest(), plane.live.digest());
    assert_eq!(replay.save(), plane.live.save());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_nothing_is_lost_or_given_twice(
        recipe in 0..RECIPES.len(),
        moves in steps(),
        saves in prop::collection::vec(prop::bool::weighted(0.2), 1..20),
    ) {
        run(RECIPES[recipe], &moves, &saves);
    }
}

/// The engine is told of jobs only as often as something changes about them: ten thousand that
/// wait cost a record nothing.
#[test]
fn records_do_not_look_at_all_jobs() {
    let mut plane = Plane::new(1, 1, "fifo");
    let who = admin();
    let jobs: Vec<_> = (0..5_000).map(|_| crate::world::gpus(1)).collect();
    plane.ask(&who, heeler_live::Ask::Submit(jobs)).expect("taken");
    plane.live.changes();
    let job = plane.running()[0];
    plane.started(job);
    plane.exits(job, 0);
    let touched: BTreeMap<u32, usize> =
        plane.live.changes().iter().fold(BTreeMap::new(), |mut touched, change| {
            *touched.entry(change.job).or_default() += 1;
            touched
        });
    assert_eq!(touched.keys().copied().collect::<Vec<_>>(), [job, job + 1]);
}
