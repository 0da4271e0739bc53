//! What a server is told when it is started, and why it may refuse to.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What a server is told when it is started.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder with its journal, its socket and what jobs leave behind.
    pub state: PathBuf,
    /// The recipe that decides in a new journal. An old journal knows its own.
    pub recipe: String,
    /// The seed of all chance in a new journal; drawn by lot, if not said.
    pub seed: Option<u64>,
    /// Where to listen beside the socket in the state folder.
    pub tcp: Option<Tcp>,
    /// A snapshot is taken after so many bytes of journal.
    pub snapshot_bytes: u64,
    /// Whether old records stay though a snapshot has them, so that all can be replayed.
    pub keep_history: bool,
    /// Whether jobs run as who handed them in, so that everybody who does must have an account on
    /// this machine. A server that is not root runs all jobs as itself.
    pub accounts: bool,
    /// What is too much.
    pub limits: Limits,
}

impl Settings {
    /// Everything as usual, in a folder.
    pub fn new(state: impl Into<PathBuf>) -> Settings {
        Settings {
            state: state.into(),
            recipe: "fifo".into(),
            seed: None,
            tcp: None,
            snapshot_bytes: 32 << 20,
            keep_history: false,
            accounts: false,
            limits: Limits::default(),
        }
    }

    /// Where the server's own socket is.
    pub fn socket(&self) -> PathBuf {
        self.state.join("heeler.sock")
    }
}

/// Where to listen for those who come over the network.
#[derive(Clone, Debug)]
pub struct Tcp {
    /// The address. Without TLS, only this machine's own (loopback) is allowed.
    pub listen: SocketAddr,
    /// PEM files of a certificate chain and its private key.
    pub tls: Option<(PathBuf, PathBuf)>,
}

/// What is too much.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Jobs in one request.
    pub batch_jobs: usize,
    /// Headers of a request.
    pub headers: usize,
    /// Connections in all.
    pub connections: usize,
    /// Connections of one user, or from one address.
    pub connections_each: usize,
    /// Requests a second of one user, over a longer time. The server's own user is not limited.
    pub requests_per_s: f64,
    /// Requests at once of one user.
    pub burst: f64,
    /// Entries in one page of a list.
    pub page: usize,
    /// Entries in one page of a list, if the asker does not say.
    pub usual_page: usize,
    /// Streams (events, followed logs, terminals) at once.
    pub streams: usize,
    /// Asks that wait for the loop.
    pub waiting_asks: usize,
    /// How long a request may take to arrive.
    pub arrive: Duration,
    /// How long an answer may take.
    pub answer: Duration,
    /// Job changes that are kept for those who come back to the event stream.
    pub events: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes: 4 << 20,
            batch_jobs: 1_000,
            headers: 64,
            connections: 1_024,
            connections_each: 256,
            requests_per_s: 200.0,
            burst: 1_000.0,
            page: 10_000,
            usual_page: 1_000,
            streams: 256,
            waiting_asks: 10_000,
            arrive: Duration::from_secs(15),
            answer: Duration::from_secs(60),
            events: 16_384,
        }
    }
}

/// Why a server could not be started, or had to end.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A file or folder is not as it has to be.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What happened.
        source: std::io::Error,
    },
    /// Another server works in the folder.
    #[error("{0}: another Heeler server works in this folder; stop it or choose another --state")]
    Taken(PathBuf),
    /// The journal cannot be opened.
    #[error("the journal cannot be opened: {0}")]
    Journal(String),
    /// What is in the journal cannot be understood.
    #[error("record {number} of the journal cannot be understood: {message}")]
    Record {
        /// Its number.
        number: u64,
        /// Why.
        message: String,
    },
    /// The snapshot cannot be understood.
    #[error("the snapshot of record {number} cannot be understood: {message}")]
    Snapshot {
        /// The last record in it.
        number: u64,
        /// Why.
        message: String,
    },
    /// The world is not there.
    #[error("{0}")]
    World(String),
    /// The recipe cannot be used.
    #[error("{0}")]
    Recipe(heeler_api::Problem),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {message}")]
    Listen {
        /// Which.
        address: String,
        /// Why.
        message: String,
    },
    /// Certificate or key are not usable.
    #[error("{path}: {message}")]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The loop ended though nobody asked it to.
    #[error("the server's loop ended by itself; what was acknowledged is in the journal: {0}")]
    Ended(String),
}

impl ServeError {
    /// A file or folder is not as it has to be.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> ServeError {
        let path = path.into();
        move |source| ServeError::File { path, source }
    }
}
