//! The event stream: what changes about jobs, as it happens, to those who may know.

use super::body::Flow;
use super::guard::Caller;
use super::param::Asked;
use super::problem::Answered;
use super::{Web, stopped};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use heeler_api::{Code, JobEvent, Problem};
use heeler_live::Change;
use serde::Deserialize;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use utoipa::IntoParams;

/// Something is sent at least so often, so that both ends notice when the other is gone.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Changes in one piece, at most.
const AT_ONCE: usize = 512;

/// Where to begin.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct Since {
    /// The number of the last event seen, for those who cannot send `Last-Event-ID`.
    #[param(maximum = 18446744073709551615_u64)]
    after: Option<u64>,
    /// Only of this job.
    job: Option<u32>,
}

/// Follow what changes about jobs (server-sent events).
///
/// Events are called `job` and carry a `JobEvent` in JSON. Whoever comes back with `Last-Event-ID`
/// gets what they missed; an event called `gone` says that some of it is not kept any more, and
/// that jobs should be listed anew.
#[utoipa::path(
    get, path = "/v1/events", tag = "jobs",
    params(
        Since,
        ("Last-Event-ID" = Option<u64>, Header, description = "The last event seen"),
    ),
    responses((status = 200, body = String, content_type = "text/event-stream",
               description = "Events, until one side has enough")),
)]
pub(super) async fn events(
    State(web): State<Web>,
    caller: Caller,
    headers: HeaderMap,
    Asked(from): Asked<Since>,
) -> Answered<Response> {
    // So that strangers are refused here and not in the stream.
    web.look(caller.clone(), |_, _| Ok(()), |()| ()).await?;
    let room = web.stream()?;
    let after = match headers.get("last-event-id") {
        Some(value) => {
            let number = value.to_str().ok().and_then(|value| value.trim().parse::<u64>().ok());
            Some(number.ok_or_else(|| {
                Problem::new(Code::Invalid, "it is no number of an event").at("last-event-id")
            })?)
        }
        None => from.after,
    };
    let (write, body) = Flow::open();
    let next = match after {
        Some(after) => after.saturating_add(1),
        None => *web.handle.board().ring.watch().borrow(),
    };
    let follower = Follower { web, caller, next, job: from.job, write };
    tokio::spawn(async move {
        let _room = room;
        follower.run().await;
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, body).into_response())
}

/// A change as it is sent.
fn event(live: &heeler_live::Live, change: &Change) -> JobEvent {
    JobEvent {
        at: live.seconds(change.at),
        job: change.job,
        name: change.name.clone(),
        user: change.user.clone(),
        tenant: change.tenant.clone(),
        state: change.state,
        on: change.on.clone(),
        age_s: change.age_s,
        waited_s: change.waited_s,
    }
}

/// Whoever follows.
struct Follower {
    web: Web,
    caller: Caller,
    /// The number of the next event.
    next: u64,
    job: Option<u32>,
    write: mpsc::Sender<Bytes>,
}

impl Follower {
    async fn run(mut self) {
        let mut stop = self.web.stopping.clone();
        let mut watch = self.web.handle.board().ring.watch();
        if self.write.send(Bytes::from_static(b"retry: 1000\n\n")).await.is_err() {
            return;
        }
        loop {
            watch.borrow_and_update();
            while let Some(text) = self.news().await {
                if self.write.send(text.into()).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                changed = watch.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(HEARTBEAT) => {
                    if self.write.send(Bytes::from_static(b": still here\n\n")).await.is_err() {
                        return;
                    }
                }
                () = self.write.closed() => return,
                () = stopped(&mut stop) => return,
            }
        }
    }

    /// What is new, as text; nothing, if nothing is.
    async fn news(&mut self) -> Option<String> {
        let board = self.web.handle.board();
        let missed = board.ring.since(self.next, AT_ONCE);
        let mut text = String::new();
        if missed.gone {
            text.push_str("event: gone\ndata: {}\n\n");
        }
        self.next = missed.next;
        if missed.changes.is_empty() {
            return (!text.is_empty()).then_some(text);
        }
        let changes = missed.changes;
        // Rights may have changed since the stream was opened.
        let look = move |live: &heeler_live::Live, who: &heeler_api::Who| {
            let may = |change: &Change| live.may_see_tenant(who, &change.tenant);
            let seen = changes.into_iter().filter(|(_, it)| may(it));
            let told = |(number, it): (u64, Arc<Change>)| (number, event(live, &it));
            Ok(seen.map(told).collect::<Vec<_>>())
        };
        let seen = self.web.look(self.caller.clone(), look, |seen| seen).await.ok()?;
        for (number, change) in seen {
            if self.job.is_none_or(|job| job == change.job) {
                let data = serde_json::to_string(&change).unwrap_or_default();
                // Writing to a string cannot fail.
                let _ = write!(text, "id: {number}\nevent: job\ndata: {data}\n\n");
            }
        }
        Some(text)
    }
}
