//! Bodies: how they are read within limits, and how they are sent bit by bit.

use super::{Web, problem::Refusal};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use heeler_api::{Code, Problem};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Bodies up to here are read and written where they arrive; larger ones on a thread of their own,
/// and only so many at once.
const SMALL_BYTES: usize = 64 << 10;

/// A body in JSON, whole.
pub(crate) struct Given<T>(pub(crate) T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<Web> for Given<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, web: &Web) -> Result<Given<T>, Refusal> {
        of_json(&request)?;
        let bytes = bytes(request, web).await?;
        read(bytes).await.map(Given)
    }
}

/// A body in JSON that may be left out.
pub(crate) struct Perhaps<T>(pub(crate) Option<T>);

impl<T: DeserializeOwned + Send + 'static> FromRequest<Web> for Perhaps<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, web: &Web) -> Result<Perhaps<T>, Refusal> {
        let typed = of_json(&request);
        let bytes = bytes(request, web).await?;
        if bytes.is_empty() {
            return Ok(Perhaps(None));
        }
        typed?;
        read(bytes).await.map(Perhaps)
    }
}

fn of_json(request: &Request) -> Result<(), Refusal> {
    let given = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = given.map(|value| value.split(';').next().unwrap_or(value).trim());
    if kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    let given = given.unwrap_or("nothing");
    let message = format!("the body must be application/json, but it is said to be {given}");
    Err(Problem::new(Code::WrongType, message).at("content-type").into())
}

async fn bytes(request: Request, web: &Web) -> Result<Bytes, Refusal> {
    let limits = &web.limits;
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > limits.body_bytes) {
        return Err(too_large(limits.body_bytes).into());
    }
    let small = length.is_some_and(|length| length <= SMALL_BYTES);
    let _room = match small {
        true => None,
        false => Some(web.large_bodies.acquire().await),
    };
    let body = Limited::new(request.into_body(), limits.body_bytes).collect();
    match tokio::time::timeout(limits.arrive, body).await {
        Err(_) => Err(Problem::new(Code::TooSlow, "the body took too long to arrive").into()),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(too_large(limits.body_bytes).into())
        }
        Ok(Err(_)) => Err(Problem::new(Code::Invalid, "the body broke off").into()),
    }
}

fn too_large(limit: usize) -> Problem {
    let message = format!("the body is larger than {limit} bytes");
    Problem::new(Code::TooLarge, message).hint("hand in fewer jobs at once, or smaller scripts")
}

async fn read<T: DeserializeOwned + Send + 'static>(bytes: Bytes) -> Result<T, Refusal> {
    if bytes.len() <= SMALL_BYTES {
        return parse(&bytes).map_err(Refusal::from);
    }
    let parsed = tokio::task::spawn_blocking(move || parse(&bytes)).await;
    parsed
        .unwrap_or_else(|_| Err(super::problem::internal("reading the body failed")))
        .map_err(Refusal::from)
}

/// A body as what it should be. Nesting is limited to 128 by the reader.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // Keeping track of the path to each field takes as long again; only mistakes need it.
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    parse_as_written(bytes).or_else(|problem| {
        // In JSON `2.0` is a whole number, and some programs write it so.
        let mut value = serde_json::from_slice(bytes).map_err(|_| problem.clone())?;
        if !make_whole(&mut value) {
            return Err(problem);
        }
        T::deserialize(value).map_err(|_| problem)
    })
}

/// Make numbers like `2.0` whole; says whether there were any.
fn make_whole(value: &mut Value) -> bool {
    match value {
        Value::Number(number) => {
            let real = number.as_f64().filter(|_| number.is_f64());
            let whole = real.filter(|it| it.fract() == 0.0).and_then(|it| match it {
                0.0..1.8e19 => Some(Value::from(it as u64)),
                -9.2e18..0.0 => Some(Value::from(it as i64)),
                _ => None,
            });
            whole.is_some_and(|whole| {
                *value = whole;
                true
            })
        }
        Value::Array(list) => list.iter_mut().fold(false, |any, it| make_whole(it) | any),
        Value::Object(map) => map.values_mut().fold(false, |any, it| make_whole(it) | any),
        _ => false,
    }
}

fn parse_as_written<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let problem = Problem::new(Code::Invalid, format!("the body: {}", error.inner()));
        if path == "." { problem } else { problem.at(&path) }
    })?;
    reader.end().map_err(|error| Problem::new(Code::Invalid, format!("the body: {error}")))?;
    Ok(value)
}

/// An answer in JSON, with its status.
pub(crate) fn told(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => (status, [(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => Refusal::from(super::problem::internal(error.to_string())).into_response(),
    }
}

/// A body that is written while it is sent. It ends when the writer is dropped.
pub(crate) struct Flow(mpsc::Receiver<Bytes>);

impl Flow {
    /// A writer, and the body that it writes. Writing waits while the reader is slow.
    pub(crate) fn open() -> (mpsc::Sender<Bytes>, Body) {
        let (write, read) = mpsc::channel(16);
        (write, Body::new(Flow(read)))
    }
}

impl hyper::body::Body for Flow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Flow>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, Infallible>>> {
        let next = self.0.poll_recv(context);
        next.map(|bytes| bytes.map(|bytes| Ok(hyper::body::Frame::data(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_api::Submission;

    #[test]
    fn mistakes_name_the_field() {
        let wrong = parse::<Submission>(br#"{"gpus":{"count":"four"}}"#).unwrap_err();
        assert_eq!(wrong.field.as_deref(), Some("gpus.count"));
        assert!(wrong.message.contains("invalid type"), "{}", wrong.message);
        let more = parse::<Submission>(br#"{"nmae":"x"}"#).unwrap_err();
        assert!(more.message.contains("nmae"), "{}", more.message);
        assert!(parse::<Submission>(b"{} {}").is_err());
        let whole = parse::<Submission>(br#"{"gpus":{"count":4.0},"priority":-2.0}"#).unwrap();
        assert_eq!((whole.gpus.count, whole.priority), (4, -2));
        assert!(parse::<Submission>(br#"{"priority":2.5}"#).is_err());
    }

    #[test]
    fn deep_bodies_are_refused() {
        let deep = format!("{{\"env\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(parse::<serde_json::Value>(deep.as_bytes()).unwrap_err().code, Code::Invalid);
    }
}
