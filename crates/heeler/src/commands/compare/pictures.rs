//! What the report of a comparison draws over all seeds: who is on the Pareto front, and what came
//! of changing the load or a knob step by step.

use super::lines::{AtLoad, Line, at_load};
use super::{Plan, Results, table, undone};
use heeler_sim::report::{Figures, Front, Report, Sweep, SweepLine, Weighed};
use std::collections::BTreeMap;

/// Fewer values than this of a knob are no sweep.
const VALUES_MIN: usize = 3;

impl Plan {
    /// The report on a comparison: means and pictures over all loads and seeds, and the first of
    /// each in detail.
    pub(crate) fn report(&self, title: String, results: &Results) -> Report {
        let loads: Vec<AtLoad> =
            (0..self.loads.len()).map(|load| at_load(self, results, load)).collect();
        let several_runs = self.loads.len() * self.seeds.len() > 1;
        let weighed = several_runs || self.choices.len() > 1;
        let fronts = loads.iter().filter(|_| weighed).map(|seen| self.front(seen)).collect();
        let mut sweeps: Vec<Sweep> = self.over_loads(&loads).into_iter().collect();
        sweeps.extend(loads.iter().flat_map(|seen| self.over_knobs(seen)));
        let facts = self.setting.facts_over(&self.loads, &self.seeds);
        let first = || {
            let load = self.loads[0].map_or(String::new(), |load| format!("load {load}, "));
            format!("{load}seed {}", self.seeds[0])
        };
        let runs_are_of = if several_runs { first() } else { String::new() };
        let several_loads = self.loads.len() > 1;
        let mut notes: Vec<String> = Vec::new();
        for seen in &loads {
            let load = seen.load.filter(|_| several_loads);
            let at = load.map_or(String::new(), |load| format!("At load {load}, "));
            notes.extend(undone::notes(&seen.recipes).iter().map(|note| format!("{at}{note}.")));
        }
        // The table of single runs has no marks, so the names stand here.
        let marks = table::marks(&loads).into_iter();
        notes.extend(marks.map(|(mark, names)| format!("{mark}: {}.", names.join(", "))));
        let runs = results.runs.clone();
        Report { title, facts, runs, runs_are_of, notes, fronts, sweeps }
    }

    /// On which jobs, and over which seeds.
    fn over(&self, load: Option<f64>) -> String {
        let jobs = self.setting.facts(load, self.seeds[0]).swap_remove(0).1;
        format!("{jobs}, {}", self.seeds_in_words())
    }

    fn seeds_in_words(&self) -> String {
        match self.seeds.as_slice() {
            [first, .., last] => format!("seeds {first} to {last}"),
            [only] => format!("seed {only}"),
            [] => "no seeds".to_string(),
        }
    }

    fn front(&self, seen: &AtLoad) -> Front {
        let most = seen.recipes.iter().map(|line| line.finished.mean).fold(0.0, f64::max);
        let weighed = |line: &Line| Weighed {
            label: line.label(),
            front: line.pareto,
            left_jobs: line.finished.mean < most,
            figures: figures(line),
        };
        Front { over: self.over(seen.load), recipes: seen.recipes.iter().map(weighed).collect() }
    }

    /// Every recipe as the load changes, if it does.
    fn over_loads(&self, loads: &[AtLoad]) -> Option<Sweep> {
        let mut rising: Vec<&AtLoad> = loads.iter().filter(|seen| seen.load.is_some()).collect();
        rising.sort_by(|a, b| a.load.partial_cmp(&b.load).expect("loads are numbers"));
        rising.dedup_by_key(|seen| seen.load);
        let (lowest, highest) = (rising.first()?.load?, rising.last()?.load?);
        if rising.len() < 2 {
            return None;
        }
        let along = |index: usize| {
            let steps = rising.iter().map(|seen| (seen.load, figures(&seen.recipes[index])));
            SweepLine { label: loads[0].recipes[index].label(), steps: steps.collect() }
        };
        Some(Sweep {
            of: "load".to_string(),
            over: format!("Loads from {lowest} to {highest}, {}", self.seeds_in_words()),
            first: self.choices[0].label.clone(),
            lines: (0..self.choices.len()).map(along).collect(),
        })
    }

    /// For each knob that recipes stand here with several values of: what came of it, beside the
    /// recipes that have nothing to do with it.
    fn over_knobs(&self, seen: &AtLoad) -> Vec<Sweep> {
        let labels: Vec<&str> = self.choices.iter().map(|choice| choice.label.as_str()).collect();
        let families = families(&labels);
        let mut knobs: Vec<&str> = families.iter().map(|family| family.knob.as_str()).collect();
        knobs.sort_unstable();
        knobs.dedup();
        let swept = |at: usize| families.iter().any(|family| family.has(at));
        let of_knob = |knob: &str| {
            let levels = (0..labels.len()).filter(|at| !swept(*at)).map(|at| SweepLine {
                label: seen.recipes[at].label(),
                steps: vec![(None, figures(&seen.recipes[at]))],
            });
            let along = |family: &Family| SweepLine {
                label: family.label.clone(),
                steps: family
                    .members
                    .iter()
                    .map(|(value, at)| (Some(*value), figures(&seen.recipes[*at])))
                    .collect(),
            };
            let lines = families.iter().filter(|family| family.knob == knob).map(along);
            Sweep {
                of: knob.to_string(),
                over: self.over(seen.load),
                first: labels[0].to_string(),
                lines: lines.chain(levels).collect(),
            }
        };
        knobs.into_iter().map(of_knob).collect()
    }
}

fn figures(line: &Line) -> Figures {
    // Who finished nothing is told by a mean of zero.
    Figures {
        completion_mean_s: line.completion_mean_s.unwrap_or_default(),
        relative: line.relative,
        completion_p99_s: line.completion_p99_s.unwrap_or_default(),
        unfair: line.unfair.unwrap_or_default(),
        restarts_per_job: line.restarts_per_job,
    }
}

/// A recipe with several values of one number in its knobs.
#[derive(Debug, PartialEq)]
struct Family {
    /// The word before the number.
    knob: String,
    /// The recipe, with dots for the number.
    label: String,
    /// The values in rising order, and whose they are.
    members: Vec<(f64, usize)>,
}

impl Family {
    fn has(&self, at: usize) -> bool {
        self.members.iter().any(|(_, member)| *member == at)
    }
}

/// Families among some recipes, such as `srsf:predict={noisy={sigma=…}}`.
fn families(labels: &[&str]) -> Vec<Family> {
    // By what stands before and behind the number.
    let mut alike: BTreeMap<(&str, &str), Vec<(f64, usize)>> = BTreeMap::new();
    for (at, label) in labels.iter().enumerate() {
        for (from, to) in numbers(label) {
            let value: f64 = label[from..to].parse().expect("it was found to be a number");
            alike.entry((&label[..from], &label[to..])).or_default().push((value, at));
        }
    }
    let family = |((before, behind), mut members): ((&str, &str), Vec<(f64, usize)>)| {
        members.sort_by(|a, b| a.0.total_cmp(&b.0));
        members.dedup_by_key(|member| member.0);
        let label = format!("{before}…{behind}");
        let many = members.len() >= VALUES_MIN;
        many.then(|| Family { knob: word_before(before).to_string(), label, members })
    };
    alike.into_iter().filter_map(family).collect()
}

/// Where the numbers of knobs are; those of a name are none.
fn numbers(label: &str) -> Vec<(usize, usize)> {
    let bytes = label.as_bytes();
    let of_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let mut found = Vec::new();
    let mut at = label.find(':').unwrap_or(label.len());
    while at < bytes.len() {
        let end = at + bytes[at..].iter().take_while(|byte| of_word(**byte)).count();
        if end == at {
            at += 1;
            continue;
        }
        // A unit may follow the number at once, as in `10min`.
        let digits = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
        let until = at + bytes[at..end].iter().take_while(digits).count();
        let until = if label[at..end].parse::<f64>().is_ok() { end } else { until };
        if bytes[at].is_ascii_digit() && label[at..until].parse::<f64>().is_ok_and(f64::is_finite) {
            found.push((at, until));
        }
        at = end;
    }
    found
}

/// The last word of a text, such as the name of a knob before its value.
fn word_before(text: &str) -> &str {
    let of_word = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let text = text.trim_end_matches(|letter| !of_word(letter));
    text.rsplit(|letter| !of_word(letter)).next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_knobs_are_found_and_those_of_names_are_not() {
        let found = |label: &'static str| -> Vec<&str> {
            numbers(label).into_iter().map(|(from, to)| &label[from..to]).collect()
        };
        assert_eq!(found("srsf:predict={noisy={sigma=0.5}}"), ["0.5"]);
        assert_eq!(found("tiresias:promote=8:lease=10min"), ["8", "10"]);
        assert_eq!(found("a:limits=[\"1 gpu-hours\", \"2e3 gpu-hours\"]"), ["1", "2e3"]);
        assert_eq!(found("a-2:kind=v100:x=1.2.3"), [""; 0]);
        assert_eq!(found("fifo"), [""; 0]);
    }

    #[test]
    fn families_differ_in_one_number() {
        let labels = ["fifo", "a:x=2:y=1", "a:x=1:y=1", "a:x=4:y=1", "a:x=4:y=2", "b:x=1", "b:x=2"];
        let family = Family {
            knob: "x".into(),
            label: "a:x=…:y=1".into(),
            members: vec![(1.0, 2), (2.0, 1), (4.0, 3)],
        };
        assert_eq!(families(&labels), [family]);
        let labels = ["s:predict={noisy={sigma=0}}", "s:predict={noisy={sigma=0.5}}"];
        assert_eq!(families(&labels), [], "two are no sweep");
        assert_eq!(word_before("s:predict={noisy={sigma="), "sigma");
        assert_eq!(word_before("a:limits=[\""), "limits");
    }
}
