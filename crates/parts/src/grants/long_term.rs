//! Long-term GPU-time fairness on two levels, as in Astraea (Ye et al., TPDS 2022): a tenant, and
//! within it a job, is next whose GPU time so far is the smallest part of the GPU time that it was
//! entitled to while it was there.
//!
//! Whoever is there is entitled to GPU time: tenants to the cluster by weight (or by quota, where
//! all who are there have one), the jobs of a tenant to equal parts of its own. A tenant whose last
//! job is done neither keeps credit nor owes anything when it comes back.

use super::ranked::{Given, Ranked, per};
use super::{Among, Floor, Party, Rule, Turns};
use heeler_engine::{Job, Note, View};
use heeler_model::{JobId, KindSet, TenantId, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// GPU time: GPUs × microseconds.
type GpuTime = i64;

/// What a tenant was entitled to and what it has had, but for jobs that are not done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Account {
    entitled: GpuTime,
    /// What a job is entitled to that has been there from the start.
    each: GpuTime,
    had: GpuTime,
    jobs: i64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    tenants: BTreeMap<TenantId, Account>,
    /// Whose they are, and what each of their tenant's jobs was entitled to before they came.
    jobs: BTreeMap<JobId, (TenantId, GpuTime)>,
    at: Time,
}

/// Whoever has had the smallest part of its due is next.
#[derive(Clone, Debug, Default)]
pub struct LongTerm {
    books: Books,
}

impl LongTerm {
    /// What a tenant is entitled to over a time.
    fn due(&self, tenant: TenantId, micros: u64, view: &View) -> GpuTime {
        let spec = |tenant: &TenantId| view.tenants().spec(*tenant);
        let by_quota = self.books.tenants.keys().all(|t| spec(t).quota.is_some_and(|q| q > 0));
        let part = |tenant: &TenantId| match spec(tenant).quota {
            Some(quota) if by_quota => i128::from(quota),
            _ => i128::from(spec(tenant).weight.max(1)),
        };
        let all: i128 = self.books.tenants.keys().map(part).sum();
        let cluster = i128::from(view.fleet().up_of(KindSet::ANY)) * i128::from(micros);
        (cluster * part(&tenant) / all.max(1)).min(i128::from(i64::MAX / 4)) as GpuTime
    }

    /// Bring entitlements up to now, before who is there changes.
    fn settle(&mut self, view: &View) {
        let passed = view.now().since(self.books.at).micros();
        self.books.at = view.now();
        let tenants: Vec<TenantId> = self.books.tenants.keys().copied().collect();
        let dues: Vec<GpuTime> = tenants.iter().map(|t| self.due(*t, passed, view)).collect();
        for (account, due) in self.books.tenants.values_mut().zip(dues) {
            account.entitled += due;
            account.each += due / account.jobs.max(1);
        }
    }

    fn enter(&mut self, id: JobId, view: &View) {
        if self.books.jobs.contains_key(&id) {
            return;
        }
        self.settle(view);
        let tenant = view.job(id).spec.tenant;
        let account = self.books.tenants.entry(tenant).or_default();
        account.jobs += 1;
        self.books.jobs.insert(id, (tenant, account.each));
    }

    fn leave(&mut self, id: JobId, view: &View) {
        self.settle(view);
        let Some((tenant, _)) = self.books.jobs.remove(&id) else { return };
        let account = self.books.tenants.get_mut(&tenant).expect("a tenant with a job is there");
        account.jobs -= 1;
        account.had += had(view.job(id), view);
        if account.jobs == 0 {
            self.books.tenants.remove(&tenant);
        }
    }

    /// What a job has had of what it was entitled to, in millionths, were it to run for a lease.
    fn of_job(&self, job: &Job, micros: u64, view: &View) -> i64 {
        let Some((tenant, before)) = self.books.jobs.get(&job.id) else { return 0 };
        let account = &self.books.tenants[tenant];
        let coming = view.now().since(self.books.at).micros() + micros;
        let due = account.each - before;
        let more = self.due(*tenant, coming, view) / account.jobs.max(1);
        per(had(job, view).into(), (due + more).into())
    }
}

/// GPU time that a job has had.
fn had(job: &Job, view: &View) -> GpuTime {
    (job.attained_milli_at(view.now()) / 1000).min(i64::MAX as u64 / 4) as GpuTime
}

impl Rule for LongTerm {
    fn open<'a>(&'a self, floor: &Floor<'a>, view: &View<'a>) -> Box<dyn Turns + 'a> {
        let view = *view;
        let lease = floor.until.map_or(1, |until| until.since(view.now()).micros());
        let mut spent: BTreeMap<TenantId, GpuTime> = BTreeMap::new();
        for job in floor.asking.iter().chain(&floor.keeping) {
            *spent.entry(job.spec.tenant).or_default() += had(job, &view);
        }
        let coming = view.now().since(self.books.at).micros() + lease;
        let mut due = BTreeMap::new();
        for (tenant, account) in &self.books.tenants {
            *spent.entry(*tenant).or_default() += account.had;
            due.insert(*tenant, account.entitled + self.due(*tenant, coming, &view));
        }
        let score = move |party: Party, given: Given, _: &Job| {
            let Party::Tenant(tenant) = party else { return 0 };
            let of = |map: &BTreeMap<TenantId, GpuTime>| map.get(&tenant).copied().unwrap_or(0);
            let more = i128::from(given.milli) * i128::from(lease) / 1000;
            per(i128::from(of(&spent)) + more, of(&due).into())
        };
        let key = |job: &Job| self.of_job(job, lease, &view);
        Box::new(Ranked::new(floor, Among::Tenants, key, Box::new(score)))
    }

    fn observe(&mut self, note: &Note, view: &View) {
        match note {
            Note::Joined(id) | Note::Placed(id) => self.enter(*id, view),
            Note::Left(id) => self.leave(*id, view),
            Note::Changed => self.settle(view),
            _ => {}
        }
    }

    fn save(&self) -> Value {
        serde_json::to_value(&self.books).expect("plain data")
    }

    fn restore(&mut self, saved: &Value) -> Result<(), String> {
        self.books = serde_json::from_value(saved.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn fork(&self) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}
