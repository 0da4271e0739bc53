//! Plots made of letters.

use super::number::count;

const EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar for each value, longest first to its full width, with labels before and notes behind.
pub(crate) fn bars(rows: &[(String, f64, String)], width: usize) -> String {
    let label_width = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    let largest = rows.iter().map(|row| row.1).fold(0.0, f64::max);
    let mut text = String::new();
    for (label, value, note) in rows {
        let eighths = match largest > 0.0 {
            true => (value / largest * (width * 8) as f64).round() as usize,
            false => 0,
        };
        let mut bar = "█".repeat(eighths / 8);
        if eighths % 8 > 0 {
            bar.push(EIGHTHS[eighths % 8]);
        } else if eighths == 0 && *value > 0.0 {
            bar.push(EIGHTHS[1]);
        }
        let line = format!("  {label:<label_width$} {bar:<width$} {note}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Values one after the other as columns, several lines high.
pub(crate) fn curve(values: &[f64], lines: usize) -> String {
    let largest = values.iter().copied().fold(0.0, f64::max);
    let top = count(largest.round() as u64);
    let mut text = String::new();
    for line in (0..lines).rev() {
        let label = match line {
            _ if line + 1 == lines => top.as_str(),
            0 => "0",
            _ => "",
        };
        let columns: String =
            values.iter().map(|value| cell(*value, largest, line, lines)).collect();
        text.push_str(format!("  {label:>width$} │{columns}", width = top.len()).trim_end());
        text.push('\n');
    }
    text
}

/// What one line shows of one column.
fn cell(value: f64, largest: f64, line: usize, lines: usize) -> char {
    if largest <= 0.0 {
        return ' ';
    }
    let eighths = (value / largest * (lines * 8) as f64).round() as usize;
    match eighths.saturating_sub(line * 8) {
        0 if line == 0 && value > 0.0 => HEIGHTS[0],
        0 => ' ',
        part => HEIGHTS[part.min(8) - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion() {
        let rows = [("a".to_string(), 4.0, "4".to_string()), ("bc".into(), 1.0, "1".into())];
        assert_eq!(bars(&rows, 4), "  a  ████ 4\n  bc █    1\n");
    }

    #[test]
    fn curves_reach_from_zero_to_the_largest() {
        assert_eq!(curve(&[0.0, 1.0, 2.0], 2), "  2 │  █\n  0 │ ██\n");
    }
}
