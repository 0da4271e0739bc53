//! The tables of a comparison, for people and in a file.

use super::lines::{AtLoad, Line, at_load};
use super::{Plan, Results};
use crate::show;
use heeler_sim::metrics::{Interval, Summary};
use std::io::Write;

/// The table of all loads.
pub(crate) fn text(plan: &Plan, results: &Results) -> String {
    let mut text = String::new();
    let (mut truth, mut seen_fronts) = (false, false);
    for load in 0..plan.loads.len() {
        let seen = at_load(plan, results, load);
        let mut facts = plan.setting.facts(plan.loads[load], plan.seeds[0]);
        if let (Some(first), Some(last)) = (plan.seeds.first(), plan.seeds.last())
            && first < last
        {
            facts.retain(|(name, _)| name != "seed");
            facts.push(("seeds".into(), format!("{first} to {last}")));
        }
        if load > 0 {
            text.push('\n');
        }
        text.push_str(&format!("{}\n\n", show::facts_line(&facts)));
        text.push_str(&table(&seen, &plan.choices[0].label));
        seen_fronts |= plan.choices.len() > 1;
        truth |= seen.recipes.iter().any(|line| line.knows_the_truth);
    }
    if seen_fronts {
        text.push_str(
            "\n◆ nobody else is as good in mean JCT, p99, unfair and restarts, and better in one\n",
        );
    }
    if truth {
        text.push_str("\n* knows how long jobs really run, as only a simulator can\n");
    }
    text
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
            interval(&line.completion_mean_s, show::seconds),
            show::seconds(line.completion_p50_s.mean),
            show::seconds(line.completion_p99_s.mean),
            show::seconds(line.waiting_mean_s.mean),
            show::seconds(line.makespan_s.mean),
            show::percent(line.utilisation.mean),
            show::percent(line.unfair.mean),
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
        row.push(interval(&line.relative, |value| format!("{value:.3}")));
        table.row(row);
    }
    table.text()
}

/// A recipe with its marks.
fn marked(line: &Line, several: bool) -> String {
    let truth = if line.knows_the_truth { " *" } else { "" };
    let front = if line.pareto && several { " ◆" } else { "" };
    format!("{}{truth}{front}", line.recipe)
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
