//! What stands in paths and queries.

use super::problem::Refusal;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use heeler_api::{Code, Problem, Selection, Who};
use heeler_live::Live;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What stands in a path.
pub(crate) struct At<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for At<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<At<T>, Refusal> {
        let found = Path::<T>::from_request_parts(parts, state).await;
        found.map(|Path(value)| At(value)).map_err(|error| {
            let message = format!("there is nothing at {}: {error}", parts.uri.path());
            Problem::new(Code::NotFound, message).into()
        })
    }
}

/// What stands after the question mark.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Asked<T>, Refusal> {
        let found = Query::<T>::try_from_uri(&parts.uri);
        found.map(|Query(value)| Asked(value)).map_err(|error| {
            let mut why = error.to_string();
            if let Some(source) = std::error::Error::source(&error) {
                why = source.to_string();
            }
            Problem::new(Code::Invalid, format!("the query: {why}")).into()
        })
    }
}

/// Yes or no in a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) enum Flag {
    /// No.
    #[default]
    #[serde(rename = "0")]
    No,
    /// Yes.
    #[serde(rename = "1")]
    Yes,
    /// No.
    #[serde(rename = "false")]
    False,
    /// Yes.
    #[serde(rename = "true")]
    True,
}

impl Flag {
    pub(crate) const fn is_set(self) -> bool {
        matches!(self, Flag::Yes | Flag::True)
    }
}

/// Names of jobs as people write them.
pub(crate) fn selection(text: &str) -> Result<Selection, Problem> {
    if text.len() > 1_000 {
        return Err(Problem::new(Code::Invalid, "that many jobs cannot be named at once"));
    }
    text.parse().map_err(|why: String| Problem::new(Code::NotFound, why).at("job"))
}

/// The one job that is meant.
pub(crate) fn one(live: &Live, who: &Who, text: &str) -> Result<u32, Problem> {
    let jobs = live.select(who, &selection(text)?)?;
    match jobs.as_slice() {
        [] => Err(Problem::new(Code::NotFound, format!("there is no job {text}")).at("job")),
        [job, ..] => Ok(*job),
    }
}
