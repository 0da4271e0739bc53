//! For those who watch the server.

use super::Web;
use super::guard::Caller;
use super::problem::Answered;
use crate::metrics::Counted;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use heeler_api::{Code, Problem};
use std::sync::atomic::Ordering;

/// Figures for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "health",
    responses((status = 200, body = String, content_type = "application/openmetrics-text",
               description = "Figures in the OpenMetrics format")),
)]
pub(super) async fn metrics(State(web): State<Web>, caller: Caller) -> Answered<Response> {
    let board = web.handle.board().clone();
    let text = web.look(caller, |live, _| Ok(Counted::of(live)), move |it| board.metrics.text(&it));
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text.await?).into_response())
}

/// Whether the server lives.
#[utoipa::path(
    get, path = "/healthz", tag = "health",
    responses((status = 200, body = String, content_type = "text/plain", description = "It does")),
)]
pub(super) async fn healthz(State(web): State<Web>) -> Answered<&'static str> {
    match web.handle.board().running.load(Ordering::Relaxed) {
        true => Ok("ok\n"),
        false => Err(Problem::new(Code::Unavailable, "the loop has ended").into()),
    }
}

/// Whether the server takes up what it is asked.
#[utoipa::path(
    get, path = "/readyz", tag = "health",
    responses((status = 200, body = String, content_type = "text/plain", description = "It does")),
)]
pub(super) async fn readyz(State(web): State<Web>) -> Answered<&'static str> {
    let board = web.handle.board();
    let wrong = if !board.running.load(Ordering::Relaxed) || *web.stopping.borrow() {
        "the server is stopping"
    } else if !board.storing.load(Ordering::Relaxed) {
        "the journal cannot be written"
    } else {
        return Ok("ok\n");
    };
    Err(Problem::new(Code::Unavailable, wrong).into())
}
