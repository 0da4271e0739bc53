//! What the engine is told of a submission.

use crate::live::Live;
use heeler_api::{Class, Fed, Pause, Submission};
use heeler_model::{
    Appetite, Deadline, Demand, JobSpec, KindSet, Milli, ModelId, Portion, Reach, Regimes, Sizes,
    Span, Step, TenantId, UserId,
};

/// Users that are told apart.
const USERS_MAX: usize = 1_000_000;

impl Live {
    /// A job as the engine knows it.
    pub(crate) fn spec_of(
        &mut self,
        submission: &Submission,
        tenant: TenantId,
        user: &str,
    ) -> JobSpec {
        let model = self.model_of(submission.model.as_deref());
        let user = self.user_of(user);
        self.spec_with(submission, (tenant, user), model)
    }

    /// A checked submission as the engine would know it if that user handed it in.
    pub fn imagined(&self, submission: &Submission, user: &str) -> JobSpec {
        let tenant = submission.tenant.as_deref().and_then(|name| self.people.find(name));
        let model = submission.model.as_ref().and_then(|name| self.model_numbers.get(name));
        let model = ModelId(model.copied().unwrap_or(0));
        let user = UserId(self.user_numbers.get(user).copied().unwrap_or_default());
        self.spec_with(submission, (tenant.unwrap_or_default(), user), model)
    }

    fn spec_with(
        &self,
        submission: &Submission,
        (tenant, user): (TenantId, UserId),
        model: ModelId,
    ) -> JobSpec {
        let mut spec = JobSpec::new(self.demand_of(submission));
        let best_effort = submission.class == Class::BestEffort;
        spec.tenant = if best_effort { self.people.best_effort(tenant) } else { tenant };
        spec.user = user;
        spec.priority = priority(submission.class, submission.priority);
        spec.model = model;
        let declared = submission.expected_s.or(submission.time_limit_s);
        spec.declared = declared.map(Span::from_secs);
        if !submission.name.is_empty() {
            spec.extras_mut().name = Some(submission.name.as_str().into());
        }
        if let Some(deadline) = submission.deadline {
            let at = self.time(deadline);
            spec.extras_mut().deadlines = vec![Deadline { at, value: 1 }];
        }
        if let Some(regimes) = &submission.regimes {
            let (epochs, epoch_s) = (regimes.epochs, regimes.epoch_s.clone());
            spec.extras_mut().regimes = Some(Regimes { epochs, epoch_s });
        }
        if let Some((first, others)) = submission.appetite.split_first() {
            let portion = |fed: &Fed| {
                let Fed { cpu_milli, memory_mb, .. } = *fed;
                Portion { cpu_milli, memory_mb }
            };
            let measured = others.iter().map(|fed| (portion(fed), fed.pace)).collect();
            let appetite = Appetite { enough: portion(first), best: first.pace, measured };
            spec.extras_mut().appetite = Some(appetite);
        }
        // What is saved elsewhere goes on from there.
        let saved = self.inventory.emulated || self.inventory.checkpoints;
        if submission.pause == Pause::Requeue || (submission.pause == Pause::Auto && !saved) {
            spec.extras_mut().forgets = true;
        }
        spec
    }

    fn demand_of(&self, submission: &Submission) -> Demand {
        let gpus = &submission.gpus;
        let (min, max) = (gpus.min.unwrap_or(gpus.count), gpus.max.unwrap_or(gpus.count));
        // So many GPUs of each node, where it is said how many nodes.
        let nodes = submission.nodes.unwrap_or(0);
        let step = match nodes {
            0 | 1 => Step::Any,
            nodes => Step::MultiplesOf((gpus.count / nodes).max(1)),
        };
        let known = &self.inventory.cluster.kinds;
        let mut kinds = KindSet::NONE;
        for (index, kind) in known.iter().enumerate().take(64) {
            if gpus.kinds.contains(&kind.name) {
                kinds = kinds.with(heeler_model::KindId(index as u8));
            }
        }
        Demand {
            sizes: Sizes { asked: gpus.count, min, max, step },
            share: Milli(gpus.share.unwrap_or(1000)),
            kinds: if gpus.kinds.is_empty() { KindSet::ANY } else { kinds },
            gpu_memory_mb: gpus.memory_mb,
            cpu_milli: submission.cpu_milli,
            memory_mb: submission.memory_mb,
            reach: if nodes == 1 { Reach::Node } else { Reach::Cluster },
        }
    }

    /// A number for a user; those beyond what is numbered are nobody that is known.
    fn user_of(&mut self, name: &str) -> UserId {
        let known = self.user_numbers.get(name).copied();
        UserId(known.unwrap_or_else(|| {
            if name.is_empty() || self.user_numbers.len() >= USERS_MAX {
                return 0;
            }
            let number = self.user_numbers.len() as u32 + 1;
            self.user_numbers.insert(name.into(), number);
            number
        }))
    }

    /// A number for a model; models beyond what can be numbered are one.
    fn model_of(&mut self, name: Option<&str>) -> ModelId {
        let Some(name) = name else { return ModelId(0) };
        let known = self.model_numbers.get(name).copied();
        ModelId(known.unwrap_or_else(|| {
            if self.model_numbers.len() >= usize::from(u16::MAX) - 1 {
                return 0;
            }
            let number = self.model_numbers.len() as u16 + 1;
            self.model_numbers.insert(name.into(), number);
            number
        }))
    }
}

/// The priority that the engine goes by: best effort is below zero, guaranteed is not, whatever
/// their owners say, so that recipes which look at priorities tell the classes apart.
pub(crate) fn priority(class: Class, asked: i32) -> i32 {
    match class {
        Class::Guaranteed => asked.max(0),
        Class::BestEffort => asked.min(0) - 1,
    }
}
