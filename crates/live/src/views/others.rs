//! Nodes, tenants, tokens, accounts, evictions and the audit trail as they are shown.

use super::jobs::PER_GPU_SECOND;
use crate::accounts::{Evicted, Row, held};
use crate::job::Attempt;
use crate::live::Live;
use crate::tenants::BEST_EFFORT;
use heeler_api::{
    AuditView, Eviction, NodeView, Role, TenantView, TokenView, Usage, UsageRow, Who,
};
use heeler_backend::Way;
use heeler_model::{JobId, Milli, NodeId, Reason, TenantId};
use std::collections::BTreeMap;

impl Live {
    /// The nodes.
    pub fn nodes(&self) -> Vec<NodeView> {
        let nodes = self.inventory.cluster.nodes.len() as u32;
        (0..nodes).map(|node| self.node_view(NodeId(node))).collect()
    }

    fn node_view(&self, id: NodeId) -> NodeView {
        let cluster = &self.inventory.cluster;
        let node = &cluster.nodes[id.index()];
        let state = &self.nodes[id.index()];
        let kind = &cluster.kinds[node.kind.index()];
        let (mut used, mut jobs) = (0, Vec::new());
        for number in &self.jobs.placed {
            let Some(attempt) = self.jobs.live(*number).and_then(|job| job.attempt.as_ref()) else {
                continue;
            };
            let slices = attempt.assignment.placement.slices();
            if let Some(slice) = slices.iter().find(|slice| slice.node == id) {
                used += slice.slots.count() * self.share_of(*number, attempt).0.min(Milli::WHOLE.0);
                jobs.push(*number);
            }
        }
        let word = match (state.down, state.drained, jobs.is_empty()) {
            (true, _, _) => "down",
            (_, true, true) => "drained",
            (_, true, false) => "draining",
            _ => "up",
        };
        NodeView {
            name: node.name.clone(),
            state: word.into(),
            kind: kind.name.clone(),
            gpus: node.gpus,
            free_milli: (node.gpus * Milli::WHOLE.0).saturating_sub(used),
            cpus: node.cpu_milli as f64 / 1000.0,
            memory_mb: node.memory_mb,
            gpu_memory_mb: kind.memory_mb,
            jobs,
            emulated: self.inventory.emulated,
            readings: Vec::new(),
            note: state.note.clone(),
        }
    }

    /// How much a job has of each of its GPUs: a recipe that took over may have given it more than
    /// it began with.
    fn share_of(&self, job: u32, attempt: &Attempt) -> Milli {
        let known = self.engine.state().jobs().get(JobId(job));
        let on = known.and_then(|job| job.assignment.as_ref());
        let on = on.filter(|on| on.placement == attempt.assignment.placement);
        on.map_or(attempt.assignment.share, |on| on.share)
    }

    /// GPUs in use now, thousandths: of each what the jobs on it asked for, whatever a recipe gives
    /// them of it, and no more than there is.
    pub fn used_milli(&self) -> u64 {
        let (mut whole, mut asked) = (0, BTreeMap::<(NodeId, u32), u64>::new());
        for job in self.jobs.placed.iter().filter_map(|job| self.jobs.live(*job)) {
            let Some(attempt) = &job.attempt else { continue };
            if self.share_of(job.id, attempt).is_whole() {
                whole += u64::from(attempt.assignment.gpus()) * u64::from(Milli::WHOLE.0);
                continue;
            }
            let share = job.submission.gpus.share.unwrap_or(Milli::WHOLE.0);
            for slice in attempt.assignment.placement.slices() {
                for slot in slice.slots.iter() {
                    *asked.entry((slice.node, slot)).or_default() += u64::from(share);
                }
            }
        }
        let there = u64::from(Milli::WHOLE.0);
        whole + asked.values().map(|asked| (*asked).min(there)).sum::<u64>()
    }

    /// The tenants that somebody may see.
    pub fn tenants(&self, who: &Who) -> Vec<TenantView> {
        let mut own: BTreeMap<TenantId, u64> = BTreeMap::new();
        for job in self.jobs.placed.iter().filter_map(|job| self.jobs.live(*job)) {
            let milli = |attempt: &Attempt| {
                let share = self.share_of(job.id, attempt);
                u64::from(attempt.assignment.gpus()) * u64::from(share.0)
            };
            let used = job.attempt.as_ref().map_or(0, milli);
            for above in self.people.lineage(job.tenant) {
                *own.entry(above).or_default() += used;
            }
        }
        let mut jobs: BTreeMap<TenantId, u32> = BTreeMap::new();
        for job in self.jobs.all_live() {
            for above in self.people.lineage(job.tenant) {
                *jobs.entry(above).or_default() += 1;
            }
        }
        let all = (0..self.people.tenants.len() as u16).map(TenantId);
        let seen = all.filter(|id| self.people.may_see(who, *id));
        let named = seen.filter(|id| self.people.name(*id) != BEST_EFFORT);
        let view = |id: TenantId| {
            let tenant = &self.people.tenants[id.index()];
            TenantView {
                name: tenant.spec.name.clone(),
                parent: tenant.spec.parent.map(|parent| self.people.name(parent).into()),
                weight: tenant.spec.weight,
                quota: tenant.spec.quota,
                limit: tenant.spec.limit,
                used_milli: own.get(&id).copied().unwrap_or(0),
                jobs: jobs.get(&id).copied().unwrap_or(0),
                users: tenant.users.iter().cloned().collect(),
            }
        };
        named.map(view).collect()
    }

    /// The tokens, without their secrets.
    pub fn tokens(&self) -> Vec<TokenView> {
        let view = |(id, token): (&u32, &crate::tenants::Token)| TokenView {
            id: *id,
            user: token.user.clone(),
            role: token.role,
            tenants: token.tenants.clone(),
            expires: token.expires.map(|at| self.seconds(at) as u64),
        };
        self.people.tokens.iter().map(view).collect()
    }

    /// GPU time by tenant and user. What running jobs hold counts as of use until they end.
    pub fn usage(&self, who: &Who) -> Usage {
        let mut rows: BTreeMap<(TenantId, String), Row> = self.accounts.rows.clone();
        for job in self.jobs.placed.iter().filter_map(|job| self.jobs.live(*job)) {
            let now = job.attempt.as_ref().map_or(0, |attempt| held(attempt, self.seen()));
            let row = rows.entry((job.tenant, job.user.clone())).or_default();
            row.useful = row.useful.saturating_add(now);
        }
        let seen = rows
            .into_iter()
            .filter(|((tenant, user), _)| self.people.may_see(who, *tenant) || *user == who.user);
        let view = |((tenant, user), row): ((TenantId, String), Row)| UsageRow {
            tenant: self.people.name(tenant).into(),
            user,
            jobs: row.jobs,
            useful_gpu_s: row.useful as f64 / PER_GPU_SECOND,
            lost_gpu_s: row.lost as f64 / PER_GPU_SECOND,
        };
        Usage {
            since: self.epoch as f64,
            rows: seen.map(view).collect(),
            capacity_gpu_s: f64::from(self.inventory.cluster.gpus()) * self.seen().secs_f64(),
        }
    }

    /// Who was stopped for whom, latest last.
    pub fn evictions(&self, who: &Who) -> Vec<Eviction> {
        let seen = self.accounts.evictions.iter().filter(|evicted| {
            // Those who are not remembered any more are nobody's but an operator's to see.
            self.jobs
                .get(evicted.job)
                .map_or(who.role >= Role::Operator && who.tenants.is_empty(), |job| {
                    self.may_see(who, job)
                })
        });
        seen.map(|evicted| self.eviction_view(evicted)).collect()
    }

    fn eviction_view(&self, evicted: &Evicted) -> Eviction {
        let by = match evicted.reason {
            Reason::Displaced { by } => Some(by.0),
            _ => None,
        };
        let starts_on = evicted.starts_on.as_ref().map(|placement| self.place_name(placement));
        let way = evicted.way.map(|way| match way {
            Way::Saved => "saved",
            Way::Checkpointed => "checkpointed",
            Way::Frozen => "frozen",
            Way::Requeued => "requeued",
        });
        let lost_gpu_s = evicted.lost as f64 / PER_GPU_SECOND;
        let job = self.job_name(evicted.job);
        let because = match (by, &starts_on) {
            (Some(by), Some(on)) => {
                format!("{job} stopped because {} then starts on {on}", self.job_name(by))
            }
            (Some(by), None) => format!("{job} stopped for {}", self.job_name(by)),
            _ => format!("{job} stopped: {}", self.reason_view(&evicted.reason).sentence),
        };
        let sentence = match evicted.cleared {
            Some(_) => format!("{because}; lost {} GPU-hours", hours(lost_gpu_s)),
            None => format!("{because}; it is being stopped"),
        };
        Eviction {
            at: self.seconds(evicted.at),
            job: evicted.job,
            by,
            starts_on,
            way: way.map(Into::into),
            stop_s: evicted.cleared.map(|cleared| cleared.since(evicted.at).secs_f64()),
            lost_gpu_s,
            sentence,
        }
    }

    /// Who changed what, latest last.
    pub fn audit(&self) -> Vec<AuditView> {
        let view = |entry: &crate::accounts::Entry| AuditView {
            at: self.seconds(entry.at),
            user: entry.user.clone(),
            what: entry.what.clone(),
            detail: entry.detail.clone(),
        };
        self.accounts.audit.iter().map(view).collect()
    }
}

/// GPU-hours with as many digits as say something.
fn hours(gpu_s: f64) -> String {
    let hours = gpu_s / 3600.0;
    if hours >= 0.1 || gpu_s == 0.0 { format!("{hours:.1}") } else { format!("{hours:.4}") }
}
