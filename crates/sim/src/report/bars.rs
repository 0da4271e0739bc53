//! Stacked bars, one for each run: where GPU time went, and how often jobs were disturbed.

use super::frame::{BELOW_PX, WIDTH, open};
use super::run::Run;
use super::scale::Scale;
use super::text::{clip, px, short_number};
use crate::metrics::Summary;
use std::fmt::Write;

const LEFT: f64 = 160.0;
const RIGHT: f64 = WIDTH - 24.0;
const ROW_PX: f64 = 34.0;
const BAR_PX: f64 = 22.0;

/// One part of every bar.
pub(super) struct Part {
    /// What it is.
    pub(super) name: &'static str,
    /// How it looks.
    pub(super) class: &'static str,
    /// How long it is.
    pub(super) value: fn(&Summary) -> f64,
}

/// Where GPU time went, in hours.
pub(super) const GPU_HOURS: [Part; 3] = [
    Part { name: "useful", class: "c2", value: |summary| summary.gpu_hours.useful },
    Part { name: "lost", class: "c1", value: |summary| summary.gpu_hours.lost },
    Part { name: "idle", class: "co", value: |summary| summary.gpu_hours.idle },
];

/// How often jobs were disturbed.
pub(super) const RESTARTS: [Part; 3] = [
    Part { name: "preemptions", class: "c0", value: |summary| summary.restarts.preemptions as f64 },
    Part { name: "moves and resizes", class: "c4", value: |summary| summary.restarts.moves as f64 },
    Part {
        name: "losses with a node",
        class: "c1",
        value: |summary| summary.restarts.losses as f64,
    },
];

/// Bars of all runs on one scale; nothing if all of them are empty.
pub(super) fn bars(runs: &[Run], label: &str, parts: &[Part], unit: &str) -> Option<String> {
    let sum = |run: &Run| parts.iter().map(|part| (part.value)(&run.summary)).sum::<f64>();
    let most = runs.iter().map(sum).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let x = Scale::upto(most, 6.0, LEFT, RIGHT);
    let bottom = runs.len() as f64 * ROW_PX + 4.0;
    let mut out = open("bars", (WIDTH, bottom + BELOW_PX), label, "");
    x.below(&mut out, 0.0, bottom);
    for (index, run) in runs.iter().enumerate() {
        let middle = index as f64 * ROW_PX + ROW_PX / 2.0;
        let (name, text_x) = (clip(&run.label, 22), px(LEFT - 10.0));
        let _ = write!(
            out,
            "<text class=\"end name\" x=\"{text_x}\" y=\"{}\" dy=\".32em\">{name}</text>",
            px(middle),
        );
        let mut start = 0.0;
        for part in parts {
            let value = (part.value)(&run.summary);
            bar(&mut out, part, value, unit, (x.at(start), x.at(start + value)), middle);
            start += value;
        }
    }
    out.push_str("</svg>");
    Some(out)
}

fn bar(out: &mut String, part: &Part, value: f64, unit: &str, (from, to): (f64, f64), middle: f64) {
    if value <= 0.0 {
        return;
    }
    let words = short_number(value);
    let (x, y, width) = (px(from), px(middle - BAR_PX / 2.0), px((to - from).max(0.5)));
    let _ = write!(
        out,
        "<rect class=\"{}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{BAR_PX}\">\
         <title>{}: {words} {unit}</title></rect>",
        part.class, part.name,
    );
    // A label that does not fit would run into the next bar; the table above has all figures.
    if to - from > 9.0 * words.len() as f64 + 8.0 {
        let (x, y) = (px((from + to) / 2.0), px(middle));
        let _ =
            write!(out, "<text class=\"mid in\" x=\"{x}\" y=\"{y}\" dy=\".35em\">{words}</text>");
    }
}
