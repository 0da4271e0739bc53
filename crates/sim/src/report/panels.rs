//! What is shown of one run at a time: who ran where, and the tables of its tenants and sizes.

use super::colours::{COLOURS, Tenants};
use super::gantt;
use super::groups::{ROWS_MAX, sizes, table};
use super::page::figure;
use super::run::Run;
use super::shares::shares;
use super::table::key;
use super::text::{clip, escape};
use std::fmt::Write;

/// A switch, and a panel for each run. Without the script all panels are open.
pub(super) fn panels(runs: &[Run], tenants: &Tenants, length_s: f64) -> String {
    let mut out = String::new();
    if runs.len() > 1 {
        out.push_str("<div class=\"switch\" role=\"group\" aria-label=\"Run\" hidden=\"\">");
        for (index, run) in runs.iter().enumerate() {
            let label = clip(&run.label, 60);
            let _ = write!(out, "<button type=\"button\" data-run=\"{index}\">{label}</button>");
        }
        out.push_str("</div>");
    }
    for (index, run) in runs.iter().enumerate() {
        let _ = write!(out, "<section class=\"run\" data-run=\"{index}\">");
        if runs.len() > 1 {
            let _ = write!(out, "<h3 class=\"which\">{}</h3>", escape(&run.label));
        }
        panel(&mut out, run, runs, tenants, length_s);
        out.push_str("</section>");
    }
    out
}

fn panel(out: &mut String, run: &Run, runs: &[Run], tenants: &Tenants, length_s: f64) {
    let drawing = gantt::draw(run, length_s, tenants, runs.len());
    let body = match (&run.picture, drawing) {
        (Some(_), Some(drawing)) => legend(run, tenants) + &wide(&drawing),
        (Some(_), None) => "<p class=\"nothing\">No job held a GPU.</p>".to_string(),
        (None, _) => {
            "<p class=\"nothing\">This was not recorded during the simulation.</p>".to_string()
        }
    };
    let reading = "Each row is a GPU, a part of a node, a node or several nodes; colour says who \
                   held most of it, paler colour that part of it was idle.";
    out.push_str(&figure("Who ran where", reading, &body));
    if let Some(body) = shares(run, tenants, length_s, runs.len()) {
        let reading = "What each tenant had so far, over what it was entitled to: its part of the \
                       GPUs by quota or weight, as far as it had jobs for it, and its part of what \
                       others left. Envy is what it would have had more with as much for its \
                       weight as the best-off other, while it wanted more.";
        out.push_str(&figure("Share against entitlement", reading, &body));
    }
    let shown = &tenants.ranked()[..tenants.ranked().len().min(ROWS_MAX)];
    for (title, head, reading, names, groups) in [
        (
            "Tenants",
            "tenant",
            "Compare the share of jobs with the share of GPU time, and see who waited for it.",
            shown,
            &run.summary.tenants,
        ),
        (
            "Sizes",
            "GPUs",
            "The same by the number of GPUs that jobs asked for.",
            &sizes(runs)[..],
            &run.summary.sizes,
        ),
    ] {
        if !groups.is_empty() {
            out.push_str(&figure(title, reading, &table(head, names, groups)));
        }
    }
}

/// A drawing that is scrolled on narrow screens, not shrunk.
pub(super) fn wide(drawing: &str) -> String {
    format!("<div class=\"scroll wide\">{drawing}</div>")
}

fn legend(run: &Run, tenants: &Tenants) -> String {
    let Some(picture) = &run.picture else { return String::new() };
    if picture.tenants.len() <= 1 {
        return "<p class=\"legend\">Colours tell neighbouring jobs apart.</p>".to_string();
    }
    let mut out = "<p class=\"legend\">".to_string();
    for name in tenants.ranked().iter().take(COLOURS) {
        let _ = write!(out, "<span>{}{}</span>", key(&tenants.class(name)), clip(name, 30));
    }
    if tenants.ranked().len() > COLOURS {
        let _ = write!(out, "<span>{}all others</span>", key("co"));
    }
    if !picture.jobs.is_empty() {
        out.push_str("<span>shades tell jobs of a tenant apart</span>");
    }
    out + "</p>"
}
