//! First come, first served as Gavel's published program does it for whoever does not tell kinds
//! apart: it draws a kind with room, but gives the job the last one on its list, and when that is
//! full strikes the drawn one off. Kinds go out of use while they are idle, and more is promised of
//! others than there is. Only for worlds that ask for it, to meet results that were made with it.

use super::{gpus, kinds_by_name, rate};
use heeler_engine::{Job, PythonRandom, View};
use heeler_model::{JobId, KindId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Who was given which kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LeftoverKind {
    on: BTreeMap<JobId, KindId>,
    /// How far the generator has come …
    drawn: u64,
    /// … and the generator itself, unless it is to be made anew.
    #[serde(skip)]
    random: Option<PythonRandom>,
}

impl LeftoverKind {
    /// A row for each job: all the time on its kind.
    pub(super) fn rows(&self, jobs: &[&Job], kinds: usize) -> Vec<Vec<f64>> {
        let row = |job: &&Job| {
            let mut row = vec![0.0; kinds];
            if let Some(kind) = self.on.get(&job.id) {
                row[kind.index()] = 1.0;
            }
            row
        };
        jobs.iter().map(row).collect()
    }

    /// Whoever is first takes over from those who left; then kinds are drawn.
    pub(super) fn settle(&mut self, jobs: &[&Job], places: &[f64], seed: u32, view: &View) {
        let mut free = places.to_vec();
        let there: BTreeMap<JobId, &Job> = jobs.iter().map(|job| (job.id, *job)).collect();
        let new = there.values().filter(|job| !self.on.contains_key(&job.id));
        let mut queue: VecDeque<&Job> = new.copied().collect();
        for (id, kind) in self.on.clone() {
            if let Some(job) = there.get(&id) {
                free[kind.index()] -= gpus(job);
                continue;
            }
            self.on.remove(&id);
            let fits = |job: &&Job| gpus(job) <= free[kind.index()] && rate(job, kind, view) > 0.0;
            if let Some(next) = queue.front().copied().filter(fits) {
                queue.pop_front();
                self.on.insert(next.id, kind);
                free[kind.index()] -= gpus(next);
            }
        }
        let mut open = kinds_by_name(view);
        open.retain(|kind| free[kind.index()] > 0.0);
        let mut random =
            self.random.take().unwrap_or_else(|| PythonRandom::after(seed, self.drawn));
        while let (Some(job), Some(last)) = (queue.pop_front(), open.last().copied()) {
            let has_room = |at: &usize| free[open[*at].index()] >= gpus(job);
            let with_room: Vec<usize> = (0..open.len()).filter(has_room).collect();
            if with_room.is_empty() {
                break;
            }
            let drawn = random.below(with_room.len() as u32) as usize;
            // One that does not run there is passed over this time.
            if rate(job, last, view) <= 0.0 {
                continue;
            }
            self.on.insert(job.id, last);
            free[last.index()] -= gpus(job);
            if free[last.index()] == 0.0 {
                open.remove(with_room[drawn]);
            }
        }
        self.drawn = random.drawn();
        self.random = Some(random);
    }
}
