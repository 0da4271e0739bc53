//! A trace in words and plots.

use crate::show;
use heeler_model::Time;
use heeler_sim::workload::{Description, Part, Quantiles, Trace};
use std::path::Path;

/// How wide plots are.
const WIDTH: usize = 60;
/// How many tenants are shown.
const TENANTS_MAX: usize = 12;

/// A trace in words and plots.
pub(crate) fn text(path: &Path, trace: &Trace, seen: &Description) -> String {
    let format = trace.format.map_or(String::new(), |format| format!(" (format {format})"));
    let mut text = format!("{}{format}\n\n{}", path.display(), facts(seen));
    if seen.jobs == 0 {
        return text;
    }
    let mut table =
        show::Table::new(&["", "mean>", "p25>", "p50>", "p75>", "p95>", "p99>", "max>"]);
    for (name, quantiles, form) in [
        ("run time", &seen.duration_s, show::seconds as fn(f64) -> String),
        ("GPUs", &seen.gpus, show::decimal),
        ("gap", &seen.gap_s, show::seconds),
    ] {
        if let Some(q) = quantiles {
            table.row(row(name, q, form));
        }
    }
    text.push_str(&format!("\n{}", table.text()));
    text.push_str(&format!("\nRun times, jobs by duration\n{}", durations(trace)));
    text.push_str(&format!(
        "\nSizes, jobs by GPUs\n{}",
        parts(&seen.by_size, seen.jobs, usize::MAX)
    ));
    text.push_str(&format!("\nSubmissions over time\n{}", submissions(trace)));
    if seen.tenants > 1 {
        let shown = parts(&seen.by_tenant, seen.jobs, TENANTS_MAX);
        text.push_str(&format!("\nTenants, most GPU time first\n{shown}"));
        if seen.by_tenant.len() > TENANTS_MAX {
            text.push_str(&format!("  … and {} more\n", seen.by_tenant.len() - TENANTS_MAX));
        }
    }
    text
}

fn row(name: &str, q: &Quantiles, form: fn(f64) -> String) -> Vec<String> {
    let values = [q.mean, q.p25, q.p50, q.p75, q.p95, q.p99, q.max];
    std::iter::once(name.to_string()).chain(values.map(form)).collect()
}

fn facts(seen: &Description) -> String {
    let mut lines = vec![("jobs", show::count(seen.jobs as u64))];
    for (number, what) in [
        (seen.cpu_jobs, "ask for no GPU"),
        (seen.sharing_jobs, "ask for a part of a GPU"),
        (seen.elastic_jobs, "can run at several sizes"),
        (seen.deadline_jobs, "have a deadline"),
        (seen.following_jobs, "follow other jobs"),
        (seen.too_large_jobs, "ask for more GPUs than the cluster has"),
    ] {
        if number > 0 {
            lines.push(("", format!("{} {what}", show::count(number as u64))));
        }
    }
    lines.push(("tenants", show::count(seen.tenants as u64)));
    if seen.models > 0 {
        lines.push(("models", show::count(seen.models as u64)));
    }
    lines.push(("span", show::seconds(seen.span_s)));
    lines.push(("GPU-hours", show::decimal(seen.gpu_hours)));
    if let Some(load) = seen.load {
        lines.push(("load", format!("{load:.3} of the cluster while jobs come")));
    }
    if let Some(origin) = &seen.origin {
        lines.push(("time zero", origin.clone()));
    }
    for (name, tally) in [("left out", &seen.skipped), ("assumed", &seen.assumed)] {
        if !tally.is_empty() {
            lines.push((name, tally.to_string()));
        }
    }
    lines.iter().map(|(name, value)| format!("{name:<12} {value}\n")).collect()
}

/// Jobs by duration, in classes that double or triple.
fn durations(trace: &Trace) -> String {
    const LIMITS: [(f64, &str); 11] = [
        (10.0, "< 10 s"),
        (60.0, "< 1 min"),
        (300.0, "< 5 min"),
        (1_800.0, "< 30 min"),
        (3_600.0, "< 1 h"),
        (10_800.0, "< 3 h"),
        (43_200.0, "< 12 h"),
        (86_400.0, "< 1 d"),
        (259_200.0, "< 3 d"),
        (864_000.0, "< 10 d"),
        (f64::INFINITY, "longer"),
    ];
    let mut counts = [0u64; LIMITS.len()];
    for job in trace.jobs() {
        let seconds = job.duration().secs_f64();
        counts[LIMITS.partition_point(|(limit, _)| *limit <= seconds).min(LIMITS.len() - 1)] += 1;
    }
    let total = trace.jobs().len().max(1) as f64;
    let rows = LIMITS.iter().zip(counts).map(|((_, name), count)| {
        let note = format!("{} ({})", show::count(count), show::percent(count as f64 / total));
        (name.to_string(), count as f64, note)
    });
    show::bars(&rows.collect::<Vec<_>>(), WIDTH - 20)
}

fn parts(parts: &[Part], jobs: usize, most: usize) -> String {
    let rows = parts.iter().take(most).map(|part| {
        let count = part.jobs as f64;
        let note = format!(
            "{} ({}), {} of GPU time",
            show::count(part.jobs as u64),
            show::percent(count / jobs as f64),
            show::percent(part.share)
        );
        (part.name.clone(), count, note)
    });
    show::bars(&rows.collect::<Vec<_>>(), WIDTH - 20)
}

/// How many jobs come in each part of the time.
fn submissions(trace: &Trace) -> String {
    let jobs = trace.jobs();
    let first = jobs.first().map_or(Time::ZERO, |job| job.submit);
    let last = jobs.last().map_or(Time::ZERO, |job| job.submit);
    let span = last.since(first).micros();
    if span == 0 {
        return "  all at once\n".into();
    }
    let mut counts = vec![0.0; WIDTH];
    for job in jobs {
        let at =
            u128::from(job.submit.since(first).micros()) * WIDTH as u128 / (u128::from(span) + 1);
        counts[at as usize] += 1.0;
    }
    let each = show::seconds(span as f64 / 1e6 / WIDTH as f64);
    format!("{}  jobs in each {each}, from {first} to {last}\n", show::curve(&counts, 6))
}
