//! How the loop is asked for something: by those who come over HTTP, by worlds, and by programs
//! that hold a server in their own process.

use crate::board::Board;
use heeler_api::{Code, Problem, Who};
use heeler_backend::{Sign, Tell};
use heeler_live::{Ask, Done, Live};
use heeler_model::Time;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use tokio::sync::oneshot;

/// Who asks, as far as the connection tells. What they may do is looked up when it is needed, so
/// that a token that was taken back is worth nothing at once.
#[derive(Clone, Debug)]
pub enum Asker {
    /// Somebody the program itself vouches for.
    Known(Who),
    /// A user of this machine, by a socket's credentials.
    Peer {
        /// The user's name.
        user: Arc<str>,
        /// The user's number.
        uid: u32,
        /// The user's group.
        gid: u32,
    },
    /// Whoever a token stands for, by the SHA-256 of its secret in hexadecimal.
    Token(Arc<str>),
}

impl Asker {
    /// Who that is, and what they may do.
    ///
    /// # Errors
    /// If nobody is known by the token.
    pub fn who(&self, live: &Live, at: Time) -> Result<Who, Problem> {
        match self {
            Asker::Known(who) => Ok(who.clone()),
            Asker::Peer { user, uid, gid } => Ok(live.who_is(user, *uid, *gid, own_uid())),
            Asker::Token(hash) => live.token(hash, at).map(with_account).ok_or_else(|| {
                Problem::new(Code::Unknown, "this token is not known, or not any more")
                    .hint("ask an admin for one: heeler token make")
            }),
        }
    }
}

/// Somebody with the account that has their name on this machine, if there is one.
fn with_account(mut who: Who) -> Who {
    if let Ok(Some(account)) = nix::unistd::User::from_name(&who.user) {
        who.uid = Some(account.uid.as_raw());
        who.gid = Some(account.gid.as_raw());
    }
    who
}

/// Whether jobs of somebody can be run as them.
///
/// # Errors
/// If they have no account, and would be run as the server.
pub(crate) fn has_account(who: &Who) -> Result<(), Problem> {
    if who.uid.is_some() || own_uid() != 0 {
        return Ok(());
    }
    let message = format!("there is no user `{}` on this machine to run jobs as", who.user);
    let hint = "make the account, or a token for a user that has one";
    Err(Problem::new(Code::Forbidden, message).hint(hint))
}

/// The user the server itself runs as.
pub(crate) fn own_uid() -> u32 {
    nix::unistd::geteuid().as_raw()
}

/// What became of an ask.
pub(crate) type Answer = Result<Done, Problem>;

/// What a GPU of a node says of itself, by node and GPU.
pub type Readings = Vec<Vec<std::collections::BTreeMap<String, f64>>>;

/// Something for the loop.
pub(crate) enum Message {
    /// Somebody asks for something.
    Ask(Asker, Ask, oneshot::Sender<Answer>),
    /// The world said something.
    Sign(Sign),
    /// Somebody wants to know what the GPUs say of themselves.
    Readings(oneshot::Sender<Readings>),
    /// A snapshot of everything up to a record is ready to be written.
    Snapshot(u64, Vec<u8>),
    /// It is time to go.
    Stop,
}

/// A loop's front door. Clones lead to the same loop.
#[derive(Clone)]
pub struct Handle {
    pub(crate) to: mpsc::Sender<Message>,
    pub(crate) board: Arc<Board>,
}

impl Handle {
    /// Ask for something, and wait until it is durable and done. Not for asynchronous code.
    ///
    /// # Errors
    /// If they may not, or it makes no sense, or it could not be stored.
    pub fn ask(&self, asker: Asker, ask: Ask) -> Result<Done, Problem> {
        self.send(asker, ask)?.blocking_recv().unwrap_or_else(|_| Err(gone()))
    }

    /// Ask for something; the answer comes once it is durable and done.
    ///
    /// # Errors
    /// As [`Handle::ask`].
    pub async fn ask_later(&self, asker: Asker, ask: Ask) -> Result<Done, Problem> {
        self.send(asker, ask)?.await.unwrap_or_else(|_| Err(gone()))
    }

    fn send(&self, asker: Asker, ask: Ask) -> Result<oneshot::Receiver<Answer>, Problem> {
        let (answer, answered) = oneshot::channel();
        let waiting = self.board.waiting.fetch_add(1, Ordering::Relaxed);
        if waiting >= self.board.limits.waiting_asks {
            self.board.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(Problem::new(Code::Busy, "too many requests wait already")
                .hint("try again in a second"));
        }
        self.to.send(Message::Ask(asker, ask, answer)).map_err(|_| gone())?;
        Ok(answered)
    }

    /// Look at the state. The loop waits meanwhile: be brief.
    pub fn look<T>(&self, look: impl FnOnce(&Live) -> T) -> T {
        look(&self.board.live())
    }

    /// What time it is for the journal.
    pub fn now(&self) -> Time {
        self.board.clock.now()
    }

    /// What the GPUs say of themselves.
    pub async fn readings(&self) -> Readings {
        let (answer, answered) = oneshot::channel();
        match self.to.send(Message::Readings(answer)) {
            Ok(()) => answered.await.unwrap_or_default(),
            Err(_) => Readings::new(),
        }
    }

    /// Where a world says what happened.
    pub(crate) fn tell_through(to: mpsc::Sender<Message>) -> Tell {
        Arc::new(move |sign| {
            // Nobody listens only while the server ends; the next one asks the world anew.
            let _ = to.send(Message::Sign(sign));
        })
    }

    /// End the loop: everything that was asked before is still answered. Jobs go on.
    pub fn stop(&self) {
        let _ = self.to.send(Message::Stop);
    }

    /// What is shown of the loop.
    pub(crate) fn board(&self) -> &Arc<Board> {
        &self.board
    }
}

fn gone() -> Problem {
    Problem::new(Code::Unavailable, "the server is stopping")
        .hint("what was acknowledged is kept; try again when it is back")
}
