//! Listening: the Unix socket, where the kernel says who is there, and TCP with or without TLS,
//! where a token does. Connections are limited in number, in all and for each.

use super::guard::{Door, local_door};
use super::limit::{Counts, Key};
use super::{Web, router, stopped, tls};
use crate::settings::{Limits, ServeError, Settings, Tcp};
use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tower::Service;

/// How long connections may take to end when the server does.
const PARTING: Duration = Duration::from_secs(3);

/// Doors that are open.
pub(crate) struct Listening {
    unix: UnixListener,
    tcp: Option<(TcpListener, Option<TlsAcceptor>)>,
    /// Where TCP is listened on.
    pub(crate) address: Option<SocketAddr>,
    all: All,
}

/// What all connections share.
#[derive(Clone)]
struct All {
    router: Router,
    limits: Limits,
    connections: Arc<Semaphore>,
    counts: Arc<Counts>,
    names: Arc<Mutex<HashMap<u32, Arc<str>>>>,
    stop: watch::Receiver<bool>,
}

/// Open the doors.
pub(crate) async fn listen(web: &Web, settings: &Settings) -> Result<Listening, ServeError> {
    let path = settings.socket();
    let unix = unix(&path)?;
    let tcp = match &settings.tcp {
        Some(tcp) => Some(network(tcp).await?),
        None => None,
    };
    let all = All {
        router: router(web),
        limits: settings.limits.clone(),
        connections: Arc::new(Semaphore::new(settings.limits.connections)),
        counts: Arc::default(),
        names: Arc::default(),
        stop: web.stopping.clone(),
    };
    let address = tcp.as_ref().and_then(|(listener, _)| listener.local_addr().ok());
    Ok(Listening { unix, tcp, address, all })
}

/// The socket in the state folder. Everybody of this machine may come; what they may do is decided
/// by who the kernel says they are.
fn unix(path: &Path) -> Result<UnixListener, ServeError> {
    // The journal is ours, so whoever left a socket here is gone.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(ServeError::file(path)(error));
        }
        _ => {}
    }
    let listener = UnixListener::bind(path).map_err(|error| ServeError::Listen {
        address: path.display().to_string(),
        message: match path.as_os_str().len() > 100 {
            true => format!("{error}; choose a state folder with a shorter path"),
            false => error.to_string(),
        },
    })?;
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(path, open).map_err(ServeError::file(path))?;
    Ok(listener)
}

async fn network(tcp: &Tcp) -> Result<(TcpListener, Option<TlsAcceptor>), ServeError> {
    check(tcp)?;
    let tls = match &tcp.tls {
        Some((chain, key)) => Some(tls::acceptor(chain, key)?),
        None => None,
    };
    let listener = TcpListener::bind(tcp.listen).await.map_err(|error| ServeError::Listen {
        address: tcp.listen.to_string(),
        message: error.to_string(),
    })?;
    Ok((listener, tls))
}

/// Tokens do not travel in the clear.
pub(crate) fn check(tcp: &Tcp) -> Result<(), ServeError> {
    if tcp.tls.is_some() || tcp.listen.ip().is_loopback() {
        return Ok(());
    }
    Err(ServeError::Listen {
        address: tcp.listen.to_string(),
        message: "it can be reached from elsewhere and tokens would travel in the clear; give a \
                  certificate and a key for TLS, or listen on 127.0.0.1"
            .into(),
    })
}

impl Listening {
    /// Serve until the server ends.
    pub(crate) async fn run(self) {
        let Listening { unix, tcp, all, .. } = self;
        let mut stop = all.stop.clone();
        let doors = async {
            match tcp {
                Some((listener, tls)) => {
                    tokio::join!(
                        all.clone().accept_unix(unix),
                        all.clone().accept_tcp(listener, tls)
                    );
                }
                None => all.clone().accept_unix(unix).await,
            }
        };
        tokio::select! {
            () = doors => {}
            () = stopped(&mut stop) => {}
        }
        let most = u32::try_from(all.limits.connections).unwrap_or(u32::MAX);
        // Whoever is still there after that is cut off.
        let _ = tokio::time::timeout(PARTING, all.connections.acquire_many(most)).await;
    }
}

impl All {
    async fn accept_unix(self, listener: UnixListener) {
        loop {
            let Ok(room) = self.connections.clone().acquire_owned().await else { return };
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    wait_after(&error).await;
                    continue;
                }
            };
            let all = self.clone();
            tokio::spawn(async move {
                let _room = room;
                if let Some(door) = all.door_of(&stream).await {
                    all.serve(stream, door).await;
                }
            });
        }
    }

    /// Who the kernel says is there.
    async fn door_of(&self, stream: &UnixStream) -> Option<Door> {
        let peer = stream.peer_cred().ok()?;
        let known = self.names().get(&peer.uid()).cloned();
        let name = match known {
            Some(name) => name,
            None => {
                let uid = peer.uid();
                let name = tokio::task::spawn_blocking(move || user_name(uid)).await.ok()?;
                self.names().insert(uid, name.clone());
                name
            }
        };
        Some(local_door(name, peer.uid(), peer.gid()))
    }

    fn names(&self) -> std::sync::MutexGuard<'_, HashMap<u32, Arc<str>>> {
        self.names.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn accept_tcp(self, listener: TcpListener, tls: Option<TlsAcceptor>) {
        loop {
            let Ok(room) = self.connections.clone().acquire_owned().await else { return };
            let (stream, address) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    wait_after(&error).await;
                    continue;
                }
            };
            // Answers are small and waited for.
            let _ = stream.set_nodelay(true);
            let door = Door { peer: None, key: Key::Address(address.ip()), trusted: false };
            let (all, tls) = (self.clone(), tls.clone());
            tokio::spawn(async move {
                let _room = room;
                let Some(tls) = tls else { return all.serve(stream, door).await };
                match tokio::time::timeout(all.limits.arrive, tls.accept(stream)).await {
                    Ok(Ok(stream)) => all.serve(stream, door).await,
                    Ok(Err(error)) => tracing::debug!(%address, %error, "no TLS"),
                    Err(_) => tracing::debug!(%address, "TLS took too long"),
                }
            });
        }
    }

    async fn serve<S>(&self, stream: S, door: Door)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let key = door.key.clone();
        if !door.trusted && !self.counts.enter(&key, self.limits.connections_each) {
            tracing::warn!(?key, "too many connections");
            return;
        }
        let trusted = door.trusted;
        let router = self.router.clone();
        let answer = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(door.clone());
            router.clone().call(request.map(Body::new))
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.arrive)
            .max_headers(self.limits.headers)
            .max_buf_size(64 << 10)
            .serve_connection(TokioIo::new(stream), answer)
            .with_upgrades();
        let mut connection = std::pin::pin!(connection);
        let mut stop = self.stop.clone();
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stopped(&mut stop) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended badly");
        }
        if !trusted {
            self.counts.leave(&key);
        }
    }
}

/// Some failures to accept pass when others have closed their files.
async fn wait_after(error: &std::io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// What a user is called; those whom nobody knows go by their number.
fn user_name(uid: u32) -> Arc<str> {
    let found = nix::unistd::User::from_uid(uid.into()).ok().flatten();
    found.map_or_else(|| format!("uid-{uid}").into(), |user| user.name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_do_not_travel_in_the_clear() {
        let tcp = |listen: &str, tls: bool| Tcp {
            listen: listen.parse().unwrap(),
            tls: tls.then(|| ("cert.pem".into(), "key.pem".into())),
        };
        assert!(check(&tcp("127.0.0.1:0", false)).is_ok());
        assert!(check(&tcp("[::1]:0", false)).is_ok());
        assert!(check(&tcp("0.0.0.0:0", true)).is_ok());
        for open in ["0.0.0.0:0", "[::]:0", "192.168.1.4:80"] {
            let refused = check(&tcp(open, false)).unwrap_err().to_string();
            assert!(refused.contains("TLS"), "{refused}");
        }
    }
}
