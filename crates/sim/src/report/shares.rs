//! What tenants had beside what they were entitled to: a line for each over time, and a table.

use super::colours::Tenants;
use super::frame::{BELOW_PX, LEFT, RIGHT, WIDTH, open};
use super::groups::ROWS_MAX;
use super::run::Run;
use super::scale::Scale;
use super::table::key;
use super::text::{clip, percent, points, px, short_number};
use crate::entitled::TenantShare;
use std::fmt::Write;

const TOP: f64 = 12.0;
const BOTTOM: f64 = 212.0;
/// Points of a line, at most.
const POINTS: usize = 64;
/// Who had more than so many times its part is drawn at the edge.
const MOST: f64 = 3.0;

/// Lines and a table; nothing if there are fewer than two tenants.
pub(super) fn shares(run: &Run, tenants: &Tenants, length_s: f64, runs: usize) -> Option<String> {
    let shares = &run.summary.shares;
    if shares.len() < 2 {
        return None;
    }
    // A page with many runs shows fewer points of each, or nobody would wait for it.
    let points = if runs > 6 { POINTS / 4 } else { POINTS };
    Some(lines(shares, tenants, length_s, points) + &table(shares, tenants))
}

/// What each had so far over what it was entitled to so far.
fn lines(shares: &[TenantShare], tenants: &Tenants, length_s: f64, most: usize) -> String {
    let x = Scale::linear_time(length_s, LEFT, RIGHT);
    let y = Scale::upto(MOST, 3.0, BOTTOM, TOP);
    let mut out = open("shares", (WIDTH, BOTTOM + BELOW_PX), "Had over entitled", "");
    x.below(&mut out, TOP, BOTTOM);
    y.beside(&mut out, LEFT, RIGHT);
    let _ = write!(out, "<path class=\"grid\" d=\"M{LEFT} {0}H{RIGHT}\"/>", px(y.at(1.0)));
    for share in shares.iter().take(ROWS_MAX) {
        let (mut had, mut due) = (0.0, 0.0);
        let mut line = Vec::new();
        for (at, point) in share.over_time.iter().enumerate() {
            (had, due) = (had + point.0, due + point.1);
            let shown = (at + 1) % share.over_time.len().div_ceil(most) == 0;
            if due > 0.0 && (shown || at + 1 == share.over_time.len()) {
                let end_s = ((at as f64 + 1.0) * share.point_s).min(length_s);
                line.push((x.at(end_s), y.at((had / due).min(MOST))));
            }
        }
        let _ = write!(
            out,
            "<polyline class=\"{}\" points=\"{}\"><title>{}: {} of its part</title>\
             </polyline>",
            tenants.class(&share.name),
            points(line.into_iter()),
            clip(&share.name, 40),
            percent(share.ratio),
        );
    }
    out + "</svg>"
}

fn table(shares: &[TenantShare], tenants: &Tenants) -> String {
    let mut out = "<div class=\"scroll\"><table class=\"groups\"><thead><tr>\
                   <th scope=\"col\">tenant</th><th scope=\"col\">weight</th>\
                   <th scope=\"col\">entitled, GPU-hours</th><th scope=\"col\">had</th>\
                   <th scope=\"col\">had of entitled</th><th scope=\"col\">envy, GPU-hours</th>\
                   </tr></thead><tbody>"
        .to_string();
    for share in shares.iter().take(ROWS_MAX) {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             </tr>",
            key(&tenants.class(&share.name)),
            clip(&share.name, 40),
            share.weight,
            short_number(share.due_gpu_hours),
            short_number(share.had_gpu_hours),
            percent(share.ratio),
            short_number(share.envy_gpu_hours),
        );
    }
    out + "</tbody></table></div>"
}
