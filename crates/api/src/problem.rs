//! How a mistake or a refusal is said.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The request makes no sense.
    Invalid,
    /// Nobody is known by this token or socket.
    Unknown,
    /// They may not.
    Forbidden,
    /// There is no such thing, or none that they may know of.
    NotFound,
    /// It is not in a state for that.
    Conflict,
    /// It is too large.
    TooLarge,
    /// Too many requests.
    Busy,
    /// That cannot be done to this path.
    WrongMethod,
    /// The body is not of a type that can be read.
    WrongType,
    /// The request took too long to arrive, or the answer to be found.
    TooSlow,
    /// The server is starting or stopping.
    Unavailable,
    /// The journal cannot be written; nothing was changed.
    NotStored,
    /// The server is at fault.
    Internal,
}

impl Code {
    /// The status it travels with.
    pub const fn status(self) -> u16 {
        match self {
            Code::Invalid => 400,
            Code::Unknown => 401,
            Code::Forbidden => 403,
            Code::NotFound => 404,
            Code::Conflict => 409,
            Code::TooLarge => 413,
            Code::Busy => 429,
            Code::WrongMethod => 405,
            Code::WrongType => 415,
            Code::TooSlow => 408,
            Code::Unavailable => 503,
            Code::NotStored => 507,
            Code::Internal => 500,
        }
    }
}

/// A mistake or a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, thiserror::Error)]
#[error("{message}")]
#[serde(rename_all = "kebab-case")]
pub struct Problem {
    /// What kind.
    pub code: Code,
    /// What is wrong, in a sentence.
    pub message: String,
    /// The field it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    /// A problem.
    pub fn new(code: Code, message: impl Into<String>) -> Problem {
        Problem { code, message: message.into(), field: None, hint: None }
    }

    /// With the field it is about.
    #[must_use]
    pub fn at(mut self, field: &str) -> Problem {
        self.field = Some(field.into());
        self
    }

    /// With what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }
}
