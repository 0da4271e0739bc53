//! Who lent GPUs to whom. A tenant that uses less than its quota lends the rest, as far as others
//! use more than theirs; what belongs to nobody's quota is lent by nobody.

use heeler_engine::Tenants;
use heeler_model::{Cluster, TenantId, Time};
use serde::{Deserialize, Serialize};

/// GPU time that a tenant lent and borrowed, hours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Loan {
    /// Which tenant.
    pub name: String,
    /// Its quota, GPUs.
    pub quota: u32,
    /// What others used of its quota.
    pub lent_gpu_hours: f64,
    /// What it used beyond its quota of the quota of others.
    pub borrowed_gpu_hours: f64,
}

/// Counts loans as time passes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// Tenants whose use counts, with their quotas; none where nobody has a quota.
    tenants: Vec<(TenantId, f64)>,
    /// GPUs in nobody's quota, thousandths.
    free_milli: f64,
    lent: Vec<f64>,
    borrowed: Vec<f64>,
    /// What each uses now beyond (or, if negative, below) its quota.
    over: Vec<f64>,
    last: Time,
}

impl Ledger {
    pub(crate) fn new(cluster: &Cluster) -> Ledger {
        let mut ledger = Ledger::default();
        if cluster.tenants.iter().all(|tenant| tenant.quota.is_none()) {
            return ledger;
        }
        // Quotas of tenants below others are parts of theirs.
        for (index, tenant) in cluster.tenants.iter().enumerate() {
            if tenant.parent.is_none() {
                let quota = f64::from(tenant.quota.unwrap_or(0)) * 1000.0;
                ledger.tenants.push((TenantId(index as u16), quota));
            }
        }
        let owned: f64 = ledger.tenants.iter().map(|(_, quota)| quota).sum();
        ledger.free_milli = (f64::from(cluster.gpus()) * 1000.0 - owned).max(0.0);
        ledger.lent = vec![0.0; ledger.tenants.len()];
        ledger.borrowed = ledger.lent.clone();
        ledger.over = ledger.tenants.iter().map(|(_, quota)| -quota).collect();
        ledger
    }

    /// Count from a time on.
    pub(crate) fn beginning_at(mut self, now: Time) -> Ledger {
        self.last = now;
        self
    }

    /// Time has passed at what was used since the last call.
    pub(crate) fn until(&mut self, now: Time) {
        if self.tenants.is_empty() {
            return;
        }
        let span = now.since(self.last).micros() as f64;
        self.last = now;
        let total: f64 = self.over.iter().map(|over| over.max(0.0)).sum();
        let loaned = total - self.free_milli;
        let unused: f64 = self.over.iter().map(|over| (-over).max(0.0)).sum();
        if loaned <= 0.0 || unused <= 0.0 {
            return;
        }
        for (index, over) in self.over.iter().enumerate() {
            self.borrowed[index] += over.max(0.0) / total * loaned * span;
            self.lent[index] += (-over).max(0.0) / unused * loaned * span;
        }
    }

    /// What tenants use now.
    pub(crate) fn note(&mut self, tenants: &Tenants) {
        for (over, (tenant, quota)) in self.over.iter_mut().zip(&self.tenants) {
            *over = tenants.usage(*tenant).milli as f64 - quota;
        }
    }

    /// The result.
    pub(crate) fn loans(&self, cluster: &Cluster) -> Vec<Loan> {
        const GPU_HOUR: f64 = 3600.0 * 1e6 * 1e3;
        let loan = |(index, (tenant, quota)): (usize, &(TenantId, f64))| Loan {
            name: cluster.tenants[tenant.index()].name.clone(),
            quota: (*quota / 1000.0) as u32,
            lent_gpu_hours: self.lent[index] / GPU_HOUR,
            borrowed_gpu_hours: self.borrowed[index] / GPU_HOUR,
        };
        let all = self.tenants.iter().enumerate().map(loan);
        all.filter(|loan| {
            loan.quota > 0 || loan.lent_gpu_hours > 0.0 || loan.borrowed_gpu_hours > 0.0
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::Tenant;

    #[test]
    fn what_one_lends_others_borrow() {
        // Ten GPUs: four in a's quota, four in b's, two in nobody's.
        let mut cluster = Cluster::uniform(1, 10);
        cluster.tenants = ["a", "b", "guests"].map(Tenant::named).to_vec();
        cluster.tenants[0].quota = Some(4);
        cluster.tenants[1].quota = Some(4);
        let mut ledger = Ledger::new(&cluster);
        // For an hour a uses one, b seven and guests one: three and one beyond their quotas, of
        // which two are nobody's.
        ledger.over = vec![-3000.0, 3000.0, 1000.0];
        ledger.until(Time::from_secs(3600));
        let loans = ledger.loans(&cluster);
        let seen: Vec<(&str, f64, f64)> = loans
            .iter()
            .map(|loan| (&*loan.name, loan.lent_gpu_hours, loan.borrowed_gpu_hours))
            .collect();
        assert_eq!(seen, [("a", 2.0, 0.0), ("b", 0.0, 1.5), ("guests", 0.0, 0.5)]);
        let nobody = Ledger::new(&Cluster::uniform(1, 10));
        assert!(nobody.loans(&Cluster::uniform(1, 10)).is_empty());
    }
}
