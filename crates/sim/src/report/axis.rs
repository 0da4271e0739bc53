//! An axis that suits some values: straight, or by their logarithm where they span decades, and
//! then with a place of its own for those that are zero.

use super::scale::{Quantity, Scale, mark_below, mark_beside};

/// Values this many times apart are shown by their logarithm.
const DECADES: f64 = 20.0;

/// Room between the smallest value and zero.
const ZERO_PX: f64 = 24.0;

/// About so many steps between marks.
const STEPS: f64 = 5.0;

/// A scale, and where zero is if the scale cannot have it.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    scale: Scale,
    zero_px: Option<f64>,
}

impl Axis {
    /// An axis for some values; with `ground` it begins with zero, unless by logarithms.
    pub(super) fn fitting(
        quantity: Quantity,
        values: &[f64],
        ground: bool,
        (from_px, to_px): (f64, f64),
    ) -> Axis {
        let above = || values.iter().copied().filter(|value| *value > 0.0);
        let low = above().fold(f64::INFINITY, f64::min);
        let high = above().fold(0.0, f64::max);
        if quantity == Quantity::Part || high <= 0.0 {
            let scale = match quantity {
                Quantity::Part => Scale::part_upto(high, STEPS, from_px, to_px),
                Quantity::Time => Scale::between_times(0.0, 1.0, STEPS, from_px, to_px),
                Quantity::Number => Scale::between(0.0, 1.0, STEPS, from_px, to_px),
            };
            return Axis { scale, zero_px: None };
        }
        let zeros = values.iter().any(|value| *value <= 0.0);
        if high / low >= DECADES {
            let zero_px = zeros.then_some(from_px);
            let from_px =
                if zeros { from_px + (to_px - from_px).signum() * ZERO_PX } else { from_px };
            let scale = match quantity {
                Quantity::Time => Scale::log_time(low, high, from_px, to_px),
                _ => Scale::log_number(low, high, from_px, to_px),
            };
            return Axis { scale, zero_px };
        }
        let low = if ground || zeros { 0.0 } else { low };
        let scale = match quantity {
            Quantity::Time => Scale::between_times(low, high, STEPS, from_px, to_px),
            _ => Scale::between(low, high, STEPS, from_px, to_px),
        };
        Axis { scale, zero_px: None }
    }

    /// Where a value is.
    pub(super) fn at(&self, value: f64) -> f64 {
        match self.zero_px {
            Some(zero_px) if value <= 0.0 => zero_px,
            _ => self.scale.at(value),
        }
    }

    /// What the script needs to turn pixels back into values.
    pub(super) fn describe(&self) -> String {
        self.scale.describe()
    }

    /// Marks below a chart.
    pub(super) fn below(&self, out: &mut String, top: f64, bottom: f64) {
        if let Some(x) = self.zero_px {
            mark_below(out, x, "0", (top, bottom));
        }
        self.scale.below(out, top, bottom);
    }

    /// Marks left of a chart.
    pub(super) fn beside(&self, out: &mut String, left: f64, right: f64) {
        if let Some(y) = self.zero_px {
            mark_beside(out, y, "0", (left, right));
        }
        self.scale.beside(out, left, right);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(axis: &Axis) -> String {
        let mut out = String::new();
        axis.beside(&mut out, 0.0, 100.0);
        let pieces = out.split("dy=\".32em\">").skip(1);
        pieces.map(|piece| piece.split('<').next().expect("words")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn decades_are_shown_by_logarithms_with_a_place_for_zero() {
        let axis = Axis::fitting(Quantity::Number, &[0.0, 0.02, 3.0], false, (300.0, 0.0));
        assert_eq!((axis.at(0.0), axis.at(0.02), axis.at(5.0)), (300.0, 276.0, 0.0));
        assert!(
            axis.at(0.2) < axis.at(0.1) && marks(&axis).starts_with("0 0.0"),
            "{}",
            marks(&axis)
        );
        let axis = Axis::fitting(Quantity::Number, &[0.0, 1.5, 3.0], false, (300.0, 0.0));
        assert_eq!((axis.at(0.0), axis.at(1.5).round()), (300.0, 150.0));
    }

    #[test]
    fn near_values_fill_the_axis_unless_it_stands_on_the_ground() {
        let hours = [10.5, 14.2].map(|hours| hours * 3_600.0);
        let axis = Axis::fitting(Quantity::Time, &hours, false, (0.0, 300.0));
        assert_eq!(marks(&axis), "10 h 11 h 12 h 13 h 14 h 15 h");
        let axis = Axis::fitting(Quantity::Time, &hours, true, (0.0, 300.0));
        assert_eq!(marks(&axis), "0 3 h 6 h 9 h 12 h 15 h");
    }

    #[test]
    fn nothing_and_all_the_same_have_an_axis() {
        for quantity in [Quantity::Time, Quantity::Part, Quantity::Number] {
            for values in [&[][..], &[0.0], &[0.5, 0.5]] {
                let axis = Axis::fitting(quantity, values, false, (0.0, 300.0));
                assert!(axis.at(0.5).is_finite() && marks(&axis).contains(' '));
            }
        }
    }
}
