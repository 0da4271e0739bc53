//! How recipes did as one thing was changed step by step, such as the load or a knob: a line for
//! each, with how sure it is.

use super::axis::Axis;
use super::colours::of_run;
use super::factor::Factor;
use super::frame::open;
use super::fronts::Figures;
use super::page::figure;
use super::scale::Quantity;
use super::table::key;
use super::text::{clip, escape, points, px};
use crate::metrics::Interval;
use serde::Serialize;
use std::fmt::Write;

/// Something that was changed, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sweep {
    /// What was changed: the load, or a knob.
    pub of: String,
    /// At which load and over which seeds.
    pub over: String,
    /// To whom means are relative.
    pub first: String,
    /// What came of it.
    pub lines: Vec<SweepLine>,
}

/// What came of it for one recipe.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SweepLine {
    /// What the recipe is called.
    pub label: String,
    /// How it did at each value, in rising order; one without a value is a recipe that what was
    /// changed does not concern, for comparison.
    pub steps: Vec<(Option<f64>, Figures)>,
}

const WIDTH: f64 = 350.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = WIDTH - 18.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = HEIGHT - 46.0;

/// Half the width of the ends of an interval.
const CAP_PX: f64 = 3.0;

/// One figure drawn against what was changed.
struct Chart {
    title: &'static str,
    reading: &'static str,
    quantity: Quantity,
    value: fn(&Figures) -> Reach,
}

/// A mean, and between what the true one lies.
struct Reach {
    mean: f64,
    ends: Option<(f64, f64)>,
}

impl From<Interval> for Reach {
    fn from(Interval { mean, half_width }: Interval) -> Reach {
        // Nothing that is drawn can be below zero.
        Reach { mean, ends: half_width.map(|half| ((mean - half).max(0.0), mean + half)) }
    }
}

impl From<Option<Factor>> for Reach {
    /// What has no value is not drawn.
    fn from(factor: Option<Factor>) -> Reach {
        let ends = factor.and_then(|factor| factor.low.zip(factor.high));
        Reach { mean: factor.map_or(f64::NAN, |factor| factor.mean), ends }
    }
}

const CHARTS: [Chart; 5] = [
    Chart {
        title: "Mean JCT",
        reading: "Mean completion time.",
        quantity: Quantity::Time,
        value: |figures| figures.completion_mean_s.into(),
    },
    Chart {
        title: "Mean JCT, relative",
        reading: "Each run compared with the first recipe's on the same jobs: the geometric mean.",
        quantity: Quantity::Number,
        value: |figures| figures.relative.into(),
    },
    Chart {
        title: "p99 JCT",
        reading: "The completion time that one job of a hundred exceeds.",
        quantity: Quantity::Time,
        value: |figures| figures.completion_p99_s.into(),
    },
    Chart {
        title: "Unfair",
        reading: "Part of the jobs that ended later than under an equal share.",
        quantity: Quantity::Part,
        value: |figures| figures.unfair.into(),
    },
    Chart {
        title: "Restarts for each job",
        reading: "Preemptions, moves, changes of size, and losses with a node.",
        quantity: Quantity::Number,
        value: |figures| figures.restarts_per_job.into(),
    },
];

/// A section for each.
pub(super) fn section(out: &mut String, sweeps: &[Sweep]) {
    for sweep in sweeps {
        let (of, over) = (escape(&sweep.of), escape(&sweep.over));
        let _ = write!(
            out,
            "<section><h2>As {of} changes</h2><p class=\"reading\">{over}. Bars are 95 % \
             confidence intervals of the means over seeds. Dashed lines are recipes that {of} \
             does not concern. Relative means are relative to {}.</p>{}<div class=\"three\">",
            escape(&sweep.first),
            legend(sweep),
        );
        for chart in &CHARTS {
            if let Some(drawing) = draw(sweep, chart) {
                out.push_str(&figure(chart.title, chart.reading, &drawing));
            }
        }
        out.push_str("</div></section>\n");
    }
}

impl SweepLine {
    /// Whether it is only there to compare with.
    fn is_level(&self) -> bool {
        self.steps.iter().all(|(at, _)| at.is_none())
    }
}

/// The colour of a line, and whether it is dashed.
fn class(index: usize, line: &SweepLine) -> String {
    let level = if line.is_level() { " level" } else { "" };
    of_run(index) + level
}

fn legend(sweep: &Sweep) -> String {
    let keys = sweep.lines.iter().enumerate().map(|(index, line)| {
        format!("<span>{}{}</span>", key(&class(index, line)), clip(&line.label, 60))
    });
    format!("<p class=\"legend\">{}</p>", keys.collect::<String>())
}

/// One chart; nothing if all of it is zero.
fn draw(sweep: &Sweep, chart: &Chart) -> Option<String> {
    let steps = || sweep.lines.iter().flat_map(|line| &line.steps);
    let along: Vec<f64> = steps().filter_map(|(at, _)| *at).collect();
    let means = steps().map(|(_, figures)| (chart.value)(figures));
    let mut up: Vec<f64> = means.flat_map(|reach| [reach.mean, high(&reach)]).collect();
    up.retain(|value| value.is_finite());
    if up.iter().all(|value| *value <= 0.0) {
        return None;
    }
    let x = Axis::fitting(Quantity::Number, &along, false, (LEFT + 6.0, RIGHT - 6.0));
    let y = Axis::fitting(chart.quantity, &up, true, (BOTTOM, TOP));
    let more = format!("data-x=\"{}\" data-box=\"{TOP},{BOTTOM}\"", x.describe());
    let label = format!("{} as {} changes", chart.title, escape(&sweep.of));
    let mut out = open("lines", (WIDTH, HEIGHT), &label, &more);
    x.below(&mut out, TOP, BOTTOM);
    y.beside(&mut out, LEFT, RIGHT);
    let (middle, below) = (px((LEFT + RIGHT) / 2.0), px(BOTTOM + 36.0));
    let of = clip(&sweep.of, 40);
    let _ = write!(out, "<text class=\"mid\" x=\"{middle}\" y=\"{below}\">{of}</text>");
    for (index, line) in sweep.lines.iter().enumerate() {
        let class = class(index, line);
        let drawn: Vec<(f64, Reach)> = at_px(line, chart, &x);
        let ends = drawn.iter().map(|(x, reach)| (*x, y.at(reach.mean)));
        let _ = write!(
            out,
            "<polyline class=\"{class}\" data-name=\"{}\" data-y=\"{}\" points=\"{}\"/>",
            clip(&line.label, 40),
            y.describe(),
            points(ends),
        );
        let _ = write!(out, "<g class=\"steps {class}\">");
        for (x, reach) in drawn.iter().skip(usize::from(line.is_level())) {
            step(&mut out, *x, reach, &y, !line.is_level());
        }
        out.push_str("</g>");
    }
    Some(out + "</svg>")
}

/// Where the steps of a line are; a level one goes from side to side.
fn at_px(line: &SweepLine, chart: &Chart, x: &Axis) -> Vec<(f64, Reach)> {
    let spread = |(at, figures): &(Option<f64>, Figures)| {
        let places = at.map_or(vec![LEFT, RIGHT], |at| vec![x.at(at)]);
        let reached: Vec<_> = places.into_iter().map(|x| (x, (chart.value)(figures))).collect();
        reached
    };
    let steps = line.steps.iter().flat_map(spread);
    steps.filter(|(_, reach)| reach.mean.is_finite()).collect()
}

/// The upper end of an interval.
fn high(reach: &Reach) -> f64 {
    reach.ends.map_or(reach.mean, |(_, high)| high)
}

/// How sure a mean is, and the mean itself.
fn step(out: &mut String, x: f64, reach: &Reach, y: &Axis, dot: bool) {
    if let Some((low, high)) = reach.ends.filter(|(low, high)| low < high && high.is_finite()) {
        let (low, high) = (px(y.at(low)), px(y.at(high)));
        let (left, right) = (px(x - CAP_PX), px(x + CAP_PX));
        let x = px(x);
        let _ = write!(
            out,
            "<path class=\"sure\" d=\"M{left} {low}H{right}M{x} {low}V{high}\
             M{left} {high}H{right}\"/>"
        );
    }
    if dot {
        let (x, y) = (px(x), px(y.at(reach.mean)));
        let _ = write!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"3.2\"/>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(mean_s: f64, half: Option<f64>) -> Figures {
        let completion_mean_s = Interval { mean: mean_s, half_width: half };
        Figures { completion_mean_s, ..Figures::default() }
    }

    fn sweep() -> Sweep {
        let steps = [(0.0, 100.0), (1.0, 150.0), (2.0, 200.0)];
        let steps = steps.map(|(at, mean_s)| (Some(at), figures(mean_s, Some(50.0))));
        let lines = vec![
            SweepLine { label: "level".into(), steps: vec![(None, figures(300.0, None))] },
            SweepLine { label: "<b>x=…".into(), steps: steps.to_vec() },
        ];
        Sweep { of: "si<i>gma".into(), over: "seeds 1 to 3".into(), first: "level".into(), lines }
    }

    #[test]
    fn lines_go_through_means_with_their_intervals() {
        let mut page = String::new();
        section(&mut page, &[sweep()]);
        // All other figures are zero and not drawn.
        assert_eq!(page.matches("<svg class=\"plot lines\"").count(), 1, "{page}");
        let lines: Vec<Vec<(f64, f64)>> = page
            .split(" points=\"")
            .skip(1)
            .map(|line| {
                let points = line.split('"').next().expect("it ends").split(' ');
                let number = |text: &str| text.parse::<f64>().expect("a number");
                let pair = |point: &str| point.split_once(',').map(|(x, y)| (number(x), number(y)));
                points.map(|point| pair(point).expect("two coordinates")).collect()
            })
            .collect();
        let [level, swept] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((level[0].0, level[1].0, level[0].1 - level[1].1), (LEFT, RIGHT, 0.0));
        assert!((swept[1].0 * 2.0 - swept[0].0 - swept[2].0).abs() < 0.3, "{swept:?}");
        assert!(swept.is_sorted_by(|a, b| a.0 < b.0 && a.1 > b.1), "more is further up: {swept:?}");
        assert_eq!(page.matches("class=\"sure\"").count(), 3);
        assert_eq!(page.matches("<circle").count(), 3);
    }

    #[test]
    fn names_are_text() {
        let mut page = String::new();
        section(&mut page, &[sweep()]);
        assert!(!page.contains("<b>") && !page.contains("<i>") && page.contains("&lt;b&gt;x=…"));
    }
}
