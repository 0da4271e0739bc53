//! Handing in a job: what is remembered of it, and what the engine hears.

use crate::phases::Phased;
use crate::record::Record;
use crate::simulation::Simulation;
use crate::training::Trainee;
use crate::workload::TraceJob;
use heeler_model::{Cluster, Event, JobSpec, Node, Span, Time};

/// How fast a job is with an equal part of every kind of GPU, as a part of its nominal pace.
pub(crate) fn evenly(spec: &JobSpec, cluster: &Cluster) -> Option<f32> {
    let differ = !spec.rates().is_empty() || cluster.kinds.iter().any(|kind| kind.speed.0 != 1000);
    if !differ || cluster.gpus() == 0 {
        return None;
    }
    let nominal = spec.nominal_pace * 1e6;
    let pace = |node: &Node| {
        let speed = f64::from(cluster.kinds[node.kind.index()].speed.0) / 1000.0;
        let rate = spec.rates().get(node.kind.index()).copied().unwrap_or(nominal * speed);
        if spec.demand.kinds.contains(node.kind) { rate * f64::from(node.gpus) } else { 0.0 }
    };
    let all: f64 = cluster.nodes.iter().map(pace).sum();
    Some((all / (nominal * f64::from(cluster.gpus()))) as f32).filter(|part| *part > 0.0)
}

impl Simulation {
    /// The next job, if it joins by a time.
    pub(crate) fn next_until(&mut self, at: Time) -> Option<TraceJob> {
        let job = self.next.take_if(|job| self.world.round_over(job.submit) <= at)?;
        self.next = self.arrivals.next_job();
        Some(job)
    }

    /// Hand in those who came before the end of a round, each when it came.
    pub(crate) fn hear_of_those_who_came(&mut self, at: Time) {
        while let Some(job) = self.next_until(at) {
            self.now = self.now.max(job.submit);
            self.watch.until(self.now);
            self.ledger.until(self.now);
            self.submit(job);
        }
    }

    /// A job is handed in.
    pub(crate) fn submit(&mut self, job: TraceJob) {
        let mut spec = job.spec;
        let profiles = self.world.profiles.as_ref();
        let trains = profiles.is_some_and(|profiles| profiles.describe(&mut spec));
        let work = spec.truth_for_the_oracle().map_or(0.0, |truth| truth.work);
        let alone = match &job.phases {
            Some(phases) => Span::from_secs_f64(phases.alone_s),
            None => Span::from_micros((work / spec.nominal_pace).round() as u64),
        };
        let gpus = spec.demand.asked();
        let deadline = spec.deadlines().last().map(|deadline| deadline.at);
        let (tenant, model) = (spec.tenant, spec.model);
        let mut record = Record {
            submitted: job.submit,
            work,
            alone,
            evenly: evenly(&spec, &self.cluster),
            gpus,
            deadline,
            tenant,
            model,
            held_since: self.now,
            ..Record::default()
        };
        self.watch.joins(&mut record);
        let id = self.records.push(record);
        if trains {
            self.trainees.insert(id, Trainee::new(self.cluster.kinds.len()));
        }
        if let Some(name) = job.name {
            self.names.push(id, &name);
        }
        if let (Some(trial), Some(study)) = (job.trial, spec.study()) {
            self.studies.joins(id, study, *trial);
        }
        let drawn = self
            .world
            .losses
            .filter(|_| !trains && spec.replica().is_none() && spec.study().is_none());
        let loss = job.loss.or_else(|| drawn.map(|losses| losses.draw(self.seed, id)));
        if let Some(curve) = loss {
            self.losing.insert(id, curve);
        }
        if let Some(phases) = job.phases {
            self.phasing.insert(id, Phased::new(phases, work));
        }
        if let Some(cost) = job.start_cost {
            self.start_costs.insert(id, cost);
        }
        self.engine.observe(self.now, Event::Submitted { job: id, spec: Box::new(spec) });
    }
}
