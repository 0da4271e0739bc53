//! What a person did wrong, and what to do about it. Mistakes end with exit code 2, everything
//! else that goes wrong with 1.

use crate::client::{NoServer, NoTalk};
use heeler_api::read::Wrong;
use heeler_api::{Code, Problem};
use heeler_recipes::CardError;
use heeler_sim::cluster::ClusterError;
use heeler_sim::services::ServiceError;
use heeler_sim::workload::{CutError, OptionError, TraceError, WriteError};
use heeler_sim::world::WorldError;
use std::fmt;
use std::io::ErrorKind;
use std::process::ExitCode;

/// A mistake in what was asked for.
#[derive(Debug)]
pub(crate) struct Mistake {
    message: String,
    hint: Option<String>,
}

impl Mistake {
    pub(crate) fn new(message: impl Into<String>) -> Mistake {
        Mistake { message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Mistake {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mistake {}

/// Say what went wrong on the error stream.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let closed = error.downcast_ref::<std::io::Error>();
    if closed.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        // Whoever read the output has seen enough.
        return ExitCode::SUCCESS;
    }
    match error.downcast_ref::<Problem>().and_then(|problem| problem.field.as_deref()) {
        Some(field) => eprintln!("error: `{field}`: {error:#}"),
        None => eprintln!("error: {error:#}"),
    }
    let (code, hint) = judge(error);
    if let Some(hint) = hint {
        eprintln!("hint: {hint}");
    }
    ExitCode::from(code)
}

/// The exit code, and what to do.
fn judge(error: &anyhow::Error) -> (u8, Option<&str>) {
    if let Some(mistake) = error.downcast_ref::<Mistake>() {
        return (2, mistake.hint.as_deref());
    }
    if let Some(error) = error.downcast_ref::<TraceError>() {
        return (2, error.hint.as_deref());
    }
    if let Some(error) = error.downcast_ref::<CardError>() {
        return (2, error.hint.as_deref());
    }
    if let Some(error) = error.downcast_ref::<ClusterError>() {
        return (2, error.hint.as_deref());
    }
    if let Some(error) = error.downcast_ref::<ServiceError>() {
        return (2, error.hint.as_deref());
    }
    if let Some(wrong) = error.downcast_ref::<Wrong>() {
        return (2, wrong.hint.as_deref());
    }
    if let Some(problem) = error.downcast_ref::<Problem>() {
        let told = told(problem.code);
        let said = problem.hint.as_deref();
        // The server's own words on tokens are for those who write requests by hand.
        let hint = if problem.code == Code::Unknown { told } else { said.or(told) };
        return (code_of(problem.code), hint);
    }
    if let Some(nobody) = error.downcast_ref::<NoServer>() {
        return (1, Some(nobody.hint()));
    }
    if let Some(odd) = error.downcast_ref::<NoTalk>() {
        return (1, Some(odd.hint()));
    }
    if error.is::<WorldError>() {
        return (2, Some("`heeler worlds show plain --card` prints a card that works"));
    }
    if error.is::<OptionError>() || error.is::<CutError>() {
        return (2, None);
    }
    match error.downcast_ref::<WriteError>() {
        Some(WriteError::Unsayable { .. } | WriteError::Format(_)) => (2, None),
        _ => (1, None),
    }
}

/// What a refusal ends with: a mistake, unless the server is at fault or has too much to do.
fn code_of(code: Code) -> u8 {
    match code.status() {
        408 | 429 | 500.. => 1,
        _ => 2,
    }
}

/// What to do about a refusal that does not say so itself.
fn told(code: Code) -> Option<&'static str> {
    match code {
        Code::Unknown => Some("set HEELER_TOKEN to a token that `heeler token make` gave out"),
        Code::NotStored => Some("nothing was changed; make room on the server's disk, and repeat"),
        _ => None,
    }
}
