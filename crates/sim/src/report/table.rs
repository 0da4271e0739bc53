//! The table of all runs: one row for each, the best value of each column marked.

use super::colours::of_run;
use super::run::Run;
use super::text::{count, escape, number, percent, unit_for};
use crate::metrics::Summary;
use std::fmt::Write;

/// How a column's values are written.
#[derive(Clone, Copy)]
enum Form {
    /// Jobs of so many.
    Of(fn(&Summary) -> usize),
    /// Seconds, in one unit for the whole column.
    Time,
    Part,
    Count,
    Number,
}

/// One column.
struct Column {
    head: &'static str,
    meaning: &'static str,
    form: Form,
    more_is_better: bool,
    value: fn(&Summary) -> f64,
}

const fn column(
    head: &'static str,
    meaning: &'static str,
    form: Form,
    value: fn(&Summary) -> f64,
) -> Column {
    Column { head, meaning, form, more_is_better: false, value }
}

const COLUMNS: [Column; 14] = [
    Column {
        more_is_better: true,
        ..column("finished", "Jobs that did their work.", Form::Of(|s| s.jobs.submitted), |s| {
            s.jobs.finished as f64
        })
    },
    column("mean JCT", "Mean time from submission to end.", Form::Time, |s| s.completion_s.mean),
    column("p50 JCT", "Half of the jobs took at most this.", Form::Time, |s| s.completion_s.p50),
    column("p95 JCT", "95 % of the jobs took at most this.", Form::Time, |s| s.completion_s.p95),
    column("p99 JCT", "99 % of the jobs took at most this.", Form::Time, |s| s.completion_s.p99),
    column("mean wait", "Mean time without GPUs.", Form::Time, |s| s.waiting_s.mean),
    column("makespan", "From the first submission to the last end.", Form::Time, |s| s.makespan_s),
    Column {
        more_is_better: true,
        ..column("utilisation", "Part of the GPU time that jobs held.", Form::Part, |s| {
            s.utilisation
        })
    },
    column(
        "worst fairness",
        "Largest ratio of what an equal share would have done in a job's life to its work.",
        Form::Number,
        |s| s.fairness.isolated.ratio.max,
    ),
    column(
        "unfair",
        "Part of the jobs that were later than an equal share would have let them.",
        Form::Part,
        |s| s.fairness.isolated.unfair,
    ),
    column("restarts", "Preemptions, moves and losses together.", Form::Count, |s| {
        (s.restarts.preemptions + s.restarts.moves + s.restarts.losses) as f64
    }),
    column("GPU-hours lost", "Held without keeping anything.", Form::Number, |s| s.gpu_hours.lost),
    column("cost", "What the GPUs that jobs held have cost.", Form::Number, |s| {
        s.cost.unwrap_or(f64::NAN)
    }),
    column("deadlines missed", "Of the jobs that had one.", Form::Of(|s| s.deadlines.jobs), |s| {
        s.deadlines.missed as f64
    }),
];

impl Column {
    /// What a run's jobs show, if they show anything.
    fn of(&self, summary: &Summary) -> Option<f64> {
        let known = match self.form {
            Form::Of(all) => all(summary) > 0,
            Form::Count => true,
            Form::Part if self.more_is_better => true,
            _ => summary.jobs.finished > 0,
        };
        known.then(|| (self.value)(summary)).filter(|value| value.is_finite())
    }

    fn is_shown(&self, runs: &[Run]) -> bool {
        self.head == "finished" || runs.iter().any(|run| self.of(&run.summary).is_some())
    }

    /// How the best value reads, if the runs differ: what reads the same is as good.
    fn best(&self, runs: &[Run]) -> Option<String> {
        let key = |value: f64| if self.more_is_better { -value } else { value };
        let unit = self.unit(runs).0;
        let known = || {
            let runs = runs.iter().map(|run| &run.summary);
            runs.filter_map(|summary| Some((self.of(summary)?, summary)))
        };
        let (best, summary) = known().min_by(|a, b| key(a.0).total_cmp(&key(b.0)))?;
        let words = self.words(summary, best, unit);
        known().any(|(value, other)| self.words(other, value, unit) != words).then_some(words)
    }

    fn unit(&self, runs: &[Run]) -> (f64, &'static str) {
        let values = runs.iter().filter_map(|run| self.of(&run.summary));
        let least = values.filter(|value| *value > 0.0).reduce(f64::min);
        unit_for(least.unwrap_or(0.0))
    }

    fn words(&self, summary: &Summary, value: f64, unit: f64) -> String {
        match self.form {
            Form::Of(all) => {
                format!("{} <small>of {}</small>", count(value as usize), count(all(summary)))
            }
            Form::Time => number(value / unit),
            Form::Part => percent(value),
            Form::Count => count(value as usize),
            Form::Number => number(value),
        }
    }
}

/// The table.
pub(super) fn table(runs: &[Run]) -> String {
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.is_shown(runs)).collect();
    let mut out = "<div class=\"scroll\"><table class=\"summary\"><thead><tr><th scope=\"col\">\
                   run</th>"
        .to_string();
    for column in &columns {
        let unit = match column.form {
            Form::Time => format!(" <small>{}</small>", column.unit(runs).1),
            _ => String::new(),
        };
        let Column { head, meaning, .. } = column;
        let _ = write!(out, "<th scope=\"col\" title=\"{meaning}\">{head}{unit}</th>");
    }
    out.push_str("</tr></thead><tbody>");
    for (index, run) in runs.iter().enumerate() {
        let _ =
            write!(out, "<tr><th scope=\"row\">{}{}</th>", key(&of_run(index)), escape(&run.label));
        for column in &columns {
            cell(&mut out, column, run, runs);
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

fn cell(out: &mut String, column: &Column, run: &Run, runs: &[Run]) {
    let Some(value) = column.of(&run.summary) else {
        out.push_str("<td class=\"nothing\">–</td>");
        return;
    };
    let words = column.words(&run.summary, value, column.unit(runs).0);
    let best = column.best(runs).is_some_and(|best| best == words);
    let class = if best { " class=\"best\"" } else { "" };
    let _ = write!(out, "<td{class} data-value=\"{value}\">{words}</td>");
}

/// A short piece of a line in a colour.
pub(super) fn key(class: &str) -> String {
    format!(
        "<svg class=\"key\" viewBox=\"0 0 22 10\" aria-hidden=\"true\"><path class=\"{class}\" \
         d=\"M1 5H21\"/></svg>"
    )
}
