//! Services: how many requests were late, how long answers took and how many replicas there were,
//! over time; and who lent GPUs to whom.

use super::page::figure;
use super::panels::wide;
use super::run::Run;
use super::scale::Scale;
use super::strips::{columns, strips};
use super::text::{clip, count, escape, percent, short_number};
use crate::metrics::ServiceFigures;
use crate::services::{Look, Serving};
use std::fmt::Write;

/// What a report keeps of a service: one line for each stretch of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    name: String,
    /// When each stretch ended, since the start of the simulation.
    until_s: Vec<f64>,
    /// Part of the requests that were late or refused.
    late: Vec<f64>,
    /// 99 of a hundred answers took at most so many milliseconds.
    p99_ms: Vec<f64>,
    replicas: Vec<f64>,
    from_s: f64,
}

impl Series {
    pub(super) fn of(serving: &Serving) -> Series {
        let looks = serving.history().looks();
        let of = |value: fn(&Look) -> f64| looks.iter().map(value).collect();
        Series {
            name: serving.spec.name.clone(),
            from_s: serving.spec.from.secs_f64(),
            until_s: of(|look| look.until.secs_f64()),
            late: of(|look| 1.0 - look.seen.in_time()),
            p99_ms: of(|look| look.seen.latency.quantile(0.99).unwrap_or(0) as f64 / 1e6),
            replicas: of(|look| f64::from(look.replicas)),
        }
    }

    /// Values in equal parts of a time, each that of the stretch in which the part ends.
    fn over(&self, first_s: f64, length_s: f64, columns: usize, values: &[f64]) -> Vec<f64> {
        let each = length_s / columns as f64;
        let at = |column: usize| {
            let end = first_s + (column + 1) as f64 * each;
            let stretch = self.until_s.partition_point(|until| *until < end);
            let value = values.get(stretch).copied().unwrap_or(0.0);
            if end < self.from_s { 0.0 } else { value }
        };
        (0..columns).map(at).collect()
    }
}

/// A section on all services and on loans, if there are any.
pub(super) fn section(out: &mut String, runs: &[Run], length_s: f64) {
    let Some(first) = runs.first() else { return };
    let names: Vec<String> = first.services.iter().map(|series| series.name.clone()).collect();
    if !names.is_empty() {
        out.push_str("<section><h2>Services</h2>");
        let reading = "Requests answered in time, and how long answers took; latencies in \
                       milliseconds, from arrival to answer.";
        out.push_str(&figure("Requests", reading, &table(runs)));
        for (index, name) in names.iter().enumerate() {
            over_time(out, runs, index, name, length_s);
        }
        out.push_str("</section>\n");
    }
    if runs.iter().any(|run| !run.summary.loans.is_empty()) {
        out.push_str("<section><h2>Loans</h2>");
        let reading = "GPU time that others used of a tenant's quota, and that it used of theirs.";
        out.push_str(&figure("Lent and borrowed", reading, &loans(runs)));
        out.push_str("</section>\n");
    }
}

fn over_time(out: &mut String, runs: &[Run], index: usize, name: &str, length_s: f64) {
    type Of = fn(&Series) -> &[f64];
    let series = |of: Of| -> Vec<Vec<f64>> {
        let columns = columns(runs);
        let each = runs.iter().map(|run| {
            let series = &run.services[index];
            series.over(run.levels.first_s, length_s, columns, of(series))
        });
        each.collect()
    };
    let most = |series: &[Vec<f64>]| series.iter().flatten().copied().fold(0.0, f64::max);
    let name = escape(name);
    let late = series(|series| &series.late);
    let scale = |top: f64, bottom: f64| Scale::part(0.5, bottom, top);
    let note = |run: &Run, _: &[f64]| {
        format!("{} in time on the whole", percent(run.summary.services[index].attainment))
    };
    let drawing = strips(runs, "Late requests over time", length_s, &late, scale, note);
    let reading = "Part of the requests that were answered late, turned away or dropped.";
    out.push_str(&figure(&format!("{name}: late requests"), reading, &wide(&drawing)));
    let latency = series(|series| &series.p99_ms);
    let top_ms = most(&latency);
    let scale = |top: f64, bottom: f64| Scale::upto(top_ms, 1.0, bottom, top);
    let note = |run: &Run, _: &[f64]| {
        let p99 = run.summary.services[index].latency_ms.p99;
        format!("{} ms on the whole", short_number(p99))
    };
    let drawing = strips(runs, "Latency over time", length_s, &latency, scale, note);
    let reading = "99 of a hundred answers took at most so many milliseconds.";
    out.push_str(&figure(&format!("{name}: latency"), reading, &wide(&drawing)));
    let replicas = series(|series| &series.replicas);
    let top_replicas = most(&replicas);
    let scale = |top: f64, bottom: f64| Scale::upto(top_replicas, 2.0, bottom, top);
    let note = |run: &Run, _: &[f64]| {
        format!("{} in the mean", short_number(run.summary.services[index].replicas))
    };
    let drawing = strips(runs, "Replicas over time", length_s, &replicas, scale, note);
    let reading = "Replicas that held GPUs.";
    out.push_str(&figure(&format!("{name}: replicas"), reading, &wide(&drawing)));
}

fn table(runs: &[Run]) -> String {
    let mut out = "<div class=\"scroll\"><table class=\"groups\"><thead><tr>\
         <th scope=\"col\">service</th><th scope=\"col\">run</th><th scope=\"col\">requests</th>\
         <th scope=\"col\">in time</th><th scope=\"col\">p50</th><th scope=\"col\">p95</th>\
         <th scope=\"col\">p99</th><th scope=\"col\">batch</th><th scope=\"col\">cached</th>\
         <th scope=\"col\">replicas</th><th scope=\"col\">GPU-hours</th></tr></thead><tbody>"
        .to_string();
    let services = runs.first().map_or(0, |run| run.summary.services.len());
    for index in 0..services {
        for run in runs {
            row(&mut out, &run.label, &run.summary.services[index]);
        }
    }
    out.push_str("</tbody></table></div>");
    out
}

fn row(out: &mut String, label: &str, service: &ServiceFigures) {
    let latency = &service.latency_ms;
    let cached = service.cached as f64 / service.requests.max(1) as f64;
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        clip(&service.name, 30),
        clip(label, 40),
        count(service.requests as usize),
        percent(service.attainment),
        short_number(latency.p50),
        short_number(latency.p95),
        short_number(latency.p99),
        short_number(service.batch),
        percent(cached),
        short_number(service.replicas),
        short_number(service.gpu_hours),
    );
}

fn loans(runs: &[Run]) -> String {
    let mut out = "<div class=\"scroll\"><table class=\"groups\"><thead><tr>\
         <th scope=\"col\">tenant</th><th scope=\"col\">run</th><th scope=\"col\">quota</th>\
         <th scope=\"col\">lent GPU-hours</th><th scope=\"col\">borrowed GPU-hours</th></tr>\
         </thead><tbody>"
        .to_string();
    for run in runs {
        for loan in &run.summary.loans {
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                clip(&loan.name, 30),
                clip(&run.label, 40),
                loan.quota,
                short_number(loan.lent_gpu_hours),
                short_number(loan.borrowed_gpu_hours),
            );
        }
    }
    out.push_str("</tbody></table></div>");
    out
}
