//! The HTTP side: what is served, to whom, and within which limits. Handlers are small: they say
//! what is asked, and everything else (who asks, how much, how often) is seen to here.

mod accept;
mod account;
mod attach;
mod body;
mod document;
mod guard;
mod health;
mod job;
mod knowing;
mod limit;
mod log;
mod node;
mod param;
mod problem;
mod queue;
mod stream;
mod tls;

pub(crate) use accept::{check, listen};

use crate::handle::{Asker, Handle};
use crate::settings::{Limits, Settings};
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use guard::Caller;
use heeler_api::{Code, Problem, Who};
use heeler_live::{Ask, Done, Live};
use limit::{Buckets, Key};
use problem::{Answered, Refusal, internal};
use serde::Serialize;
use std::collections::HashSet;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use tokio::sync::{Semaphore, watch};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What all handlers share.
#[derive(Clone)]
pub(crate) struct Web(Arc<Shared>);

/// See [`Web`].
pub(crate) struct Shared {
    pub(crate) handle: Handle,
    pub(crate) limits: Limits,
    /// Room for large bodies.
    large_bodies: Semaphore,
    /// Room for questions that take long.
    heavy: Semaphore,
    /// Room for streams.
    streams: Arc<Semaphore>,
    buckets: Buckets,
    /// Tokens that were good at least once; strangers count against their address instead.
    seen: Mutex<HashSet<Arc<str>>>,
    /// Becomes true when the server ends.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Deref for Web {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Web {
    pub(crate) fn new(handle: Handle, settings: &Settings, stop: watch::Receiver<bool>) -> Web {
        let limits = settings.limits.clone();
        Web(Arc::new(Shared {
            handle,
            large_bodies: Semaphore::new(16),
            heavy: Semaphore::new(2),
            streams: Arc::new(Semaphore::new(limits.streams)),
            buckets: Buckets::new(limits.requests_per_s, limits.burst),
            seen: Mutex::default(),
            stopping: stop,
            limits,
        }))
    }

    /// Ask the loop for something.
    async fn ask(&self, caller: &Caller, ask: Ask) -> Answered<Done> {
        let done = self.handle.ask_later(caller.asker.clone(), ask).await;
        let done = done.map_err(Refusal::of_sense)?;
        self.met(&caller.asker);
        Ok(done)
    }

    /// Look at the state as somebody, and answer what was seen.
    async fn read<T: Serialize + Send + 'static>(
        &self,
        caller: Caller,
        look: impl FnOnce(&Live, &Who) -> Result<T, Problem> + Send + 'static,
    ) -> Answered<Response> {
        let answer = self.look(caller, look, |value| body::told(StatusCode::OK, &value));
        answer.await
    }

    /// Look at the state as somebody, then make something of it when the loop waits no more.
    async fn look<T: Send + 'static, U: Send + 'static>(
        &self,
        caller: Caller,
        look: impl FnOnce(&Live, &Who) -> Result<T, Problem> + Send + 'static,
        then: impl FnOnce(T) -> U + Send + 'static,
    ) -> Answered<U> {
        let web = self.clone();
        let work = tokio::task::spawn_blocking(move || {
            let seen = web.handle.look(|live| {
                let who = caller.asker.who(live, web.handle.now())?;
                look(live, &who)
            })?;
            web.met(&caller.asker);
            Ok(then(seen))
        });
        match tokio::time::timeout(self.limits.answer, work).await {
            Ok(Ok(answer)) => answer.map_err(Refusal::of_sense),
            Ok(Err(_)) => {
                Err(internal("looking that up failed; the server's log says more").into())
            }
            Err(_) => Err(Problem::new(Code::TooSlow, "finding the answer took too long").into()),
        }
    }

    /// Somebody was found to be who they say.
    fn met(&self, asker: &Asker) {
        if let Asker::Token(hash) = asker {
            self.seen().insert(hash.clone());
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, HashSet<Arc<str>>> {
        self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Room for one more stream; it is given back when dropped.
    fn stream(&self) -> Answered<tokio::sync::OwnedSemaphorePermit> {
        self.streams.clone().try_acquire_owned().map_err(|_| {
            Problem::new(Code::Busy, "too many streams are open").hint("close one").into()
        })
    }

    /// Take from somebody's bucket.
    fn spend(&self, caller: &Caller, cost: f64) -> Answered<()> {
        let key = match &caller.asker {
            Asker::Peer { uid, .. } => Key::User(*uid),
            Asker::Token(hash) if self.seen().contains(hash) => Key::Token(hash.clone()),
            _ => caller.door.key.clone(),
        };
        let own = caller.door.trusted && matches!(caller.asker, Asker::Peer { .. });
        if own || self.buckets.take(&key, cost) {
            return Ok(());
        }
        let message = format!(
            "too many requests; {} a second are fine over a longer time",
            self.limits.requests_per_s
        );
        Err(Problem::new(Code::Busy, message).hint("hand in many jobs in one request").into())
    }
}

/// Wait until the server ends.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    // If nobody can say so any more, it has.
    let _ = stop.wait_for(|stopping| *stopping).await;
}

/// Everything that is served.
pub(crate) fn router(web: &Web) -> Router {
    let (router, document) = described();
    let text: Arc<str> = document::as_json(&document).to_string().into();
    let served = move || std::future::ready(document::served(&text));
    router
        .route("/v1/openapi.json", axum::routing::get(served))
        .fallback(nowhere)
        .method_not_allowed_fallback(not_so)
        .with_state(web.clone())
        .layer(axum::middleware::from_fn_with_state(web.clone(), guard::guard))
}

/// Everything that is served, and the document that says so.
fn described() -> (Router<Web>, utoipa::openapi::OpenApi) {
    let (router, mut document) = OpenApiRouter::with_openapi(document::start())
        .routes(routes!(job::submit, queue::list_jobs))
        .routes(routes!(job::show))
        .routes(routes!(job::act))
        .routes(routes!(job::signal))
        .routes(routes!(job::priority))
        .routes(routes!(job::time_limit))
        .routes(routes!(queue::history))
        .routes(routes!(log::logs))
        .routes(routes!(attach::attach))
        .routes(routes!(knowing::why))
        .routes(routes!(knowing::when))
        .routes(routes!(knowing::test_only))
        .routes(routes!(knowing::what_if))
        .routes(routes!(knowing::usage))
        .routes(routes!(knowing::evictions))
        .routes(routes!(knowing::audit))
        .routes(routes!(node::list_nodes))
        .routes(routes!(node::drain))
        .routes(routes!(node::undrain))
        .routes(routes!(node::lose))
        .routes(routes!(account::tenants))
        .routes(routes!(account::change_tenant))
        .routes(routes!(account::tokens, account::make_token))
        .routes(routes!(account::revoke))
        .routes(routes!(node::recipe, node::change_recipe))
        .routes(routes!(stream::events))
        .routes(routes!(node::server))
        .routes(routes!(health::metrics))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .split_for_parts();
    document::finish(&mut document);
    (router, document)
}

/// The OpenAPI document of everything that is served.
pub fn openapi() -> String {
    format!("{:#}", document::as_json(&described().1))
}

async fn nowhere(request: Request) -> Refusal {
    let message = format!("there is nothing at {}", request.uri().path());
    Problem::new(Code::NotFound, message).hint("GET /v1/openapi.json says what there is").into()
}

async fn not_so(request: Request) -> Refusal {
    let message = format!("{} cannot be done to {}", request.method(), request.uri().path());
    let problem = Problem::new(Code::WrongMethod, message);
    problem.hint("GET /v1/openapi.json says what can be done").into()
}
