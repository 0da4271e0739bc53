//! Distributions: which part of the jobs had at most so much, one line for each run.

use super::colours::of_run;
use super::frame::open;
use super::run::{Curve, Run};
use super::scale::Scale;
use super::text::{clip, points, px};
use std::fmt::Write;

/// Two of these stand side by side.
const HALF_PX: f64 = 520.0;
/// Three of these stand side by side.
const THIRD_PX: f64 = 350.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 50.0;
const MARGIN: f64 = 18.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = HEIGHT - 28.0;

/// Points that all lines of a chart may have together.
const POINTS_MAX: usize = 1_500;

/// With so few jobs each of them is a step.
const STEPS_MAX: usize = 60;

/// Times shorter than this do not matter to anybody who waits.
const SHORTEST_WAIT_S: f64 = 1.0;

/// Values further below the largest than this are shown at the left end.
const SPAN_MAX: f64 = 1e7;

/// Times by their logarithm; nothing if no run has one above zero.
pub(super) fn times(
    runs: &[Run],
    label: &str,
    of: fn(&Run) -> &Curve,
    waits: bool,
) -> Option<String> {
    let floor = if waits { SHORTEST_WAIT_S } else { 0.0 };
    let (low, high) = range(runs, of, floor)?;
    Some(chart(runs, label, of, &Scale::log_time(low, high, LEFT, HALF_PX - MARGIN), None))
}

/// Ratios by their logarithm, with a line at one; nothing if no run has any.
pub(super) fn ratios(runs: &[Run], label: &str, of: impl Fn(&Run) -> &Curve) -> Option<String> {
    let (low, high) = range(runs, &of, 0.0)?;
    let scale = Scale::log_number(low.min(0.5), high.max(2.0), LEFT, THIRD_PX - MARGIN);
    Some(chart(runs, label, of, &scale, Some(1.0)))
}

fn range(runs: &[Run], of: impl Fn(&Run) -> &Curve, floor: f64) -> Option<(f64, f64)> {
    let most = runs.iter().filter_map(|run| of(run).most()).reduce(f64::max)?;
    let least = runs.iter().filter_map(|run| of(run).least_above(floor)).reduce(f64::min)?;
    Some((least.max(floor).max(most / SPAN_MAX), most))
}

fn chart(
    runs: &[Run],
    label: &str,
    of: impl Fn(&Run) -> &Curve,
    x: &Scale,
    line_at: Option<f64>,
) -> String {
    let y = Scale::part(0.25, BOTTOM, TOP);
    let right = x.right();
    let more = format!("data-x=\"{}\" data-box=\"{TOP},{BOTTOM}\"", x.describe());
    let mut out = open("lines", (right + MARGIN, HEIGHT), label, &more);
    x.below(&mut out, TOP, BOTTOM);
    y.beside(&mut out, LEFT, right);
    if let Some(value) = line_at {
        let at = px(x.at(value));
        let _ = write!(out, "<path class=\"mark\" d=\"M{at} {TOP}V{BOTTOM}\"/>");
    }
    for (index, run) in runs.iter().enumerate() {
        let curve = of(run);
        if curve.points.is_empty() {
            continue;
        }
        let _ = write!(
            out,
            "<polyline class=\"{}\" data-name=\"{}\" data-y=\"{}\" points=\"{}\"/>",
            of_run(index),
            clip(&run.label, 40),
            y.describe(),
            points(line(&curve.thinned(POINTS_MAX / runs.len()), x, &y)),
        );
    }
    out.push_str("</svg>");
    out
}

/// From the left end to the right end, where it is at one.
fn line(curve: &Curve, x: &Scale, y: &Scale) -> Vec<(f64, f64)> {
    let steps = curve.exact && curve.points.len() <= STEPS_MAX;
    let left_of_it = curve.points.partition_point(|(value, _)| *value <= x.low());
    let mut before = left_of_it.checked_sub(1).map_or(0.0, |last| curve.points[last].1);
    let mut line = vec![(x.at(x.low()), y.at(before))];
    for (value, part) in &curve.points[left_of_it..] {
        if steps || line.len() == 1 {
            line.push((x.at(*value), y.at(before)));
        }
        line.push((x.at(*value), y.at(*part)));
        before = *part;
    }
    line.push((x.right(), y.at(1.0)));
    line
}
