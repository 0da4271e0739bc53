//! Jobs that a recipe left undone: figures of time are only of the others, which has to be said
//! where recipes are compared by them.

use super::lines::Line;
use crate::show;
use heeler_sim::metrics::{Counts, Interval, Summary};
use serde::Serialize;

/// What became of jobs that did not do their work: means over seeds.
#[derive(Serialize)]
pub(super) struct Undone {
    turned_away: Interval,
    unfinished: Interval,
    unrunnable: Interval,
    stranded: Interval,
    dropped: Interval,
    stopped_early: Interval,
}

/// How many jobs came to an end of some kind.
type Count = fn(&Counts) -> usize;

/// What can become of them, in words.
const ENDS: [(&str, Count); 6] = [
    ("turned away", |jobs| jobs.turned_away),
    ("unfinished", |jobs| jobs.unfinished),
    ("never able to run", |jobs| jobs.unrunnable),
    ("behind one that never finished", |jobs| jobs.stranded),
    ("given up", |jobs| jobs.dropped),
    ("stopped early", |jobs| jobs.stopped_early),
];

impl Undone {
    pub(super) fn of(summaries: &[Summary]) -> Undone {
        let [turned_away, unfinished, unrunnable, stranded, dropped, stopped_early] =
            ENDS.map(|(_, of)| {
                let counts = summaries.iter().map(|summary| of(&summary.jobs) as f64);
                Interval::of(&counts.collect::<Vec<_>>())
            });
        Undone { turned_away, unfinished, unrunnable, stranded, dropped, stopped_early }
    }
}

/// A sentence for all recipes that left the same undone, in the order of the table.
pub(super) fn notes(lines: &[Line]) -> Vec<String> {
    let mut told: Vec<(String, bool, Vec<&str>)> = Vec::new();
    for line in lines {
        let Some(what) = left(&line.summaries) else { continue };
        let none = line.completion_mean_s.is_none();
        match told.iter_mut().find(|(known, _, _)| *known == what) {
            Some((_, _, names)) => names.push(&line.recipe),
            None => told.push((what, none, vec![&line.recipe])),
        }
    }
    let note = |(what, none, names): (String, bool, Vec<&str>)| {
        let (whose, who) = if names.len() > 1 { ("their", "they have") } else { ("its", "it has") };
        match none {
            true => format!("{}: {what}; {who} no times", names.join(", ")),
            false => format!("{}: {what}; {whose} times are of the others", names.join(", ")),
        }
    };
    told.into_iter().map(note).collect()
}

/// How many jobs of all runs were left undone, and how; nothing if none were.
fn left(summaries: &[Summary]) -> Option<String> {
    let sum = |of: Count| -> u64 { summaries.iter().map(|summary| of(&summary.jobs) as u64).sum() };
    let counts = ENDS.map(|(words, of)| (words, sum(of)));
    let mut parts = counts.into_iter().filter(|(_, count)| *count > 0);
    let (words, count) = parts.next()?;
    let all = show::count(sum(|jobs| jobs.submitted));
    let runs = match summaries.len() {
        1 => String::new(),
        runs => format!(" of {runs} runs"),
    };
    let mut text = format!("{} of {all} jobs{runs} {words}", show::count(count));
    for (words, count) in parts {
        text.push_str(&format!(", {} {words}", show::count(count)));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(turned_away: usize, unfinished: usize) -> Summary {
        let mut summary = Summary::default();
        let jobs = &mut summary.jobs;
        (jobs.submitted, jobs.turned_away, jobs.unfinished) = (700, turned_away, unfinished);
        jobs.finished = 700 - turned_away - unfinished;
        summary
    }

    #[test]
    fn what_was_left_is_counted_over_all_runs() {
        assert_eq!(left(&[run(0, 0)]), None);
        assert_eq!(left(&[run(225, 0)]).as_deref(), Some("225 of 700 jobs turned away"));
        let two = left(&[run(200, 1), run(300, 0)]);
        assert_eq!(two.as_deref(), Some("500 of 1,400 jobs of 2 runs turned away, 1 unfinished"));
    }
}
