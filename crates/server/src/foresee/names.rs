//! What people call jobs, tenants, kinds, nodes and times of a copied state.

use heeler_engine::Engine;
use heeler_model::{Assignment, Cluster, JobId, KindSet, Naming, TenantId, Time, universal_time};

/// Names of a live engine: jobs have numbers, times have dates.
pub struct Names {
    cluster: Cluster,
    epoch: u64,
}

impl Names {
    /// The names of an engine whose time zero is so many seconds after 1970.
    pub fn of(engine: &Engine, epoch: u64) -> Names {
        Names { cluster: engine.state().fleet().cluster().clone(), epoch }
    }

    /// GPUs by the names of their nodes: `n0[0-3]`.
    pub fn place(&self, on: &Assignment) -> String {
        self.cluster.place_name(&on.placement)
    }
}

impl Naming for Names {
    fn job(&self, job: JobId) -> String {
        job.to_string()
    }

    fn tenant(&self, tenant: TenantId) -> String {
        let found = self.cluster.tenants.get(tenant.index());
        found.map_or_else(|| tenant.to_string(), |tenant| tenant.name.clone())
    }

    fn kinds(&self, kinds: KindSet) -> String {
        let kinds = kinds.iter(self.cluster.kinds.len());
        let names: Vec<&str> =
            kinds.map(|kind| self.cluster.kinds[kind.index()].name.as_str()).collect();
        names.join(" or ")
    }

    fn time(&self, at: Time) -> String {
        universal_time(self.epoch + at.micros() / heeler_model::SECOND_US)
    }
}
