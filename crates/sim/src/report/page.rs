//! The page as a whole: what stands where, and the figures once more for programs.

use super::bars::{self, GPU_HOURS, Part, RESTARTS};
use super::colours::{Tenants, of_run};
use super::groups::{self, Of, ROWS_MAX};
use super::panels::{panels, wide};
use super::run::Run;
use super::table::{key, table};
use super::text::{clip, escape};
use super::{Report, curves, fronts, means, services, strips, studies, sweeps};
use serde_json::{Value, json};
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("hover.js");

/// Groups of tenants that all runs together may take in the figures for programs.
const TENANTS_MAX: usize = 200;

/// The page may use nothing but itself, whatever else is in it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

pub(super) fn page(report: &Report) -> String {
    let title = escape(&report.title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <meta name=\"color-scheme\" content=\"light dark\"/><title>{title}</title>\n\
         <style>{STYLE}</style></head>\n<body><main>\n"
    );
    header(&mut out, report);
    let runs = &report.runs;
    if runs.is_empty() {
        out.push_str("<p class=\"nothing\">There are no runs.</p>");
    } else {
        body(&mut out, report);
    }
    let summaries = summaries(report).to_string();
    // Inside a script nothing is unescaped, so what could end it is written otherwise.
    let summaries =
        summaries.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    let _ = write!(
        out,
        "</main>\n<script type=\"application/json\" id=\"heeler-summary\">{summaries}</script>\n\
         <script>{SCRIPT}</script></body></html>\n"
    );
    out
}

fn header(out: &mut String, report: &Report) {
    let _ = write!(out, "<header><h1>{}</h1>", escape(&report.title));
    if !report.facts.is_empty() {
        out.push_str("<dl>");
        for (name, value) in &report.facts {
            let _ = write!(out, "<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(value));
        }
        out.push_str("</dl>");
    }
    out.push_str("</header>\n");
}

fn body(out: &mut String, report: &Report) {
    let runs = &report.runs[..];
    let length_s = runs.iter().map(|run| run.levels.length_s()).fold(0.0, f64::max).max(1e-3);
    let tenants = Tenants::of(runs);
    means::section(out, &report.fronts, !report.runs_are_of.is_empty());
    summary(out, report);
    fronts::section(out, &report.fronts);
    sweeps::section(out, &report.sweeps);
    distributions(out, runs);
    if let Some(drawn) = studies::studies(runs, length_s) {
        let _ = writeln!(out, "<section><h2>Studies</h2>{}{drawn}</section>", legend(runs));
    }
    time(out, runs, length_s);
    services::section(out, runs, length_s);
    work(out, runs);
    fairness(out, runs, &tenants);
    let heading = if runs.len() > 1 { "Run by run" } else { "The run in detail" };
    let panels = panels(runs, &tenants, length_s);
    let _ = writeln!(out, "<section><h2>{heading}</h2>{panels}</section>");
}

/// The table of the runs, and what has to be known of it.
fn summary(out: &mut String, report: &Report) {
    let runs = &report.runs[..];
    out.push_str("<section><h2>Summary");
    if !report.runs_are_of.is_empty() {
        let _ = write!(out, " of one run: {}", escape(&report.runs_are_of));
    }
    out.push_str("</h2><p class=\"reading\">JCT, the job completion time, is the time from ");
    out.push_str("submission to end.");
    if runs.len() > 1 {
        out.push_str(" The best value of each column is marked.");
    }
    if !report.runs_are_of.is_empty() {
        out.push_str(
            " This table is of one run of each recipe, and so is all from \
             \u{201c}How long jobs took\u{201d} on; the other tables and charts are of all runs.",
        );
    }
    let _ = writeln!(out, "</p>{}", table(runs));
    for note in &report.notes {
        let _ = writeln!(out, "<p class=\"reading\">{}</p>", escape(note));
    }
    out.push_str("</section>\n");
}

fn distributions(out: &mut String, runs: &[Run]) {
    let _ = write!(out, "<section><h2>How long jobs took</h2>{}<div class=\"pair\">", legend(runs));
    let completion = curves::times(runs, "Completion time", |run| &run.completion, false);
    let reading = "For each time, the part of the finished jobs that took at most so long; \
                   further left is faster.";
    out.push_str(&figure("Completion time", reading, &or_none(completion, "No job finished.")));
    let waiting = curves::times(runs, "Waiting time", |run| &run.waiting, true);
    let reading = "The same for time without GPUs; a line that starts high on the left belongs to \
                   jobs that hardly waited.";
    out.push_str(&figure("Waiting time", reading, &or_none(waiting, "No finished job waited.")));
    out.push_str("</div></section>\n");
}

fn time(out: &mut String, runs: &[Run], length_s: f64) {
    out.push_str("<section><h2>The cluster over time</h2>");
    let reading = "Part of the GPUs there that jobs held, since the first submission.";
    let drawing = wide(&strips::utilisation(runs, length_s));
    out.push_str(&figure("Utilisation", reading, &drawing));
    let reading = "Jobs that were ready to run and held no GPUs, since the first submission.";
    out.push_str(&figure("Queue", reading, &wide(&strips::waiting(runs, length_s))));
    out.push_str("</section>\n");
}

fn work(out: &mut String, runs: &[Run]) {
    out.push_str("<section><h2>Where GPU time went</h2>");
    let part_key = |part: &Part| format!("<span>{}{}</span>", key(part.class), part.name);
    for (title, reading, parts, unit, none) in [
        (
            "GPU-hours",
            "Useful time led to work that was kept; lost time was held for starting, saving and \
             work that was lost; nobody held the rest.",
            &GPU_HOURS,
            "GPU-hours",
            "No time passed.",
        ),
        (
            "Restarts",
            "How often jobs were stopped for others, moved or resized, or lost with a node.",
            &RESTARTS,
            "times",
            "No job was ever disturbed.",
        ),
    ] {
        let keys: String = parts.iter().map(part_key).collect();
        let drawing = bars::bars(runs, title, parts, unit);
        let drawing = drawing.map(|d| format!("<p class=\"legend\">{keys}</p>{}", wide(&d)));
        out.push_str(&figure(title, reading, &or_none(drawing, none)));
    }
    out.push_str("</section>\n");
}

fn fairness(out: &mut String, runs: &[Run], tenants: &Tenants) {
    let _ = write!(out, "<section><h2>Fairness</h2>{}<div class=\"three\">", legend(runs));
    let variants: [(&str, &str); 3] = [
        (
            "Against isolated shares",
            "Progress that an equal share of the cluster would have made during the job's life ÷ \
             its work. Right of one, sharing made the job late.",
        ),
        (
            "Against the crowd it met",
            "Completion time ÷ (time alone × mean number of jobs during its life ÷ GPUs), as in \
             Themis.",
        ),
        (
            "Against the whole trace",
            "Completion time ÷ (time alone × jobs of the trace ÷ GPUs), as in Shockwave.",
        ),
    ];
    for (index, (title, reading)) in variants.into_iter().enumerate() {
        // They are kept in the order of the metrics; the one that the summary uses comes first.
        let drawing = curves::ratios(runs, title, |run| &run.fairness[2 - index]);
        out.push_str(&figure(title, reading, &or_none(drawing, "No job finished.")));
    }
    out.push_str("</div>");
    let shown = &tenants.ranked()[..tenants.ranked().len().min(ROWS_MAX)];
    let by: [(&str, &[String], Of); 2] = [
        ("By tenant", shown, |summary| &summary.tenants),
        ("By size", &groups::sizes(runs), |summary| &summary.sizes),
    ];
    for (title, names, of) in by {
        // One tenant alone is treated like all jobs, which the summary shows.
        if title == "By tenant" && names.len() == 1 {
            continue;
        }
        let reading = match title {
            "By tenant" => {
                "A dot for each run; dots far apart are tenants to whom the choice of \
                            recipe matters. Most GPU time first."
            }
            _ => "The same by the number of GPUs that jobs asked for.",
        };
        let drawing = groups::dots(runs, title, names, of).map(|drawing| wide(&drawing));
        out.push_str(&figure(title, reading, &or_none(drawing, "No job finished.")));
    }
    out.push_str("</section>\n");
}

/// A chart with its title and how to read it.
pub(super) fn figure(title: &str, reading: &str, body: &str) -> String {
    format!("<figure><figcaption><h3>{title}</h3><p>{reading}</p></figcaption>{body}</figure>")
}

fn or_none(drawing: Option<String>, none: &str) -> String {
    drawing.unwrap_or_else(|| format!("<p class=\"nothing\">{none}</p>"))
}

fn legend(runs: &[Run]) -> String {
    if runs.len() < 2 {
        return String::new();
    }
    let keys = runs.iter().enumerate().map(|(index, run)| {
        format!("<span>{}{}</span>", key(&of_run(index)), clip(&run.label, 60))
    });
    format!("<p class=\"legend\">{}</p>", keys.collect::<String>())
}

/// The figures for programs. Of very many tenants only those with most GPU time.
fn summaries(report: &Report) -> Value {
    let each = (TENANTS_MAX / report.runs.len().max(1)).clamp(ROWS_MAX, 100);
    let runs = report.runs.iter().map(|run| {
        let mut summary = run.summary.clone();
        let left_out = summary.tenants.len().saturating_sub(each);
        if left_out > 0 {
            summary.tenants.sort_by(|a, b| b.gpu_hours.total_cmp(&a.gpu_hours));
            summary.tenants.truncate(each);
        }
        json!({ "label": run.label, "summary": summary, "tenants_left_out": left_out })
    });
    let facts = report.facts.iter().map(|(name, value)| json!([name, value]));
    let mut value = json!({
        "title": report.title,
        "facts": facts.collect::<Vec<_>>(),
        "runs": runs.collect::<Vec<_>>(),
    });
    if !report.runs_are_of.is_empty() {
        value["runs_are_of"] = json!(report.runs_are_of);
    }
    if !report.notes.is_empty() {
        value["notes"] = json!(report.notes);
    }
    if !report.fronts.is_empty() {
        value["fronts"] = json!(report.fronts);
    }
    if !report.sweeps.is_empty() {
        value["sweeps"] = json!(report.sweeps);
    }
    value
}
