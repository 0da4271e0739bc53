//! Equal shares of whoever is alone or in a pair, pairs drawn at random where GPUs are short: what
//! Gavel's evaluation (Narayanan et al., OSDI 2020) calls Gandiva. A pair stays together while that
//! is worth it; whoever is alone is drawn again whenever shares are computed.

use super::beside::together;
use super::equal::equal_row;
use super::{Due, Shares, gpus, kinds_by_name};
use heeler_engine::{Job, PythonRandom, RoundClock, View};
use heeler_model::JobId;
use heeler_solve::Pair;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Equal shares, in random pairs.
#[derive(Clone, Debug, Default)]
pub struct RandomPairs {
    /// Pairs stay together while they keep this much, of one for each, on all kinds added up.
    keep: f64,
    seed: u32,
    drawn: Drawn,
}

/// Who is beside whom.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Drawn {
    beside: BTreeMap<JobId, JobId>,
    /// Whether GPUs are short, so that pairs share them.
    short: bool,
    /// How far the generator has come …
    draws: u64,
    /// … and the generator itself, unless it is to be made anew.
    #[serde(skip)]
    random: Option<PythonRandom>,
}

impl RandomPairs {
    /// Pairs that stay together while they keep so much, drawn by a seed.
    pub fn new(keep: f64, seed: u32) -> RandomPairs {
        RandomPairs { keep, seed, drawn: Drawn::default() }
    }

    /// What two keep together on all kinds; nothing if there is one where they cannot run.
    fn kept(one: &Job, other: &Job, kinds: usize, view: &View) -> f64 {
        let on = |kind| {
            let (one, other) = together(one, other, kind, view)?;
            (one > 0.0 && other > 0.0).then_some(one + other)
        };
        (0..kinds).map(on).sum::<Option<f64>>().unwrap_or(0.0)
    }
}

impl Shares for RandomPairs {
    fn shares(&self, jobs: &[&Job], places: &[f64], view: &View) -> Due {
        let kinds = kinds_by_name(view);
        let number_of: BTreeMap<JobId, usize> =
            jobs.iter().enumerate().map(|(number, job)| (job.id, number)).collect();
        let beside = |job: &Job| {
            let other = self.drawn.beside.get(&job.id).filter(|_| self.drawn.short)?;
            number_of.get(other).copied()
        };
        let paired = jobs.iter().filter(|job| beside(job).is_some()).count();
        let parts = jobs.len() - paired / 2;
        let row = |job: &Job| equal_row(places, parts, gpus(job), &kinds);
        let nothing = vec![0.0; kinds.len()];
        let mut due = Due::default();
        for (number, job) in jobs.iter().enumerate() {
            match beside(job) {
                Some(other) => {
                    due.alone.push(nothing.clone());
                    if number < other {
                        due.pairs.push(Pair { rows: (number, other), parts: row(job) });
                    }
                }
                None => due.alone.push(row(job)),
            }
        }
        // There, two that were not drawn may use GPUs that would be idle, like anybody alone.
        if view.rules().rounds == RoundClock::World {
            for (number, job) in jobs.iter().enumerate() {
                let others = (number + 1..jobs.len())
                    .filter(|other| gpus(jobs[*other]) == gpus(job) && beside(job) != Some(*other));
                due.pairs.extend(
                    others.map(|other| Pair { rows: (number, other), parts: nothing.clone() }),
                );
            }
        }
        due
    }

    fn packs(&self) -> bool {
        true
    }

    fn settle(&mut self, jobs: &[&Job], places: &[f64], view: &View) {
        let by_id: BTreeMap<JobId, &Job> = jobs.iter().map(|job| (job.id, *job)).collect();
        let drawn = &mut self.drawn;
        let keep = self.keep;
        drawn.beside.retain(|one, other| {
            let both = by_id.get(one).zip(by_id.get(other));
            both.is_some_and(|(one, other)| {
                RandomPairs::kept(one, other, places.len(), view) >= keep
            })
        });
        let asked: f64 = jobs.iter().map(|job| gpus(job)).sum();
        // Where nothing was measured, nobody can be beside anybody.
        drawn.short = asked > places.iter().sum() && !view.fleet().cluster().pairs.is_empty();
        if !drawn.short {
            return;
        }
        let single = |job: &&&Job| !drawn.beside.contains_key(&job.id);
        let mut singles: Vec<&Job> = jobs.iter().filter(single).copied().collect();
        let mut random =
            drawn.random.take().unwrap_or_else(|| PythonRandom::after(self.seed, drawn.draws));
        for _ in 0..singles.len() {
            if singles.len() < 2 {
                break;
            }
            let (first, second) = random.two_of(singles.len() as u32);
            let (one, other) = (singles[first as usize], singles[second as usize]);
            if gpus(one) != gpus(other) {
                continue;
            }
            singles.retain(|job| job.id != one.id && job.id != other.id);
            drawn.beside.insert(one.id, other.id);
            drawn.beside.insert(other.id, one.id);
        }
        drawn.draws = random.drawn();
        drawn.random = Some(random);
    }

    fn save(&self) -> Value {
        serde_json::to_value(&self.drawn).expect("plain data")
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.drawn = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn fork(&self) -> Box<dyn Shares> {
        Box::new(self.clone())
    }
}
