//! A job as the fields of Heeler's own formats; what is as usual is left out.

use super::WriteError;
use crate::workload::trace::Trace;
use crate::workload::{Change, Curve, Phases, Rising, Stage, TraceJob};
use heeler_model::{Appetite, Cluster, KindSet, Milli, Portion, Reach, Span, Step, TenantId};
use std::collections::BTreeSet;

/// The value of a field.
pub(super) enum Value {
    Text(String),
    Number(String),
    List(Vec<Value>),
    Pairs(Vec<(String, String)>),
}

impl Value {
    /// As it stands in a table.
    pub(super) fn text(&self) -> String {
        match self {
            Value::Text(text) | Value::Number(text) => text.clone(),
            Value::List(items) => items.iter().map(Value::text).collect::<Vec<_>>().join("|"),
            Value::Pairs(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| format!("{key}={value}"));
                pairs.collect::<Vec<_>>().join("|")
            }
        }
    }

    /// As it stands in JSON.
    pub(super) fn json(&self) -> String {
        match self {
            Value::Text(text) => quoted(text),
            Value::Number(number) => number.clone(),
            Value::List(items) => {
                format!("[{}]", items.iter().map(Value::json).collect::<Vec<_>>().join(","))
            }
            Value::Pairs(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| format!("{}:{value}", quoted(key)));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What jobs are called: their names, made different where two were equal; and their numbers, where
/// others wait for jobs without names.
pub(super) struct Ids(Vec<Option<String>>);

impl Ids {
    pub(super) fn new(trace: &Trace) -> Ids {
        let jobs = trace.jobs();
        let mut ids: Vec<Option<String>> = Vec::with_capacity(jobs.len());
        let mut taken = BTreeSet::new();
        for job in jobs {
            let name = job.name.as_deref().filter(|name| !name.is_empty());
            ids.push(name.map(|name| free_name(name, &mut taken)));
        }
        for before in jobs.iter().flat_map(|job| job.spec.after()) {
            if let Some(id) = ids.get_mut(before.index())
                && id.is_none()
            {
                *id = Some(free_name(&before.to_string(), &mut taken));
            }
        }
        Ids(ids)
    }

    fn get(&self, index: usize) -> Option<&String> {
        self.0.get(index)?.as_ref()
    }
}

fn free_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let others = (2..).map(|number| format!("{name}~{number}"));
    let mut candidates = std::iter::once(name.to_string()).chain(others);
    let free = candidates.find(|candidate| !taken.contains(candidate)).expect("they never end");
    taken.insert(free.clone());
    free
}

type Fields = Vec<(&'static str, Value)>;

/// The fields of a job that are not as usual, in the order of columns.
pub(super) fn fields(
    index: usize,
    trace: &Trace,
    cluster: &Cluster,
    ids: &Ids,
) -> Result<Fields, WriteError> {
    let job = &trace.jobs()[index];
    let spec = &job.spec;
    let mut fields = Fields::new();
    if let Some(id) = ids.get(index) {
        fields.push(("id", Value::Text(id.clone())));
    }
    fields.push(("submit_s", seconds(job.submit.micros())));
    fields.push(("gpus", number(&spec.demand.asked())));
    work(job, cluster, &mut fields);
    let tenant = cluster.tenants.get(spec.tenant.index()).map_or("default", |known| &known.name);
    let user = trace.users.name(spec.user.index());
    // A user of no tenant is one, so whoever is of the first has to say so.
    let usual = spec.tenant == TenantId(0) && tenant == "default" && user.is_empty();
    if user != tenant && !usual {
        fields.push(("tenant", Value::Text(tenant.to_string())));
    }
    if !user.is_empty() {
        fields.push(("user", Value::Text(user.to_string())));
    }
    let model = trace.models.name(spec.model.index());
    if !model.is_empty() {
        fields.push(("model", Value::Text(model.to_string())));
    }
    if spec.priority != 0 {
        fields.push(("priority", number(&spec.priority)));
    }
    demand(job, cluster, &mut fields);
    if spec.skewed {
        fields.push(("skewed", number(&1)));
    }
    match spec.declared {
        Some(declared) if declared == job.duration() => {}
        Some(declared) => fields.push(("declared_s", seconds(declared.micros()))),
        None => fields.push(("declared_s", Value::Text("none".into()))),
    }
    if !spec.deadlines().is_empty() {
        fields.push(("deadline_s", deadlines(job)));
    }
    if !spec.after().is_empty() {
        let id = |index| ids.get(index).cloned().unwrap_or_default();
        let names = spec.after().iter().map(|before| Value::Text(id(before.index())));
        fields.push(("after", Value::List(names.collect())));
    }
    fields.extend(job.start_cost.map(|cost| ("start_s", seconds(cost.micros()))));
    training(job, cluster, &mut fields);
    check(&fields, index, ids)?;
    Ok(fields)
}

/// The batches that a job goes through.
fn phases(phases: &Phases, cluster: &Cluster, fields: &mut Fields) {
    fields.push(("epochs", number(&phases.epochs)));
    let stage = |stage: &Stage| {
        let kinds = cluster.kinds.iter().zip(&stage.rates);
        let rates: Vec<String> =
            kinds.map(|(kind, rate)| format!("{}={rate}", kind.name)).collect();
        Value::Text(format!("{}:{}:{}", stage.batch, stage.steps, rates.join(",")))
    };
    fields.push(("stages", Value::List(phases.stages.iter().map(stage).collect())));
    if !phases.due.is_empty() {
        let due = phases.due.iter().map(|(epoch, stage)| Value::Text(format!("{epoch}:{stage}")));
        fields.push(("due", Value::List(due.collect())));
    }
    fields.extend((phases.change == Change::StepByStep).then(|| ("grows", number(&1))));
    fields.push(("alone_s", number(&phases.alone_s)));
}

/// What is said of how it trains: its batch, its scores, its regimes, its name and its profile.
fn training(job: &TraceJob, cluster: &Cluster, fields: &mut Fields) {
    let spec = &job.spec;
    if let Some(batch) = spec.batch() {
        fields.push(("batch", number(&batch.asked)));
        fields.extend(batch.adapts.then(|| ("adapts", number(&1))));
    }
    if let Some(trial) = &job.trial {
        fields.push(("study", Value::Text(trial.study.to_string())));
        fields.push(match &trial.curve {
            Curve::Listed(scores) => ("scores", Value::List(scores.iter().map(number).collect())),
            Curve::Rising(rising) => ("curve", curve(rising)),
        });
    }
    if let Some(known) = &job.phases {
        phases(known, cluster, fields);
        let epoch_s = spec.regimes().map_or(&[][..], |regimes| &regimes.epoch_s);
        if !epoch_s.is_empty() {
            fields.push(("epoch_s", Value::List(epoch_s.iter().map(number).collect())));
        }
    }
    fields.extend(spec.name().map(|name| ("name", Value::Text(name.to_string()))));
    if let Some(stages) = spec.stages() {
        fields.push(("iteration_s", number(&stages.iteration_s)));
        fields.push(("resource_s", Value::List(stages.stage_s.iter().map(number).collect())));
    }
    let busy = spec.busy_milli();
    fields.extend(busy.map(|milli| ("busy", Value::Number(decimal(milli.into(), 3)))));
    fields.extend(spec.appetite().map(|known| ("appetite", appetite(known))));
}

fn appetite(known: &Appetite) -> Value {
    let point = |(with, pace): &(Portion, f64)| {
        let cpus = decimal(with.cpu_milli.into(), 3);
        Value::Text(format!("{cpus}:{}:{pace}", with.memory_mb))
    };
    let first = (known.enough, known.best);
    Value::List(std::iter::once(&first).chain(&known.measured).map(point).collect())
}

fn curve(rising: &Rising) -> Value {
    let mut pairs = vec![("limit", rising.limit.to_string()), ("tau", rising.tau.to_string())];
    if rising.noise > 0.0 {
        pairs.push(("noise", rising.noise.to_string()));
        pairs.push(("seed", rising.seed.to_string()));
    }
    Value::Pairs(pairs.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

fn number(number: &impl ToString) -> Value {
    Value::Number(number.to_string())
}

fn seconds(micros: u64) -> Value {
    Value::Number(decimal(micros, 6))
}

/// A whole number as a decimal fraction, without zeros at its end.
fn decimal(number: u64, places: u32) -> String {
    let unit = 10u64.pow(places);
    let text = format!("{}.{:0places$}", number / unit, number % unit, places = places as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A duration, or steps and how fast they go.
fn work(job: &TraceJob, cluster: &Cluster, fields: &mut Fields) {
    let spec = &job.spec;
    let rates = spec.rates();
    if rates.is_empty() && spec.nominal_pace == 1.0 {
        fields.push(("duration_s", seconds(job.duration().micros())));
        return;
    }
    let kinds = spec.demand.kinds.iter(cluster.kinds.len());
    let best = kinds.filter_map(|kind| rates.get(kind.index())).fold(0.0, |a: f64, b| a.max(*b));
    if !rates.is_empty() && best / 1e6 != spec.nominal_pace {
        fields.push(("duration_s", seconds(job.duration().micros())));
    }
    fields.push(("steps", number(&job.work())));
    if rates.is_empty() {
        fields.push(("rates", number(&per_second(spec.nominal_pace))));
        return;
    }
    let rate = |(index, kind): (usize, &heeler_model::Kind)| {
        (kind.name.clone(), rates.get(index).copied().unwrap_or(0.0).to_string())
    };
    fields.push(("rates", Value::Pairs(cluster.kinds.iter().enumerate().map(rate).collect())));
}

/// The rate per second that is read back as this pace per microsecond, to the last bit.
fn per_second(pace: f64) -> f64 {
    let rate = pace * 1e6;
    let near = [rate, rate.next_down(), rate.next_up()];
    near.into_iter().find(|rate| rate / 1e6 == pace).unwrap_or(rate)
}

fn demand(job: &TraceJob, cluster: &Cluster, fields: &mut Fields) {
    let demand = &job.spec.demand;
    let sizes = demand.sizes;
    if sizes.min != sizes.asked {
        fields.push(("min_gpus", number(&sizes.min)));
    }
    if sizes.max != sizes.asked {
        fields.push(("max_gpus", number(&sizes.max)));
    }
    match sizes.step {
        Step::Any => {}
        Step::PowersOfTwo => fields.push(("step", Value::Text("powers-of-two".into()))),
        Step::MultiplesOf(unit) => {
            fields.push(("step", Value::Text(format!("multiples-of-{unit}"))));
        }
    }
    if demand.share != Milli::WHOLE {
        fields.push(("share", Value::Number(decimal(demand.share.0.into(), 3))));
    }
    if demand.kinds != KindSet::ANY {
        let kinds = demand.kinds.iter(cluster.kinds.len());
        let names = kinds.map(|kind| Value::Text(cluster.kinds[kind.index()].name.clone()));
        fields.push(("kinds", Value::List(names.collect())));
    }
    if demand.gpu_memory_mb != 0 {
        fields.push(("gpu_memory_mb", number(&demand.gpu_memory_mb)));
    }
    if demand.cpu_milli != 0 {
        fields.push(("cpus", Value::Number(decimal(demand.cpu_milli.into(), 3))));
    }
    if demand.memory_mb != 0 {
        fields.push(("memory_mb", number(&demand.memory_mb)));
    }
    match demand.reach {
        Reach::Cluster => {}
        Reach::Rack => fields.push(("reach", Value::Text("rack".into()))),
        Reach::Node => fields.push(("reach", Value::Text("node".into()))),
    }
}

fn deadlines(job: &TraceJob) -> Value {
    let deadline = |deadline: &heeler_model::Deadline| {
        let after: Span = deadline.at.since(job.submit);
        let time = decimal(after.micros(), 6);
        match deadline.value {
            1 => Value::Number(time),
            value => Value::Text(format!("{time}:{value}")),
        }
    };
    Value::List(job.spec.deadlines().iter().map(deadline).collect())
}

/// Refuse what would be read back as something else.
fn check(fields: &Fields, index: usize, ids: &Ids) -> Result<(), WriteError> {
    let job = || ids.get(index).cloned().unwrap_or_else(|| index.to_string());
    let fail = |message| Err(WriteError::Unsayable { job: job(), message });
    for (name, value) in fields {
        let parts: Vec<&String> = match value {
            Value::List(items) if items.is_empty() => {
                return fail(format!("`{name}` is an empty list: it could never run"));
            }
            Value::Text(text) if text.contains(['\n', '\r']) => {
                return fail(format!("`{name}` has a line break"));
            }
            Value::Text(_) | Value::Number(_) => Vec::new(),
            Value::List(items) => items
                .iter()
                .filter_map(|item| if let Value::Text(text) = item { Some(text) } else { None })
                .collect(),
            Value::Pairs(pairs) => pairs.iter().map(|(key, _)| key).collect(),
        };
        let pairs = matches!(value, Value::Pairs(_));
        let bad =
            |part: &&&String| part.contains(['|', '\n', '\r']) || (pairs && part.contains('='));
        if let Some(part) = parts.iter().find(bad) {
            return fail(format!("`{part}` in `{name}` may not contain `|`, `=` or a line break"));
        }
    }
    Ok(())
}
