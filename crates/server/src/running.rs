//! A loop that runs on a thread of its own: how it is started, reached and stopped.

use crate::board::Board;
use crate::foresee::Estimates;
use crate::handle::Handle;
use crate::restore::{self, Restored};
use crate::settings::{ServeError, Settings};
use crate::turn::Turner;
use heeler_backend::{Backend, Tell};
use heeler_journal::{Disk, Folder};
use heeler_live::Input;
use heeler_model::Time;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

/// A loop that runs.
pub struct Loop {
    thread: JoinHandle<Result<(), ServeError>>,
    handle: Handle,
}

/// Whoever makes a world, given where it says what happens there.
pub trait MakeWorld: FnOnce(Tell) -> Result<Box<dyn Backend>, String> {}

impl<F: FnOnce(Tell) -> Result<Box<dyn Backend>, String>> MakeWorld for F {}

impl Loop {
    /// Go on where the journal in the state folder ends, or begin a new one.
    ///
    /// # Errors
    /// If the journal cannot be read or written, or there is no world.
    pub fn start(settings: &Settings, world: impl MakeWorld) -> Result<Loop, ServeError> {
        let path = settings.state.join("journal");
        let folder = Folder::open(&path).map_err(|error| restore::unopened(&error))?;
        Loop::start_on(folder, settings, world)
    }

    /// As [`Loop::start`], with the journal on a disk of one's own.
    ///
    /// # Errors
    /// As [`Loop::start`].
    pub fn start_on<D: Disk + 'static>(
        disk: D,
        settings: &Settings,
        world: impl MakeWorld,
    ) -> Result<Loop, ServeError>
    where
        D::File: 'static,
    {
        let (to, from) = channel();
        let mut world = world(Handle::tell_through(to.clone())).map_err(ServeError::World)?;
        let restored = restore::restore(disk, settings, world.inventory())?;
        let Restored { journal, live, clock, again, notes } = restored;
        for note in &notes {
            tracing::warn!(note, "found at the start");
        }
        if again {
            world.adopt(live.expected());
        }
        let (epoch, limits) = (live.epoch(), settings.limits.clone());
        let board = Arc::new(Board::new(live, clock, limits, notes, world.look()));
        let estimates = settings.state.join("estimates.json");
        match Estimates::load(&estimates) {
            Ok(past) => *board.estimates() = past,
            Err(error) => tracing::warn!(%error, "estimates begin anew"),
        }
        board.records.store(journal.next_number() - 1, Ordering::Relaxed);
        let handle = Handle { to: to.clone(), board: board.clone() };
        let turner = Turner {
            from,
            to,
            board: board.clone(),
            journal,
            world,
            kept: if again { vec![Input::Restarted] } else { Vec::new() },
            wake: Some(Time::ZERO),
            again_at: None,
            epoch,
            estimates,
            snapshot_bytes: settings.snapshot_bytes,
            snapshotting: false,
            stopping: false,
            accounts: settings.accounts,
        };
        let body = move || {
            // However the loop ends, nobody is told any more that it runs.
            let _end = Ends(board);
            turner.run()
        };
        let thread = std::thread::Builder::new().name("heeler-loop".into()).spawn(body);
        let thread = thread.map_err(ServeError::file("a thread"))?;
        Ok(Loop { thread, handle })
    }

    /// The way in.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Stop it, and wait until everything is written down.
    ///
    /// # Errors
    /// If it had to end before.
    pub fn stop(self) -> Result<(), ServeError> {
        self.handle.stop();
        self.join()
    }

    /// Wait until it has ended.
    ///
    /// # Errors
    /// If it did so without being asked to.
    pub fn join(self) -> Result<(), ServeError> {
        match self.thread.join() {
            Ok(ended) => ended,
            Err(panic) => {
                let said = panic.downcast_ref::<String>().cloned();
                let said = said.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).into()));
                Err(ServeError::Ended(said.unwrap_or_else(|| "it panicked".into())))
            }
        }
    }
}

/// Says that the loop has ended, also when it panics.
struct Ends(Arc<Board>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.running.store(false, Ordering::Relaxed);
    }
}
