//! Who shares a GPU with whom in the modelled world. Jobs that have whole GPUs are not here, so
//! that a run without sharing pays nothing.

use crate::queue::Happening;
use crate::seated::Seated;
use crate::simulation::Simulation;
use crate::world::Sharer;
use heeler_model::{Assignment, Cluster, Event, Generation, JobId, Milli, NodeId, Span, Stages};
use heeler_solve::interleave::turns_beside;
use smallvec::SmallVec;

/// Jobs on parts of GPUs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbours {
    jobs: Seated,
    /// Who is on each GPU, by node and slot; nothing before the first job.
    gpus: Vec<SmallVec<[(JobId, Sharer); 4]>>,
    /// GPUs of the cluster's largest node.
    most: usize,
    nodes: usize,
    /// GPUs that several jobs are on.
    shared: u64,
    /// Thousandths of GPUs that all of them hold.
    held: u64,
    /// Those beside whom somebody came or went, whose pace was not looked at since.
    stirred: Vec<JobId>,
}

/// Some of them.
pub(crate) type Few = SmallVec<[JobId; 4]>;

/// Those on a GPU beside a job.
type Beside = SmallVec<[(JobId, Sharer); 4]>;

/// The GPUs of an assignment.
fn gpus(on: &Assignment) -> impl Iterator<Item = (NodeId, u32)> {
    let slices = on.placement.slices().iter();
    slices.flat_map(|slice| slice.slots.iter().map(|slot| (slice.node, slot)))
}

/// Thousandths of a GPU that all who are on it asked for, whatever a recipe gives them of it.
fn asked(here: &[(JobId, Sharer)]) -> u32 {
    here.iter().map(|(_, sharer)| sharer.asked.0).sum()
}

/// What is held of a GPU of which so much was asked for: no more than there is.
fn held(asked: u32) -> u64 {
    u64::from(asked.min(Milli::WHOLE.0))
}

impl Neighbours {
    /// Nobody is anywhere yet.
    pub(crate) fn new(cluster: &Cluster) -> Neighbours {
        let most = cluster.nodes.iter().map(|node| node.gpus).max().unwrap_or(0) as usize;
        Neighbours { most, nodes: cluster.nodes.len(), ..Neighbours::default() }
    }

    /// GPUs that several jobs are on.
    pub(crate) fn shared(&self) -> u64 {
        self.shared
    }

    /// Thousandths of GPUs that all of them hold: of a GPU what they asked for, and it once.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Thousandths of GPUs that a job holds of those it is on; where all who are there asked for
    /// more than there is, its part of that.
    fn held_by(&self, job: JobId, on: &Assignment) -> f64 {
        let (mut sum, mut last) = (0.0, (0, 0, 0.0));
        for gpu in gpus(on) {
            let here = &self.gpus[self.place(gpu)][..];
            let own = here.iter().find(|(other, _)| *other == job);
            let (own, all) = (own.map_or(0, |(_, sharer)| sharer.asked.0), asked(here));
            // It is most often as on the GPU before.
            if (own, all) != (last.0, last.1) {
                last = (own, all, f64::from(own) * (held(all) as f64 / f64::from(all.max(1))));
            }
            sum += last.2;
        }
        sum
    }

    fn place(&self, (node, slot): (NodeId, u32)) -> usize {
        node.index() * self.most + slot as usize
    }

    fn enter(&mut self, job: JobId, sharer: Sharer, on: Assignment) {
        if self.gpus.is_empty() {
            self.gpus.resize_with(self.nodes * self.most, SmallVec::new);
        }
        for gpu in gpus(&on) {
            let place = self.place(gpu);
            let before = held(asked(&self.gpus[place]));
            self.gpus[place].push((job, sharer));
            self.shared += u64::from(self.gpus[place].len() == 2);
            self.held += held(asked(&self.gpus[place])) - before;
        }
        self.jobs.insert(job, on);
    }

    fn leave(&mut self, job: JobId) -> Option<Assignment> {
        let on = self.jobs.remove(job)?;
        for gpu in gpus(&on) {
            let place = self.place(gpu);
            let before = held(asked(&self.gpus[place]));
            self.gpus[place].retain(|(other, _)| *other != job);
            self.shared -= u64::from(self.gpus[place].len() == 1);
            self.held -= before - held(asked(&self.gpus[place]));
        }
        Some(on)
    }

    fn beside(&self, job: JobId, gpu: (NodeId, u32)) -> impl Iterator<Item = &(JobId, Sharer)> {
        let here = self.gpus.get(self.place(gpu)).into_iter().flatten();
        here.filter(move |(other, _)| *other != job)
    }

    /// Others on some GPUs than a job will run at another pace.
    fn stir(&mut self, job: JobId, on: &Assignment) {
        let mut before: &[(JobId, Sharer)] = &[];
        for gpu in gpus(on) {
            let here = &self.gpus[self.place(gpu)][..];
            // Most have the same neighbours on all their GPUs.
            if !before.iter().map(|(other, _)| other).eq(here.iter().map(|(other, _)| other)) {
                let others = here.iter().map(|(other, _)| *other).filter(|other| *other != job);
                self.stirred.extend(others);
            }
            before = here;
        }
    }

    /// Nobody's pace has to be looked at.
    pub(crate) fn calm(&mut self) {
        self.stirred.clear();
    }

    /// All who share GPUs with a job, in order.
    fn all_beside(&self, job: JobId, on: &Assignment) -> Few {
        let each = gpus(on).flat_map(|gpu| self.beside(job, gpu));
        let mut all: Few = each.map(|(other, _)| *other).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Simulation {
    /// A job comes onto parts of GPUs: the others there will run at another pace.
    pub(crate) fn moves_in(&mut self, job: JobId, on: &Assignment) {
        if on.share.is_whole() || on.gpus() == 0 {
            return;
        }
        let sharer = self.sharer(job, on);
        self.neighbours.enter(job, sharer, on.clone());
        self.watch.shares(&self.neighbours);
        self.neighbours.stir(job, on);
    }

    /// A job leaves its GPUs: those who shared them will run at another pace.
    pub(crate) fn moves_out(&mut self, job: JobId) {
        let Some(on) = self.neighbours.leave(job) else { return };
        self.watch.shares(&self.neighbours);
        self.neighbours.stir(job, &on);
    }

    /// A job that has just got GPUs holds them, or its part of those where others are, too.
    pub(crate) fn begins_to_hold(&mut self, job: JobId, on: &Assignment) {
        let shares = !on.share.is_whole() && on.gpus() > 0;
        let milli = if shares { self.neighbours.held_by(job, on) } else { on.milli() as f64 };
        let record = &mut self.records[job];
        record.holds(milli, self.now);
        self.watch.entitled.has(record.tenant, milli);
        self.watch.takes(job, on, milli, self.now);
        if !shares {
            self.watch.alone(on.milli() as i64);
        }
    }

    /// A job has nothing any more.
    pub(crate) fn ends_to_hold(&mut self, job: JobId) {
        let record = &mut self.records[job];
        let milli = record.milli;
        record.holds(0.0, self.now);
        self.watch.entitled.has(record.tenant, -milli);
        self.watch.frees(job, self.now);
        if !self.neighbours.jobs.has(job) {
            self.watch.alone(-(milli as i64));
        }
    }

    /// Look again what a job holds beside those who are there now.
    pub(crate) fn holds_its_part(&mut self, job: JobId) {
        let Some(on) = self.neighbours.jobs.get(job) else { return };
        let (milli, record) = (self.neighbours.held_by(job, on), &mut self.records[job]);
        // Who is about to leave holds nothing any more.
        if record.milli > 0.0 && record.milli != milli {
            self.watch.entitled.has(record.tenant, milli - record.milli);
            record.holds(milli, self.now);
            self.watch.holds(job, milli, self.now);
        }
    }

    /// Whoever was stirred runs at another pace from now on. Several come and go at one moment, and
    /// what is between does not last; so this is done once before anybody decides.
    fn change_paces(&mut self) -> SmallVec<[Event; 4]> {
        let mut stirred = std::mem::take(&mut self.neighbours.stirred);
        stirred.sort_unstable();
        stirred.dedup();
        stirred.iter().for_each(|job| self.holds_its_part(*job));
        let events = stirred.drain(..).filter_map(|job| self.change_pace(job)).collect();
        self.neighbours.stirred = stirred;
        events
    }

    /// Tell the engine whose pace has changed.
    pub(crate) fn tell_of_paces(&mut self) {
        for event in self.change_paces() {
            self.engine.observe(self.now, event);
        }
    }

    /// Tell it so once it has been carried out what it decided.
    pub(crate) fn answer_with_paces(&mut self) {
        let events = self.change_paces();
        self.answers.extend(events);
    }

    /// The pace of a job on what it has, beside whom it has there: that on its slowest GPU.
    pub(crate) fn pace_of(&self, job: JobId, on: &Assignment) -> f64 {
        let spec = &self.engine.state().job(job).spec;
        let first = on.placement.slices().first();
        let kind = first.map(|slice| self.cluster.nodes[slice.node.index()].kind);
        let speed = kind.map_or(1.0, |kind| self.phase_speed(job, kind));
        let pace = self.world.pace.pace(spec, on, &self.cluster) * speed;
        self.world.whole_pace(pace * self.pace_beside(job, on))
    }

    /// The part of its pace alone that a job has beside others on the same GPUs.
    pub(crate) fn pace_beside(&self, job: JobId, on: &Assignment) -> f64 {
        if on.share.is_whole() || on.gpus() == 0 {
            return 1.0;
        }
        let own = self.sharer(job, on);
        let (mut slowest, mut before) = (f64::INFINITY, None);
        let mut others = Beside::new();
        for gpu in gpus(on) {
            let kind = self.cluster.nodes[gpu.0.index()].kind;
            // Most jobs have the same neighbours on all their GPUs.
            if before == Some(kind) && self.neighbours.beside(job, gpu).eq(&others) {
                continue;
            }
            others.clear();
            others.extend(self.neighbours.beside(job, gpu).copied());
            let beside = |others: &[(JobId, Sharer)]| {
                self.world.sharing.pace(own, kind, others.iter().map(|(_, other)| *other))
            };
            let part = match self.world.sharing.guarantee {
                true => self.giving_way(job, &others, beside),
                false => self.interleaved(job, &others).unwrap_or_else(|| beside(&others)),
            };
            slowest = slowest.min(part);
            before = Some(kind);
        }
        slowest
    }

    fn sharer(&self, job: JobId, on: &Assignment) -> Sharer {
        let spec = &self.engine.state().job(job).spec;
        let (share, asked, gpus) = (on.share, spec.demand.share, on.gpus());
        Sharer { model: spec.model, share, asked, gpus }
    }

    /// The part of its pace that a job has whose stages interleave with those of all others.
    fn interleaved(&self, job: JobId, others: &[(JobId, Sharer)]) -> Option<f64> {
        let state = self.engine.state();
        if others.is_empty() || self.world.sharing.interleave.is_none() {
            return None;
        }
        let stages = |id: JobId| state.job(id).spec.stages();
        let beside: Option<SmallVec<[&Stages; 4]>> =
            others.iter().map(|(other, _)| stages(*other)).collect();
        self.world.sharing.interleaved(stages(job)?, &beside?)
    }

    /// The part of its pace that a job has where those of a priority below zero give way to others.
    fn giving_way(
        &self,
        job: JobId,
        others: &[(JobId, Sharer)],
        beside: impl Fn(&[(JobId, Sharer)]) -> f64,
    ) -> f64 {
        let spec = |id: JobId| &self.engine.state().job(id).spec;
        if spec(job).priority >= 0 {
            return 1.0;
        }
        let to = |other: &(JobId, Sharer)| {
            if spec(other.0).priority < 0 {
                return 0.5;
            }
            let stages = spec(job).stages().zip(spec(other.0).stages());
            let known = stages.and_then(|(own, theirs)| pace_giving_way(own, theirs));
            known.unwrap_or_else(|| beside(&[*other]))
        };
        others.iter().map(to).fold(1.0, f64::min)
    }

    /// What starting costs a job and those it shares GPUs with, who start one after another.
    pub(crate) fn group_start_cost(&self, job: JobId) -> Span {
        let cost = |job: JobId| {
            let own = self.start_costs.get(&job).copied();
            own.unwrap_or_else(|| self.world.costs.start.of(self.records[job].gpus))
        };
        let alone = self.world.quirks.restart_without_neighbours;
        let on = self.neighbours.jobs.get(job).filter(|_| !alone);
        let beside = on.map(|on| self.neighbours.all_beside(job, on));
        beside.into_iter().flatten().map(cost).fold(cost(job), |all, one| all + one)
    }

    /// Whom a job shares GPUs with.
    pub(crate) fn beside(&self, job: JobId, on: &Assignment) -> Few {
        match on.share.is_whole() {
            true => Few::new(),
            false => self.neighbours.all_beside(job, on),
        }
    }

    /// Look at a running job's pace again.
    fn change_pace(&mut self, job: JobId) -> Option<Event> {
        let on = self.neighbours.jobs.get(job)?;
        let now = self.now;
        // A job that is being saved does nothing, and one that has just finished is all but gone.
        let gone = self.records[job].finish() <= self.world.together(now);
        if self.records[job].pace == 0.0 || gone {
            return None;
        }
        let pace = self.pace_of(job, on);
        let record = &mut self.records[job];
        if pace == record.pace {
            return None;
        }
        record.useful_milli += record.useful_since_start(now);
        record.done = record.done_at(now);
        record.from = record.from.max(now);
        record.pace = pace;
        record.stamp += 1;
        let (done, from, generation) = (record.done, record.from, Generation(record.generation));
        let finish = self.world.noticed(record.finish());
        self.queue.push(finish, Happening::Finish(job, record.stamp));
        self.expect_change(job);
        Some(Event::Progress { job, generation, done, from, pace })
    }
}

/// The part of its pace alone that a job has which gives way to another with a guarantee, by the
/// stages of both.
fn pace_giving_way(job: &Stages, to: &Stages) -> Option<f64> {
    let turns = turns_beside(&job.stage_s, &to.stage_s)?;
    let iteration_s = job.iteration_s.max(turns * to.iteration_s);
    (iteration_s > 0.0 && iteration_s.is_finite()).then(|| job.iteration_s / iteration_s)
}
