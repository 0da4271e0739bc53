//! What every request passes: who asks, whether too often, what is written to the log, and what
//! becomes of a handler that fails.

use super::Web;
use super::limit::Key;
use super::problem::{Refusal, internal};
use crate::handle::Asker;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use heeler_api::{Code, Problem};
use sha2::{Digest, Sha256};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// What a connection tells of who is there. Put with every request by whoever accepts connections.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    /// The user of this machine at the other end, if it is one.
    pub(crate) peer: Option<Asker>,
    /// Whom to count strangers against.
    pub(crate) key: Key,
    /// Whether it is the server's own user or root, who could do anything anyway.
    pub(crate) trusted: bool,
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) asker: Asker,
    pub(crate) door: Door,
}

impl FromRequestParts<Web> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, web: &Web) -> Result<Caller, Refusal> {
        let door = parts.extensions.get::<Door>().cloned();
        let door = door.ok_or_else(|| internal("a request came through no door"))?;
        let asker = match bearer(&parts.headers)? {
            Some(secret) => Asker::Token(hash(secret).into()),
            None => door.peer.clone().ok_or_else(|| {
                Problem::new(Code::Unknown, "nobody is known here without a token")
                    .hint("send it as Authorization: Bearer TOKEN")
            })?,
        };
        let caller = Caller { asker, door };
        web.spend(&caller, 1.0)?;
        Ok(caller)
    }
}

/// The secret that a request brings.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(None);
    };
    let secret = value.to_str().ok().and_then(|value| value.split_once(' '));
    let secret = secret.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    match secret.map(|(_, secret)| secret.trim()).filter(|secret| secret.len() <= 256) {
        Some(secret) => Ok(Some(secret)),
        None => {
            let message = "only Authorization: Bearer TOKEN is understood";
            Err(Problem::new(Code::Unknown, message).at("authorization").into())
        }
    }
}

/// What is kept of a secret. Secrets are 256 random bits, so nothing slower is needed.
pub(crate) fn hash(secret: &str) -> String {
    let digest = Sha256::digest(secret.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Let a request through.
pub(crate) async fn guard(State(web): State<Web>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = Caught(Box::pin(next.run(request))).await.unwrap_or_else(|message| {
        tracing::error!(%method, path, message, "a handler panicked");
        Refusal::from(internal("the server made a mistake; its log says more")).into_response()
    });
    let (status, took) = (response.status(), start.elapsed());
    web.handle.board().metrics.request(&method, status, took);
    tracing::debug!(%method, path, status = status.as_u16(), took_us = took.as_micros(), "request");
    response
}

/// A future whose panic is an error.
struct Caught<F>(std::pin::Pin<Box<F>>);

impl<F: Future> Future for Caught<F> {
    type Output = Result<F::Output, String>;

    fn poll(
        mut self: std::pin::Pin<&mut Caught<F>>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        let inner = self.0.as_mut();
        match catch_unwind(AssertUnwindSafe(|| inner.poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => std::task::Poll::Ready(Err(said(panic.as_ref()))),
        }
    }
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "nothing".into())
}

/// A door for somebody of this machine.
pub(crate) fn local_door(user: Arc<str>, uid: u32, gid: u32) -> Door {
    let trusted = uid == 0 || uid == crate::handle::own_uid();
    Door { peer: Some(Asker::Peer { user, uid, gid }), key: Key::User(uid), trusted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error() {
        let caught = Caught(Box::pin(async {
            if true {
                panic!("oh {}", 1)
            }
        }))
        .await;
        assert_eq!(caught, Err("oh 1".into()));
        assert_eq!(Caught(Box::pin(async { 7 })).await, Ok(7));
    }

    #[test]
    fn only_bearer_tokens_are_understood() {
        let with = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            bearer(&headers).map(|secret| secret.map(str::to_owned)).map_err(|no| no.0.code)
        };
        assert_eq!(with("Bearer abc"), Ok(Some("abc".into())));
        assert_eq!(with("Basic abc"), Err(Code::Unknown));
        assert_eq!(with("Bearer"), Err(Code::Unknown));
        assert_eq!(with(&format!("Bearer {}", "x".repeat(300))), Err(Code::Unknown));
        assert_eq!(hash("abc").len(), 64);
        assert!(hash("abc").starts_with("ba7816bf"));
    }
}
