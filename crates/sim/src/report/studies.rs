//! Studies: how good the best trial was when, one line for each run, and what that took.

use super::colours::of_run;
use super::frame::{LEFT, RIGHT, WIDTH, open};
use super::page::figure;
use super::panels::wide;
use super::run::Run;
use super::scale::Scale;
use super::table::key;
use super::text::{clip, count, escape, number, points, px};
use crate::metrics::StudySummary;
use std::collections::BTreeMap;
use std::fmt::Write;

const HEIGHT: f64 = 260.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = HEIGHT - 28.0;

/// So many studies are shown, those with most GPU time first.
const STUDIES_MAX: usize = 4;

/// A figure for each study; nothing if there are none.
pub(super) fn studies(runs: &[Run], length_s: f64) -> Option<String> {
    let mut hours: BTreeMap<&str, f64> = BTreeMap::new();
    for study in runs.iter().flat_map(|run| &run.summary.studies) {
        *hours.entry(&study.name).or_default() += study.gpu_hours;
    }
    let mut ranked: Vec<(&str, f64)> = hours.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let left_out = ranked.len().saturating_sub(STUDIES_MAX);
    let mut out = String::new();
    for (name, _) in ranked.iter().take(STUDIES_MAX) {
        let reading = "The best score that any trial had reported, since the first submission; \
                       further up and further left is better.";
        let body = wide(&chart(runs, name, length_s)) + &table(runs, name);
        out.push_str(&figure(&clip(name, 60), reading, &body));
    }
    if left_out > 0 {
        let _ = write!(out, "<p class=\"nothing\">{left_out} more are not shown.</p>");
    }
    (!ranked.is_empty()).then_some(out)
}

/// What came of a study in each run that had it.
fn of<'a>(
    runs: &'a [Run],
    name: &'a str,
) -> impl Iterator<Item = (usize, &'a Run, &'a StudySummary)> {
    let find = move |(index, run): (usize, &'a Run)| {
        let study = run.summary.studies.iter().find(|study| study.name == name)?;
        Some((index, run, study))
    };
    runs.iter().enumerate().filter_map(find)
}

fn chart(runs: &[Run], name: &str, length_s: f64) -> String {
    let scores = || of(runs, name).flat_map(|(_, _, study)| &study.best_over_time);
    let low = scores().map(|best| best.score).fold(f64::INFINITY, f64::min);
    let high = scores().map(|best| best.score).fold(f64::NEG_INFINITY, f64::max);
    if !(low.is_finite() && high.is_finite()) {
        return "<p class=\"nothing\">No trial reported a score.</p>".to_string();
    }
    let x = Scale::linear_time(length_s, LEFT, RIGHT);
    let y = Scale::between(low, high, 4.0, BOTTOM, TOP);
    let more = format!("data-x=\"{}\" data-box=\"{TOP},{BOTTOM}\"", x.describe());
    let mut out = open("lines", (WIDTH, HEIGHT), "Best score over time", &more);
    x.below(&mut out, TOP, BOTTOM);
    y.beside(&mut out, LEFT, RIGHT);
    for (index, run, study) in of(runs, name) {
        let at = |seconds: f64| x.at((seconds - run.levels.first_s).max(0.0));
        let mut line = Vec::new();
        for best in &study.best_over_time {
            if let Some((_, before)) = line.last().copied() {
                line.push((at(best.from_s), before));
            }
            line.push((at(best.from_s), y.at(best.score)));
        }
        if let Some((_, last)) = line.last().copied() {
            line.push((at(run.levels.end_s), last));
        }
        let _ = write!(
            out,
            "<polyline class=\"{}\" data-name=\"{}\" data-y=\"{}\" points=\"{}\"/>",
            of_run(index),
            clip(&run.label, 40),
            y.describe(),
            points(line),
        );
    }
    let _ = write!(out, "<path class=\"grid\" d=\"M{} {BOTTOM}H{}\"/></svg>", px(LEFT), px(RIGHT));
    out
}

fn table(runs: &[Run], name: &str) -> String {
    let heads = [
        "best",
        "trials",
        "started",
        "finished",
        "stopped early",
        "pauses",
        "promotions",
        "GPU-hours",
    ];
    let mut out = "<div class=\"scroll\"><table><thead><tr><th>run</th>".to_string();
    for head in heads {
        let _ = write!(out, "<th>{head}</th>");
    }
    out.push_str("</tr></thead><tbody>");
    for (index, run, study) in of(runs, name) {
        let label = escape(&run.label);
        let _ = write!(out, "<tr><th>{}{label}</th>", key(&of_run(index)));
        let best = study.best.map_or_else(|| "–".to_string(), |best| format!("{best:.4}"));
        let _ = write!(out, "<td>{best}</td>");
        for value in [study.trials, study.started, study.finished, study.stopped_early] {
            let _ = write!(out, "<td>{}</td>", count(value));
        }
        for value in [study.pauses, study.promotions] {
            let _ = write!(out, "<td>{}</td>", count(value as usize));
        }
        let _ = write!(out, "<td>{}</td></tr>", number(study.gpu_hours));
    }
    out + "</tbody></table></div>"
}
