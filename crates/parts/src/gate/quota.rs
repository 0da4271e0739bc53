//! Nobody beyond their quota: tenants as walls, without borrowing.

use heeler_engine::{Door, Gate, Job, View};
use heeler_model::{Reason, TenantId};
use std::collections::BTreeMap;

/// A tenant may use its quota and no more.
#[derive(Clone, Copy, Debug, Default)]
pub struct WithinQuota;

struct QuotaDoor<'a> {
    view: View<'a>,
    extra: BTreeMap<TenantId, i64>,
}

impl Gate for WithinQuota {
    fn open<'a>(&'a self, view: &View<'a>) -> Box<dyn Door + 'a> {
        Box::new(QuotaDoor { view: *view, extra: BTreeMap::new() })
    }

    fn fork(&self) -> Box<dyn Gate> {
        Box::new(*self)
    }
}

impl Door for QuotaDoor<'_> {
    fn ask(&mut self, job: &Job, milli: u64) -> Result<(), Reason> {
        for tenant in self.view.tenants().lineage(job.spec.tenant) {
            let Some(quota) = self.view.tenants().spec(tenant).quota else { continue };
            let extra = self.extra.get(&tenant).copied().unwrap_or(0);
            let used = self.view.tenants().usage(tenant).milli as i64 + extra;
            let left = i64::from(quota) * 1000 - used;
            if milli as i64 > left {
                let left = (left / 1000).max(0) as u32;
                let need = milli.div_ceil(1000) as u32;
                return Err(Reason::OverLimit { tenant, need, left, limit: quota });
            }
        }
        Ok(())
    }

    fn entered(&mut self, job: &Job, milli: u64) {
        for tenant in self.view.tenants().lineage(job.spec.tenant) {
            *self.extra.entry(tenant).or_default() += milli as i64;
        }
    }

    fn left(&mut self, job: &Job, milli: u64) {
        for tenant in self.view.tenants().lineage(job.spec.tenant) {
            *self.extra.entry(tenant).or_default() -= milli as i64;
        }
    }
}
