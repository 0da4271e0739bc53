//! Tenants and sizes: how each of them fared, all runs side by side, and in a table for each run.

use super::colours::of_run;
use super::frame::{BELOW_PX, WIDTH, open};
use super::run::Run;
use super::scale::{Quantity, Scale};
use super::text::{clip, count, percent, px, short_number, time};
use crate::metrics::{Group, Summary};
use std::fmt::Write;

/// More rows than this nobody reads.
pub(super) const ROWS_MAX: usize = 12;

const LEFT: f64 = 150.0;
const PANEL_PX: f64 = 274.0;
const GAP_PX: f64 = 36.0;
const TOP: f64 = 24.0;

/// Which groups of a summary.
pub(super) type Of = fn(&Summary) -> &[Group];

/// What one panel shows of a group.
struct Panel {
    head: &'static str,
    quantity: Quantity,
    value: fn(&Group) -> f64,
}

const PANELS: [Panel; 3] = [
    Panel { head: "mean JCT", quantity: Quantity::Time, value: |group| group.completion_s.mean },
    Panel { head: "mean wait", quantity: Quantity::Time, value: |group| group.waiting_s.mean },
    Panel {
        head: "later than under an equal share",
        quantity: Quantity::Part,
        value: |group| group.unfair,
    },
];

/// A dot for each run and group; nothing if there are no groups.
pub(super) fn dots(runs: &[Run], label: &str, names: &[String], of: Of) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let row_px = (runs.len() as f64 * 5.0 + 10.0).max(22.0);
    let bottom = TOP + names.len() as f64 * row_px;
    let mut out = open("dots", (WIDTH, bottom + BELOW_PX), label, "");
    for (row, name) in names.iter().enumerate() {
        let y = TOP + (row as f64 + 0.5) * row_px;
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {0}H{WIDTH}\"/><text class=\"end name\" x=\"{1}\" \
             y=\"{0}\" dy=\".32em\">{2}</text>",
            px(y),
            px(LEFT - 10.0),
            clip(name, 20),
        );
    }
    for (index, panel) in PANELS.iter().enumerate() {
        let left = LEFT + 8.0 + index as f64 * (PANEL_PX + GAP_PX);
        let x = panel.scale(runs, of, left, left + PANEL_PX - 10.0);
        x.below(&mut out, TOP, bottom);
        let _ =
            write!(out, "<text class=\"head\" x=\"{}\" y=\"13\">{}</text>", px(left), panel.head);
        for (row, name) in names.iter().enumerate() {
            let y = TOP + (row as f64 + 0.5) * row_px;
            panel.row(&mut out, runs, (name, of), &x, y);
        }
    }
    out.push_str("</svg>");
    Some(out)
}

impl Panel {
    fn scale(&self, runs: &[Run], of: Of, from_px: f64, to_px: f64) -> Scale {
        if self.quantity == Quantity::Part {
            return Scale::part(0.25, from_px, to_px);
        }
        let groups = runs.iter().flat_map(|run| of(&run.summary));
        let values: Vec<f64> = groups.map(self.value).filter(|value| *value > 0.0).collect();
        let most = values.iter().copied().fold(1.0, f64::max);
        // Less than a second matters to nobody, unless everything is that short.
        let floor = if most >= 10.0 { 1.0 } else { most / 1e5 };
        let least = values.iter().copied().fold(most, f64::min).max(floor);
        Scale::log_time(least, most, from_px, to_px)
    }

    fn row(&self, out: &mut String, runs: &[Run], (name, of): (&str, Of), x: &Scale, middle: f64) {
        for (index, run) in runs.iter().enumerate() {
            let Some(group) = of(&run.summary).iter().find(|group| group.name == name) else {
                continue;
            };
            let value = (self.value)(group);
            // Runs stand a little apart, so that equal values do not hide each other.
            let y = middle + (index as f64 - (runs.len() - 1) as f64 / 2.0) * 5.0;
            let _ = write!(
                out,
                "<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"4\"><title>{}, {}: {}</title>\
                 </circle>",
                of_run(index),
                px(x.at(value)),
                px(y),
                clip(&run.label, 40),
                clip(name, 40),
                x.words(value),
            );
        }
    }
}

/// Names of the sizes that some run has, smallest first.
pub(super) fn sizes(runs: &[Run]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for group in runs.iter().flat_map(|run| &run.summary.sizes) {
        if !names.contains(&group.name) {
            names.push(group.name.clone());
        }
    }
    let digits = |name: &String| name.chars().take_while(char::is_ascii_digit).collect::<String>();
    names.sort_by_key(|name| digits(name).parse::<u32>().unwrap_or(0));
    names
}

/// A table of one run's groups; those not named are one row at the end.
pub(super) fn table(head: &str, names: &[String], groups: &[Group]) -> String {
    let jobs: usize = groups.iter().map(|group| group.finished).sum();
    let hours: f64 = groups.iter().map(|group| group.gpu_hours).sum();
    let mut out = format!(
        "<div class=\"scroll\"><table class=\"groups\"><thead><tr><th scope=\"col\">{head}</th>\
         <th scope=\"col\">finished</th><th scope=\"col\">of all jobs</th>\
         <th scope=\"col\">of GPU time</th><th scope=\"col\">GPU-hours</th>\
         <th scope=\"col\">mean JCT</th><th scope=\"col\">p95 JCT</th>\
         <th scope=\"col\">mean wait</th><th scope=\"col\">later than equal share</th></tr>\
         </thead><tbody>"
    );
    let named = |group: &&Group| names.contains(&group.name);
    for name in names {
        if let Some(group) = groups.iter().find(|group| group.name == *name) {
            let p95 = time(group.completion_s.p95);
            row(&mut out, &clip(name, 40), group, (jobs, hours), &p95);
        }
    }
    let others: Vec<&Group> = groups.iter().filter(|group| !named(group)).collect();
    if !others.is_empty() {
        let name = format!("{} more", count(others.len()));
        row(&mut out, &name, &together(&others), (jobs, hours), "–");
    }
    out.push_str("</tbody></table></div>");
    out
}

fn row(out: &mut String, name: &str, group: &Group, (jobs, hours): (usize, f64), p95: &str) {
    let share = |part: f64| {
        let (words, width) = (percent(part), px(part.clamp(0.0, 1.0) * 100.0));
        format!("<td>{words}<i style=\"--part:{width}%\"></i></td>")
    };
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{name}</th><td>{}</td>{}{}<td>{}</td><td>{}</td><td>{p95}</td>\
         <td>{}</td><td>{}</td></tr>",
        count(group.finished),
        share(group.finished as f64 / jobs.max(1) as f64),
        share(group.gpu_hours / hours.max(f64::MIN_POSITIVE)),
        short_number(group.gpu_hours),
        time(group.completion_s.mean),
        time(group.waiting_s.mean),
        percent(group.unfair),
    );
}

/// Several groups as one; quantiles cannot be put together and stay zero.
fn together(groups: &[&Group]) -> Group {
    let finished: usize = groups.iter().map(|group| group.finished).sum();
    let mean = |value: fn(&Group) -> f64| {
        let sum: f64 = groups.iter().map(|group| value(group) * group.finished as f64).sum();
        sum / finished.max(1) as f64
    };
    let mut all = Group { finished, unfair: mean(|group| group.unfair), ..Group::default() };
    all.completion_s.mean = mean(|group| group.completion_s.mean);
    all.waiting_s.mean = mean(|group| group.waiting_s.mean);
    all.gpu_hours = groups.iter().map(|group| group.gpu_hours).sum();
    all
}
