//! Who is told how long jobs really run. A simulator can tell; and where a trace declares just the
//! true run times, so do the owners of its jobs.

/// What behind the name of a recipe says so.
pub(crate) fn mark(knows_the_truth: bool, declared_is_true: bool) -> &'static str {
    match (knows_the_truth, declared_is_true) {
        (true, _) => " *",
        (false, true) => " †",
        (false, false) => "",
    }
}

/// What the marks mean.
pub(crate) const TRUTH: &str = "* knows how long jobs really run, as only a simulator can";
pub(crate) const DECLARED: &str =
    "† looks at declared run times, if only at first; they are the true ones of all jobs here";

#[cfg(test)]
mod tests {
    use crate::arguments::choose;

    #[test]
    fn recipes_that_go_by_declared_run_times_are_known() {
        for (text, expected) in [
            ("fifo", false),
            ("tiresias", false),
            ("srtf", false),
            ("srtf:predict=declared", true),
            ("fifo-easy", true),
            ("fifo-easy:estimate=oracle", false),
            ("fifo:fit=easy", true),
            // Those who learn take what was declared until they have seen enough.
            ("lucid", true),
            ("qssf", true),
            ("helios-ces", true),
            ("heeler", true),
            ("ali-mlaas", true),
            ("optimus", true),
            ("slaq", true),
            ("srtf:predict=names", true),
            ("srtf:predict=trees", true),
            ("jpas", false),
            ("gavel:objective=makespan:predict=names", true),
            ("gavel:predict=names", false),
        ] {
            let card = choose(text).expect("a recipe").card;
            assert_eq!(card.goes_by_declared(), expected, "{text}");
        }
    }
}
