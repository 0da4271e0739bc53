//! Recipes weighed against each other: mean completion time against late completion, fairness and
//! restarts, with those marked that nobody beats.

use super::axis::Axis;
use super::factor::Factor;
use super::frame::open;
use super::labels::{Area, Named, Spot, place};
use super::page::figure;
use super::scale::Quantity;
use super::text::{clip, escape, px};
use crate::metrics::Interval;
use serde::Serialize;
use std::fmt::Write;

/// What recipes are weighed by: means over runs on the same jobs, less is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Mean completion time, seconds.
    pub completion_mean_s: Interval,
    /// Mean completion time relative to the first recipe, run by run; none where one of the two
    /// finished nothing.
    pub relative: Option<Factor>,
    /// The completion time that one job of a hundred exceeds, seconds.
    pub completion_p99_s: Interval,
    /// Part of the jobs that ended later than under an equal share.
    pub unfair: Interval,
    /// Restarts for each job.
    pub restarts_per_job: Interval,
}

/// One recipe among others.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Weighed {
    /// What it is called.
    pub label: String,
    /// Whether it is on the front: nobody else is as good in everything and better in something.
    pub front: bool,
    /// Whether fewer of its jobs ended than of another's, so that its figures say less.
    pub left_jobs: bool,
    /// How it did.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Recipes on the same jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Front {
    /// At which load and over which seeds.
    pub over: String,
    /// The recipes.
    pub recipes: Vec<Weighed>,
}

const WIDTH: f64 = 350.0;
const HEIGHT: f64 = 350.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = HEIGHT - 46.0;

/// Points keep away from the sides, so that names fit beside them.
const INSET_PX: f64 = 10.0;

/// Longer names are cut.
const LETTERS_MAX: usize = 26;

/// What is drawn against mean completion time.
struct Panel {
    title: &'static str,
    quantity: Quantity,
    value: fn(&Figures) -> f64,
}

const PANELS: [Panel; 3] = [
    Panel { title: "p99 JCT", quantity: Quantity::Time, value: |f| f.completion_p99_s.mean },
    Panel { title: "Unfair", quantity: Quantity::Part, value: |f| f.unfair.mean },
    Panel {
        title: "Restarts for each job",
        quantity: Quantity::Number,
        value: |f| f.restarts_per_job.mean,
    },
];

/// A section on all fronts; nothing if there are none, or if nobody has anybody to beat.
pub(super) fn section(out: &mut String, fronts: &[Front]) {
    if fronts.iter().all(|front| front.recipes.len() < 2) {
        return;
    }
    out.push_str(
        "<section><h2>Trade-offs</h2><p class=\"reading\">Further left and further down is better. \
         A diamond marks the Pareto front: nobody else is as good in mean JCT, p99 JCT, unfair and \
         restarts, and better in one of them. Beside a dot somebody is at least as good in all \
         four; a ring left jobs unfinished that others finished. Names that find no room show \
         under the pointer.</p>",
    );
    for front in fronts {
        let _ = write!(out, "<h3 class=\"which\">{}</h3>", escape(&front.over));
        let left_out = front.recipes.len() - shown(front).count();
        out.push_str("<div class=\"three\">");
        for panel in &PANELS {
            let reading = format!("{} against mean JCT.", panel.title);
            out.push_str(&figure(panel.title, &reading, &draw(front, panel)));
        }
        out.push_str("</div>");
        if left_out > 0 {
            let _ = write!(out, "<p class=\"nothing\">No job finished under {left_out} more.</p>");
        }
    }
    out.push_str("</section>\n");
}

/// Those of whom there is anything to draw.
fn shown(front: &Front) -> impl Iterator<Item = &Weighed> + Clone {
    front.recipes.iter().filter(|recipe| recipe.figures.completion_mean_s.mean > 0.0)
}

fn draw(front: &Front, panel: &Panel) -> String {
    let recipes: Vec<&Weighed> = shown(front).collect();
    let mean = |recipe: &Weighed| recipe.figures.completion_mean_s.mean;
    let value = |recipe: &Weighed| (panel.value)(&recipe.figures);
    let along: Vec<f64> = recipes.iter().map(|recipe| mean(recipe)).collect();
    let up: Vec<f64> = recipes.iter().map(|recipe| value(recipe)).collect();
    let x = Axis::fitting(Quantity::Time, &along, false, (LEFT + INSET_PX, RIGHT - INSET_PX));
    let y = Axis::fitting(panel.quantity, &up, false, (BOTTOM - INSET_PX, TOP + INSET_PX));
    let label = format!("{} against mean JCT", panel.title);
    let mut out = open("front-of", (WIDTH, HEIGHT), &label, "");
    x.below(&mut out, TOP, BOTTOM);
    y.beside(&mut out, LEFT, RIGHT);
    let (middle, below) = (px((LEFT + RIGHT) / 2.0), px(BOTTOM + 36.0));
    let _ = write!(out, "<text class=\"mid\" x=\"{middle}\" y=\"{below}\">mean JCT</text>");
    let letters = |recipe: &Weighed| recipe.label.chars().count().min(LETTERS_MAX);
    let points: Vec<Named> = recipes
        .iter()
        .map(|recipe| Named {
            at: (x.at(mean(recipe)), y.at(value(recipe))),
            letters: letters(recipe),
            must: recipe.front,
        })
        .collect();
    let spots = place(&points, Area(LEFT, TOP, RIGHT, BOTTOM));
    // Those on the front are drawn last, above the others.
    for front in [false, true] {
        let all = recipes.iter().zip(&points).zip(&spots);
        for ((recipe, point), spot) in all.filter(|((recipe, _), _)| recipe.front == front) {
            mark(&mut out, recipe, panel, point.at, spot.as_ref());
        }
    }
    out + "</svg>"
}

fn mark(
    out: &mut String,
    recipe: &Weighed,
    panel: &Panel,
    (x, y): (f64, f64),
    spot: Option<&Spot>,
) {
    let class = match (recipe.front, recipe.left_jobs) {
        (true, _) => "front",
        (false, true) => "left",
        (false, false) => "beaten",
    };
    let name = escape(&recipe.label);
    let mean = Quantity::Time.words(recipe.figures.completion_mean_s.mean);
    let value = panel.quantity.words((panel.value)(&recipe.figures));
    let _ = write!(
        out,
        "<g class=\"{class}\" data-name=\"{name}\"><title>{name}: mean JCT {mean}, {} {value}\
         </title>",
        panel.title.to_lowercase(),
    );
    if let Some((to_x, to_y)) = spot.and_then(|spot| spot.led) {
        let (x, y, to_x, to_y) = (px(x), px(y), px(to_x), px(to_y));
        let _ = write!(out, "<path class=\"lead\" d=\"M{x} {y}L{to_x} {to_y}\"/>");
    }
    match recipe.front {
        true => {
            let (x, top) = (px(x), px(y - 6.0));
            let _ = write!(out, "<path class=\"it\" d=\"M{x} {top}l6 6l-6 6l-6 -6z\"/>");
        }
        false => {
            let (x, y) = (px(x), px(y));
            let _ = write!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"4\"/>");
        }
    }
    if let Some(Spot { area, .. }) = spot {
        let (x, y) = (px((area.0 + area.2) / 2.0), px(area.middle()));
        let name = clip(&recipe.label, LETTERS_MAX);
        let _ = write!(out, "<text class=\"mid\" x=\"{x}\" y=\"{y}\" dy=\".35em\">{name}</text>");
    }
    out.push_str("</g>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::pareto_front;

    fn weighed(label: &str, [mean, p99, unfair, restarts]: [f64; 4]) -> Weighed {
        let only = |mean| Interval { mean, half_width: None };
        let figures = Figures {
            completion_mean_s: only(mean),
            relative: Factor::of(&[1.0]),
            completion_p99_s: only(p99),
            unfair: only(unfair),
            restarts_per_job: only(restarts),
        };
        Weighed { label: label.into(), front: false, left_jobs: false, figures }
    }

    fn drawn(fronts: &[Front]) -> String {
        let mut out = String::new();
        section(&mut out, fronts);
        out
    }

    /// Names of the marks of a class.
    fn names<'a>(panel: &'a str, class: &str) -> Vec<&'a str> {
        let begin = format!("<g class=\"{class}\" data-name=\"");
        let marks = panel.split(begin.as_str()).skip(1);
        marks.map(|mark| mark.split('"').next().expect("it ends")).collect()
    }

    #[test]
    fn those_on_the_front_are_marked_in_every_picture() {
        let rows = [
            ("a", [100.0, 9e3, 0.1, 0.0]),
            ("b", [200.0, 8e3, 0.2, 3.0]),
            ("c", [210.0, 9e3, 0.2, 50.0]),
            ("d", [0.0, 0.0, 0.0, 0.0]),
        ];
        let points: Vec<Option<[f64; 4]>> =
            rows.iter().map(|(_, row)| (row[0] > 0.0).then_some(*row)).collect();
        let mut recipes: Vec<Weighed> =
            rows.iter().map(|(name, row)| weighed(name, *row)).collect();
        for (recipe, front) in recipes.iter_mut().zip(pareto_front(&points)) {
            recipe.front = front;
        }
        let page = drawn(&[Front { over: "load 1".into(), recipes }]);
        let panels: Vec<&str> = page.split("<svg").skip(1).collect();
        assert_eq!(panels.len(), 3);
        for panel in panels {
            assert_eq!(
                (names(panel, "front"), names(panel, "beaten")),
                (vec!["a", "b"], vec!["c"])
            );
            assert_eq!(panel.matches("class=\"it\"").count(), 2);
        }
        assert!(page.contains("No job finished under 1 more."));
        assert_eq!(drawn(&[]), "");
    }

    #[test]
    fn names_are_text_and_of_some_length() {
        let label = "<b>&\"x\"'".repeat(9);
        let recipes = vec![weighed(&label, [1.0; 4]), weighed("b", [2.0; 4])];
        let front = Front { over: "<i>".into(), recipes };
        let page = drawn(&[front]);
        assert!(!page.contains("<b>") && !page.contains("<i>") && page.contains("&lt;b&gt;&amp;"));
        assert!(page.contains("…</text>"));
    }
}
