//! A server's turn and its way back, step by step as the real one does them, in one thread and
//! made-up time; it can be stopped between any two of them.

use crate::oracle::Oracle;
use crate::world::World;
use heeler_api::{Code, Problem, Who};
use heeler_backend::Inventory;
use heeler_journal::{Journal, JournalError, Settings, SimDisk, read_from};
use heeler_live::{Ask, Done, Input, Live, Record};
use heeler_model::Time;

/// Small segments, so that a life has many. All stay, so that the whole of it can be replayed.
pub(crate) const SETTINGS: Settings =
    Settings { segment_bytes: 48 << 10, ahead_bytes: 4 << 10, keep_all: true };

/// Seconds since 1970 when everything begins.
pub(crate) const EPOCH: u64 = 1_800_000_000;

/// Where a server can be killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Point {
    BeforeAppend,
    /// After so many operations of the disk.
    InSync(u64),
    AfterSync,
    /// It was applied, and nobody answered.
    AfterApply,
    /// All who asked were answered.
    AfterAnswers,
    AfterDecide,
    /// So many orders were carried out.
    BetweenOrders(usize),
    InSnapshot(u64),
    Idle,
}

/// The server was killed.
#[derive(Debug)]
pub(crate) struct Died;

/// An answer to somebody, by their place among those who asked.
pub(crate) type Answer = (usize, Result<Done, Problem>);

pub(crate) struct Server {
    disk: SimDisk,
    journal: Journal<SimDisk>,
    pub(crate) live: Live,
    kept: Vec<Input>,
    wake: Option<Time>,
    /// The true time when it was started, and what its clock said then.
    base: (u64, u64),
    /// A snapshot that is being made: the last record in it, and its bytes.
    snapshot: Option<(u64, Vec<u8>)>,
    pub(crate) dies_at: Option<Point>,
}

pub(crate) fn encode(record: &Record) -> Vec<u8> {
    serde_json::to_vec(record).expect("records are plain data")
}

impl Server {
    /// Begin a journal, or go on with one. `wall` is what the wall clock says, which may be wrong.
    pub(crate) fn open(
        disk: &SimDisk,
        inventory: &Inventory,
        recipe: &str,
        (now, wall): (u64, u64),
        oracle: &mut Oracle,
    ) -> Result<(Server, bool), Died> {
        let opened = match Journal::open(disk.clone(), SETTINGS) {
            Ok(opened) => opened,
            Err(_) if disk.stopped() => return Err(Died),
            Err(error) => panic!("the journal cannot be opened: {error}"),
        };
        let mut journal = opened.journal;
        let fresh = opened.snapshot.is_none() && opened.records.is_empty();
        let live = if fresh {
            begin(disk, &mut journal, inventory, recipe, oracle)?
        } else {
            survived(&opened.snapshot, &opened.records, oracle);
            replay(opened.snapshot.as_ref(), &opened.records, oracle)
        };
        let since = wall.saturating_sub(EPOCH * 1_000_000);
        let base = (now, since.max(live.now().micros()));
        let kept = if fresh { Vec::new() } else { vec![Input::Restarted] };
        let server = Server {
            disk: disk.clone(),
            journal,
            live,
            kept,
            wake: Some(Time::ZERO),
            base,
            snapshot: None,
            dies_at: None,
        };
        Ok((server, !fresh))
    }

    fn clock(&self, now: u64) -> Time {
        Time::from_micros(self.base.1 + (now - self.base.0))
    }

    /// When it wants to do something, in true time.
    pub(crate) fn next(&self) -> Option<u64> {
        if !self.kept.is_empty() {
            return Some(0);
        }
        let wake = self.wake?.micros();
        Some(self.base.0 + wake.saturating_sub(self.base.1))
    }

    /// The stamp of a turn. A time that was waited for is met exactly, though the timer is always a
    /// little late: recipes that decide in rounds decide at whole rounds.
    fn stamp(&self, now: u64) -> Time {
        let at = self.clock(now);
        let due = self.wake.filter(|wake| (self.live.now()..=at).contains(wake));
        due.unwrap_or(at)
    }

    fn dies(&self, point: Point) -> Result<(), Died> {
        if self.dies_at == Some(point) { Err(Died) } else { Ok(()) }
    }

    /// One turn. Answers are put where they are seen even if it is killed afterwards.
    pub(crate) fn turn(
        &mut self,
        now: u64,
        asks: &[(Who, Ask)],
        world: &mut World,
        oracle: &mut Oracle,
        answers: &mut Vec<Answer>,
    ) -> Result<(), Died> {
        let at = self.stamp(now);
        let mut inputs = std::mem::take(&mut self.kept);
        inputs.extend(std::mem::take(&mut world.signs).into_iter().map(Input::Sign));
        let happened = inputs.len();
        let mut asked = Vec::new();
        for (place, (who, ask)) in asks.iter().enumerate() {
            match self.live.check(who, ask.clone(), at) {
                Ok(ask) => {
                    inputs.push(Input::Asked { who: who.clone(), ask });
                    asked.push(place);
                }
                Err(problem) => answers.push((place, Err(problem))),
            }
        }
        if inputs.is_empty() && self.wake.is_some_and(|wake| wake <= at) {
            inputs.push(Input::Tick);
        }
        if inputs.is_empty() {
            return self.dies(Point::Idle);
        }
        let record = Record { at, inputs, digest: self.live.digest() };
        self.dies(Point::BeforeAppend)?;
        if let Err(failure) = self.store(&record, oracle)? {
            for place in asked {
                let problem = Problem::new(Code::NotStored, failure.to_string());
                answers.push((place, Err(problem)));
            }
            self.kept = record.inputs;
            self.kept.truncate(happened);
            return Ok(());
        }
        self.dies(Point::AfterSync)?;
        let done = self.live.apply(&record);
        assert_eq!(done.len(), asked.len(), "one answer to each who asked");
        self.dies(Point::AfterApply)?;
        answers.extend(asked.into_iter().zip(done));
        self.dies(Point::AfterAnswers)?;
        let decision = self.live.decide(at);
        if let Some(fault) = &decision.fault {
            panic!("{fault}, by `{}`, after {record:?}", self.live.recipe().name);
        }
        oracle.count(self.journal.next_number() - 1, &record, &decision, self.live.now());
        self.wake = decision.wake;
        self.dies(Point::AfterDecide)?;
        for (place, order) in decision.orders.into_iter().enumerate() {
            self.dies(Point::BetweenOrders(place))?;
            world.carry_out(order);
        }
        self.live.changes();
        self.store_snapshot()
    }

    /// Write a record down. The outer result is whether it lived, the inner whether it is stored.
    fn store(
        &mut self,
        record: &Record,
        oracle: &mut Oracle,
    ) -> Result<Result<(), JournalError>, Died> {
        let bytes = encode(record);
        if let Some(Point::InSync(operations)) = self.dies_at {
            self.disk.stop_after(operations);
        }
        let stored = self.journal.append(&bytes).and_then(|_| self.journal.sync());
        if self.disk.stopped() {
            oracle.doubt.push(bytes);
            return Err(Died);
        }
        match &stored {
            Ok(()) => {
                oracle.records.push(bytes);
                oracle.doubt.clear();
            }
            Err(JournalError::Unsure { .. }) => oracle.doubt.push(bytes),
            Err(_) => {}
        }
        Ok(stored)
    }

    /// Begin a snapshot of the state as it is; it is stored in a later turn.
    pub(crate) fn begin_snapshot(&mut self) {
        if self.snapshot.is_none() && self.kept.is_empty() {
            let bytes = serde_json::to_vec(&self.live.save()).expect("plain data");
            self.snapshot = Some((self.journal.next_number() - 1, bytes));
        }
    }

    fn store_snapshot(&mut self) -> Result<(), Died> {
        let Some((upto, bytes)) = self.snapshot.take() else { return Ok(()) };
        if let Some(Point::InSnapshot(operations)) = self.dies_at {
            self.disk.stop_after(operations);
        }
        // One that cannot be stored is not missed.
        let _ = self.journal.snapshot(upto, &bytes);
        if self.disk.stopped() { Err(Died) } else { Ok(()) }
    }

    /// Whether the state is that of all records that are safe.
    pub(crate) fn is_current(&self, oracle: &Oracle) -> bool {
        self.live.decisions() == oracle.records.len() as u64
    }
}

fn begin(
    disk: &SimDisk,
    journal: &mut Journal<SimDisk>,
    inventory: &Inventory,
    recipe: &str,
    oracle: &mut Oracle,
) -> Result<Live, Died> {
    assert!(oracle.records.is_empty(), "the whole journal is gone");
    let open = Live::open(EPOCH, inventory.clone(), recipe, 7);
    let mut live = open.unwrap_or_else(|problem| panic!("{}", problem.message));
    let (inventory, recipe) = (inventory.clone(), recipe.to_owned());
    let inputs = vec![Input::Opened { epoch: EPOCH, inventory, recipe, seed: 7 }];
    let record = Record { at: Time::ZERO, inputs, digest: live.digest() };
    let bytes = encode(&record);
    journal.append(&bytes).expect("short");
    let stored = journal.sync();
    if disk.stopped() || stored.is_err() {
        oracle.doubt.push(bytes);
        return Err(Died);
    }
    oracle.records.push(bytes);
    live.apply(&record);
    let decision = live.decide(record.at);
    oracle.count(1, &record, &decision, live.now());
    Ok(live)
}

/// What is in the journal is what was written, and perhaps what was being written.
fn survived(snapshot: &Option<(u64, Vec<u8>)>, records: &[(u64, Vec<u8>)], oracle: &mut Oracle) {
    let upto = snapshot.as_ref().map_or(0, |(upto, _)| *upto) as usize;
    let held = upto + records.len();
    if held == oracle.records.len() + 1 {
        let (_, more) = records.last().expect("it is newer than any snapshot");
        assert!(oracle.doubt.contains(more), "a record that nobody wrote");
        oracle.records.push(more.clone());
    }
    assert_eq!(held, oracle.records.len(), "records are gone");
    for (number, bytes) in records {
        assert!(*bytes == oracle.records[*number as usize - 1], "record {number} is another");
    }
    oracle.doubt.clear();
}

/// The state after these records.
pub(crate) fn replay(
    snapshot: Option<&(u64, Vec<u8>)>,
    records: &[(u64, Vec<u8>)],
    oracle: &mut Oracle,
) -> Live {
    let mut live = snapshot.map(|(_, bytes)| {
        let saved = serde_json::from_slice(bytes).expect("a snapshot");
        Live::load(saved).unwrap_or_else(|message| panic!("a snapshot: {message}"))
    });
    for (number, bytes) in records {
        let record: Record = serde_json::from_slice(bytes).expect("a record");
        if let Some(Input::Opened { epoch, inventory, recipe, seed }) = record.inputs.first() {
            live = Live::open(*epoch, inventory.clone(), recipe, *seed).ok();
        }
        let live = live.as_mut().expect("a journal begins with what there is");
        assert_eq!(live.digest(), record.digest, "before record {number} another way was taken");
        live.apply(&record);
        let decision = live.decide(record.at);
        live.changes();
        oracle.count(*number, &record, &decision, live.now());
    }
    live.expect("a journal begins with what there is")
}

/// The state by the whole journal, from its first record on.
pub(crate) fn replay_all(disk: &SimDisk, oracle: &mut Oracle) -> Live {
    let all = read_from(&mut disk.clone()).expect("the journal can be read");
    assert!(all.snapshot.is_none() && all.records.len() == oracle.records.len());
    replay(None, &all.records, oracle)
}
