//! Heeler's own fields: what each column of the table, or each member of a line of JSON, means.
//! The reference page lists them with their units and defaults.

use super::super::TraceJob;
use super::super::error::TraceError;
use super::super::row::{Header, Row};
use super::super::table::Table;
use super::reading::{Reading, stepped_job, timed_job};
use super::{phases, trials};
use crate::suggest;
use heeler_model::{
    Appetite, Batch, Deadline, Demand, Milli, Portion, Reach, Sizes, Span, Stages, Step, Time,
};

/// All fields, in the order they are written.
pub(in super::super) const COLUMNS: &[&str] = &[
    "id",
    "submit_s",
    "gpus",
    "duration_s",
    "steps",
    "rates",
    "tenant",
    "user",
    "model",
    "priority",
    "min_gpus",
    "max_gpus",
    "step",
    "share",
    "kinds",
    "gpu_memory_mb",
    "cpus",
    "memory_mb",
    "reach",
    "skewed",
    "declared_s",
    "deadline_s",
    "after",
    "start_s",
    "batch",
    "adapts",
    "study",
    "curve",
    "scores",
    "epochs",
    "stages",
    "due",
    "grows",
    "alone_s",
    "epoch_s",
    "name",
    "busy",
    "iteration_s",
    "resource_s",
    "appetite",
];

pub(super) fn read(reading: &mut Reading<'_>, table: Table) -> Result<(), TraceError> {
    check_names(table.header(), 1)?;
    let columns = &table.header().columns;
    let repeated = (1..columns.len()).find(|index| columns[..*index].contains(&columns[*index]));
    if let Some(index) = repeated {
        let message = format!("column `{}` occurs twice", columns[index]);
        return Err(TraceError::line(reading.path, 1, message).hint("take one of them out"));
    }
    reading.cpu_jobs = true;
    table.each(|row| enter(reading, row))
}

/// Refuse names that are not known: a field spelt wrong would be forgotten silently.
pub(super) fn check_names(header: &Header, line: u64) -> Result<(), TraceError> {
    let known = |name: &String| COLUMNS.contains(&name.as_str()) || name.starts_with("x_");
    let Some(name) = header.columns.iter().find(|name| !known(name)) else { return Ok(()) };
    let hint = match suggest::closest(name, COLUMNS.iter().copied()) {
        Some(column) => format!("did you mean `{column}`? A field of your own begins with `x_`"),
        None => "a field of your own begins with `x_`".to_string(),
    };
    Err(TraceError::line(&header.file, line, format!("there is no field `{name}`")).hint(hint))
}

/// Enter the job that a row describes.
pub(super) fn enter(reading: &mut Reading<'_>, row: &Row<'_>) -> Result<(), TraceError> {
    let submit = row.time("submit_s", 1.0)?;
    let demand = demand(reading, row)?;
    let mut job = with_work(reading, row, submit, demand)?;
    job.name = row.get("id").map(Into::into);
    job.start_cost = row.maybe_span("start_s", 1.0)?;
    if let Some((phases, regimes)) = phases::phases(reading, row)? {
        job.spec.declared = Some(Span::from_secs_f64(phases.alone_s));
        job.spec.extras_mut().regimes = Some(regimes).filter(|known| !known.epoch_s.is_empty());
        job.phases = Some(phases);
    }
    let spec = &mut job.spec;
    reading.owner(row.get("tenant"), row.get("user"), spec)?;
    if let Some(model) = row.get("model") {
        spec.model = reading.model(model)?;
    }
    if let Some(text) = row.get("priority") {
        let wrong = || row.wrong("priority", format!("expected a whole number, found `{text}`"));
        spec.priority = text.parse().map_err(|_| wrong())?;
    }
    spec.skewed = flag(row, "skewed")?;
    if row.get("batch").is_some() {
        let (asked, adapts) = (row.count("batch")?, flag(row, "adapts")?);
        spec.extras_mut().batch = Some(Batch { asked, adapts, ..Batch::default() });
    }
    match row.get("declared_s") {
        None => {}
        Some("none") => spec.declared = None,
        Some(_) => spec.declared = Some(row.span("declared_s", 1.0)?),
    }
    let deadlines = deadlines(row, submit)?;
    if !deadlines.is_empty() {
        spec.extras_mut().deadlines = deadlines;
    }
    job.trial = trials::trial(row)?;
    if let Some(trial) = &job.trial {
        job.spec.extras_mut().study = Some(reading.study(&trial.study)?);
    }
    if let Some(name) = row.get("name") {
        job.spec.extras_mut().name = Some(name.into());
    }
    if row.get("busy").is_some() {
        job.spec.extras_mut().busy_milli = Some(busy_milli(row, "busy", 1.0)?);
    }
    if row.get("resource_s").is_some() {
        job.spec.extras_mut().stages = Some(stages(row)?);
    }
    if row.get("appetite").is_some() {
        job.spec.extras_mut().appetite = Some(appetite(row)?);
    }
    let names = row.list("after").map(ToString::to_string).collect();
    reading.push_after(job, row.line(), names);
    Ok(())
}

/// Seconds of an iteration, and of its stages.
fn stages(row: &Row<'_>) -> Result<Stages, TraceError> {
    let seconds = |text: &str| {
        let known = text.trim().parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0);
        let wrong = || format!("expected numbers from 0 on, joined by `|`, found `{text}`");
        known.ok_or_else(|| row.wrong("resource_s", wrong()))
    };
    let stage_s = row.list("resource_s").map(seconds).collect::<Result<_, _>>()?;
    Ok(Stages { iteration_s: row.positive("iteration_s")?, stage_s })
}

/// `cpus:memory_mb:pace`, joined by `|`; the first is what is enough.
fn appetite(row: &Row<'_>) -> Result<Appetite, TraceError> {
    let point = |text: &str| {
        let number = |part: Option<&str>| {
            let number = part?.trim().parse::<f64>().ok()?;
            (0.0..4e6).contains(&number).then_some(number)
        };
        let mut parts = text.split(':');
        let found = [number(parts.next()), number(parts.next()), number(parts.next())];
        let [Some(cpus), Some(memory_mb), Some(pace)] = found else { return None };
        let (cpu_milli, memory_mb) = ((cpus * 1000.0).round() as u32, memory_mb.round() as u32);
        let sound = pace > 0.0 && parts.next().is_none();
        sound.then_some((Portion { cpu_milli, memory_mb }, pace))
    };
    let read = |text| {
        let wrong = || format!("expected `cpus:memory_mb:pace` joined by `|`, found `{text}`");
        point(text).ok_or_else(|| row.wrong("appetite", wrong()))
    };
    let mut points = row.list("appetite").map(read).collect::<Result<Vec<_>, _>>()?;
    if points.is_empty() {
        return Err(row.wrong("appetite", "is an empty list"));
    }
    let (enough, best) = points.remove(0);
    Ok(Appetite { enough, best, measured: points })
}

/// The part of the time in which GPUs are busy, written as a part of so much.
pub(super) fn busy_milli(row: &Row<'_>, field: &str, of: f64) -> Result<u32, TraceError> {
    let part = row.number(field)?;
    let wrong = || row.wrong(field, format!("expected a number from 0 to {of}, found `{part}`"));
    let milli = (part / of * 1000.0).round();
    if (0.0..=1000.0).contains(&milli) { Ok(milli as u32) } else { Err(wrong()) }
}

fn flag(row: &Row<'_>, name: &str) -> Result<bool, TraceError> {
    match row.get(name) {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(other) => Err(row.wrong(name, format!("expected 0 or 1, found `{other}`"))),
    }
}

fn demand(reading: &mut Reading<'_>, row: &Row<'_>) -> Result<Demand, TraceError> {
    let cpus = row.get("cpus").map_or(Ok(0.0), |_| row.positive("cpus"))? * 1000.0;
    if cpus > f64::from(u32::MAX) {
        return Err(row.wrong("cpus", "expected fewer than four million"));
    }
    Ok(Demand {
        sizes: sizes(row)?,
        share: share(row)?,
        kinds: reading.kinds(row.list("kinds"), &|message| row.wrong("kinds", message))?,
        gpu_memory_mb: row.maybe_count("gpu_memory_mb")?.unwrap_or(0),
        cpu_milli: cpus.round() as u32,
        memory_mb: row.maybe_count("memory_mb")?.unwrap_or(0),
        reach: match row.get("reach") {
            None | Some("cluster") => Reach::Cluster,
            Some("rack") => Reach::Rack,
            Some("node") => Reach::Node,
            Some(other) => {
                let message = format!("expected cluster, rack or node, found `{other}`");
                return Err(row.wrong("reach", message));
            }
        },
    })
}

fn sizes(row: &Row<'_>) -> Result<Sizes, TraceError> {
    let asked = row.count("gpus")?;
    let min = row.maybe_count("min_gpus")?.unwrap_or(asked);
    let max = row.maybe_count("max_gpus")?.unwrap_or(asked);
    if min > asked {
        return Err(row.wrong("min_gpus", format!("{min} is more than `gpus`, which is {asked}")));
    }
    if max < asked {
        return Err(row.wrong("max_gpus", format!("{max} is less than `gpus`, which is {asked}")));
    }
    let text = row.get("step").unwrap_or("any");
    let unit = text.strip_prefix("multiples-of-").and_then(|unit| unit.parse::<u32>().ok());
    let step = match (text, unit) {
        ("any", _) => Step::Any,
        ("powers-of-two", _) => Step::PowersOfTwo,
        (_, Some(unit)) if unit > 0 => Step::MultiplesOf(unit),
        _ => {
            let message = format!("expected any, powers-of-two or multiples-of-N, found `{text}`");
            return Err(row.wrong("step", message));
        }
    };
    Ok(Sizes { asked, min, max, step })
}

/// A fraction up to 1, or thousandths above it.
fn share(row: &Row<'_>) -> Result<Milli, TraceError> {
    let Some(text) = row.get("share") else { return Ok(Milli::WHOLE) };
    let number = row.number("share")?;
    let milli = if number <= 1.0 { (number * 1000.0).round() } else { number };
    if !(1.0..=1000.0).contains(&milli) || milli.fract() != 0.0 {
        let message = format!("expected a part of a GPU, such as 0.25 or 250, found `{text}`");
        return Err(row
            .wrong("share", message)
            .hint("up to 1 it is a fraction, above thousandths"));
    }
    Ok(Milli(milli as u32))
}

/// A job with its work: a duration, or steps and how fast they go.
fn with_work(
    reading: &mut Reading<'_>,
    row: &Row<'_>,
    submit: Time,
    demand: Demand,
) -> Result<TraceJob, TraceError> {
    let duration = row.maybe_span("duration_s", 1.0)?;
    if row.get("steps").is_none() {
        if row.get("rates").is_some() {
            return Err(row.wrong("rates", "needs `steps`: how many of them are to be done"));
        }
        let hint = "give `duration_s`, or `steps` together with `rates`";
        return match duration {
            Some(duration) => Ok(timed_job(submit, duration, demand)),
            None => Err(row.wrong("duration_s", "is missing").hint(hint)),
        };
    }
    let steps = row.positive("steps")?;
    let (rates, best) = match rates(row)? {
        Rates::Unknown => (Vec::new(), 0.0),
        Rates::Anywhere(rate) => (Vec::new(), rate),
        Rates::ByKind(rates) => {
            reading.rates(&rates, demand.kinds, &|message| row.wrong("rates", message))?
        }
    };
    let mut job = match duration {
        Some(duration) if duration.is_zero() => {
            return Err(row.wrong("duration_s", "is zero, and so steps have no pace"));
        }
        Some(duration) => {
            let mut job = stepped_job(submit, steps, 1.0, demand);
            job.spec.nominal_pace = steps / duration.micros() as f64;
            job.spec.declared = Some(duration);
            job
        }
        None if best > 0.0 => stepped_job(submit, steps, best, demand),
        None => {
            let hint = "give `rates` (steps per second) or `duration_s`";
            return Err(row.wrong("steps", "has no pace").hint(hint));
        }
    };
    if !rates.is_empty() {
        job.spec.extras_mut().rates = rates;
    }
    Ok(job)
}

/// How fast steps go.
enum Rates<'a> {
    Unknown,
    Anywhere(f64),
    ByKind(Vec<(&'a str, f64)>),
}

/// Steps per second, or `kind=steps per second` joined by `|`.
fn rates<'a>(row: &Row<'a>) -> Result<Rates<'a>, TraceError> {
    let Some(text) = row.get("rates") else { return Ok(Rates::Unknown) };
    let rate = |text: &str| {
        let number = text.trim().parse::<f64>().ok();
        number.filter(|rate| rate.is_finite() && *rate >= 0.0)
    };
    if let Some(rate) = rate(text).filter(|rate| *rate > 0.0) {
        return Ok(Rates::Anywhere(rate));
    }
    let pair = |part: &'a str| {
        let (kind, text) = part.split_once('=')?;
        Some((kind.trim(), rate(text)?))
    };
    let pairs: Result<Vec<_>, TraceError> = row
        .list("rates")
        .map(|part| {
            let expected = "expected steps per second, or `kind=steps per second` joined by `|`";
            pair(part).ok_or_else(|| row.wrong("rates", format!("{expected}, found `{part}`")))
        })
        .collect();
    Ok(Rates::ByKind(pairs?))
}

/// `seconds` or `seconds:value`, joined by `|`, counted from the submission.
fn deadlines(row: &Row<'_>, submit: Time) -> Result<Vec<Deadline>, TraceError> {
    let mut deadlines = Vec::new();
    for part in row.list("deadline_s") {
        let (time, value) = part.split_once(':').unwrap_or((part, "1"));
        let (Ok(time), Ok(value)) = (time.trim().parse::<f64>(), value.trim().parse()) else {
            let message = format!("expected `seconds` or `seconds:value`, found `{part}`");
            return Err(row.wrong("deadline_s", message));
        };
        let after: Span = row.span_of("deadline_s", time)?;
        deadlines.push(Deadline { at: submit + after, value });
    }
    deadlines.sort_unstable();
    Ok(deadlines)
}

#[cfg(test)]
mod tests;
