//! What a plan gives to tenants: within their limits, beyond their quotas, and who may take back
//! what was lent.

use super::Preempt;
use super::queue::Rank;
use super::walk::Walk;
use crate::state::Job;
use crate::traits::{Key, Line, Want};
use heeler_model::{KindSet, Reason, TenantId};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Where a running job stands among those who may have to give back what was lent: the less
/// important, and among equals the later it started, the earlier it gives way.
pub(super) fn line(job: &Job) -> Line {
    let (major, minor) = (-i64::from(job.spec.priority), job.since.micros() as i64);
    Line { key: Key { major, minor }, slope: 0 }
}

impl Walk<'_> {
    /// Running jobs that have GPUs their tenants were lent, those first who give way first. Of a
    /// tenant's jobs the least important, and among equals the last that started, have the GPUs
    /// beyond its quota. What starts now counts among them before all others, so that it makes no
    /// other a job that may be stopped at once.
    pub(super) fn lent(&self) -> Vec<Rank> {
        let (state, tenants) = (self.view.state(), self.view.tenants());
        let mut left: BTreeMap<TenantId, i64> = BTreeMap::new();
        for run in self.plan.run.iter().filter(|run| !state.job(run.job).is_placed()) {
            let tenant = tenants.behind(state.job(run.job).spec.tenant);
            let excess = left.entry(tenant).or_insert_with(|| self.excess(tenant));
            *excess -= run.assignment.milli() as i64;
        }
        let over = |tenant: TenantId| self.excess(tenant) > 0;
        let running = self.pipe.queue.running_last_first(self.now(), |group| over(group.tenant));
        let mut ranks: Vec<Rank> = running.collect();
        ranks.sort_by_key(|rank| Reverse((line(state.job(rank.job)).key, rank.job)));
        ranks.retain(|rank| {
            let job = state.job(rank.job);
            let tenant = tenants.behind(job.spec.tenant);
            let left = left.entry(tenant).or_insert_with(|| self.excess(tenant));
            let is_lent = *left > 0 && !self.planned.contains_key(&job.id);
            *left -= if is_lent { job.milli() as i64 } else { 0 };
            is_lent
        });
        ranks
    }

    /// Thousandths of GPUs a tenant would use beyond its quota if this plan were carried out.
    fn excess(&self, tenant: TenantId) -> i64 {
        let tenants = self.view.tenants();
        let tenant = tenants.behind(tenant);
        let used = tenants.usage(tenant).milli as i64 + self.extra(tenant);
        used - i64::from(tenants.spec(tenant).quota.unwrap_or(0)) * 1000
    }

    pub(super) fn is_within_quota(&self, job: &Job, want: &Want) -> bool {
        let need = want.milli();
        let tenant = job.spec.tenant;
        self.view.tenants().guarantor(tenant).is_some() && self.excess(tenant) + need <= 0
    }

    /// Whether at least so many thousandths of all GPUs are in use, in this plan.
    pub(super) fn is_used_from(&self, milli: u32) -> bool {
        let all = u64::from(self.draft.up_of(KindSet::ANY));
        let used = all.saturating_sub(u64::from(self.draft.free_of(KindSet::ANY)));
        let full = self.busy || used * 1000 >= all * u64::from(milli);
        if !full {
            self.was_roomy.set(true);
        }
        full
    }

    /// A tenant's limit holds under every recipe.
    pub(super) fn within_limits(&self, job: &Job, milli: i64) -> Result<(), Reason> {
        let tenants = self.view.tenants();
        let used = |tenant| tenants.usage(tenant).milli as i64 + self.extra(tenant);
        tenants.within_limits(job.spec.tenant, milli, used)
    }

    /// Book what this plan gives to a job's tenants, where somebody asks.
    pub(super) fn count(&mut self, job: &Job, milli: i64) {
        if self.pipe.tells_tenants_apart(self.view) {
            for tenant in self.view.tenants().lineage(job.spec.tenant) {
                *self.extra_milli.entry(tenant).or_default() += milli;
            }
            *self.own_milli.entry(job.spec.tenant).or_default() += milli;
        }
    }

    /// Forget what this plan gives to tenants.
    pub(super) fn forget_counts(&mut self) {
        self.extra_milli.clear();
        self.own_milli.clear();
    }

    /// What of this counts against what the tenant is owed.
    fn counted(&self, tenant: TenantId) -> i64 {
        match self.view.tenants().spec(tenant).quota {
            Some(_) => self.extra(tenant),
            None => self.own_milli.get(&tenant).copied().unwrap_or(0),
        }
    }

    /// What the plan has given to a tenant so far, and to those below it.
    pub(super) fn extra(&self, tenant: TenantId) -> i64 {
        self.extra_milli.get(&tenant).copied().unwrap_or(0)
    }

    /// Whether the queue is walked anew as soon as somebody gave way.
    pub(super) fn starts_over(&self) -> bool {
        let by_order = matches!(self.pipe.parts.preempt, Preempt::ByOrder { .. });
        by_order && self.pipe.parts.order.by_tenant()
    }

    /// Room that was made for one may do for another, who was looked at before and may make none of
    /// its own.
    pub(super) fn walk_on(&mut self) {
        let reclaims = matches!(self.pipe.parts.preempt, Preempt::Reclaim { .. });
        let mut before = 0;
        while (reclaims || self.starts_over()) && self.displaced > before {
            before = self.displaced;
            self.plan.wait.clear();
            self.walk();
        }
    }

    /// Where a job's tenant ranks among others, with what this plan gives it.
    pub(super) fn tenant_rank(&self, job: &Job) -> i64 {
        let order = &self.pipe.parts.order;
        if !order.by_tenant() {
            return 0;
        }
        let tenant = self.view.tenants().behind(job.spec.tenant);
        order.tenant_rank(job, self.counted(tenant), self.view)
    }
}
