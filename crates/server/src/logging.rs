//! The server's own log: lines for people, or one JSON object each for machines.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Write the log to standard error: `filter` as in `info,heeler_server=debug`.
///
/// # Errors
/// If the filter makes no sense, or there is a log already.
pub fn log_to_stderr(filter: &str, json: bool) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter).map_err(|error| format!("--log {filter}: {error}"))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A file is no place for colours.
    let log = log.with_ansi(std::io::stderr().is_terminal());
    let set = if json { log.json().try_init() } else { log.with_target(false).try_init() };
    set.map_err(|error| error.to_string())
}
