//! Terminals: a connection that becomes a pipe to a running job's terminal.

use super::guard::Caller;
use super::param::{Asked, At, one};
use super::problem::{Answered, internal};
use super::{Web, stopped};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use heeler_api::{Code, Problem, Role, Who};
use heeler_backend::Window;
use heeler_live::Live;
use heeler_model::JobId;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::UnixStream;
use utoipa::IntoParams;

/// What the connection becomes.
const PROTOCOL: &str = "heeler-terminal";

/// How large the terminal is.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct Size {
    /// Its rows.
    #[param(minimum = 1, maximum = 65535)]
    rows: Option<u16>,
    /// Its columns.
    #[param(minimum = 1, maximum = 65535)]
    columns: Option<u16>,
}

/// Use the terminal of a running job.
///
/// Send `Connection: Upgrade` and `Upgrade: heeler-terminal`. What then comes are the terminal's
/// bytes; what is sent are frames: a byte (0 for what is typed, 1 for another size), the length in
/// four bytes with the greatest first, and the bytes (for a size: rows and columns, two bytes
/// each).
#[utoipa::path(
    get, path = "/v1/jobs/{job}/attach", tag = "jobs",
    params(Size, ("job" = String, Path, description = "`17`, `17_3` or `last`", max_length = 1000)),
    responses(
        (status = 101, description = "The connection is the terminal now"),
        (status = 409, body = Problem, description = "The job has no terminal now"),
        (status = 426, body = Problem, description = "The connection was not to be upgraded"),
    ),
)]
pub(super) async fn attach(
    State(web): State<Web>,
    caller: Caller,
    At(job): At<String>,
    Asked(size): Asked<Size>,
    mut request: Request,
) -> Answered<Response> {
    let job = web.look(caller, move |live, who| may_type(live, who, &job), |job| job).await?;
    if !upgrades(request.headers()) {
        return Ok(upgrade_needed());
    }
    let room = web.stream()?;
    let window = Window { rows: size.rows.unwrap_or(24), columns: size.columns.unwrap_or(80) };
    let terminal = terminal(&web, job, window).await?;
    let upgrade = hyper::upgrade::on(&mut request);
    let mut stop = web.stopping.clone();
    tokio::spawn(async move {
        let _room = room;
        let mut terminal = terminal;
        let Ok(upgraded) = upgrade.await else { return };
        let mut upgraded = TokioIo::new(upgraded);
        tokio::select! {
            // Either end may go at any time; that is how terminals are left.
            _ = tokio::io::copy_bidirectional(&mut upgraded, &mut terminal) => {}
            () = stopped(&mut stop) => {}
        }
    });
    let response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, PROTOCOL)
        .body(Body::empty());
    response.map_err(|error| internal(error.to_string()).into())
}

/// The job, if it is theirs to type into.
fn may_type(live: &Live, who: &Who, job: &str) -> Result<u32, Problem> {
    let job = live.job(who, one(live, who, job)?)?;
    let own = who.role >= Role::User && who.user == job.user;
    if own || who.role >= Role::Operator {
        return Ok(job.id);
    }
    let message =
        format!("job {} is {}'s; only they and operators may type into it", job.id, job.user);
    Err(Problem::new(Code::Forbidden, message))
}

async fn terminal(web: &Web, job: u32, window: Window) -> Answered<UnixStream> {
    let look = web.handle.board().look.clone();
    let open = tokio::task::spawn_blocking(move || {
        let stream = look.terminal(JobId(job), window)?;
        stream.set_nonblocking(true)?;
        Ok::<_, std::io::Error>(stream)
    });
    let opened = open.await.map_err(|_| internal("the terminal could not be opened"))?;
    let stream = opened.and_then(UnixStream::from_std);
    stream.map_err(|error| {
        let message = format!("job {job} has no terminal now: {error}");
        Problem::new(Code::Conflict, message)
            .hint("only running jobs of `heeler run --pty` do")
            .into()
    })
}

fn upgrades(headers: &HeaderMap) -> bool {
    let has = |name, word: &str| {
        let value = headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
        value.is_some_and(|value| value.split(',').any(|it| it.trim().eq_ignore_ascii_case(word)))
    };
    has(header::CONNECTION, "upgrade") && has(header::UPGRADE, PROTOCOL)
}

fn upgrade_needed() -> Response {
    let message = format!("send Connection: Upgrade and Upgrade: {PROTOCOL}");
    let problem = Problem::new(Code::Invalid, message).at("upgrade");
    let mut response = super::body::told(StatusCode::UPGRADE_REQUIRED, &problem);
    let protocol = header::HeaderValue::from_static(PROTOCOL);
    response.headers_mut().insert(header::UPGRADE, protocol);
    response
}
