//! What jobs printed. Where that is kept is the world's business: nothing a client says becomes a
//! path here.

use super::body::Flow;
use super::guard::Caller;
use super::param::{Asked, At, Flag, one};
use super::problem::{Answered, internal};
use super::{Web, stopped};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use heeler_api::{Code, Problem};
use heeler_backend::Piece;
use heeler_model::JobId;
use serde::Deserialize;
use std::time::Duration;
use tokio::sync::mpsc;
use utoipa::{IntoParams, ToSchema};

/// Bytes in one piece.
const PIECE_BYTES: usize = 64 << 10;
/// How often a job that prints nothing is looked at.
const AGAIN: Duration = Duration::from_millis(200);

/// What a job prints to.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum Channel {
    /// Output and errors together, as they came.
    #[default]
    Out,
}

/// What of it.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct Part {
    /// Which output; there is one.
    #[param(inline)]
    stream: Option<Channel>,
    /// The first byte, counted from the first that the job ever printed.
    #[param(maximum = 9223372036854775807_u64)]
    from: Option<u64>,
    /// Whether to go on until the job is over.
    #[param(inline)]
    follow: Option<Flag>,
}

/// Read what a job printed.
///
/// `Heeler-From` says where the first byte stands, which is later than asked for if older output
/// was thrown away.
#[utoipa::path(
    get, path = "/v1/jobs/{job}/logs", tag = "jobs",
    params(Part, ("job" = String, Path, description = "`17`, `17_3` or `last`", max_length = 1000)),
    responses((status = 200, body = String, content_type = "application/octet-stream",
               description = "The bytes", headers(("heeler-from" = u64)))),
)]
pub(super) async fn logs(
    State(web): State<Web>,
    caller: Caller,
    At(job): At<String>,
    Asked(part): Asked<Part>,
) -> Answered<Response> {
    let look = move |live: &heeler_live::Live, who: &heeler_api::Who| one(live, who, &job);
    let job = web.look(caller, look, |job| job).await?;
    let room = web.stream()?;
    let follow = part.follow.is_some_and(Flag::is_set);
    let first = read(&web, job, part.from.unwrap_or(0)).await?;
    let from = first.from;
    let (write, body) = Flow::open();
    let reader = Reader { web, job, follow, write };
    tokio::spawn(async move {
        let _room = room;
        // The other end has gone, or the file has.
        let _ = reader.run(first).await;
    });
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::HeaderName::from_static("heeler-from"), from.to_string()),
    ];
    Ok((headers, body).into_response())
}

/// A piece of what a job printed.
async fn read(web: &Web, job: u32, from: u64) -> Result<Piece, Problem> {
    let look = web.handle.board().look.clone();
    let read = move || look.output(JobId(job), from, PIECE_BYTES);
    let read = tokio::task::spawn_blocking(read).await;
    let read = read.map_err(|_| internal("reading failed; the server's log says more"))?;
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::Unsupported => {
            Problem::new(Code::NotFound, format!("job {job}: {error}"))
        }
        std::io::ErrorKind::PermissionDenied => {
            Problem::new(Code::Forbidden, format!("job {job}: {error}"))
        }
        _ => internal(format!("what job {job} printed cannot be read: {error}")),
    })
}

struct Reader {
    web: Web,
    job: u32,
    follow: bool,
    write: mpsc::Sender<Bytes>,
}

impl Reader {
    async fn run(self, mut piece: Piece) -> Result<(), Problem> {
        let mut stop = self.web.stopping.clone();
        loop {
            let (next, empty) = (piece.next(), piece.bytes.is_empty());
            if !empty && self.write.send(piece.bytes.into()).await.is_err() {
                return Ok(());
            }
            if empty && !self.follow {
                return Ok(());
            }
            // Asked before reading, so that nothing printed before the end is missed.
            let over = empty && self.is_over().await;
            piece = read(&self.web, self.job, next).await?;
            if piece.bytes.is_empty() {
                if over || !self.follow {
                    return Ok(());
                }
                tokio::select! {
                    () = tokio::time::sleep(AGAIN) => {}
                    () = self.write.closed() => return Ok(()),
                    () = stopped(&mut stop) => return Ok(()),
                }
            }
        }
    }

    async fn is_over(&self) -> bool {
        let (handle, job) = (self.web.handle.clone(), self.job);
        let all = heeler_api::Who { role: heeler_api::Role::Admin, ..heeler_api::Who::default() };
        let runs =
            move || handle.look(|live| live.job(&all, job).is_ok_and(|it| !it.state.is_over()));
        tokio::task::spawn_blocking(runs).await.is_ok_and(|runs| !runs)
    }
}
