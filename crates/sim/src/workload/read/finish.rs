//! From what a reader filled to a trace: times from zero, jobs in order, dependencies by number.

use super::super::error::{Field, TraceError};
use super::super::trace::Trace;
use super::super::{TraceJob, Workload, date};
use super::Format;
use super::reading::{After, Reading};
use heeler_model::{Cluster, JobId, KindId, KindSet, SECOND_US, Time};
use std::collections::BTreeMap;
use std::path::Path;

const NOT_IN_TRACE: &str = "jobs that had to finish first are not in the trace";

pub(super) fn finish(reading: Reading<'_>, format: Format) -> Result<Trace, TraceError> {
    let Reading { path, options, cluster, mut jobs, models, users, .. } = reading;
    let (skipped, mut assumed) = (reading.skipped, reading.assumed);
    let mut origin = reading.origin;
    if reading.dated
        && let Some(first) = jobs.iter().map(|job| job.submit).min()
    {
        origin = Some(date::text(first.micros() / SECOND_US));
        for job in &mut jobs {
            job.resubmit(Time::ZERO + job.submit.since(first));
        }
    }
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|index| jobs[*index].submit);
    let mut place = vec![0; jobs.len()];
    for (to, from) in order.iter().enumerate() {
        place[*from] = to;
    }
    let own = matches!(format, Format::Csv | Format::Jsonl);
    if own || !reading.after.is_empty() {
        let names = names_of(path, &jobs, &reading.lines, own)?;
        for after in &reading.after {
            let mut numbers = Vec::new();
            for name in &after.names {
                let found = find(&names, name);
                if found.is_empty() && own {
                    return Err(unknown(path, after, name));
                }
                if found.is_empty() {
                    assumed.add(NOT_IN_TRACE);
                }
                numbers.extend(found.iter().map(|index| JobId(place[*index] as u32)));
            }
            numbers.sort_unstable();
            numbers.dedup();
            jobs[after.job].spec.extras_mut().after = numbers;
        }
    }
    jobs.sort_by_key(|job| job.submit);
    refuse_circles(path, &jobs)?;
    for job in &mut jobs {
        only_where_it_runs(job, cluster);
        if options.all_at_once {
            job.resubmit(Time::ZERO);
        }
    }
    let workload = Workload::new(jobs);
    Ok(Trace { format: Some(format), workload, models, users, origin, skipped, assumed })
}

/// The jobs by name.
fn names_of(
    path: &Path,
    jobs: &[TraceJob],
    lines: &[u64],
    only_once: bool,
) -> Result<BTreeMap<String, usize>, TraceError> {
    let mut names = BTreeMap::new();
    for (index, job) in jobs.iter().enumerate() {
        let Some(name) = &job.name else { continue };
        if let Some(other) = names.insert(name.to_string(), index)
            && only_once
        {
            let field = Some(Field { column: None, name: "id".into() });
            let message = format!("`{name}` is already the id of the job in line {}", lines[other]);
            return Err(TraceError { field, ..TraceError::line(path, lines[index], message) }
                .hint("every id can be used once"));
        }
    }
    Ok(names)
}

/// The job of a name, or the jobs of an array of that name: `7` means `7_0`, `7_1` …
fn find(names: &BTreeMap<String, usize>, name: &str) -> Vec<usize> {
    if let Some(index) = names.get(name) {
        return vec![*index];
    }
    let prefix = format!("{name}_");
    let array = names.range(prefix.clone()..).take_while(|(other, _)| other.starts_with(&prefix));
    array.map(|(_, index)| *index).collect()
}

fn unknown(path: &Path, after: &After, name: &str) -> TraceError {
    let field = Some(Field { column: None, name: "after".into() });
    let message = format!("no job has the id `{name}`");
    TraceError { field, ..TraceError::line(path, after.line, message) }
        .hint("`after` names jobs by their `id`, joined by `|`")
}

/// Jobs that wait for each other never start.
fn refuse_circles(path: &Path, jobs: &[TraceJob]) -> Result<(), TraceError> {
    let mut waits: Vec<usize> = jobs.iter().map(|job| job.spec.after().len()).collect();
    if waits.iter().all(|count| *count == 0) {
        return Ok(());
    }
    let mut followers = vec![Vec::new(); jobs.len()];
    for (index, job) in jobs.iter().enumerate() {
        for before in job.spec.after() {
            followers[before.index()].push(index);
        }
    }
    let mut ready: Vec<usize> = (0..jobs.len()).filter(|index| waits[*index] == 0).collect();
    while let Some(done) = ready.pop() {
        for follower in &followers[done] {
            waits[*follower] -= 1;
            if waits[*follower] == 0 {
                ready.push(*follower);
            }
        }
    }
    let Some(stuck) = waits.iter().position(|count| *count > 0) else { return Ok(()) };
    let name = jobs[stuck].name.clone().unwrap_or_else(|| stuck.to_string().into());
    let message = format!("job `{name}` must wait, in the end, for itself");
    Err(TraceError::file(path, message).hint("look at its `after` and at theirs"))
}

/// Every kind has a rate if one has, and a job does not go where its rate is zero.
fn only_where_it_runs(job: &mut TraceJob, cluster: &Cluster) {
    if job.spec.rates().is_empty() {
        return;
    }
    let count = cluster.kinds.len();
    let rates = &mut job.spec.extras_mut().rates;
    rates.resize(count, 0.0);
    if rates.contains(&0.0) {
        let kinds = (0..count).filter(|index| rates[*index] > 0.0);
        let runs = kinds.fold(KindSet::NONE, |set, index| set.with(KindId(index as u8)));
        job.spec.demand.kinds = job.spec.demand.kinds.and(runs);
    }
}
