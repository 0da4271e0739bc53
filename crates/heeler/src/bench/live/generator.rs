//! A deep queue of small jobs with borrowing and preemption, as Kueue measures itself with: cohorts
//! of queues with quotas, each handed jobs of three sizes at steady intervals. Jobs do nothing for
//! as long as they say, so that the control plane is all that is measured. Kueue's own mean for the
//! large case is 1,179 s.

use super::super::report::Figure;
use super::super::{Scope, step};
use super::wire::Wire;
use super::{Scratch, job, server};
use anyhow::{Context, Result, bail};
use heeler_api::{Gpus, JobState, Role, Submission, TenantChange, Who};
use heeler_live::{Ask, Filter, Which};
use heeler_model::{Cluster, Tenant};
use heeler_server::noop::RUNS_MS;
use heeler_server::{Asker, Handle};
use serde::Deserialize;
use std::path::Path;
use std::time::{Duration, Instant};

const GPUS_PER_NODE: u32 = 64;
const BATCH: usize = 500;
const AIM_S: f64 = 30.0;

/// A workload as Kueue's performance tests describe theirs.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Workload {
    cohorts: Vec<Cohort>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cohort {
    class_name: String,
    count: u32,
    queues_sets: Vec<Queues>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Queues {
    class_name: String,
    count: u32,
    nominal_quota: u32,
    borrowing_limit: u32,
    workloads_sets: Vec<Jobs>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Jobs {
    count: u32,
    creation_interval_ms: u64,
    workloads: Vec<One>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct One {
    runtime_ms: u64,
    priority: i32,
    request: u32,
}

impl Workload {
    /// A thousand queues in ten cohorts, fifty jobs for each: the sizes of the large case.
    fn large() -> Workload {
        let jobs = |count, creation_interval_ms, runtime_ms, priority, request| Jobs {
            count,
            creation_interval_ms,
            workloads: vec![One { runtime_ms, priority, request }],
        };
        let workloads_sets =
            vec![jobs(35, 60, 150, 50, 1), jobs(11, 300, 350, 100, 5), jobs(4, 700, 700, 200, 20)];
        let queues = Queues {
            class_name: "cq".into(),
            count: 100,
            nominal_quota: 20,
            borrowing_limit: 100,
            workloads_sets,
        };
        let cohort = Cohort { class_name: "cohort".into(), count: 10, queues_sets: vec![queues] };
        Workload { cohorts: vec![cohort] }
    }

    fn read(file: &Path) -> Result<Workload> {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        serde_saphyr::from_str(&text).with_context(|| format!("in {}", file.display()))
    }

    /// A tenth of the queues.
    fn tenth(mut self) -> Workload {
        for cohort in &mut self.cohorts {
            cohort.count = (cohort.count / 10).max(1);
        }
        self
    }

    /// Cohorts with their quota and their queues.
    fn tenants(&self) -> Vec<Tenant> {
        let mut tenants = vec![Tenant::named("default")];
        for (kind, cohort) in self.cohorts.iter().enumerate() {
            for number in 0..cohort.count {
                let quotas = cohort.queues_sets.iter().map(|set| set.count * set.nominal_quota);
                let limit = Some(quotas.sum());
                let name = format!("{}{kind}-{number}", cohort.class_name);
                let parent = heeler_model::TenantId(tenants.len() as u16);
                tenants.push(Tenant { limit, ..Tenant::named(&name) });
                for set in &cohort.queues_sets {
                    for queue in 0..set.count {
                        let (quota, most) = (set.nominal_quota, set.borrowing_limit);
                        tenants.push(Tenant {
                            parent: Some(parent),
                            quota: Some(quota),
                            limit: Some(quota + most),
                            ..Tenant::named(format!("{name}-{}{queue}", set.class_name))
                        });
                    }
                }
            }
        }
        tenants
    }

    /// All jobs with the milliseconds at which they come, earliest first, and the ideal makespan:
    /// all work over all quota, seconds.
    fn jobs(&self) -> (Vec<(u64, Submission)>, f64) {
        let (mut jobs, mut work, mut quota) = (Vec::new(), 0.0, 0.0);
        for (kind, cohort) in self.cohorts.iter().enumerate() {
            for number in 0..cohort.count {
                for set in &cohort.queues_sets {
                    for queue in 0..set.count {
                        let name = format!("{}{kind}-{number}", cohort.class_name);
                        let tenant = format!("{name}-{}{queue}", set.class_name);
                        quota += f64::from(set.nominal_quota);
                        for set in &set.workloads_sets {
                            for (index, one) in each(set) {
                                work += one.runtime_ms as f64 / 1e3 * f64::from(one.request);
                                let at = set.creation_interval_ms * u64::from(index);
                                jobs.push((at, one.job(&tenant)));
                            }
                        }
                    }
                }
            }
        }
        jobs.sort_by_key(|(at, _)| *at);
        (jobs, work / quota)
    }
}

fn each(set: &Jobs) -> impl Iterator<Item = (u32, &One)> {
    (0..set.count).flat_map(|index| set.workloads.iter().map(move |one| (index, one)))
}

impl One {
    fn job(&self, tenant: &str) -> Submission {
        Submission {
            tenant: Some(tenant.into()),
            gpus: Gpus { count: self.request, ..Gpus::default() },
            priority: self.priority,
            env: [(RUNS_MS.to_owned(), self.runtime_ms.to_string())].into(),
            time_limit_s: None,
            ..job(self.request)
        }
    }
}

pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let given = scope.generator.as_deref().map(Workload::read).transpose()?;
    let workload = given.unwrap_or_else(Workload::large);
    let workload = if scope.quick { workload.tenth() } else { workload };
    let (jobs, ideal_s) = workload.jobs();
    let tenants = workload.tenants();
    let quota: u32 = tenants.iter().filter_map(|tenant| tenant.quota).sum();
    let scratch = Scratch::new("generator")?;
    let state = scratch.path().join("state");
    let cluster = Cluster::uniform(quota.div_ceil(GPUS_PER_NODE), GPUS_PER_NODE);
    let server = server(&state, cluster, "capacity")?;
    let handle = server.handle();
    make_tenants(&handle, &tenants)?;
    let mut wire = Wire::to(&state.join("heeler.sock"))?;
    step(&format!("live: {} jobs of {} tenants", jobs.len(), tenants.len()));
    let begun = Instant::now();
    feed(&mut wire, &jobs, begun)?;
    while unfinished(&handle) > 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let wall_s = begun.elapsed().as_secs_f64();
    let states = vec![JobState::Completed];
    let filter = Filter { which: Which::Over, states, ..Filter::default() };
    let completed = handle.look(|live| live.jobs(&who(), &filter).len());
    if completed != jobs.len() {
        bail!("{completed} of {} jobs ended well", jobs.len());
    }
    server.stop()?;
    let figure = Figure::new("live generator".into(), wall_s, "s")
        .against("work over quota", wall_s / ideal_s);
    let aim = if scope.generator.is_some() { None } else { Some(AIM_S) };
    Ok(vec![match aim {
        Some(aim) => figure.below(aim),
        None => figure,
    }])
}

/// Who may do everything.
fn who() -> Who {
    Who { user: "bench".into(), role: Role::Admin, ..Who::default() }
}

fn make_tenants(handle: &Handle, tenants: &[Tenant]) -> Result<()> {
    for tenant in &tenants[1..] {
        let parent = tenant.parent.map(|parent| tenants[parent.index()].name.clone());
        let (quota, limit) = (Some(tenant.quota), Some(tenant.limit));
        let change = TenantChange { parent, quota, limit, ..TenantChange::default() };
        handle.ask(Asker::Known(who()), Ask::Tenant { name: tenant.name.clone(), change })?;
    }
    Ok(())
}

/// Hand in each job when it is due, in batches.
fn feed(wire: &mut Wire, jobs: &[(u64, Submission)], begun: Instant) -> Result<()> {
    let mut next = 0;
    while next < jobs.len() {
        let now_ms = begun.elapsed().as_millis() as u64;
        let due = jobs[next..].iter().take(BATCH).take_while(|(at, _)| *at <= now_ms).count();
        if due == 0 {
            std::thread::sleep(Duration::from_millis(jobs[next].0 - now_ms));
            continue;
        }
        let batch: Vec<&Submission> = jobs[next..next + due].iter().map(|(_, job)| job).collect();
        wire.post("/v1/jobs", &serde_json::to_vec(&batch)?)?;
        next += due;
    }
    Ok(())
}

fn unfinished(handle: &Handle) -> usize {
    handle.look(|live| live.engine().state().jobs().len())
}
