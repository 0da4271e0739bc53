//! What Slurm's accounting prints with `sacct -P`: fields joined by `|` under a header line. GPUs,
//! CPUs and memory come from `AllocTRES` or `ReqTRES`; only jobs that ran and ended count.

use super::super::date;
use super::super::error::TraceError;
use super::super::row::Row;
use super::super::table::Table;
use super::reading::{NO_GPU, Reading, timed_job};
use heeler_model::{Demand, Span};

const STARTED_LATE: &str = "were cancelled before they started";
const OTHER_DEPENDENCY: &str = "had a dependency of a sort that is left out";

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    let header = table.header();
    if header.find("AllocTRES").is_none() && header.find("ReqTRES").is_none() {
        return Err(TraceError::line(reading.path, 1, "does not say how many GPUs jobs had").hint(
            "ask sacct for JobID,User,Account,State,Submit,Start,End,Elapsed,Timelimit,ReqTRES,\
             AllocTRES",
        ));
    }
    reading.dated = true;
    // Most sites record kinds; who describes the cluster in one word does not care.
    reading.overlook_kinds();
    table.each(|row| enter(reading, row))
}

fn enter(reading: &mut Reading<'_>, row: &Row<'_>) -> Result<(), TraceError> {
    let id = row.get("JobID").map_or_else(|| row.text("JobIDRaw"), Ok)?;
    if id.contains('.') {
        reading.skipped.add("are steps of jobs");
        return Ok(());
    }
    let state = row.get("State").unwrap_or("").split_whitespace().next().unwrap_or("");
    let unfinished = match state {
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT" => {
            Some("have not started yet")
        }
        "RUNNING" | "SUSPENDED" | "COMPLETING" | "CONFIGURING" | "RESIZING" | "STOPPED"
        | "SIGNALING" | "STAGE_OUT" => Some("are still running"),
        _ => None,
    };
    if let Some(reason) = unfinished {
        reading.skipped.add(reason);
        return Ok(());
    }
    let elapsed = elapsed(row)?;
    if elapsed.is_zero() {
        let cancelled = matches!(state, "CANCELLED" | "REVOKED");
        reading.skipped.add(if cancelled { STARTED_LATE } else { "ran for less than a second" });
        return Ok(());
    }
    let tres = tres(row)?;
    if tres.gpus == 0 && !reading.cpu_jobs {
        reading.skipped.add(NO_GPU);
        return Ok(());
    }
    let mut demand = Demand::gpus(tres.gpus);
    let beside = f64::from(tres.gpus.max(1));
    demand.cpu_milli = (tres.cpus * 1000.0 / beside).ceil() as u32;
    demand.memory_mb = (tres.memory_mb / beside).ceil() as u32;
    let kinds = tres.kinds.into_iter();
    demand.kinds = reading.kinds(kinds, &|message| row.wrong(tres.column, message))?;
    let mut job = timed_job(row.date("Submit")?, elapsed, demand);
    job.name = Some(id.into());
    reading.owner(row.get("Account"), row.get("User"), &mut job.spec)?;
    if let Some(declared) = declared(row)? {
        job.spec.declared = declared;
    }
    let names = dependencies(reading, row.get("Dependency").unwrap_or(""));
    reading.push_after(job, row.line(), names);
    Ok(())
}

/// How long a job ran.
fn elapsed(row: &Row<'_>) -> Result<Span, TraceError> {
    if row.get("ElapsedRaw").is_some() {
        return row.span("ElapsedRaw", 1.0);
    }
    if let Some(text) = row.get("Elapsed") {
        let expected = "expected a time such as 1-02:03:04";
        let wrong = || row.wrong("Elapsed", format!("{expected}, found `{text}`"));
        return date::length_seconds(text).map(Span::from_secs).ok_or_else(wrong);
    }
    let unknown = |text: Option<&str>| matches!(text, None | Some("Unknown" | "None"));
    if unknown(row.get("Start")) || unknown(row.get("End")) {
        return Ok(Span::ZERO);
    }
    Ok(row.date("End")?.since(row.date("Start")?))
}

/// The time limit, if the table has one: none of it is none.
fn declared(row: &Row<'_>) -> Result<Option<Option<Span>>, TraceError> {
    let unlimited = |text: &str| matches!(text, "UNLIMITED" | "Partition_Limit" | "INVALID");
    if let Some(text) = row.get("TimelimitRaw") {
        let limit = if unlimited(text) { None } else { Some(row.span("TimelimitRaw", 60.0)?) };
        return Ok(Some(limit));
    }
    let Some(text) = row.get("Timelimit") else { return Ok(None) };
    if unlimited(text) {
        return Ok(Some(None));
    }
    let expected = "expected a time such as 1-02:03:04 or UNLIMITED";
    let seconds = date::length_seconds(text);
    let seconds =
        seconds.ok_or_else(|| row.wrong("Timelimit", format!("{expected}, found `{text}`")))?;
    Ok(Some(Some(Span::from_secs(seconds))))
}

/// What a job was given, in all.
#[derive(Default)]
struct Tres<'a> {
    column: &'static str,
    gpus: u32,
    kinds: Vec<&'a str>,
    cpus: f64,
    memory_mb: f64,
}

/// `cpu=8,gres/gpu=4,gres/gpu:a100=4,mem=64G,node=1`.
fn tres<'a>(row: &Row<'a>) -> Result<Tres<'a>, TraceError> {
    let column = if row.get("AllocTRES").is_some() { "AllocTRES" } else { "ReqTRES" };
    let mut tres = Tres { column, ..Tres::default() };
    let mut typed = 0;
    for part in row.get(column).unwrap_or("").split(',').filter(|part| !part.is_empty()) {
        let wrong = || row.wrong(column, format!("`{part}` is not understood"));
        let (name, value) = part.split_once('=').ok_or_else(wrong)?;
        if let Some(kind) = name.strip_prefix("gres/gpu:") {
            let count: u32 = value.parse().map_err(|_| wrong())?;
            typed = count.saturating_add(typed);
            if count > 0 {
                tres.kinds.push(kind);
            }
            continue;
        }
        match name {
            "gres/gpu" => tres.gpus = value.parse().map_err(|_| wrong())?,
            "cpu" => tres.cpus = value.parse().map_err(|_| wrong())?,
            "mem" => tres.memory_mb = megabytes(value).ok_or_else(wrong)?,
            _ => {}
        }
    }
    tres.gpus = tres.gpus.max(typed);
    Ok(tres)
}

/// `512M`, `62.5G`, `1T`; a plain number is megabytes.
fn megabytes(text: &str) -> Option<f64> {
    let (number, unit) = match text.char_indices().last()? {
        (end, letter) if letter.is_ascii_alphabetic() => (&text[..end], letter),
        _ => (text, 'M'),
    };
    let factor = match unit.to_ascii_uppercase() {
        'K' => 1.0 / 1024.0,
        'M' => 1.0,
        'G' => 1024.0,
        'T' => 1024.0 * 1024.0,
        _ => return None,
    };
    number.parse::<f64>().ok().filter(|number| *number >= 0.0).map(|number| number * factor)
}

/// `afterok:12:13,afterany:14(unfulfilled)`: jobs that must finish first.
fn dependencies(reading: &mut Reading<'_>, text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for part in text.split([',', '?']).filter(|part| !part.is_empty()) {
        let mut words = part.split(':');
        match words.next() {
            Some("afterok" | "afterany" | "aftercorr") => {
                let id = |word: &str| word.split(['(', '+']).next().unwrap_or("").to_string();
                // `12_*` is all of an array, as `12` is.
                names.extend(words.map(|word| id(word).trim_end_matches("_*").to_string()));
            }
            _ => reading.assumed.add(OTHER_DEPENDENCY),
        }
    }
    names
}

#[cfg(test)]
mod tests;
