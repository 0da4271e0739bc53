//! A whole server: the loop on one thread, HTTP on another.

use crate::handle::Handle;
use crate::http::{self, Web};
use crate::running::{Loop, MakeWorld};
use crate::settings::{ServeError, Settings};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// A server that runs in this process.
pub struct Server {
    main: Loop,
    web: JoinHandle<()>,
    stop: watch::Sender<bool>,
    address: Option<SocketAddr>,
}

impl Server {
    /// Start one: when this returns, it listens.
    ///
    /// # Errors
    /// If the state folder, the world or an address cannot be had.
    pub fn start(settings: &Settings, world: impl MakeWorld) -> Result<Server, ServeError> {
        if let Some(tcp) = &settings.tcp {
            http::check(tcp)?;
        }
        let mut folder = std::fs::DirBuilder::new();
        let made = folder.recursive(true).mode(0o755).create(&settings.state);
        made.map_err(ServeError::file(&settings.state))?;
        let main = Loop::start(settings, world)?;
        Server::listen(settings, main)
    }

    /// Put HTTP before a loop that runs.
    ///
    /// # Errors
    /// If an address cannot be had; the loop is then stopped.
    pub fn listen(settings: &Settings, main: Loop) -> Result<Server, ServeError> {
        let (stop, stopping) = watch::channel(false);
        let (tell, told) = mpsc::channel();
        let web = Web::new(main.handle(), settings, stopping);
        let settings = settings.clone();
        let body = move || serve_web(&web, &settings, &tell);
        let thread = std::thread::Builder::new().name("heeler-http".into()).spawn(body);
        let thread = thread.map_err(ServeError::file("a thread"))?;
        let listening = told.recv().unwrap_or_else(|_| Err(ServeError::Ended("no HTTP".into())));
        match listening {
            Ok(address) => Ok(Server { main, web: thread, stop, address }),
            Err(error) => {
                main.stop()?;
                Err(error)
            }
        }
    }

    /// The way in without HTTP.
    pub fn handle(&self) -> Handle {
        self.main.handle()
    }

    /// Where TCP is listened on.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Let those who are there finish, write everything down, and end. Jobs go on.
    ///
    /// # Errors
    /// If the loop had to end before.
    pub fn stop(self) -> Result<(), ServeError> {
        self.stop.send_replace(true);
        if self.web.join().is_err() {
            tracing::error!("the HTTP thread panicked");
        }
        self.main.stop()
    }
}

/// The HTTP thread: one, because a request does little there but wait; what takes long goes to
/// threads of its own.
fn serve_web(
    web: &Web,
    settings: &Settings,
    tell: &mpsc::Sender<Result<Option<SocketAddr>, ServeError>>,
) {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            // Whoever started this waits for the answer.
            let _ = tell.send(Err(error));
            return;
        }
    };
    runtime.block_on(async {
        match http::listen(web, settings).await {
            Ok(listening) => {
                let _ = tell.send(Ok(listening.address));
                listening.run().await;
            }
            Err(error) => {
                let _ = tell.send(Err(error));
            }
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
}

fn runtime() -> Result<Runtime, ServeError> {
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(16).build();
    runtime.map_err(ServeError::file("the runtime"))
}

/// Serve until SIGTERM or SIGINT come.
///
/// # Errors
/// As [`Server::start`], or if the loop ended by itself.
pub fn serve(settings: &Settings, world: impl MakeWorld) -> Result<(), ServeError> {
    let runtime = runtime()?;
    let (mut term, mut int) = runtime.block_on(async {
        let caught = |kind| signal(kind).map_err(ServeError::file("signals"));
        Ok::<_, ServeError>((caught(SignalKind::terminate())?, caught(SignalKind::interrupt())?))
    })?;
    let server = Server::start(settings, world)?;
    tracing::info!(socket = %settings.socket().display(), tcp = ?server.address(), "listening");
    runtime.block_on(async {
        tokio::select! {
            _ = term.recv() => tracing::info!("asked to stop (SIGTERM)"),
            _ = int.recv() => tracing::info!("asked to stop (SIGINT)"),
            () = ended(&server.main) => {}
        }
    });
    server.stop()
}

async fn ended(main: &Loop) {
    while !main.is_over() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
