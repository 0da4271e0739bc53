//! The shepherd's socket: the job, the server, and those who look at its terminal.

use super::line;
use super::log::Viewers;
use super::terminal::{Terminal, attend};
use crate::wire::Heard;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use std::io::BufReader;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long somebody who does not read may hold up the shepherd.
const STALLED: Duration = Duration::from_secs(5);

/// Something happened on a connection.
pub(super) enum Heed {
    /// Somebody came.
    Joined(u64, Arc<UnixStream>),
    /// They said something.
    Heard(u64, Heard),
    /// They left.
    Left(u64),
}

/// What those who look at a terminal need.
#[derive(Clone)]
pub(super) struct Seat {
    pub(super) terminal: Arc<Mutex<Option<Terminal>>>,
    pub(super) viewers: Viewers,
    pub(super) log: PathBuf,
}

/// Take connections until the process ends.
pub(super) fn serve<E: From<Heed> + Send + 'static>(
    listener: UnixListener,
    seat: Seat,
    events: Sender<E>,
) {
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let Ok(stream) = stream else { continue };
            // Whoever may connect is the job or the server; only the server's user gives orders.
            let peer = getsockopt(&stream, PeerCredentials);
            let trusted = peer.is_ok_and(|peer| peer.uid() == nix::unistd::geteuid().as_raw());
            hear(number as u64 + 1, BufReader::new(stream), trusted, seat.clone(), events.clone());
        }
    });
}

/// Listen to one connection until it ends.
pub(super) fn hear<E: From<Heed> + Send + 'static>(
    id: u64,
    mut reader: BufReader<UnixStream>,
    trusted: bool,
    seat: Seat,
    events: Sender<E>,
) {
    let Ok(stream) = reader.get_ref().try_clone().map(Arc::new) else { return };
    let _ = stream.set_write_timeout(Some(STALLED));
    // The one who receives lives as long as the process.
    let tell = move |heed: Heed| events.send(heed.into()).is_ok();
    tell(Heed::Joined(id, Arc::clone(&stream)));
    std::thread::spawn(move || {
        while let Some(line) = line(&mut reader, trusted) {
            match serde_json::from_slice(&line) {
                Ok(Heard::Attach(window)) => {
                    let held = seat.terminal.lock().unwrap_or_else(PoisonError::into_inner);
                    let terminal = held.as_ref().and_then(|terminal| terminal.another().ok());
                    drop(held);
                    if let Some(terminal) = terminal {
                        // It ends when they go, whatever the reason.
                        let _ = attend(terminal, reader, &stream, window, &seat.log, &seat.viewers);
                    }
                    break;
                }
                Ok(Heard::Server(_)) if !trusted => break,
                Ok(heard) => {
                    tell(Heed::Heard(id, heard));
                }
                // What a newer package says is no mistake.
                Err(_) => {}
            }
        }
        let _ = stream.shutdown(std::net::Shutdown::Both);
        tell(Heed::Left(id));
    });
}
