//! Tenants first: jobs of the tenant that uses the smallest part of its quota (or, without quotas,
//! the least for its weight) come first; among themselves the more important, then in order of
//! submission. This is how capacity queues are served.

use heeler_engine::{Job, Key, Line, Order, View};

/// The tenant that uses the smallest part of what it is due goes first.
#[derive(Clone, Copy, Debug, Default)]
pub struct TenantShare;

impl Order for TenantShare {
    fn line(&self, job: &Job, _view: &View) -> Line {
        Line { key: Key::of(-i64::from(job.spec.priority)), slope: 0 }
    }

    fn tenant_rank(&self, job: &Job, extra_milli: i64, view: &View) -> i64 {
        let tenants = view.tenants();
        let tenant = tenants.behind(job.spec.tenant);
        let spec = tenants.spec(tenant);
        let used = tenants.counted(tenant) + extra_milli;
        match spec.quota {
            // Millionths of the quota. A tenant without any comes after those within theirs.
            Some(0) => i64::MAX / 2,
            Some(quota) => used * 1000 / i64::from(quota),
            None => 1_000_000 + used * 1000 / i64::from(spec.weight.max(1)),
        }
    }

    fn by_tenant(&self) -> bool {
        true
    }

    fn fork(&self) -> Box<dyn Order> {
        Box::new(*self)
    }
}
