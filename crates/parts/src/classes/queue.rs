//! Who waits. Jobs that ask for the same are in a line of their own, so that once one of them has
//! found nothing a decision need not look at those behind it.

use heeler_engine::{DemandId, Job, View};
use heeler_model::{JobId, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Who waits, of both classes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Queue {
    /// Those who take what is left over behind the others, then as they came.
    jobs: BTreeSet<(bool, Time, JobId)>,
    /// Those of one class who ask for the same, as they came; made of the above.
    #[serde(skip)]
    alike: BTreeMap<(bool, DemandId), BTreeSet<(Time, JobId)>>,
}

/// Whether a job takes what is left over.
pub(super) fn is_opportunistic(job: &Job) -> bool {
    job.spec.priority < 0
}

impl Queue {
    /// A job waits from now on.
    pub(super) fn enter(&mut self, job: &Job) {
        let class = is_opportunistic(job);
        self.jobs.insert((class, job.submitted, job.id));
        let line = self.alike.entry((class, job.demand)).or_default();
        line.insert((job.submitted, job.id));
    }

    /// A job does not wait any more. Its priority may be another than when it came.
    pub(super) fn leave(&mut self, job: &Job) {
        for class in [false, true] {
            if !self.jobs.remove(&(class, job.submitted, job.id)) {
                continue;
            }
            let Some(line) = self.alike.get_mut(&(class, job.demand)) else { continue };
            line.remove(&(job.submitted, job.id));
            if line.is_empty() {
                self.alike.remove(&(class, job.demand));
            }
        }
    }

    /// Put those who ask for the same together again.
    pub(super) fn sort(&mut self, view: &View) {
        self.alike.clear();
        for (class, came, id) in &self.jobs {
            let line = self.alike.entry((*class, view.job(*id).demand)).or_default();
            line.insert((*came, *id));
        }
    }

    /// One of each who ask for the same.
    pub(super) fn sorts(&self, class: bool) -> impl Iterator<Item = JobId> {
        let lines = self.lines(class).filter_map(|(_, line)| line.first());
        lines.map(|(_, id)| *id)
    }

    fn lines(&self, class: bool) -> impl Iterator<Item = (DemandId, &BTreeSet<(Time, JobId)>)> {
        let lines = self.alike.iter().filter(move |((of, _), _)| *of == class);
        lines.map(|((_, demand), line)| (*demand, line))
    }

    /// Go through a class as it came. Those named are looked at in any case, and everybody is if
    /// everybody wants to know.
    pub(super) fn walk<'a>(
        &'a self,
        class: bool,
        named: impl Iterator<Item = &'a JobId>,
        view: &View,
    ) -> Walk<'a> {
        let named: BTreeSet<JobId> = named.copied().collect();
        let mut next = BTreeSet::new();
        for (demand, line) in self.lines(class) {
            next.extend(line.first().map(|(came, id)| (*came, *id, demand)));
        }
        for id in &named {
            let job = view.job(*id);
            if self.jobs.contains(&(class, job.submitted, job.id)) {
                next.insert((job.submitted, job.id, job.demand));
            }
        }
        let (vain, all) = (BTreeMap::new(), view.wants_all_verdicts());
        Walk { queue: self, class, named, next, vain, at: None, all }
    }
}

/// On the way through a class.
pub(super) struct Walk<'a> {
    queue: &'a Queue,
    class: bool,
    named: BTreeSet<JobId>,
    /// Who comes next of those who ask for the same, and those who are named.
    next: BTreeSet<(Time, JobId, DemandId)>,
    /// What nobody can get, and how often things had changed by then.
    vain: BTreeMap<DemandId, u64>,
    at: Option<(Time, JobId)>,
    all: bool,
}

impl Walk<'_> {
    /// Who is next, where things have changed so often.
    pub(super) fn next(&mut self, turn: u64) -> Option<JobId> {
        let again: Vec<DemandId> =
            self.vain.iter().filter(|(_, at)| **at != turn).map(|(demand, _)| *demand).collect();
        for demand in again {
            self.vain.remove(&demand);
            self.line_up(demand);
        }
        let (came, id, demand) = self.next.pop_first()?;
        self.at = Some((came, id));
        if !self.vain.contains_key(&demand) {
            self.line_up(demand);
        }
        Some(id)
    }

    /// Whoever asks for the same as this one gets nothing until something changes.
    pub(super) fn in_vain(&mut self, job: &Job, turn: u64) {
        if self.all || self.vain.insert(job.demand, turn).is_some() {
            return;
        }
        if let Some((came, id)) = self.behind(job.demand).filter(|(_, id)| !self.named.contains(id))
        {
            self.next.remove(&(came, id, job.demand));
        }
    }

    fn behind(&self, demand: DemandId) -> Option<(Time, JobId)> {
        let line = self.queue.alike.get(&(self.class, demand))?;
        let from = self.at.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        line.range((from, std::ops::Bound::Unbounded)).next().copied()
    }

    fn line_up(&mut self, demand: DemandId) {
        if let Some((came, id)) = self.behind(demand) {
            self.next.insert((came, id, demand));
        }
    }
}
