//! Compares what a command printed with what the documentation shows of it.

/// What stands for anything.
const ANYTHING: &str = "…";

/// The first line that is shown and not printed. Each line shown has to be part of a line printed,
/// below the one for the line before; `…` stands for anything, and alone on a line for any lines.
pub fn missing<'a>(shown: &'a [String], printed: &str) -> Option<&'a str> {
    let mut printed = printed.lines();
    let told = shown.iter().map(|line| line.trim_end());
    let mut told = told.filter(|line| !line.is_empty() && line.trim() != ANYTHING);
    told.find(|line| !printed.any(|real| contains(real, line)))
}

/// Whether the pieces between the dots appear in order.
fn contains(real: &str, shown: &str) -> bool {
    let mut rest = real;
    shown.split(ANYTHING).all(|piece| match rest.find(piece) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "recipe    mean\nfifo      12.5 min\ntiresias   8.1 min\n";

    fn first_missing(shown: &str) -> Option<String> {
        let shown: Vec<_> = shown.lines().map(str::to_owned).collect();
        missing(&shown, PRINTED).map(str::to_owned)
    }

    #[test]
    fn parts_in_order_are_enough() {
        for shown in
            ["", "fifo", "recipe\nfifo\ntiresias   8.1 min", "recipe\n…\ntiresias", "fifo  \n\n"]
        {
            assert_eq!(first_missing(shown), None, "{shown:?}");
        }
    }

    #[test]
    fn dots_stand_for_anything_within_a_line() {
        assert_eq!(first_missing("fifo … min"), None);
        assert_eq!(first_missing("…8.1…"), None);
        assert_eq!(first_missing("fifo … 8.1"), Some("fifo … 8.1".into()));
        assert_eq!(first_missing("min … fifo"), Some("min … fifo".into()));
    }

    #[test]
    fn what_is_not_printed_is_found() {
        assert_eq!(first_missing("gavel"), Some("gavel".into()));
        assert_eq!(first_missing("fifo      12.6"), Some("fifo      12.6".into()));
    }

    #[test]
    fn another_order_is_found() {
        assert_eq!(first_missing("tiresias\nfifo"), Some("fifo".into()));
        assert_eq!(first_missing("fifo\nfifo"), Some("fifo".into()));
    }
}
