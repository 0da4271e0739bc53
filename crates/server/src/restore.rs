//! The way back to where a server was: the snapshot, then every record after it, once more.

use crate::clock::{Clock, wall_us};
use crate::settings::{ServeError, Settings};
use heeler_backend::Inventory;
use heeler_journal::{Disk, Journal, JournalError, Opened};
use heeler_live::{Decision, Input, Live, Record};
use heeler_model::Time;

/// Where a server was.
pub(crate) struct Restored<D: Disk> {
    pub(crate) journal: Journal<D>,
    pub(crate) live: Live,
    pub(crate) clock: Clock,
    /// Whether there was a server before.
    pub(crate) again: bool,
    pub(crate) notes: Vec<String>,
}

/// A record as it is written down.
pub(crate) fn encode(record: &Record) -> Vec<u8> {
    serde_json::to_vec(record).expect("records are plain data with text for keys")
}

/// A record as it was written down.
///
/// # Errors
/// If it is something else.
pub fn decode(bytes: &[u8]) -> Result<Record, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

pub(crate) fn unopened(error: &JournalError) -> ServeError {
    ServeError::Journal(error.to_string())
}

/// Open a journal and go through it, or begin it.
pub(crate) fn restore<D: Disk>(
    disk: D,
    settings: &Settings,
    inventory: Inventory,
) -> Result<Restored<D>, ServeError> {
    let kept = heeler_journal::Settings {
        keep_all: settings.keep_history,
        ..heeler_journal::Settings::default()
    };
    let opened = Journal::open(disk, kept).map_err(|error| unopened(&error))?;
    let Opened { mut journal, snapshot, records, mut notes } = opened;
    if snapshot.is_none() && records.is_empty() {
        let live = begin(&mut journal, settings, inventory)?;
        let clock = Clock::start(live.epoch(), live.now());
        return Ok(Restored { journal, live, clock, again: false, notes });
    }
    let mut replay = Replay::from(snapshot.as_ref().map(|(upto, bytes)| (*upto, &bytes[..])))?;
    for (number, bytes) in &records {
        replay.take(*number, bytes, |_, _| {})?;
    }
    notes.append(&mut replay.notes);
    let live = replay.live.ok_or_else(|| missing(0))?;
    if live.inventory().cluster.nodes != inventory.cluster.nodes {
        notes.push(
            "the machine offers other nodes or GPUs than when the journal was begun; jobs are \
             placed on what it says: begin a new state folder to use what is there now"
                .into(),
        );
    }
    let clock = Clock::start(live.epoch(), live.now());
    if wall_us() < live.epoch().saturating_mul(1_000_000).saturating_add(live.now().micros()) {
        notes.push("the wall clock is behind the journal; time goes on from the journal".into());
    }
    Ok(Restored { journal, live, clock, again: true, notes })
}

fn begin<D: Disk>(
    journal: &mut Journal<D>,
    settings: &Settings,
    inventory: Inventory,
) -> Result<Live, ServeError> {
    let seed = match settings.seed {
        Some(seed) => seed,
        None => getrandom::u64()
            .map_err(|error| ServeError::World(format!("no randomness to be had: {error}")))?,
    };
    let (epoch, recipe) = (wall_us() / 1_000_000, settings.recipe.clone());
    let mut live =
        Live::open(epoch, inventory.clone(), &recipe, seed).map_err(ServeError::Recipe)?;
    let inputs = vec![Input::Opened { epoch, inventory, recipe, seed }];
    let record = Record { at: Time::ZERO, inputs, digest: live.digest() };
    journal.append(&encode(&record)).map_err(|error| unopened(&error))?;
    journal.sync().map_err(|error| unopened(&error))?;
    live.apply(&record);
    live.decide(record.at);
    Ok(live)
}

fn missing(number: u64) -> ServeError {
    let message = "the journal does not begin with what there is to decide about".into();
    ServeError::Record { number, message }
}

/// Going through a journal.
pub struct Replay {
    /// The state after the latest record; nothing before the first.
    pub live: Option<Live>,
    /// What was found on the way.
    pub notes: Vec<String>,
}

impl Replay {
    /// From a snapshot with its number, or from the beginning.
    ///
    /// # Errors
    /// If the snapshot cannot be understood.
    pub fn from(snapshot: Option<(u64, &[u8])>) -> Result<Replay, ServeError> {
        let Some((number, bytes)) = snapshot else {
            return Ok(Replay { live: None, notes: Vec::new() });
        };
        let wrong = |message| ServeError::Snapshot { number, message };
        let saved = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        Ok(Replay { live: Some(Live::load(saved).map_err(wrong)?), notes: Vec::new() })
    }

    /// The next record, as it is in the journal. `seen` is shown it and what was decided then.
    ///
    /// # Errors
    /// If it cannot be understood.
    pub fn take(
        &mut self,
        number: u64,
        bytes: &[u8],
        mut seen: impl FnMut(&Record, &Decision),
    ) -> Result<(), ServeError> {
        let wrong = |message| ServeError::Record { number, message };
        let record = decode(bytes).map_err(wrong)?;
        if let Some(Input::Opened { epoch, inventory, recipe, seed }) = record.inputs.first() {
            let live = Live::open(*epoch, inventory.clone(), recipe, *seed);
            self.live = Some(live.map_err(|problem| wrong(problem.message))?);
        }
        let live = self.live.as_mut().ok_or_else(|| missing(number))?;
        if live.digest() != record.digest {
            self.notes.push(format!(
                "before record {number} other decisions were taken than this program takes; the \
                 world is asked what really runs"
            ));
        }
        live.apply(&record);
        let decision = live.decide(record.at);
        live.changes();
        seen(&record, &decision);
        Ok(())
    }
}
