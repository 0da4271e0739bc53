//! What was measured: as a table for people, and as JSON for programs.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

/// One thing that was measured.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Figure {
    /// Which measure, and of what.
    pub(super) measure: String,
    /// How much.
    pub(super) value: f64,
    /// In which unit.
    pub(super) unit: &'static str,
    /// How many times as much as its peer, where it has one.
    pub(super) ratio: Option<f64>,
    /// What its peer is.
    pub(super) peer: Option<&'static str>,
    /// What the ratio, or the value where there is no ratio, may be at most.
    pub(super) target: Option<f64>,
    /// What the value has to be at least.
    pub(super) floor: Option<f64>,
    /// What the value may be at most, whatever its ratio.
    pub(super) ceiling: Option<f64>,
    /// Whether it is.
    pub(super) verdict: Option<Verdict>,
}

/// Whether a target was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// It was.
    Ok,
    /// It was not.
    Over,
}

impl Figure {
    /// A value without a peer and without a target.
    pub(super) fn new(measure: String, value: f64, unit: &'static str) -> Figure {
        let (ratio, peer, target, floor, ceiling) = (None, None, None, None, None);
        Figure { measure, value, unit, ratio, peer, target, floor, ceiling, verdict: None }
    }

    /// The same, as a multiple of a peer.
    pub(super) fn against(self, peer: &'static str, ratio: f64) -> Figure {
        Figure { ratio: Some(ratio), peer: Some(peer), ..self }
    }

    /// The same, with a target for the ratio, or for the value where there is none.
    pub(super) fn at_most(self, target: f64) -> Figure {
        let met = self.ratio.unwrap_or(self.value) <= target;
        let verdict = if met { Verdict::Ok } else { Verdict::Over };
        Figure { target: Some(target), verdict: Some(verdict), ..self }
    }

    /// The same, with a target that the value, whatever its ratio, may not exceed.
    pub(super) fn below(self, ceiling: f64) -> Figure {
        let verdict = if self.value <= ceiling { Verdict::Ok } else { Verdict::Over };
        Figure { ceiling: Some(ceiling), verdict: Some(verdict), ..self }
    }

    /// The same, with a target that the value has to reach.
    pub(super) fn at_least(self, floor: f64) -> Figure {
        let verdict = if self.value >= floor { Verdict::Ok } else { Verdict::Over };
        Figure { floor: Some(floor), verdict: Some(verdict), ..self }
    }

    /// Whether it misses its target.
    pub(super) fn is_over(&self) -> bool {
        self.verdict == Some(Verdict::Over)
    }

    fn cells(&self) -> [String; 6] {
        let none = || "-".to_owned();
        let target = match (self.target, self.floor, self.ratio) {
            (Some(target), _, Some(_)) => format!("≤ {target}×"),
            (Some(target), _, None) => format!("≤ {target} {}", self.unit),
            (None, Some(floor), _) => format!("≥ {} {}", short(floor), self.unit),
            (None, None, _) => {
                self.ceiling.map_or_else(none, |most| format!("≤ {most} {}", self.unit))
            }
        };
        let verdict = match self.verdict {
            Some(Verdict::Ok) => "ok".to_owned(),
            Some(Verdict::Over) => "over".to_owned(),
            None => none(),
        };
        [
            self.measure.clone(),
            format!("{} {}", short(self.value), self.unit),
            self.ratio.map_or_else(none, |ratio| format!("{}×", short(ratio))),
            self.peer.map_or_else(none, str::to_owned),
            target,
            verdict,
        ]
    }
}

/// A table of all figures.
pub(super) fn table(figures: &[Figure]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["measure", "value", "ratio", "to", "target", "verdict"]);
    for figure in figures {
        table.add_row(figure.cells());
    }
    for column in [1, 2] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// Three digits, and thousands apart where there are more.
fn short(value: f64) -> String {
    if value < 9.995 {
        return format!("{value:.2}");
    }
    if value < 99.95 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let numbers = [(0.0, "0.00"), (9.996, "10.0"), (99.96, "100"), (1_234_567.0, "1,234,567")];
        for (number, text) in numbers {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn a_target_is_for_the_ratio_where_there_is_one() {
        let value = || Figure::new("x".into(), 5.0, "µs");
        assert!(!value().at_most(5.0).is_over());
        assert!(value().at_most(4.9).is_over());
        assert!(!value().against("y", 2.0).at_most(3.0).is_over());
        assert!(value().against("y", 6.0).at_most(5.5).is_over());
        assert!(!value().against("y", 6.0).is_over());
        assert!(!value().against("y", 6.0).at_least(5.0).is_over());
        assert!(value().against("y", 6.0).at_least(5.1).is_over());
    }

    #[test]
    fn the_table_says_who_is_over() {
        let figure = Figure::new("million fifo".into(), 2.5, "µs/job").against("heap", 31.0);
        let told = table(&[figure.at_most(30.0)]);
        let line = told.lines().last().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let expected = ["million", "fifo", "2.50", "µs/job", "31.0×", "heap", "≤", "30×", "over"];
        assert_eq!(line, Some(expected.to_vec()));
    }
}
