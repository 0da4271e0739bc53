//! What each tenant uses now, counted up through the tenants it is part of.

use heeler_model::{Cluster, Reason, Tenant, TenantId};

/// What a tenant uses now, with all tenants below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantUse {
    /// Thousandths of GPUs.
    pub milli: u64,
    /// Jobs that are not done.
    pub jobs: u32,
}

/// The tenants and what they use.
#[derive(Clone, Debug)]
pub struct Tenants {
    specs: Vec<Tenant>,
    uses: Vec<TenantUse>,
    /// Jobs of each that run or could, without those of tenants below it.
    own_jobs: Vec<u32>,
    /// Thousandths of GPUs that these have.
    own_milli: Vec<u64>,
    /// The weights of all who have such jobs, together.
    busy_weight: u64,
    limited: bool,
}

impl Tenants {
    pub(crate) fn new(cluster: &Cluster) -> Tenants {
        let uses = vec![TenantUse::default(); cluster.tenants.len()];
        let limited = cluster.tenants.iter().any(|tenant| tenant.limit.is_some());
        let own_jobs = vec![0; cluster.tenants.len()];
        let own_milli = vec![0; cluster.tenants.len()];
        Tenants {
            specs: cluster.tenants.clone(),
            uses,
            own_jobs,
            own_milli,
            busy_weight: 0,
            limited,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.specs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    /// The tenant as described, with its latest quota.
    pub fn spec(&self, tenant: TenantId) -> &Tenant {
        &self.specs[tenant.index()]
    }

    /// Whether any tenant has a limit.
    pub fn have_limits(&self) -> bool {
        self.limited
    }

    /// Whether any tenant has a quota.
    pub fn have_quotas(&self) -> bool {
        self.specs.iter().any(|tenant| tenant.quota.is_some())
    }

    /// What it uses now.
    pub fn usage(&self, tenant: TenantId) -> TenantUse {
        self.uses[tenant.index()]
    }

    /// A tenant's part by weight of so many thousandths of GPUs, if all who have work of their own
    /// share them; none, if nobody else has any.
    pub fn equal_share(&self, tenant: TenantId, milli: u64) -> Option<u64> {
        let weight = u64::from(self.specs[tenant.index()].weight);
        let own = self.own_jobs[tenant.index()] > 0;
        (own && weight < self.busy_weight).then(|| milli * weight / self.busy_weight)
    }

    /// The tenant and those it is part of, innermost first.
    pub fn lineage(&self, tenant: TenantId) -> impl Iterator<Item = TenantId> {
        std::iter::successors(Some(tenant), |t| self.specs[t.index()].parent)
    }

    /// Who vouches for a tenant's GPUs: the innermost of those it is part of that has a quota. None
    /// if nobody has: then all it uses is lent to it.
    pub fn guarantor(&self, tenant: TenantId) -> Option<TenantId> {
        self.lineage(tenant).find(|tenant| self.spec(*tenant).quota.is_some())
    }

    /// In whose name a tenant uses GPUs: that of who vouches for it, or its own.
    pub fn behind(&self, tenant: TenantId) -> TenantId {
        self.guarantor(tenant).unwrap_or(tenant)
    }

    /// Thousandths of GPUs that count against what a tenant is owed: with those of tenants below it
    /// if it has a quota, which is theirs too, and its own jobs' alone if not.
    pub fn counted(&self, tenant: TenantId) -> i64 {
        match self.spec(tenant).quota {
            Some(_) => self.usage(tenant).milli as i64,
            None => self.own_milli[tenant.index()] as i64,
        }
    }

    /// Whether a tenant, and those it is part of, may use so many thousandths of GPUs more than
    /// `used` says of each; if not, whose limit is in the way and what is left of it.
    pub fn within_limits(
        &self,
        tenant: TenantId,
        milli: i64,
        used: impl Fn(TenantId) -> i64,
    ) -> Result<(), Reason> {
        if !self.limited {
            return Ok(());
        }
        for tenant in self.lineage(tenant) {
            let Some(limit) = self.spec(tenant).limit else { continue };
            let left = i64::from(limit) * 1000 - used(tenant);
            if milli > left {
                let (left, need) = ((left / 1000).max(0) as u32, milli.max(0) as u64);
                let need = need.div_ceil(1000) as u32;
                return Err(Reason::OverLimit { tenant, need, left, limit });
            }
        }
        Ok(())
    }

    pub(crate) fn set_quota(&mut self, tenant: TenantId, quota: Option<u32>, limit: Option<u32>) {
        let spec = &mut self.specs[tenant.index()];
        spec.quota = quota;
        spec.limit = limit;
        self.limited = self.specs.iter().any(|tenant| tenant.limit.is_some());
    }

    pub(crate) fn joined(&mut self, tenant: TenantId) {
        self.each(tenant, |usage| usage.jobs += 1);
    }

    pub(crate) fn left(&mut self, tenant: TenantId) {
        self.each(tenant, |usage| usage.jobs -= 1);
    }

    /// One more of a tenant's jobs may run.
    pub(crate) fn has_work(&mut self, tenant: TenantId) {
        let own = &mut self.own_jobs[tenant.index()];
        *own += 1;
        if *own == 1 {
            self.busy_weight += u64::from(self.specs[tenant.index()].weight);
        }
    }

    /// One less of them may.
    pub(crate) fn has_less(&mut self, tenant: TenantId) {
        let own = &mut self.own_jobs[tenant.index()];
        *own -= 1;
        if *own == 0 {
            self.busy_weight -= u64::from(self.specs[tenant.index()].weight);
        }
    }

    pub(crate) fn took(&mut self, tenant: TenantId, milli: u64) {
        self.own_milli[tenant.index()] += milli;
        self.each(tenant, |usage| usage.milli += milli);
    }

    pub(crate) fn gave(&mut self, tenant: TenantId, milli: u64) {
        self.own_milli[tenant.index()] -= milli;
        self.each(tenant, |usage| usage.milli -= milli);
    }

    fn each(&mut self, tenant: TenantId, change: impl Fn(&mut TenantUse)) {
        let mut next = Some(tenant);
        while let Some(tenant) = next {
            change(&mut self.uses[tenant.index()]);
            next = self.specs[tenant.index()].parent;
        }
    }
}
