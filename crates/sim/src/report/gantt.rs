//! The picture of who ran where. Marks next to each other that look the same are one stroke, and a
//! picture that would be too large is drawn with fewer columns.

use super::colours::{COLOURS, Tenants};
use super::frame::{BELOW_PX, RIGHT, WIDTH, open};
use super::picture::{Mark, Picture};
use super::run::Run;
use super::scale::Scale;
use super::text::{clip, escape, px};
use heeler_model::{JobId, TenantId};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Bytes that the pictures of all runs may take together.
const BYTES_MAX: usize = 200_000;

/// Below this a picture shows nothing any more.
const COLUMNS_MIN: usize = 60;

const LEFT: f64 = 118.0;
const TOP: f64 = 6.0;

/// Whose strokes are drawn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Job(JobId),
    Tenant(TenantId),
    /// One of several jobs of the only tenant, told apart by colour alone.
    Colour(u32),
}

/// A drawing of a run's picture, on a scale of time that begins with the first submission.
pub(super) fn draw(run: &Run, length_s: f64, tenants: &Tenants, runs: usize) -> Option<String> {
    let picture = run.picture.as_ref().filter(|picture| picture.columns > 0)?;
    let budget = BYTES_MAX / runs.max(1);
    let mut strokes = strokes(picture, tenants);
    let mut coarser = None;
    while strokes.len() > budget {
        let now: &Picture = coarser.as_ref().unwrap_or(picture);
        // Names of jobs go first; they take most.
        let next = if now.jobs.is_empty() { now.coarser() } else { now.without_jobs() };
        if next.columns < COLUMNS_MIN {
            break;
        }
        strokes = self::strokes(&next, tenants);
        coarser = Some(next);
    }
    Some(frame(coarser.as_ref().unwrap_or(picture), run, length_s, &strokes))
}

fn frame(picture: &Picture, run: &Run, length_s: f64, strokes: &str) -> String {
    let rows = picture.rows.len();
    let row_px = (440.0 / rows as f64).clamp(7.0, 18.0);
    let bottom = TOP + rows as f64 * row_px;
    let time = Scale::linear_time(length_s, LEFT, RIGHT);
    let names: Vec<String> =
        picture.rows.iter().map(|(name, _)| name.replace(['\n', '\r'], " ")).collect();
    let first_s = run.levels.first_s;
    let more = format!(
        "data-x=\"{}\" data-grid=\"{TOP},{},{},{first_s}\" data-rows=\"{}\"",
        time.describe(),
        px(row_px),
        picture.width_s,
        escape(&names.join("\n")),
    );
    let mut out = open("gantt", (WIDTH, bottom + BELOW_PX), "Who ran where", &more);
    time.below(&mut out, TOP, bottom);
    let mut free = 0.0;
    for (row, (name, first)) in picture.rows.iter().enumerate() {
        let y = TOP + (row as f64 + 0.5) * row_px;
        if y < free || !first && row_px < 13.0 {
            continue;
        }
        free = y + 13.0;
        let (name, y) = (clip(name, 17), px(y));
        let x = px(LEFT - 8.0);
        let _ = write!(out, "<text class=\"end\" x=\"{x}\" y=\"{y}\" dy=\".32em\">{name}</text>");
    }
    let scale_x = (RIGHT - LEFT) * picture.width_s / length_s;
    let start = LEFT - (RIGHT - LEFT) * first_s / length_s;
    let tracks: String = (0..rows)
        .map(|row| format!("M{LEFT} {}H{RIGHT}", px(TOP + (row as f64 + 0.5) * row_px)))
        .collect();
    let _ = write!(
        out,
        "<path class=\"track\" stroke-width=\"{}\" d=\"{tracks}\"/><g class=\"who\" \
         transform=\"translate({start:.3} {TOP}) scale({scale_x:.6} {row_px:.4}) \
         translate(0 .5)\">{strokes}</g></svg>",
        px(row_px * 0.84),
    );
    out
}

/// All strokes of a picture.
fn strokes(picture: &Picture, tenants: &Tenants) -> String {
    let one_tenant = picture.tenants.len() <= 1;
    let owner = |mark: &Mark| match (picture.jobs.is_empty(), one_tenant) {
        (false, _) => Owner::Job(mark.job),
        (true, false) => Owner::Tenant(mark.tenant),
        (true, true) => Owner::Colour(mark.job.0 % COLOURS as u32),
    };
    let mut paths: BTreeMap<Owner, [String; 3]> = BTreeMap::new();
    for row in 0..picture.rows.len() {
        let looks =
            picture.row(row).iter().map(|mark| (mark.held > 0).then(|| (owner(mark), level(mark))));
        let looks: Vec<Option<(Owner, usize)>> = looks.collect();
        let mut column = 0;
        for equal in looks.chunk_by(|a, b| a == b) {
            if let Some((owner, level)) = equal[0] {
                let path = &mut paths.entry(owner).or_default()[level];
                let _ = write!(path, "M{column} {row}h{}", equal.len());
            }
            column += equal.len();
        }
    }
    let mut out = String::new();
    for (owner, levels) in &paths {
        let (class, title) = looks_of(*owner, picture, tenants, one_tenant);
        let _ = write!(out, "<g class=\"{class}\"><title>{title}</title>");
        for (level, path) in levels.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            let _ = write!(out, "<path class=\"l{level}\" d=\"{path}\"/>");
        }
        out.push_str("</g>");
    }
    out
}

fn looks_of(owner: Owner, picture: &Picture, tenants: &Tenants, one: bool) -> (String, String) {
    let tenant_name = |id: TenantId| picture.tenants.get(&id).map_or("", String::as_str);
    match owner {
        Owner::Job(job) => {
            let shown = &picture.jobs[&job];
            let tenant = tenant_name(shown.tenant);
            let colour =
                if one { format!("c{}", job.index() % COLOURS) } else { tenants.class(tenant) };
            let shade = if !one && job.0 % 2 == 1 { " odd" } else { "" };
            let title = format!("job {} of {}", clip(&shown.name, 60), clip(tenant, 60));
            (format!("{colour}{shade}"), title)
        }
        Owner::Tenant(id) => {
            (tenants.class(tenant_name(id)), format!("mostly {}", clip(tenant_name(id), 60)))
        }
        Owner::Colour(colour) => (format!("c{colour}"), "several jobs".to_string()),
    }
}

/// Up to a third held, up to two thirds, or more.
fn level(mark: &Mark) -> usize {
    usize::from(mark.held - 1) / 85
}
