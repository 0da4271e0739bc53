//! Values over time: one strip for each run, all on the same scales.

use super::colours::of_run;
use super::frame::{BELOW_PX, LEFT, RIGHT, WIDTH, open};
use super::run::Run;
use super::scale::Scale;
use super::text::{clip, percent, points, px, short_number};
use crate::timeline::Bucket;
use std::fmt::Write;

/// Room above a strip for the name of its run.
const NAME_PX: f64 = 28.0;

/// More columns than this cannot be told apart.
const COLUMNS_MAX: usize = 256;

/// With many runs each strip is low, and half as many say as much.
pub(super) fn columns(runs: &[Run]) -> usize {
    if runs.len() > 6 { COLUMNS_MAX / 2 } else { COLUMNS_MAX }
}

/// Part of the GPUs there that jobs held.
pub(super) fn utilisation(runs: &[Run], length_s: f64) -> String {
    let value = |bucket: &Bucket| bucket.busy_milli_us / bucket.there_milli_us.max(1.0);
    let series = series(runs, length_s, value);
    let scale = |top: f64, bottom: f64| Scale::part(0.5, bottom, top);
    let note = |run: &Run, _: &[f64]| format!("{} on the whole", percent(run.summary.utilisation));
    strips(runs, "Utilisation over time", length_s, &series, scale, note)
}

/// Jobs in the queue.
pub(super) fn waiting(runs: &[Run], length_s: f64) -> String {
    let series = series(runs, length_s, |bucket| bucket.waiting_us);
    let most = series.iter().flatten().copied().fold(0.0, f64::max);
    let scale = |top: f64, bottom: f64| Scale::upto(most, 2.0, bottom, top);
    let note = |_: &Run, values: &[f64]| {
        format!("up to about {}", short_number(values.iter().copied().fold(0.0, f64::max).round()))
    };
    strips(runs, "Queue over time", length_s, &series, scale, note)
}

fn series(runs: &[Run], length_s: f64, value: fn(&Bucket) -> f64) -> Vec<Vec<f64>> {
    runs.iter().map(|run| run.levels.over(length_s, columns(runs), value)).collect()
}

/// A strip for each run: values of equal parts of the time, under a scale.
pub(super) fn strips(
    runs: &[Run],
    label: &str,
    length_s: f64,
    series: &[Vec<f64>],
    scale: impl Fn(f64, f64) -> Scale,
    note: impl Fn(&Run, &[f64]) -> String,
) -> String {
    let height =
        if runs.len() == 1 { 150.0 } else { (320.0 / runs.len() as f64).clamp(44.0, 90.0) };
    let bottom = (height + NAME_PX) * runs.len() as f64;
    let time = Scale::linear_time(length_s, LEFT, RIGHT);
    let (top, end) = (px(NAME_PX), px(bottom));
    let more = format!("data-x=\"{}\" data-box=\"{top},{end}\"", time.describe());
    let mut out = open("areas", (WIDTH, bottom + BELOW_PX), label, &more);
    time.below(&mut out, NAME_PX, bottom);
    for (index, (run, values)) in runs.iter().zip(series).enumerate() {
        let top = index as f64 * (height + NAME_PX) + NAME_PX;
        let y = scale(top, top + height);
        y.beside(&mut out, LEFT, RIGHT);
        let name = if runs.len() > 1 { clip(&run.label, 60) } else { String::new() };
        let (name_y, note) = (px(top - 9.0), note(run, values));
        let _ = write!(
            out,
            "<text x=\"{LEFT}\" y=\"{name_y}\"><tspan class=\"name\">{name}</tspan> {note}</text>"
        );
        if values.is_empty() {
            continue;
        }
        let end = (run.levels.length_s() / length_s * (RIGHT - LEFT) + LEFT).min(RIGHT);
        let column = (RIGHT - LEFT) / columns(runs) as f64;
        let middle = |at: usize| (LEFT + (at as f64 + 0.5) * column).min(end);
        let line = values.iter().enumerate().map(|(at, value)| (middle(at), y.at(*value)));
        let base = y.at(0.0);
        let first = (LEFT, y.at(values[0]));
        let last = (end, y.at(values[values.len() - 1]));
        let whole = [(LEFT, base), first].into_iter().chain(line).chain([last, (end, base)]);
        let _ = write!(
            out,
            "<polyline class=\"{}\" data-name=\"{}\" data-y=\"{}\" points=\"{}\"/>",
            of_run(index),
            clip(&run.label, 40),
            y.describe(),
            points(whole),
        );
    }
    out.push_str("</svg>");
    out
}
