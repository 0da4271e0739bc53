//! Figures for Prometheus. Counters and histograms are kept by the loop; what can be counted at any
//! time is counted when somebody asks.

use axum::http::{Method, StatusCode};
use heeler_api::{JobState, Role, Who};
use heeler_live::{Change, Live};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Jobs by what they do.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByState {
    state: String,
}

/// Waiting jobs by why.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByReason {
    reason: String,
}

/// Something by tenant.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByTenant {
    tenant: String,
}

/// Requests by method and status.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByRequest {
    method: String,
    status: u16,
}

const WAIT: &str = "Seconds from being handed in until a job first had GPUs";
const LOST: &str = "GPU-seconds lost to stops, failures and restarts";

type Real = Gauge<f64, AtomicU64>;

/// All figures.
pub(crate) struct Metrics {
    registry: Registry,
    /// One scrape at a time, or two would mix their counts.
    scrape: Mutex<()>,
    jobs: Family<ByState, Gauge>,
    reasons: Family<ByReason, Gauge>,
    tenant_gpus: Family<ByTenant, Real>,
    gpus: Gauge,
    gpus_used: Real,
    nodes: Family<ByState, Gauge>,
    ended: Family<ByState, Counter>,
    wait: Histogram,
    requests: Family<ByRequest, Counter>,
    request: Histogram,
    pub(crate) decision: Histogram,
    pub(crate) sync: Histogram,
    pub(crate) record_inputs: Histogram,
    pub(crate) journal_bytes: Counter,
    pub(crate) journal_failures: Counter,
    pub(crate) snapshots: Counter,
    pub(crate) faults: Counter,
    pub(crate) submits: Counter,
    pub(crate) preemptions: Counter,
    lost: Counter<f64, AtomicU64>,
    useful: Counter<f64, AtomicU64>,
}

fn seconds(from: f64, length: u16) -> Histogram {
    Histogram::new(exponential_buckets(from, 4.0, length))
}

fn add<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("heeler");
        let to = &mut registry;
        Metrics {
            jobs: add(to, "jobs", "Jobs by what they do", Family::default()),
            reasons: add(to, "reasons", "Waiting jobs by why they wait", Family::default()),
            tenant_gpus: add(to, "tenant_gpus_used", "GPUs in use by tenant", Family::default()),
            gpus: add(to, "gpus", "GPUs in all", Gauge::default()),
            gpus_used: add(to, "gpus_used", "GPUs in use", Real::default()),
            nodes: add(to, "nodes", "Nodes by state", Family::default()),
            ended: add(to, "jobs_ended", "Jobs that ended, by how", Family::default()),
            wait: add(to, "queue_wait_seconds", WAIT, seconds(0.01, 13)),
            requests: add(to, "http_requests", "Requests by method and status", Family::default()),
            request: add(
                to,
                "http_request_seconds",
                "Seconds until a request was answered",
                seconds(0.0001, 10),
            ),
            decision: add(to, "decision_seconds", "Seconds a decision took", seconds(0.00001, 12)),
            sync: add(
                to,
                "journal_sync_seconds",
                "Seconds until a record was safe on disk",
                seconds(0.00001, 12),
            ),
            record_inputs: add(
                to,
                "record_inputs",
                "Requests, signs and ticks in one record",
                Histogram::new(exponential_buckets(1.0, 4.0, 8)),
            ),
            journal_bytes: add(to, "journal_bytes", "Bytes put in the journal", Counter::default()),
            journal_failures: add(
                to,
                "journal_failures",
                "Times the journal could not be written",
                Counter::default(),
            ),
            snapshots: add(to, "snapshots", "Snapshots taken", Counter::default()),
            faults: add(to, "plan_faults", "Plans that were refused", Counter::default()),
            submits: add(to, "submits", "Jobs handed in", Counter::default()),
            preemptions: add(
                to,
                "preemptions",
                "Times a running job was taken off its GPUs to go on later",
                Counter::default(),
            ),
            lost: add(to, "lost_gpu_seconds", LOST, Counter::default()),
            useful: add(to, "useful_gpu_seconds", "GPU-seconds of use", Counter::default()),
            scrape: Mutex::new(()),
            registry,
        }
    }

    /// A request was answered.
    pub(crate) fn request(&self, method: &Method, status: StatusCode, took: Duration) {
        // Methods are free text; those that are served are few.
        let method = match method.as_str() {
            known @ ("GET" | "POST" | "PUT" | "DELETE" | "HEAD") => known,
            _ => "OTHER",
        };
        let labels = ByRequest { method: method.into(), status: status.as_u16() };
        self.requests.get_or_create(&labels).inc();
        self.request.observe(took.as_secs_f64());
    }

    /// Jobs changed.
    pub(crate) fn changed(&self, changes: &[Change]) {
        for change in changes {
            match (change.state, change.waited_s) {
                (JobState::Starting, Some(waited)) if (change.age_s - waited).abs() < 1e-6 => {
                    self.wait.observe(waited);
                }
                (state, _) if state.is_over() => {
                    let state = name(state);
                    self.ended.get_or_create(&ByState { state }).inc();
                }
                _ => {}
            }
        }
    }

    /// Everything as text, with what can be counted now.
    pub(crate) fn text(&self, counted: &Counted) -> String {
        let _one = self.scrape.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.jobs.clear();
        self.reasons.clear();
        self.nodes.clear();
        self.tenant_gpus.clear();
        for (state, count) in &counted.jobs {
            let labels = ByState { state: state.clone() };
            self.jobs.get_or_create(&labels).set(i64::from(*count));
        }
        for (reason, count) in &counted.reasons {
            let labels = ByReason { reason: reason.clone() };
            self.reasons.get_or_create(&labels).set(i64::from(*count));
        }
        for (state, count) in &counted.nodes {
            let labels = ByState { state: state.clone() };
            self.nodes.get_or_create(&labels).set(i64::from(*count));
        }
        for (tenant, milli) in &counted.tenants {
            let labels = ByTenant { tenant: tenant.clone() };
            self.tenant_gpus.get_or_create(&labels).set(*milli as f64 / 1e3);
        }
        self.gpus.set(i64::from(counted.gpus));
        self.gpus_used.set(counted.used_milli as f64 / 1e3);
        raise(&self.lost, counted.lost_gpu_s);
        raise(&self.useful, counted.useful_gpu_s);
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

/// Let a counter follow a count that is kept elsewhere.
fn raise(counter: &Counter<f64, AtomicU64>, to: f64) {
    counter.inc_by((to - counter.get()).max(0.0));
}

/// A state as it is written.
pub(crate) fn name(state: JobState) -> String {
    let value = serde_json::to_value(state).ok();
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// What can be counted at any time.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    jobs: BTreeMap<String, u32>,
    reasons: BTreeMap<String, u32>,
    nodes: BTreeMap<String, u32>,
    tenants: Vec<(String, u64)>,
    gpus: u32,
    used_milli: u64,
    lost_gpu_s: f64,
    useful_gpu_s: f64,
}

impl Counted {
    pub(crate) fn of(live: &Live) -> Counted {
        let all = Who { role: Role::Admin, ..Who::default() };
        let mut counted = Counted {
            jobs: live.count().into_iter().map(|(state, jobs)| (name(state), jobs)).collect(),
            gpus: live.inventory().cluster.gpus(),
            used_milli: live.used_milli(),
            ..Counted::default()
        };
        for job in live.engine().state().jobs().iter() {
            let noted = job.held.or(job.noted.map(|noted| noted.reason));
            if let Some(reason) = noted.filter(|_| job.assignment.is_none()) {
                *counted.reasons.entry(reason.name().into()).or_default() += 1;
            }
        }
        for node in live.nodes() {
            *counted.nodes.entry(node.state).or_default() += 1;
        }
        for row in live.usage(&all).rows {
            counted.lost_gpu_s += row.lost_gpu_s;
            counted.useful_gpu_s += row.useful_gpu_s;
        }
        let tenants = live.tenants(&all).into_iter();
        counted.tenants = tenants.map(|tenant| (tenant.name, tenant.used_milli)).collect();
        counted
    }
}
