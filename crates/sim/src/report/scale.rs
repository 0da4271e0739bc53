//! Scales and their marks: nice numbers, times in the units people use, and logarithms of both.

use super::text::{percent, px, short_number, time};
use std::fmt::Write;

/// What a scale counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Seconds.
    Time,
    /// Parts of one.
    Part,
    /// Anything else.
    Number,
}

impl Quantity {
    pub(super) fn words(self, value: f64) -> String {
        match self {
            Quantity::Time => time(value),
            Quantity::Part => percent(value).replace(".0 %", " %"),
            Quantity::Number => short_number(value),
        }
    }

    /// The letter by which the script knows it.
    fn letter(self) -> char {
        match self {
            Quantity::Time => 't',
            Quantity::Part => 'p',
            Quantity::Number => 'n',
        }
    }
}

/// A scale from values to pixels.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    quantity: Quantity,
    log: bool,
    low: f64,
    high: f64,
    from_px: f64,
    to_px: f64,
    /// Where marks are.
    pub(super) marks: Vec<f64>,
}

const DAY: f64 = 86_400.0;

/// Times at which a scale of logarithms may begin and end, seconds.
const TIMES: [f64; 44] = [
    1e-3,
    2e-3,
    5e-3,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    1_200.0,
    1_800.0,
    3_600.0,
    7_200.0,
    10_800.0,
    21_600.0,
    43_200.0,
    DAY,
    2.0 * DAY,
    5.0 * DAY,
    10.0 * DAY,
    20.0 * DAY,
    50.0 * DAY,
    100.0 * DAY,
    200.0 * DAY,
    500.0 * DAY,
    1e3 * DAY,
    2e3 * DAY,
    5e3 * DAY,
    1e4 * DAY,
    2e4 * DAY,
    5e4 * DAY,
    1e5 * DAY,
    1e6 * DAY,
    1e7 * DAY,
];

/// Marks of a long scale of logarithms.
const FEW_TIMES: [f64; 14] = [
    1e-3,
    0.01,
    0.1,
    1.0,
    10.0,
    60.0,
    600.0,
    3_600.0,
    21_600.0,
    DAY,
    10.0 * DAY,
    100.0 * DAY,
    1e3 * DAY,
    1e4 * DAY,
];

/// Room for a letter of a mark, and between two marks.
const LETTER_PX: f64 = 6.5;
const GAP_PX: f64 = 10.0;

impl Scale {
    /// Times by their logarithm; the scale reaches to the nice times around them.
    pub(super) fn log_time(low: f64, high: f64, from_px: f64, to_px: f64) -> Scale {
        let few: Vec<f64> = FEW_TIMES.to_vec();
        Scale::log(Quantity::Time, &TIMES, &few, (low, high), (from_px, to_px))
    }

    /// Numbers by their logarithm.
    pub(super) fn log_number(low: f64, high: f64, from_px: f64, to_px: f64) -> Scale {
        let decades: Vec<f64> = (-6..=9).map(|power| 10f64.powi(power)).collect();
        let all: Vec<f64> =
            decades.iter().flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * decade)).collect();
        Scale::log(Quantity::Number, &all, &decades, (low, high), (from_px, to_px))
    }

    fn log(
        quantity: Quantity,
        all: &[f64],
        few: &[f64],
        (low, high): (f64, f64),
        (from_px, to_px): (f64, f64),
    ) -> Scale {
        let below = all.iter().rposition(|mark| *mark <= low).unwrap_or(0);
        let above = all.iter().position(|mark| *mark >= high).unwrap_or(all.len() - 1);
        let above = above.max(below + 1).min(all.len() - 1);
        let below = below.min(above - 1);
        let (low, high) = (all[below], all[above]);
        let within = |marks: &[f64]| -> Vec<f64> {
            marks.iter().copied().filter(|mark| (low..=high).contains(mark)).collect()
        };
        let mut scale = Scale { quantity, log: true, low, high, from_px, to_px, marks: Vec::new() };
        let marks = Some(within(few)).filter(|marks| marks.len() >= 4);
        let half_px = |mark: f64| quantity.words(mark).chars().count() as f64 * LETTER_PX / 2.0;
        for mark in marks.unwrap_or_else(|| within(all)) {
            let room = scale.marks.last().is_none_or(|last| {
                let apart = (scale.at(mark) - scale.at(*last)).abs();
                apart >= half_px(mark) + half_px(*last) + GAP_PX
            });
            if room {
                scale.marks.push(mark);
            }
        }
        scale
    }

    /// Time from zero.
    pub(super) fn linear_time(high: f64, from_px: f64, to_px: f64) -> Scale {
        let step = time_step(high, 10.0);
        Scale::linear(Quantity::Time, high, step, (from_px, to_px))
    }

    /// Times between two, with the marks of a clock: at most about so many steps.
    pub(super) fn between_times(
        low: f64,
        high: f64,
        steps: f64,
        from_px: f64,
        to_px: f64,
    ) -> Scale {
        let span = if high > low { high - low } else { high.abs().max(1.0) };
        let step = time_step(span, steps);
        Scale::stepped(Quantity::Time, (low, low + span), step, (from_px, to_px))
    }

    /// Numbers from zero to the nice one above the largest, in about so many steps.
    pub(super) fn linear(
        quantity: Quantity,
        high: f64,
        step: f64,
        (from_px, to_px): (f64, f64),
    ) -> Scale {
        let count = (high / step + 1e-9).floor() as usize;
        let marks = (0..=count).map(|index| index as f64 * step).collect();
        Scale { quantity, log: false, low: 0.0, high, from_px, to_px, marks }
    }

    /// Counts from zero to the nice number above the largest.
    pub(super) fn upto(high: f64, steps: f64, from_px: f64, to_px: f64) -> Scale {
        let step = nice(high.max(1.0) / steps).max(1.0);
        let high = (high.max(1.0) / step).ceil() * step;
        Scale::linear(Quantity::Number, high, step, (from_px, to_px))
    }

    /// Numbers between two, with marks at nice ones: about so many steps.
    pub(super) fn between(low: f64, high: f64, steps: f64, from_px: f64, to_px: f64) -> Scale {
        let span = if high > low { high - low } else { high.abs().max(1.0) };
        Scale::stepped(Quantity::Number, (low, low + span), nice(span / steps), (from_px, to_px))
    }

    /// Parts from nothing to the nice one above the largest.
    pub(super) fn part_upto(high: f64, steps: f64, from_px: f64, to_px: f64) -> Scale {
        let high = high.clamp(0.01, 1.0);
        Scale::stepped(Quantity::Part, (0.0, high), nice(high / steps), (from_px, to_px))
    }

    /// From the whole step below two values to the one above them.
    fn stepped(
        quantity: Quantity,
        (low, high): (f64, f64),
        step: f64,
        (from_px, to_px): (f64, f64),
    ) -> Scale {
        let first = (low / step + 1e-9).floor();
        let count = (high / step - first - 1e-9).ceil().max(1.0) as usize;
        let marks: Vec<f64> = (0..=count).map(|index| (first + index as f64) * step).collect();
        let (low, high) = (marks[0], marks[count]);
        Scale { quantity, log: false, low, high, from_px, to_px, marks }
    }

    /// Parts from nothing to all.
    pub(super) fn part(step: f64, from_px: f64, to_px: f64) -> Scale {
        Scale::linear(Quantity::Part, 1.0, step, (from_px, to_px))
    }

    /// Where a value is; what lies outside the scale is at its end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let part = match self.log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from_px + part * (self.to_px - self.from_px)
    }

    /// Where it ends.
    pub(super) fn right(&self) -> f64 {
        self.to_px
    }

    /// What it begins with.
    pub(super) fn low(&self) -> f64 {
        self.low
    }

    pub(super) fn words(&self, value: f64) -> String {
        self.quantity.words(value)
    }

    /// What the script needs to turn pixels back into values.
    pub(super) fn describe(&self) -> String {
        let Scale { low, high, from_px, to_px, .. } = self;
        let log = u8::from(self.log);
        let letter = self.quantity.letter();
        format!("{letter},{log},{low},{high},{},{}", px(*from_px), px(*to_px))
    }

    /// Marks below a chart, with lines up to its top.
    pub(super) fn below(&self, out: &mut String, top: f64, bottom: f64) {
        for mark in &self.marks {
            mark_below(out, self.at(*mark), &self.words(*mark), (top, bottom));
        }
    }

    /// Marks left of a chart, with lines to its right side.
    pub(super) fn beside(&self, out: &mut String, left: f64, right: f64) {
        for mark in &self.marks {
            mark_beside(out, self.at(*mark), &self.words(*mark), (left, right));
        }
    }
}

/// One mark below a chart.
pub(super) fn mark_below(out: &mut String, x: f64, words: &str, (top, bottom): (f64, f64)) {
    let (x, top, bottom, text_y) = (px(x), px(top), px(bottom), px(bottom + 17.0));
    let _ = write!(out, "<path class=\"grid\" d=\"M{x} {top}V{bottom}\"/>");
    let _ = write!(out, "<text class=\"mid\" x=\"{x}\" y=\"{text_y}\">{words}</text>");
}

/// One mark left of a chart.
pub(super) fn mark_beside(out: &mut String, y: f64, words: &str, (left, right): (f64, f64)) {
    let (y, left, right, text_x) = (px(y), px(left), px(right), px(left - 8.0));
    let _ = write!(out, "<path class=\"grid\" d=\"M{left} {y}H{right}\"/>");
    let _ = write!(out, "<text class=\"end\" x=\"{text_x}\" y=\"{y}\" dy=\".32em\">{words}</text>");
}

/// The step of a clock by which a time has at most so many of them.
fn time_step(span: f64, steps: f64) -> f64 {
    let short = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0].map(|step| [step, step * 60.0]);
    let hours = [1.0, 2.0, 3.0, 6.0, 12.0].map(|step| step * 3_600.0);
    let mut all: Vec<f64> = short.iter().flatten().copied().chain(hours).collect();
    let days = |step: f64| (0..6).map(move |power| step * DAY * 10f64.powi(power));
    all.extend([1.0, 2.0, 5.0].into_iter().flat_map(days));
    all.extend([1e-3, 1e-2, 0.1, 0.2, 0.5]);
    all.sort_by(f64::total_cmp);
    all.into_iter().find(|step| span / step <= steps).unwrap_or(span)
}

/// The next number with one digit that counts.
fn nice(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let step = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]
        .into_iter()
        .find(|step| step * decade >= value * (1.0 - 1e-9));
    step.unwrap_or(10.0) * decade
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(scale: &Scale) -> Vec<String> {
        scale.marks.iter().map(|mark| scale.words(*mark)).collect()
    }

    #[test]
    fn numbers_between_two_have_nice_marks() {
        let scale = Scale::between(0.013, 0.87, 4.0, 200.0, 0.0);
        assert_eq!(words(&scale), ["0", "0.3", "0.6", "0.9"]);
        let scale = Scale::between(-2.5, -0.4, 3.0, 200.0, 0.0);
        assert_eq!(words(&scale), ["-3.2", "-2.4", "-1.6", "-0.8", "0"]);
        assert_eq!(Scale::between(0.5, 0.5, 2.0, 0.0, 1.0).marks.len(), 3);
    }

    #[test]
    fn times_have_the_marks_of_a_clock() {
        let scale = Scale::linear_time(3.2 * DAY, 0.0, 900.0);
        let expected = ["0", "12 h", "1 d", "1 d 12 h", "2 d", "2 d 12 h", "3 d"];
        assert_eq!(words(&scale), expected);
        let scale = Scale::linear_time(95.0 * 60.0, 0.0, 900.0);
        assert_eq!(words(&scale)[..4], ["0", "10 min", "20 min", "30 min"]);
        let scale = Scale::log_time(14.0, 9e5, 0.0, 450.0);
        let expected = ["10 s", "1 min", "10 min", "1 h", "6 h", "1 d", "10 d"];
        assert_eq!(words(&scale), expected);
    }

    #[test]
    fn a_scale_has_two_marks_whatever_the_values() {
        for (low, high) in [(0.0, 0.0), (5.0, 5.0), (1.0, 1.0), (61.0, 62.0), (1e-9, 1e12)] {
            for scale in
                [Scale::log_time(low, high, 0.0, 400.0), Scale::log_number(low, high, 0.0, 400.0)]
            {
                assert!(scale.marks.len() >= 2, "{low} to {high}: {:?}", scale.marks);
                assert!(scale.at(low).is_finite() && scale.at(high).is_finite());
            }
        }
    }

    #[test]
    fn times_between_two_begin_and_end_with_a_step() {
        let scale = Scale::between_times(10.5 * 3_600.0, 14.2 * 3_600.0, 5.0, 0.0, 300.0);
        assert_eq!(words(&scale), ["10 h", "11 h", "12 h", "13 h", "14 h", "15 h"]);
        assert!(Scale::between_times(60.0, 60.0, 5.0, 0.0, 300.0).marks.len() >= 2);
        assert_eq!(
            words(&Scale::part_upto(0.034, 4.0, 0.0, 1.0)),
            ["0 %", "1 %", "2 %", "3 %", "4 %"]
        );
    }

    #[test]
    fn counts_end_at_nice_numbers() {
        assert_eq!(Scale::upto(0.0, 2.0, 0.0, 1.0).marks, [0.0, 1.0]);
        assert_eq!(Scale::upto(730.0, 2.0, 0.0, 1.0).marks, [0.0, 400.0, 800.0]);
        assert_eq!(Scale::upto(13.0, 2.0, 0.0, 1.0).marks, [0.0, 8.0, 16.0]);
        assert_eq!(Scale::upto(1_035.0, 2.0, 0.0, 1.0).marks, [0.0, 600.0, 1_200.0]);
        assert_eq!(Scale::part(0.5, 10.0, 0.0).at(0.25), 7.5);
        assert_eq!(words(&Scale::part(0.25, 0.0, 1.0)), ["0 %", "25 %", "50 %", "75 %", "100 %"]);
    }
}
