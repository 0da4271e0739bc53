//! The tables of a comparison, for people and in a file.

use super::lines::{AtLoad, Line, at_load};
use super::{DECLARED, Plan, Results, TRUTH, undone};
use crate::show;
use heeler_sim::metrics::{Interval, Summary};
use heeler_sim::report::Factor;
use std::io::Write;

/// The table of all loads.
pub(crate) fn text(plan: &Plan, results: &Results) -> String {
    let mut text = String::new();
    let loads: Vec<AtLoad> =
        (0..plan.loads.len()).map(|load| at_load(plan, results, load)).collect();
    for (index, seen) in loads.iter().enumerate() {
        let facts = plan.setting.facts_over(&[seen.load], &plan.seeds);
        if index > 0 {
            text.push('\n');
        }
        text.push_str(&format!("{}\n\n", show::facts_line(&facts)));
        text.push_str(&table(seen, &plan.choices[0].label));
        let notes = undone::notes(&seen.recipes);
        if !notes.is_empty() {
            text.push_str(&format!("\n{}\n", notes.join("\n")));
        }
    }
    if loads.iter().flat_map(|seen| &seen.recipes).any(|line| line.pareto) && plan.choices.len() > 1
    {
        text.push_str(
            "\n◆ nobody else is as good in mean JCT, p99, unfair and restarts, and better in one\n",
        );
    }
    for (mark, _) in marks(&loads) {
        text.push_str(&format!("\n{mark}\n"));
    }
    text
}

/// What the marks behind names mean, as far as there are any, and behind which names they stand.
pub(super) fn marks(loads: &[AtLoad]) -> Vec<(&'static str, Vec<&str>)> {
    let lines = loads.first().map_or(&[][..], |seen| &seen.recipes);
    let named = |is_so: fn(&Line) -> bool| -> Vec<&str> {
        lines.iter().filter(|line| is_so(line)).map(|line| line.recipe.as_str()).collect()
    };
    let marks = [
        (TRUTH, named(|line| line.knows_the_truth)),
        (DECLARED, named(|line| line.declared_is_true && !line.knows_the_truth)),
    ];
    marks.into_iter().filter(|(_, names)| !names.is_empty()).collect()
}

fn table(seen: &AtLoad, first: &str) -> String {
    let relative = format!("vs {first}>");
    let deadlines =
        seen.recipes.iter().any(|line| line.summaries.iter().any(|s| s.deadlines.jobs > 0));
    let mut columns = vec![
        "recipe",
        "mean JCT>",
        "p50>",
        "p99>",
        "mean wait>",
        "makespan>",
        "used>",
        "unfair>",
        "restarts>",
        "lost GPU-h>",
    ];
    // Where each job has one deadline, counting by value says nothing new.
    let lost = |s: &Summary| s.deadlines.value_lost > s.deadlines.missed as f64;
    let by_value = seen.recipes.iter().any(|line| line.summaries.iter().any(lost));
    if deadlines {
        columns.push("missed>");
    }
    if by_value {
        columns.push("by value>");
    }
    let names = services(seen);
    let served: Vec<String> = names.iter().map(|name| format!("{name} in time>")).collect();
    columns.extend(served.iter().map(String::as_str));
    columns.push(&relative);
    let mut table = show::Table::new(&columns);
    for line in &seen.recipes {
        let mut row = vec![
            marked(line, seen.recipes.len() > 1),
            known(&line.completion_mean_s, |mean| interval(mean, show::seconds)),
            known(&line.completion_p50_s, |p50| show::seconds(p50.mean)),
            known(&line.completion_p99_s, |p99| show::seconds(p99.mean)),
            known(&line.waiting_mean_s, |wait| show::seconds(wait.mean)),
            known(&line.makespan_s, |makespan| show::seconds(makespan.mean)),
            show::percent(line.utilisation.mean),
            known(&line.unfair, |unfair| show::percent(unfair.mean)),
            show::decimal(line.restarts_per_job.mean),
            show::decimal(line.lost_gpu_hours.mean),
        ];
        if deadlines {
            row.push(show::decimal(line.deadlines_missed.mean));
        }
        if by_value {
            row.push(show::decimal(line.deadline_value_lost.mean));
        }
        for index in 0..names.len() {
            let parts = line.summaries.iter().map(|summary| summary.services[index].attainment);
            let parts: Vec<f64> = parts.collect();
            row.push(interval(&Interval::of(&parts), show::percent));
        }
        row.push(known(&line.relative, factor));
        table.row(row);
    }
    table.text()
}

/// A recipe with its marks.
fn marked(line: &Line, several: bool) -> String {
    let front = if line.pareto && several { " ◆" } else { "" };
    format!("{}{front}", line.label())
}

/// A figure, or a dash where no job finished that would say anything.
fn known<T>(figure: &Option<T>, form: impl Fn(&T) -> String) -> String {
    figure.as_ref().map_or("–".to_string(), form)
}

/// How many times as much as the first, and between what that lies, unless it is certain.
fn factor(factor: &Factor) -> String {
    let form = |value: f64| match value {
        value if value < 1000.0 => format!("{value:.3}"),
        _ => "1000 and more".to_string(),
    };
    let mean = form(factor.mean);
    match factor.low.zip(factor.high).filter(|(low, high)| low < high) {
        Some((low, high)) => format!("{mean} ({}..{})", form(low), form(high)),
        None => mean,
    }
}

/// Names of the services that ran beside the jobs.
fn services(seen: &AtLoad) -> Vec<String> {
    let first = seen.recipes.first().and_then(|line| line.summaries.first());
    let services = first.map(|summary| summary.services.as_slice()).unwrap_or_default();
    services.iter().map(|service| service.name.clone()).collect()
}

/// A mean and how far it may be off, in percent of it.
fn interval(interval: &Interval, form: impl Fn(f64) -> String) -> String {
    match interval.half_width {
        Some(half) if interval.mean != 0.0 => {
            let part = half / interval.mean.abs() * 100.0;
            format!("{} ±{part:.0} %", form(interval.mean))
        }
        _ => form(interval.mean),
    }
}

/// One line for each simulation.
pub(super) fn write_runs(
    out: &mut dyn Write,
    plan: &Plan,
    results: &Results,
) -> std::io::Result<()> {
    writeln!(
        out,
        "recipe,load,seed,jobs,finished,completion_mean_s,completion_p50_s,completion_p95_s,\
         completion_p99_s,waiting_mean_s,waiting_p99_s,makespan_s,utilisation,unfair,\
         worst_finish_time,preemptions,moves,losses,useful_gpu_hours,lost_gpu_hours,\
         idle_gpu_hours,deadlines_missed,deadline_value_lost"
    )?;
    for (load, by_choice) in plan.loads.iter().zip(&results.summaries) {
        for (choice, summaries) in plan.choices.iter().zip(by_choice) {
            for (seed, s) in plan.seeds.iter().zip(summaries) {
                let load = load.map_or(String::new(), |load| load.to_string());
                let label = show::csv_field(&choice.label);
                let (fair, hours, again) = (&s.fairness.isolated, &s.gpu_hours, &s.restarts);
                write!(out, "{label},{load},{seed},{},{},", s.jobs.submitted, s.jobs.finished)?;
                let (completion, waiting) = (&s.completion_s, &s.waiting_s);
                write!(out, "{},{},", completion.mean, completion.p50)?;
                write!(out, "{},{},", completion.p95, completion.p99)?;
                write!(out, "{},{},{},", waiting.mean, waiting.p99, s.makespan_s)?;
                write!(out, "{},{},{},", s.utilisation, fair.unfair, fair.ratio.max)?;
                write!(out, "{},{},{},", again.preemptions, again.moves, again.losses)?;
                write!(out, "{},{},{},", hours.useful, hours.lost, hours.idle)?;
                writeln!(out, "{},{}", s.deadlines.missed, s.deadlines.value_lost)?;
            }
        }
    }
    Ok(())
}
