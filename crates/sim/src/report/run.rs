//! What a report keeps of a simulation: a few hundred kilobytes, however many jobs there were.

use super::picture::Picture;
use super::services::Series;
use crate::metrics::{Fairness, Summary};
use crate::record::{Outcome, Record};
use crate::simulation::Simulation;
use crate::timeline::Bucket;
use heeler_model::Span;

/// One simulation, as a report shows it.
#[derive(Clone, Debug)]
pub struct Run {
    pub(super) label: String,
    pub(super) summary: Summary,
    pub(super) completion: Curve,
    pub(super) waiting: Curve,
    /// Static, Themis', isolated.
    pub(super) fairness: [Curve; 3],
    pub(super) levels: Levels,
    pub(super) picture: Option<Picture>,
    pub(super) services: Vec<Series>,
}

impl Run {
    /// What a report shows of a simulation that is over. Who ran where is part of it only if
    /// [`Simulation::keep_segments`] was called at the start.
    pub fn of(label: &str, simulation: &Simulation) -> Run {
        let records = simulation.records().all();
        let jobs = || records.iter().filter(|record| !record.serves);
        let finished = || jobs().filter(|r| r.outcome == Outcome::Finished);
        let first = records.iter().map(|record| record.submitted).min().unwrap_or_default();
        let completions = finished().filter_map(Record::completion).map(Span::secs_f64);
        let gpus = f64::from(simulation.cluster().gpus());
        // The formulas of fairness stay in one place: the mean of one value is the value.
        let each: Vec<Fairness> = finished()
            .filter(|record| !record.alone.is_zero())
            .map(|record| Fairness::of(std::iter::once(record), gpus, jobs().count()))
            .collect();
        let variant = |of: fn(&Fairness) -> f64| Curve::of(each.iter().map(of).collect());
        let timeline = simulation.timeline();
        Run {
            label: label.to_string(),
            summary: Summary::of(simulation),
            completion: Curve::of(completions.collect()),
            waiting: Curve::of(finished().map(|record| record.waited.secs_f64()).collect()),
            fairness: [
                variant(|fairness| fairness.static_contention.ratio.mean),
                variant(|fairness| fairness.themis.ratio.mean),
                variant(|fairness| fairness.isolated.ratio.mean),
            ],
            levels: Levels {
                first_s: first.secs_f64(),
                end_s: simulation.now().secs_f64(),
                width_s: timeline.width_us() as f64 / 1e6,
                buckets: timeline.buckets().to_vec(),
            },
            picture: Picture::of(simulation),
            services: simulation.services().iter().map(Series::of).collect(),
        }
    }

    /// What it is called.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What it showed, in numbers.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }
}

/// So many points make a line that looks smooth.
const POINTS: usize = 240;

/// How values are distributed: for some of them, which part does not exceed them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Curve {
    /// Value and part, both rising; the last part is 1.
    pub(super) points: Vec<(f64, f64)>,
    /// Whether every value is among the points.
    pub(super) exact: bool,
}

impl Curve {
    fn of(mut values: Vec<f64>) -> Curve {
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len();
        let exact = count <= POINTS;
        let ranks: Vec<usize> = if exact {
            (1..=count).collect()
        } else {
            // Even steps, and finer ones where the last few jobs decide.
            let even = (0..=POINTS).map(|step| 1 + step * (count - 1) / POINTS);
            let tail = [0.9925, 0.995, 0.9975, 0.999, 0.9995, 0.9999];
            let tail = tail.map(|part| (part * count as f64).ceil() as usize);
            let mut ranks: Vec<usize> = even.chain(tail).collect();
            ranks.sort_unstable();
            ranks.dedup();
            ranks
        };
        let point = |rank: usize| (values[rank - 1], rank as f64 / count as f64);
        Curve { points: ranks.into_iter().map(point).collect(), exact }
    }

    /// The same with about so many points, the first and the last among them.
    pub(super) fn thinned(&self, count: usize) -> Curve {
        let every = self.points.len().div_ceil(count.max(2));
        if every <= 1 {
            return self.clone();
        }
        let last = self.points.len() - 1;
        let kept = |index: usize| index.is_multiple_of(every) || index == last;
        let points = self.points.iter().enumerate().filter(|(index, _)| kept(*index));
        Curve { points: points.map(|(_, point)| *point).collect(), exact: false }
    }

    /// The smallest value above a limit.
    pub(super) fn least_above(&self, limit: f64) -> Option<f64> {
        self.points.iter().map(|point| point.0).find(|value| *value > limit)
    }

    /// The largest value.
    pub(super) fn most(&self) -> Option<f64> {
        self.points.last().map(|point| point.0)
    }
}

/// The cluster over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Levels {
    /// The first submission.
    pub(super) first_s: f64,
    /// The end of the simulation.
    pub(super) end_s: f64,
    width_s: f64,
    buckets: Vec<Bucket>,
}

impl Levels {
    /// From the first submission to the end.
    pub(super) fn length_s(&self) -> f64 {
        (self.end_s - self.first_s).max(0.0)
    }

    /// Means over equal parts of a time that begins with the first submission. Nothing after the
    /// end.
    pub(super) fn over(
        &self,
        length_s: f64,
        columns: usize,
        value: impl Fn(&Bucket) -> f64,
    ) -> Vec<f64> {
        let each = length_s / columns as f64;
        let means = (0..columns).map_while(|column| {
            let from = self.first_s + column as f64 * each;
            let until = (from + each).min(self.end_s);
            (from < self.end_s).then(|| value(&self.between(from, until)))
        });
        means.collect()
    }

    fn between(&self, from: f64, until: f64) -> Bucket {
        let mut sum = Bucket::default();
        let first = (from / self.width_s) as usize;
        for (index, bucket) in self.buckets.iter().enumerate().skip(first) {
            let start = index as f64 * self.width_s;
            if start >= until {
                break;
            }
            let end = (start + self.width_s).min(self.end_s);
            let part = ((until.min(end) - from.max(start)) / (end - start)).clamp(0.0, 1.0);
            sum.busy_milli_us += bucket.busy_milli_us * part;
            sum.there_milli_us += bucket.there_milli_us * part;
            sum.waiting_us += bucket.waiting_us * part;
            sum.running_us += bucket.running_us * part;
        }
        let length_us = ((until - from) * 1e6).max(1.0);
        sum.waiting_us /= length_us;
        sum.running_us /= length_us;
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_rise_to_one_and_keep_the_extremes() {
        for count in [1usize, 2, 240, 241, 5_000, 100_000] {
            let curve = Curve::of((1..=count).rev().map(|value| value as f64).collect());
            let points = &curve.points;
            assert_eq!(points.last().expect("points"), &(count as f64, 1.0));
            assert!(points[0].1 <= 0.5 || count == 1, "{count}");
            assert_eq!(points[0].0, 1.0);
            assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1));
            assert!(points.len() < 260);
            for (value, part) in points {
                assert_eq!(value / count as f64, *part, "{count}");
            }
        }
        assert!(Curve::of(Vec::new()).points.is_empty());
    }

    #[test]
    fn thinned_curves_keep_their_ends() {
        let curve = Curve::of((1..=5_000).map(f64::from).collect());
        for count in [0, 2, 100, 200] {
            let thin = curve.thinned(count);
            assert!(thin.points.len() <= count.max(2) + 1, "{count}: {}", thin.points.len());
            assert_eq!(thin.points.first(), curve.points.first());
            assert_eq!(thin.points.last(), curve.points.last());
        }
        assert_eq!(curve.thinned(1_000), curve);
        assert_eq!(Curve::default().thinned(10), Curve::default());
    }

    #[test]
    fn levels_are_means_over_other_columns() {
        let bucket = |waiting: f64| Bucket { waiting_us: waiting * 2e6, ..Bucket::default() };
        let buckets = vec![bucket(9.0), bucket(1.0), bucket(3.0)];
        let levels = Levels { first_s: 2.0, end_s: 6.0, width_s: 2.0, buckets };
        let means = levels.over(8.0, 8, |bucket| bucket.waiting_us);
        assert_eq!(means, [1.0, 1.0, 3.0, 3.0]);
        assert_eq!(levels.over(4.0, 1, |bucket| bucket.waiting_us), [2.0]);
    }
}
