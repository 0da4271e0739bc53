//! The loop: the one thread that changes anything. Each turn takes up all there is, writes it down
//! durably, answers those who asked, decides, and tells the world what to do; in this order, so
//! that nothing leaves before it is safe on disk.

use crate::board::Board;
use crate::handle::{Answer, Message, has_account};
use crate::restore;
use crate::settings::ServeError;
use heeler_api::{Code, JobState, Problem};
use heeler_backend::{Backend, Order, Sign};
use heeler_journal::{Disk, Journal, JournalError};
use heeler_live::{Ask, Change, Input, Record};
use heeler_model::{Span, Time};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Messages that are taken up at once, at most.
const TURN_MESSAGES: usize = 1_024;
/// Jobs handed in that are taken up at once, about.
const TURN_JOBS: usize = 4_096;
/// How late a time that was waited for may be taken up as if it were that time.
const LATE: Span = Span::from_secs(10);
/// How long to wait after the journal could not be written.
const AGAIN: Duration = Duration::from_millis(500);

/// The thread's own things.
pub(crate) struct Turner<D: Disk> {
    pub(crate) from: Receiver<Message>,
    /// For threads that make snapshots.
    pub(crate) to: Sender<Message>,
    pub(crate) board: Arc<Board>,
    pub(crate) journal: Journal<D>,
    pub(crate) world: Box<dyn Backend>,
    /// What happened and could not be written down yet.
    pub(crate) kept: Vec<Input>,
    /// When to decide next, if nothing happens before.
    pub(crate) wake: Option<Time>,
    /// When to try the journal again.
    pub(crate) again_at: Option<Instant>,
    /// Seconds since 1970 at time zero.
    pub(crate) epoch: u64,
    /// Where past estimates are kept.
    pub(crate) estimates: PathBuf,
    pub(crate) snapshot_bytes: u64,
    pub(crate) snapshotting: bool,
    pub(crate) stopping: bool,
    /// Whether everybody who hands in jobs must have an account.
    pub(crate) accounts: bool,
}

/// What was taken up in one turn.
#[derive(Default)]
struct Taken {
    asks: Vec<(crate::Asker, Ask, oneshot::Sender<Answer>)>,
    signs: Vec<Sign>,
    jobs: usize,
    messages: usize,
}

impl<D: Disk> Turner<D> {
    pub(crate) fn run(mut self) -> Result<(), ServeError> {
        while !self.stopping {
            let mut taken = Taken::default();
            if let Some(message) = self.wait() {
                self.take(message, &mut taken);
                while taken.messages < TURN_MESSAGES && taken.jobs < TURN_JOBS {
                    match self.from.try_recv() {
                        Ok(message) => self.take(message, &mut taken),
                        Err(_) => break,
                    }
                }
            }
            self.turn(taken)?;
        }
        self.snapshot_now();
        Ok(())
    }

    /// Wait until there is something to do.
    fn wait(&mut self) -> Option<Message> {
        let again = self.again_at.map(|at| at.saturating_duration_since(Instant::now()));
        let wake = self.wake.map(|wake| self.board.clock.until(wake));
        // While the journal cannot be written, there is no use in waking for a time that has come.
        let wait = match (again, self.kept.is_empty()) {
            (Some(again), _) => Some(again),
            (None, false) => Some(Duration::ZERO),
            (None, true) => wake,
        };
        let Some(wait) = wait else { return self.from.recv().ok() };
        self.from.recv_timeout(wait).ok()
    }

    fn take(&mut self, message: Message, taken: &mut Taken) {
        taken.messages += 1;
        match message {
            Message::Ask(asker, ask, answer) => {
                self.board.waiting.fetch_sub(1, Ordering::Relaxed);
                if let Ask::Submit(jobs) = &ask {
                    taken.jobs += jobs.len();
                }
                taken.asks.push((asker, ask, answer));
            }
            Message::Sign(sign) => taken.signs.push(sign),
            Message::Readings(answer) => {
                // Whoever asked may be gone.
                let _ = answer.send(self.world.readings());
            }
            Message::Snapshot(upto, bytes) => {
                self.snapshotting = false;
                self.store_snapshot(upto, &bytes);
            }
            Message::Stop => self.stopping = true,
        }
    }

    /// The time of this turn: the one that was waited for, if it has just come. Recipes with rounds
    /// decide at the very end of a round, and whoever waits for it wakes a little later.
    fn stamp(&self) -> Time {
        let now = self.board.clock.now();
        let latest = self.board.for_loop().now();
        let just_come = |wake: &Time| latest <= *wake && *wake <= now && now.since(*wake) < LATE;
        self.wake.filter(just_come).unwrap_or(now).max(latest)
    }

    fn turn(&mut self, taken: Taken) -> Result<(), ServeError> {
        let at = self.stamp();
        let mut answers = Vec::new();
        let mut inputs = std::mem::take(&mut self.kept);
        inputs.extend(taken.signs.into_iter().map(Input::Sign));
        let happened = inputs.len();
        let digest = {
            let live = self.board.for_loop();
            for (asker, ask, answer) in taken.asks {
                let checked = asker.who(&live, at).and_then(|who| {
                    // What one may not do at all is said before what else would be in the way.
                    let hands_in = self.accounts && matches!(ask, Ask::Submit(_));
                    let ask = live.check(&who, ask, at)?;
                    if hands_in {
                        has_account(&who)?;
                    }
                    Ok(Input::Asked { who, ask })
                });
                match checked {
                    Ok(input) => {
                        inputs.push(input);
                        answers.push(answer);
                    }
                    Err(problem) => reply(answer, Err(problem)),
                }
            }
            live.digest()
        };
        let due = self.wake.is_some_and(|wake| wake <= at);
        if inputs.is_empty() && due {
            inputs.push(Input::Tick);
        }
        if inputs.is_empty() {
            self.again_at = None;
            return Ok(());
        }
        let mut record = Record { at, inputs, digest };
        match self.store(&record) {
            Ok(()) => {
                self.again_at = None;
                self.carry_on(&record, answers);
                self.snapshot_if_due();
                Ok(())
            }
            Err(failure) => {
                record.inputs.truncate(happened);
                self.kept = record.inputs;
                self.not_stored(&failure, answers)
            }
        }
    }

    /// Write a record down so that it stays.
    fn store(&mut self, record: &Record) -> Result<(), JournalError> {
        let bytes = restore::encode(record);
        let start = Instant::now();
        self.journal.append(&bytes)?;
        self.journal.sync()?;
        let metrics = &self.board.metrics;
        metrics.sync.observe(start.elapsed().as_secs_f64());
        metrics.record_inputs.observe(record.inputs.len() as f64);
        metrics.journal_bytes.inc_by(bytes.len() as u64);
        self.board.records.fetch_add(1, Ordering::Relaxed);
        if !self.board.storing.swap(true, Ordering::Relaxed) {
            tracing::info!("the journal can be written again");
        }
        Ok(())
    }

    /// Nothing was stored: nobody is told otherwise, and what happened is kept for the next try.
    fn not_stored(
        &mut self,
        failure: &JournalError,
        answers: Vec<oneshot::Sender<Answer>>,
    ) -> Result<(), ServeError> {
        self.board.metrics.journal_failures.inc();
        if self.board.storing.swap(false, Ordering::Relaxed) {
            tracing::error!(%failure, "the journal cannot be written");
        }
        let problem = Problem::new(Code::NotStored, failure.to_string()).hint(match failure {
            JournalError::Unsure { .. } => {
                "whether it was stored shows when the server is started again"
            }
            _ => "make room in the state folder; nothing was changed",
        });
        for answer in answers {
            reply(answer, Err(problem.clone()));
        }
        if matches!(failure, JournalError::TooLong { .. }) && !self.kept.is_empty() {
            return Err(ServeError::Journal(failure.to_string()));
        }
        self.again_at = Some(Instant::now() + AGAIN);
        Ok(())
    }

    /// It is stored: apply it, answer, decide, act.
    fn carry_on(&mut self, record: &Record, answers: Vec<oneshot::Sender<Answer>>) {
        let board = self.board.clone();
        let mut live = board.for_loop();
        let done = live.apply(record);
        for (answer, done) in answers.into_iter().zip(done) {
            if let Ok(heeler_live::Done::Submitted(jobs)) = &done {
                let tasks = jobs.iter().filter(|it| !it.again).map(|it| u64::from(it.tasks)).sum();
                board.metrics.submits.inc_by(tasks);
            }
            reply(answer, done);
        }
        let orders = self.decide(live, record.at);
        for order in orders {
            self.world.carry_out(order);
        }
    }

    fn decide(&mut self, mut live: MutexGuard<'_, heeler_live::Live>, at: Time) -> Vec<Order> {
        let start = Instant::now();
        let decision = live.decide(at);
        let changes = live.changes();
        drop(live);
        let metrics = &self.board.metrics;
        metrics.decision.observe(start.elapsed().as_secs_f64());
        metrics.changed(&changes);
        let stops = decision.orders.iter().filter(|order| matches!(order, Order::Stop { .. }));
        metrics.preemptions.inc_by(stops.count() as u64);
        self.score(&changes);
        self.board.ring.push(changes);
        self.board.decisions.fetch_add(1, Ordering::Relaxed);
        if let Some(fault) = decision.fault {
            metrics.faults.inc();
            tracing::error!(fault, "the recipe's plan cannot be carried out");
        }
        self.wake = decision.wake;
        decision.orders
    }

    /// Compare estimates with what came.
    fn score(&self, changes: &[Change]) {
        let mut estimates = self.board.estimates();
        for change in changes {
            if change.state.is_over() {
                estimates.dropped(change.job);
            } else if change.state == JobState::Starting {
                estimates.started(change.job, self.epoch as f64 + change.at.secs_f64());
            }
        }
    }

    /// Begin a snapshot, if the journal has grown enough since the last one.
    fn snapshot_if_due(&mut self) {
        if self.snapshotting || self.journal.bytes_since_snapshot() < self.snapshot_bytes {
            return;
        }
        let (upto, saved) = (self.journal.next_number() - 1, self.board.for_loop().save());
        let to = self.to.clone();
        let write = move || {
            if let Ok(bytes) = serde_json::to_vec(&saved) {
                // The loop has ended, and taken one itself.
                let _ = to.send(Message::Snapshot(upto, bytes));
            }
        };
        let thread = std::thread::Builder::new().name("heeler-snapshot".into()).spawn(write);
        self.snapshotting = thread.is_ok();
    }

    fn snapshot_now(&mut self) {
        if self.journal.bytes_since_snapshot() == 0 || !self.kept.is_empty() {
            return;
        }
        let saved = serde_json::to_vec(&self.board.for_loop().save());
        match saved {
            Ok(bytes) => self.store_snapshot(self.journal.next_number() - 1, &bytes),
            Err(error) => tracing::error!(%error, "no snapshot can be made"),
        }
    }

    fn store_snapshot(&mut self, upto: u64, bytes: &[u8]) {
        match self.journal.snapshot(upto, bytes) {
            Ok(()) => _ = self.board.metrics.snapshots.inc(),
            Err(error) => tracing::error!(%error, "the snapshot cannot be stored"),
        }
        if let Err(error) = self.board.estimates().save(&self.estimates) {
            tracing::warn!(%error, "how good estimates were is not kept");
        }
    }
}

/// Answer somebody, who may be gone.
fn reply(to: oneshot::Sender<Answer>, answer: Answer) {
    let _ = to.send(answer);
}
