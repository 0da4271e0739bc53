//! A real server in this process, on a folder and sockets of its own, and a small client for it.

#![allow(dead_code, reason = "each test file uses its own part")]

use heeler_model::Cluster;
use heeler_server::noop::Noop;
use heeler_server::{Server, Settings};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderMap;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;

/// A server with two nodes of four GPUs and no processes.
pub(crate) struct Rig {
    pub(crate) server: Option<Server>,
    pub(crate) settings: Settings,
    pub(crate) runs: Duration,
    _folder: TempDir,
}

impl Rig {
    /// One as usual, whose jobs run for a minute.
    pub(crate) fn new() -> Rig {
        Rig::with(|_| {})
    }

    /// One with other settings.
    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Rig {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::new(folder.path().join("state"));
        settings.seed = Some(7);
        change(&mut settings);
        let mut rig =
            Rig { server: None, settings, runs: Duration::from_secs(60), _folder: folder };
        rig.start();
        rig
    }

    pub(crate) fn start(&mut self) {
        let runs = self.runs;
        let world = move |tell| Ok(Box::new(Noop::new(cluster(), runs, tell)) as _);
        self.server = Some(Server::start(&self.settings, world).expect("a server"));
    }

    pub(crate) fn stop(&mut self) {
        self.server.take().expect("a server").stop().expect("it ends well");
    }

    pub(crate) fn client(&self) -> Client {
        Client { socket: self.settings.socket(), token: None }
    }

    /// A client with a token of this role in these tenants.
    pub(crate) fn client_of(&self, user: &str, role: &str, tenants: &[&str]) -> Client {
        let body = serde_json::json!({ "user": user, "role": role, "tenants": tenants });
        let made = self.client().post("/v1/tokens", &body);
        assert_eq!(made.status, 201, "{}", made.text());
        let token = made.json()["secret"].as_str().expect("a secret").to_owned();
        Client { token: Some(token), ..self.client() }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            let _ = server.stop();
        }
    }
}

pub(crate) fn cluster() -> Cluster {
    Cluster::uniform(2, 4)
}

/// An answer, whole.
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
}

impl Got {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|_| panic!("JSON: {}", self.text()))
    }

    /// The kind of problem it is.
    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// A client over the Unix socket.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) socket: PathBuf,
    pub(crate) token: Option<String>,
}

impl Client {
    pub(crate) fn get(&self, path: &str) -> Got {
        self.send("GET", path, &[], Bytes::new())
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Got {
        self.send_json("POST", path, body)
    }

    pub(crate) fn send_json(&self, method: &str, path: &str, body: &Value) -> Got {
        let body = body.to_string();
        self.send(method, path, &[("content-type", "application/json")], body.into())
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Got {
        let request = self.request(method, path, headers, body);
        block_on(async {
            let stream = UnixStream::connect(&self.socket).await.expect("a socket");
            whole(exchange(stream, request).await).await
        })
    }

    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Request<Full<Bytes>> {
        let mut request = Request::builder().method(method).uri(path).header("host", "heeler");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        request.body(Full::new(body)).expect("a request")
    }

    /// Look at a job until it is as it should be.
    pub(crate) fn wait_for(&self, job: u64, state: &str) -> Value {
        until(|| {
            let got = self.get(&format!("/v1/jobs/{job}"));
            let job = got.json();
            (job["state"] == state).then_some(job)
        })
    }
}

/// Try until it works; what never does is a failure.
pub(crate) fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

/// Send one request over a stream.
pub(crate) async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Response<Incoming>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("HTTP");
    tokio::spawn(connection.with_upgrades());
    sender.send_request(request).await.expect("an answer")
}

pub(crate) async fn whole(response: Response<Incoming>) -> Got {
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.expect("a body").to_bytes();
    Got { status: head.status.as_u16(), headers: head.headers, bytes }
}

/// A small job.
pub(crate) fn job(name: &str) -> Value {
    serde_json::json!({ "name": name, "command": ["true"], "dir": "/", "gpus": { "count": 1 } })
}

pub(crate) fn written(path: &Path, text: &str) -> PathBuf {
    std::fs::write(path, text).expect("it can be written");
    path.to_owned()
}
