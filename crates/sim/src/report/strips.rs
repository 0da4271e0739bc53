//! Values over time: one strip for each run, all on the same scales.

use super::colours::of_run;
use super::run::Run;
use super::scale::Scale;
use super::text::{clip, points, px};
use crate::timeline::Bucket;
use std::fmt::Write;

const WIDTH: f64 = 1060.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 12.0;

/// Room above a strip for the name of its run.
const NAME_PX: f64 = 20.0;

/// More columns than this cannot be told apart.
const COLUMNS: usize = 256;

/// Part of the GPUs there that jobs held.
pub(super) fn utilisation(runs: &[Run], length_s: f64) -> String {
    let value = |bucket: &Bucket| bucket.busy_milli_us / bucket.there_milli_us.max(1.0);
    let series = series(runs, length_s, value);
    let scale = |top: f64, bottom: f64| Scale::part(0.5, bottom, top);
    strips(runs, "Utilisation over time", length_s, &series, scale)
}

/// Jobs in the queue.
pub(super) fn waiting(runs: &[Run], length_s: f64) -> String {
    let series = series(runs, length_s, |bucket| bucket.waiting_us);
    let most = series.iter().flatten().copied().fold(0.0, f64::max);
    let scale = |top: f64, bottom: f64| Scale::upto(most, 2.0, bottom, top);
    strips(runs, "Queue over time", length_s, &series, scale)
}

fn series(runs: &[Run], length_s: f64, value: fn(&Bucket) -> f64) -> Vec<Vec<f64>> {
    runs.iter().map(|run| run.levels.over(length_s, COLUMNS, value)).collect()
}

fn strips(
    runs: &[Run],
    label: &str,
    length_s: f64,
    series: &[Vec<f64>],
    scale: impl Fn(f64, f64) -> Scale,
) -> String {
    let height =
        if runs.len() == 1 { 150.0 } else { (320.0 / runs.len() as f64).clamp(44.0, 90.0) };
    // A single run needs no name beside its own heading.
    let name_px = if runs.len() == 1 { 10.0 } else { NAME_PX };
    let bottom = (height + name_px) * runs.len() as f64;
    let time = Scale::linear_time(length_s, LEFT, RIGHT);
    let mut out = format!(
        "<svg class=\"plot areas\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{label}\" \
         data-x=\"{}\" data-box=\"{},{}\">",
        px(bottom + 26.0),
        time.describe(),
        px(name_px),
        px(bottom),
    );
    time.below(&mut out, name_px, bottom);
    for (index, (run, values)) in runs.iter().zip(series).enumerate() {
        let top = index as f64 * (height + name_px) + name_px;
        let y = scale(top, top + height);
        y.beside(&mut out, LEFT, RIGHT);
        if runs.len() > 1 {
            let (name, name_y) = (clip(&run.label, 60), px(top - 6.0));
            let _ = write!(out, "<text class=\"name\" x=\"{LEFT}\" y=\"{name_y}\">{name}</text>");
        }
        if values.is_empty() {
            continue;
        }
        let end = (run.levels.length_s() / length_s * (RIGHT - LEFT) + LEFT).min(RIGHT);
        let column = (RIGHT - LEFT) / COLUMNS as f64;
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
