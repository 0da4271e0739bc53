//! Nodes, the recipe in charge, and the server itself.

use super::Web;
use super::body::{Given, Perhaps, told};
use super::guard::Caller;
use super::param::At;
use super::problem::Answered;
use crate::metrics::name;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use heeler_api::{NodeView, RecipeChange, RecipeView, ServerView};
use heeler_live::Ask;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;
use utoipa::ToSchema;

/// Something was done.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(super) struct DoneSo {
    /// Always true; a refusal looks different.
    done: bool,
}

/// It was done.
pub(super) fn done() -> Response {
    told(StatusCode::OK, &DoneSo { done: true })
}

/// List nodes.
#[utoipa::path(
    get, path = "/v1/nodes", tag = "cluster",
    responses((status = 200, body = Vec<NodeView>, description = "The nodes")),
)]
pub(super) async fn list_nodes(State(web): State<Web>, caller: Caller) -> Answered<Response> {
    let readings = web.handle.readings().await;
    web.read(caller, move |live, _| {
        let mut nodes = live.nodes();
        for (node, readings) in nodes.iter_mut().zip(readings) {
            node.readings = readings;
        }
        Ok(nodes)
    })
    .await
}

/// Why a node is drained.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Note {
    /// In words.
    #[schema(max_length = 500)]
    note: Option<String>,
}

/// Let nothing new start on a node.
#[utoipa::path(
    post, path = "/v1/nodes/{node}/drain", tag = "cluster", request_body = Option<Note>,
    params(("node" = String, Path, description = "Its name", max_length = 253)),
    responses((status = 200, body = DoneSo, description = "It is done")),
)]
pub(super) async fn drain(
    State(web): State<Web>,
    caller: Caller,
    At(node): At<String>,
    Perhaps(body): Perhaps<Note>,
) -> Answered<Response> {
    let note = body.unwrap_or_default().note;
    web.ask(&caller, Ask::Drain { node, note }).await?;
    Ok(done())
}

/// Let jobs start on a node again.
#[utoipa::path(
    post, path = "/v1/nodes/{node}/undrain", tag = "cluster",
    params(("node" = String, Path, description = "Its name", max_length = 253)),
    responses((status = 200, body = DoneSo, description = "It is done")),
)]
pub(super) async fn undrain(
    State(web): State<Web>,
    caller: Caller,
    At(node): At<String>,
) -> Answered<Response> {
    web.ask(&caller, Ask::Undrain { node }).await?;
    Ok(done())
}

/// Declare a node lost, with all that runs there.
#[utoipa::path(
    post, path = "/v1/nodes/{node}/lose", tag = "cluster",
    params(("node" = String, Path, description = "Its name", max_length = 253)),
    responses((status = 200, body = DoneSo, description = "It is done")),
)]
pub(super) async fn lose(
    State(web): State<Web>,
    caller: Caller,
    At(node): At<String>,
) -> Answered<Response> {
    web.ask(&caller, Ask::Lose { node }).await?;
    Ok(done())
}

/// Show the recipe in charge.
#[utoipa::path(
    get, path = "/v1/recipe", tag = "cluster",
    responses((status = 200, body = RecipeView, description = "The recipe")),
)]
pub(super) async fn recipe(State(web): State<Web>, caller: Caller) -> Answered<Response> {
    web.read(caller, |live, _| Ok(live.recipe())).await
}

/// Put another recipe in charge. Jobs that run go on.
#[utoipa::path(
    put, path = "/v1/recipe", tag = "cluster", request_body = RecipeChange,
    responses((status = 200, body = DoneSo, description = "It is in charge")),
)]
pub(super) async fn change_recipe(
    State(web): State<Web>,
    caller: Caller,
    Given(change): Given<RecipeChange>,
) -> Answered<Response> {
    web.ask(&caller, Ask::Recipe(change)).await?;
    Ok(done())
}

/// Show the server.
#[utoipa::path(
    get, path = "/v1/server", tag = "cluster",
    responses((status = 200, body = ServerView, description = "The server")),
)]
pub(super) async fn server(State(web): State<Web>, caller: Caller) -> Answered<Response> {
    let board = web.handle.board().clone();
    web.read(caller, move |live, _| {
        let mut notes = board.notes.clone();
        notes.extend(live.inventory().notes.iter().cloned());
        if !board.storing.load(Ordering::Relaxed) {
            notes.push("the journal cannot be written: nothing new is taken up".into());
        }
        Ok(ServerView {
            version: env!("CARGO_PKG_VERSION").into(),
            started: board.started,
            recipe: live.recipe().name,
            jobs: live.count().into_iter().map(|(state, jobs)| (name(state), jobs)).collect(),
            gpus: live.inventory().cluster.gpus(),
            used_milli: live.used_milli(),
            records: board.records.load(Ordering::Relaxed),
            decisions: board.decisions.load(Ordering::Relaxed),
            digest: format!("{:016x}", live.digest()),
            notes,
        })
    })
    .await
}
