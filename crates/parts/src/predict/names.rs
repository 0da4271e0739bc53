//! The mean of the owner's earlier jobs whose names are most like this one's, as in Helios' rolling
//! estimate (Hu et al., SC 2021): `train_v2` ran about as long as `train_v1`.

use super::past::{Past, Sum};
use super::{Facts, Learner};
use serde::{Deserialize, Serialize};

/// Names count as alike from here on, one being the same.
const ALIKE: f64 = 0.6;
/// So many of those most alike are looked at.
const CLOSEST: usize = 2;
/// Letters of a name that are compared.
const LETTERS: usize = 64;

/// The mean of jobs with names like it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Names {
    past: Past,
}

impl Names {
    /// What is known of jobs with names like it, of the same owner.
    pub(super) fn alike(&self, facts: &Facts) -> Option<Sum> {
        if facts.name.is_empty() {
            return None;
        }
        let names = &self.past.owner(facts.owner)?.names;
        let mut closest: Vec<(f64, &str)> = Vec::new();
        if names.contains_key(&facts.name) {
            closest.push((1.0, &facts.name));
        } else {
            let near = names.keys().map(|name| (similarity(name, &facts.name), name.as_str()));
            closest.extend(near.filter(|(near, _)| *near >= ALIKE));
            closest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
            closest.truncate(CLOSEST);
        }
        let groups = || closest.iter().map(|(_, name)| &names[*name]);
        let same = groups().fold(Sum::default(), |sum, group| sum.and(group.with(facts.gpus)));
        let any = groups().fold(Sum::default(), |sum, group| sum.and(group.all));
        [same, any].into_iter().find(|sum| sum.jobs > 0)
    }
}

impl Learner for Names {
    type Noted = ();

    fn guess(&self, facts: &Facts) -> (Option<f64>, ()) {
        let owner = || self.past.owner(facts.owner).map(|owner| owner.jobs.all);
        let sum = self.alike(facts).or_else(owner).unwrap_or(self.past.all.all);
        (sum.mean_s(), ())
    }

    fn learn(&mut self, facts: &Facts, _noted: &(), seconds: f64) {
        self.past.learn(facts, seconds);
    }
}

/// How much two names are alike, one being the same: the part of the longer one that need not be
/// changed to make it the other.
pub fn similarity(one: &str, other: &str) -> f64 {
    let one: Vec<char> = one.chars().take(LETTERS).collect();
    let other: Vec<char> = other.chars().take(LETTERS).collect();
    let longer = one.len().max(other.len());
    if longer == 0 {
        return 1.0;
    }
    if one.len().abs_diff(other.len()) as f64 > (1.0 - ALIKE) * longer as f64 {
        return 0.0;
    }
    // Changes that make the letters so far of one the first so many of the other.
    let mut changes: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.iter().enumerate() {
        let mut before = std::mem::replace(&mut changes[0], index + 1);
        for (at, with) in other.iter().enumerate() {
            let replaced = before + usize::from(letter != with);
            before = changes[at + 1];
            changes[at + 1] = replaced.min(before + 1).min(changes[at] + 1);
        }
    }
    1.0 - changes[other.len()] as f64 / longer as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str, gpus: u32) -> Facts {
        Facts { name: name.into(), gpus, ..Facts::default() }
    }

    #[test]
    fn names_are_alike_by_what_need_not_be_changed() {
        assert_eq!(similarity("kitten", "sitting"), 1.0 - 3.0 / 7.0);
        assert_eq!(similarity("train_v1", "train_v2"), 0.875);
        assert_eq!(similarity("", ""), 1.0);
        assert_eq!(similarity("a", "abcdef"), 0.0, "too long to be alike");
        assert_eq!(similarity("abc", "abc"), 1.0);
    }

    #[test]
    fn jobs_with_names_alike_run_alike() {
        let mut names = Names::default();
        for (name, gpus, seconds) in [
            ("train_v1", 1, 100.0),
            ("train_v1", 8, 700.0),
            ("train_v2", 1, 300.0),
            ("evaluate", 1, 8.0),
        ] {
            names.learn(&facts(name, gpus), &(), seconds);
        }
        let guess = |name, gpus| names.guess(&facts(name, gpus)).0;
        assert_eq!(guess("train_v1", 1), Some(100.0), "the very name");
        assert_eq!(guess("train_v3", 1), Some(200.0), "the two most alike, with as many GPUs");
        assert_eq!(guess("train_v3", 4), Some(1100.0 / 3.0), "whatever their size");
        assert_eq!(guess("something else", 1), Some(277.0), "the owner's mean");
        let stranger = Facts { owner: heeler_model::TenantId(9).into(), ..facts("train_v1", 1) };
        assert_eq!(names.guess(&stranger).0, Some(277.0), "everybody's mean");
    }
}
