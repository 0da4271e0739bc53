//! What readers fill: jobs, and the names of models, tenants and kinds as numbers.

use super::super::TraceJob;
use super::super::error::TraceError;
use super::super::names::Names;
use super::super::tally::Tally;
use super::Options;
use crate::suggest;
use heeler_model::{
    Cluster, Demand, JobSpec, KindId, KindSet, ModelId, Span, StudyId, Tenant, TenantId, Time,
    Truth, UserId,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A job that asks for no GPU.
pub(super) const NO_GPU: &str = "ask for no GPU";
const ANY_KIND: &str = "may run on any kind, as the cluster has none of those they name";
const KINDS_MAX: usize = 64;
/// What GPUs are called where a cluster is described without kinds.
const UNNAMED_KIND: &str = "gpu";

/// Makes an error of what is wrong with the field at hand.
pub(super) type Wrong<'a> = &'a dyn Fn(String) -> TraceError;

/// What readers fill.
pub(super) struct Reading<'a> {
    pub(super) path: &'a Path,
    pub(super) options: &'a Options,
    pub(super) cluster: &'a mut Cluster,
    pub(super) jobs: Vec<TraceJob>,
    /// Where each of them stands in the file; zero where nobody asks.
    pub(super) lines: Vec<u64>,
    pub(super) models: Names,
    pub(super) users: Names,
    pub(super) skipped: Tally,
    pub(super) assumed: Tally,
    /// Whether submissions are dates, counted from 1970.
    pub(super) dated: bool,
    /// What the trace calls time zero.
    pub(super) origin: Option<String>,
    /// Whether jobs without GPUs are jobs in this format.
    pub(super) cpu_jobs: bool,
    /// What must finish before which job, by name.
    pub(super) after: Vec<After>,
    tenants: BTreeMap<String, TenantId>,
    studies: Names,
    takes_kinds: bool,
    /// Whether jobs may run on any kind if the cluster has none of those they name.
    any_kind: bool,
}

/// What must finish before a job.
pub(super) struct After {
    /// The job, by its place among those read.
    pub(super) job: usize,
    /// Where it stands in the file.
    pub(super) line: u64,
    /// The names of the jobs that must finish.
    pub(super) names: Vec<String>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(
        path: &'a Path,
        options: &'a Options,
        cluster: &'a mut Cluster,
    ) -> Reading<'a> {
        if cluster.tenants.is_empty() {
            cluster.tenants.push(Tenant::named("default"));
        }
        let names = cluster.tenants.iter().enumerate();
        let tenants =
            names.map(|(index, tenant)| (tenant.name.clone(), TenantId(index as u16))).collect();
        let mut models = Names::default();
        models.number("");
        // So nobody is the first.
        let users = models.clone();
        Reading {
            path,
            options,
            takes_kinds: cluster.nodes.is_empty(),
            any_kind: options.any_kind,
            cluster,
            jobs: Vec::new(),
            lines: Vec::new(),
            models,
            users,
            skipped: Tally::default(),
            assumed: Tally::default(),
            dated: false,
            origin: None,
            cpu_jobs: options.cpu_jobs,
            after: Vec::new(),
            tenants,
            studies: Names::default(),
        }
    }

    /// Let jobs run on any kind, if the cluster does not say which kind its GPUs are.
    pub(super) fn overlook_kinds(&mut self) {
        let kinds = &self.cluster.kinds;
        self.any_kind |= matches!(kinds.as_slice(), [only] if only.name == UNNAMED_KIND);
    }

    /// Enter a job, unless it asks for no GPU and those are not wanted.
    pub(super) fn push(&mut self, job: TraceJob) {
        self.push_after(job, 0, Vec::new());
    }

    /// Enter a job that may have to wait for others, by name; the line is where it stands.
    pub(super) fn push_after(&mut self, job: TraceJob, line: u64, names: Vec<String>) {
        if job.spec.demand.asked() == 0 && !self.cpu_jobs {
            self.skipped.add(NO_GPU);
            return;
        }
        if !names.is_empty() {
            self.after.push(After { job: self.jobs.len(), line, names });
        }
        self.jobs.push(job);
        self.lines.push(line);
    }

    /// The model of that name.
    pub(super) fn model(&mut self, name: &str) -> Result<ModelId, TraceError> {
        let number = u16::try_from(self.models.number(name));
        number.map(ModelId).map_err(|_| self.too_many("models", u16::MAX.into()))
    }

    /// The study of that name.
    pub(super) fn study(&mut self, name: &str) -> Result<StudyId, TraceError> {
        let number = u16::try_from(self.studies.number(name));
        number.map(StudyId).map_err(|_| self.too_many("studies", u16::MAX.into()))
    }

    /// Who a job belongs to: a tenant, a user below it if that is asked for, or a user alone. The
    /// user is known in any case.
    pub(super) fn owner(
        &mut self,
        tenant: Option<&str>,
        user: Option<&str>,
        spec: &mut JobSpec,
    ) -> Result<(), TraceError> {
        let number = u32::try_from(self.users.number(user.unwrap_or_default()));
        spec.user = number.map(UserId).map_err(|_| self.too_many("users", u32::MAX as usize))?;
        spec.tenant = match (tenant, user) {
            (Some(tenant), Some(user)) if self.options.by_user => {
                self.tenant_at(&format!("{tenant}/{user}"))?
            }
            (Some(name), _) | (None, Some(name)) => self.tenant_at(name)?,
            (None, None) => TenantId(0),
        };
        Ok(())
    }

    /// The tenant of that name; `a/b` is below `a`.
    fn tenant_at(&mut self, name: &str) -> Result<TenantId, TraceError> {
        if let Some(tenant) = self.tenants.get(name) {
            return Ok(*tenant);
        }
        let above =
            name.rsplit_once('/').filter(|(above, own)| !above.is_empty() && !own.is_empty());
        let parent = above.map(|(above, _)| self.tenant_at(above)).transpose()?;
        let Ok(number) = u16::try_from(self.cluster.tenants.len()) else {
            return Err(self.too_many("tenants", u16::MAX.into()));
        };
        self.cluster.tenants.push(Tenant { parent, ..Tenant::named(name) });
        self.tenants.insert(name.to_string(), TenantId(number));
        Ok(TenantId(number))
    }

    fn too_many(&self, what: &str, most: usize) -> TraceError {
        TraceError::file(self.path, format!("names more than {most} {what}"))
    }

    /// A kind by its name, whatever the case of its letters, if the cluster has it.
    fn kind(&mut self, name: &str) -> Result<Option<KindId>, TraceError> {
        let kinds = &mut self.cluster.kinds;
        let found = kinds.iter().position(|kind| kind.name.eq_ignore_ascii_case(name));
        if found.is_none() && self.takes_kinds {
            if kinds.len() >= KINDS_MAX {
                return Err(self.too_many("kinds of GPU", KINDS_MAX));
            }
            return Ok(Some(self.cluster.kind_named(name)));
        }
        Ok(found.map(|index| KindId(index as u8)))
    }

    fn no_such_kind(&self, message: String, name: &str, wrong: Wrong<'_>) -> TraceError {
        let known = self.cluster.kinds.iter().map(|kind| kind.name.as_str());
        let hint = match suggest::closest(name, known) {
            Some(kind) => format!("did you mean `{kind}`?"),
            None => {
                "describe a cluster that has it, or let jobs run on any kind with --any-kind".into()
            }
        };
        wrong(message).hint(hint)
    }

    fn kind_names(&self) -> String {
        let names: Vec<_> = self.cluster.kinds.iter().map(|kind| kind.name.as_str()).collect();
        names.join(", ")
    }

    /// The kinds of these names; every kind, if there are none.
    pub(super) fn kinds<'n>(
        &mut self,
        names: impl Iterator<Item = &'n str>,
        wrong: Wrong<'_>,
    ) -> Result<KindSet, TraceError> {
        let mut set = KindSet::NONE;
        let mut named = false;
        for name in names {
            named = true;
            match self.kind(name)? {
                Some(kind) => set = set.with(kind),
                None if self.any_kind => {}
                None => {
                    let kinds = self.kind_names();
                    let message =
                        format!("kind `{name}` is not in the cluster, which has: {kinds}");
                    return Err(self.no_such_kind(message, name, wrong));
                }
            }
        }
        if named && set.is_empty() {
            self.assumed.add(ANY_KIND);
        }
        Ok(if set.is_empty() { KindSet::ANY } else { set })
    }

    /// Steps per second on each kind by name, for the kinds the cluster has, and the best of those
    /// a job may run on.
    pub(super) fn rates(
        &mut self,
        rates: &[(&str, f64)],
        allowed: KindSet,
        wrong: Wrong<'_>,
    ) -> Result<(Vec<f64>, f64), TraceError> {
        let mut known = Vec::new();
        let mut best: f64 = 0.0;
        for (name, rate) in rates {
            let Some(kind) = self.kind(name)? else { continue };
            known.resize(known.len().max(kind.index() + 1), 0.0);
            known[kind.index()] = *rate;
            if allowed.contains(kind) {
                best = best.max(*rate);
            }
        }
        if best > 0.0 {
            return Ok((known, best));
        }
        let of_all = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        if self.options.any_kind && of_all > 0.0 && allowed == KindSet::ANY {
            self.assumed.add(ANY_KIND);
            return Ok((Vec::new(), of_all));
        }
        let runs: Vec<_> =
            rates.iter().filter(|(_, rate)| *rate > 0.0).map(|(name, _)| *name).collect();
        if runs.is_empty() {
            return Err(wrong("no rate is above zero: the job runs nowhere".into()));
        }
        if known.iter().any(|rate| *rate > 0.0) {
            return Err(wrong("the job runs on none of the kinds it asks for".into()));
        }
        let (runs, kinds) = (runs.join(", "), self.kind_names());
        let message = format!("runs on {runs}, and the cluster has: {kinds}");
        Err(self.no_such_kind(message, &runs, wrong))
    }

    /// The file an option names, or else one of that name near the trace.
    pub(super) fn companion(&self, given: Option<&PathBuf>, name: &str) -> Option<PathBuf> {
        given.cloned().or_else(|| super::super::table::find_beside(self.path, name))
    }
}

/// A job of which a duration is known: it counts microseconds.
pub(super) fn timed_job(submit: Time, duration: Span, demand: Demand) -> TraceJob {
    let truth = Truth { work: duration.micros() as f64 };
    let mut spec = JobSpec::new(demand).with_truth(truth);
    spec.declared = Some(duration);
    TraceJob::new(submit, spec)
}

/// A job that counts steps, at so many a second.
pub(super) fn stepped_job(submit: Time, steps: f64, rate: f64, demand: Demand) -> TraceJob {
    let mut spec = JobSpec::new(demand).with_truth(Truth { work: steps });
    spec.nominal_pace = rate / 1e6;
    let mut job = TraceJob::new(submit, spec);
    job.spec.declared = Some(job.duration());
    job
}
