//! Mistakes and refusals as answers.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use heeler_api::{Code, Problem};

/// A problem on its way out.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) Problem, StatusCode);

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        let status = StatusCode::from_u16(problem.code.status());
        Refusal(problem, status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
    }
}

impl Refusal {
    /// What is wrong with a request that has the right form, as the document says it. It is told
    /// apart by its status: 422, where one of the wrong form gets 400.
    pub(crate) fn of_sense(problem: Problem) -> Refusal {
        match problem.code {
            Code::Invalid => Refusal(problem, StatusCode::UNPROCESSABLE_ENTITY),
            _ => problem.into(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (self.1, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.0.code {
            Code::Busy | Code::Unavailable => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Code::Unknown => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}

/// What a handler answers.
pub(crate) type Answered<T> = Result<T, Refusal>;

/// The server itself is at fault.
pub(crate) fn internal(message: impl Into<String>) -> Problem {
    Problem::new(Code::Internal, message)
}
