//! The frame of charts: how wide they are, where those over time begin and end, and how a drawing
//! opens.

use super::text::px;

/// A chart as wide as the page.
pub(super) const WIDTH: f64 = 1060.0;

/// Where charts over time begin, beside the marks of their values …
pub(super) const LEFT: f64 = 58.0;

/// … and where they end.
pub(super) const RIGHT: f64 = WIDTH - 12.0;

/// Room below a chart for the marks of its scale.
pub(super) const BELOW_PX: f64 = 26.0;

/// The beginning of a drawing of a class and size, with what it is called and more attributes.
pub(super) fn open(class: &str, (width, height): (f64, f64), label: &str, more: &str) -> String {
    let (width, height) = (px(width), px(height));
    let space = if more.is_empty() { "" } else { " " };
    format!(
        "<svg class=\"plot {class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"{label}\"{space}{more}>"
    )
}
