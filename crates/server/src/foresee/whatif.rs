//! Another future beside the one that is coming: a copy of the state is changed, and both go on
//! with the same lengths of jobs, so that what differs comes from the change alone.

use super::Scene;
use super::effort;
use super::future::Budget;
use super::when::Newcomer;
use heeler_api::{Code, Problem, WhatIf, WhatIfAnswer};
use heeler_engine::{Engine, Policy};
use heeler_model::{Cluster, Event, Exit, JobId, NodeId, TenantId, Time};
use heeler_sim::Simulation;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// So many pairs of futures are looked at, if there is time.
const FUTURES: u32 = 6;
/// Moments that are simulated for one answer.
const MOMENTS: u64 = 200_000;
/// No further pair is begun that would take longer than this in all, if it took as long as the
/// last; one simulation takes at most half of it.
const TIME_MAX: Duration = Duration::from_millis(2_000);
/// Jobs that are named in an answer.
const JOBS_MAX: usize = 50;
/// Nodes that can be imagined at a time.
const NODES_MAX: u32 = 10_000;

/// What is different, made ready where the live state is known.
pub struct Elsewise {
    /// As it was asked.
    pub asked: WhatIf,
    /// Another recipe, if one was asked for.
    pub policy: Option<Box<dyn Policy>>,
    /// The recipe in charge, afresh; needed where nodes are added.
    pub in_charge: Box<dyn Policy>,
    /// One more job, if one was asked for.
    pub newcomer: Option<Newcomer>,
}

/// Figures of one future.
#[derive(Default)]
struct Figures {
    /// How much longer jobs waited, those that never started among them.
    waits_s: BTreeMap<JobId, f64>,
    never: BTreeSet<JobId>,
    ends: Option<Time>,
    preemptions: f64,
    busy: f64,
    starts: BTreeMap<JobId, Time>,
    whole: bool,
}

/// What would come if things were otherwise.
pub fn whatif(scene: &Scene, elsewise: Elsewise) -> Result<WhatIfAnswer, Problem> {
    let Elsewise { asked, policy, in_charge, newcomer } = elsewise;
    let changed = change(scene.engine.fork(), &asked, policy, in_charge)?;
    let job = JobId(scene.engine.state().jobs().used());
    let (mut now, mut then) = (Vec::new(), Vec::new());
    let share = MOMENTS / u64::from(2 * FUTURES);
    let mut spare = 0;
    let began = effort::used();
    let mut last = Duration::ZERO;
    for future in 0..FUTURES {
        let so_far = effort::used() - began;
        if future > 0 && so_far + last > TIME_MAX {
            break;
        }
        for (engine, figures, more) in
            [(&scene.engine, &mut now, None), (&changed, &mut then, newcomer.as_ref())]
        {
            let more = more.map(|newcomer| scene.arrives(newcomer, job, future));
            let mut budget = Budget::of(share + spare, effort::used() + TIME_MAX / 2);
            let simulation = scene.future(engine.fork(), future, more);
            figures.push(Figures::of(simulation, &mut budget));
            spare = budget.left();
        }
        last = effort::used() - began - so_far;
    }
    let never = leave_out(&mut now, &mut then);
    let mut assumes = scene.assumptions();
    let cut = now.iter().chain(&then).filter(|figures| !figures.whole).count();
    if cut > 0 {
        let all = now.len() + then.len();
        assumes.push(format!("{cut} of {all} futures were not followed to their end"));
    }
    if never > 0 {
        assumes.push(format!("jobs that start neither way do not count: {never}"));
    }
    if !asked.without_nodes.is_empty() {
        assumes.push("jobs on nodes that are gone begin from the beginning".into());
    }
    let jobs = starts(scene, &now, &then);
    Ok(WhatIfAnswer { now: mean(scene, &now), then: mean(scene, &then), jobs, assumes })
}

/// A copy of the engine as it would be.
fn change(
    mut engine: Engine,
    asked: &WhatIf,
    policy: Option<Box<dyn Policy>>,
    in_charge: Box<dyn Policy>,
) -> Result<Engine, Problem> {
    let now = engine.state().now();
    if asked.add_nodes > 0 {
        let cluster = larger(engine.state().fleet().cluster(), asked.add_nodes)?;
        // What a policy remembers may be of the old cluster alone; one that remembers nothing
        // stands in while the cluster grows.
        engine.stand_in(plain());
        let grown = engine.rebuilt(cluster, plain());
        engine = grown.map_err(|error| Problem::new(Code::Invalid, error).at("add-nodes"))?;
        engine.adopt(in_charge);
    }
    for (name, quota) in &asked.quotas {
        let tenant = tenant_of(&engine, name)?;
        let limit = engine.state().tenants().spec(tenant).limit;
        engine.observe(now, Event::Quota { tenant, quota: Some(*quota), limit });
    }
    for name in &asked.without_nodes {
        lose(&mut engine, name)?;
    }
    if let Some(policy) = policy {
        engine.adopt(policy);
    }
    Ok(engine)
}

/// First in, first out.
fn plain() -> Box<dyn Policy> {
    let fifo = heeler_recipes::find("fifo").expect("fifo is built in");
    heeler_recipes::Card::read(fifo.text, "fifo").expect("its card is tested").build()
}

/// The cluster with so many more nodes like the first.
fn larger(cluster: &Cluster, more: u32) -> Result<Cluster, Problem> {
    let mut cluster = cluster.clone();
    let Some(first) = cluster.nodes.first().cloned() else {
        return Err(Problem::new(Code::Invalid, "there is no node to add more of").at("add-nodes"));
    };
    if more > NODES_MAX {
        let message = format!("at most {NODES_MAX} nodes can be added");
        return Err(Problem::new(Code::TooLarge, message).at("add-nodes"));
    }
    let taken: BTreeSet<String> = cluster.nodes.iter().map(|node| node.name.clone()).collect();
    let names = (1..).map(|number| format!("more{number}")).filter(|name| !taken.contains(name));
    for name in names.take(more as usize) {
        cluster.nodes.push(heeler_model::Node { name, ..first.clone() });
    }
    Ok(cluster)
}

fn tenant_of(engine: &Engine, name: &str) -> Result<TenantId, Problem> {
    let fleet = engine.state().fleet();
    let found = fleet.cluster().tenants.iter().position(|tenant| tenant.name == name);
    let missing = || Problem::new(Code::NotFound, format!("there is no tenant `{name}`"));
    found.map(|index| TenantId(index as u16)).ok_or_else(|| missing().at("quotas"))
}

/// A node is gone, and all that ran there.
fn lose(engine: &mut Engine, name: &str) -> Result<(), Problem> {
    let now = engine.state().now();
    let found = engine.state().fleet().cluster().nodes.iter().position(|node| node.name == name);
    let missing = || Problem::new(Code::NotFound, format!("there is no node `{name}`"));
    let node = NodeId(found.ok_or_else(|| missing().at("without-nodes"))? as u32);
    let hit: Vec<_> = engine
        .state()
        .on_node(node)
        .iter()
        .map(|job| engine.state().job(*job))
        .filter(|job| job.is_running())
        .map(|job| (job.id, job.generation))
        .collect();
    engine.observe(now, Event::NodeDown { node });
    for (job, generation) in hit {
        engine.observe(now, Event::Stopped { job, generation, exit: Exit::Lost { done: 0.0 } });
    }
    Ok(())
}

impl Figures {
    fn of(mut simulation: Simulation, budget: &mut Budget) -> Figures {
        let waited = |simulation: &Simulation| -> BTreeMap<JobId, f64> {
            let records = simulation.records().iter();
            records.map(|(job, r)| (job, r.waited_by(simulation.now()).secs_f64())).collect()
        };
        let before = waited(&simulation);
        let earlier: u64 =
            simulation.records().all().iter().map(|record| u64::from(record.preemptions)).sum();
        let records = simulation.records().iter();
        let begun: BTreeSet<JobId> =
            records.filter(|(_, record)| record.started.is_some()).map(|(job, _)| job).collect();
        budget.until(&mut simulation, |_| false);
        let records = simulation.records().iter().filter(|(job, _)| !begun.contains(job));
        let starts = records.filter_map(|(job, record)| Some((job, record.started?))).collect();
        let records = simulation.records().iter();
        let never = records.filter(|(_, r)| r.started.is_none() && !budget.is_spent());
        let never = never.map(|(job, _)| job).collect();
        let total = simulation.timeline().total();
        let later: u64 =
            simulation.records().all().iter().map(|record| u64::from(record.preemptions)).sum();
        let after = waited(&simulation);
        Figures {
            waits_s: after
                .iter()
                .map(|(job, waited)| (*job, waited - before.get(job).copied().unwrap_or(0.0)))
                .collect(),
            never,
            ends: simulation.records().all().iter().filter_map(|record| record.ended).max(),
            preemptions: (later - earlier) as f64,
            busy: total.busy_milli_us / total.there_milli_us.max(1.0),
            starts,
            whole: !budget.is_spent(),
        }
    }
}

/// Whoever starts in neither of two futures would be counted for as long as both are looked at.
/// Says how many these are at most.
fn leave_out(now: &mut [Figures], then: &mut [Figures]) -> usize {
    let pairs = now.iter_mut().zip(then);
    let left_out = pairs.map(|(now, then)| {
        let neither: Vec<JobId> = now.never.intersection(&then.never).copied().collect();
        for job in &neither {
            now.waits_s.remove(job);
            then.waits_s.remove(job);
        }
        neither.len()
    });
    left_out.max().unwrap_or(0)
}

/// Means over futures.
fn mean(scene: &Scene, futures: &[Figures]) -> BTreeMap<String, f64> {
    let over = |of: &dyn Fn(&Figures) -> f64| {
        futures.iter().map(of).sum::<f64>() / futures.len().max(1) as f64
    };
    let waits = |figures: &Figures| figures.waits_s.values().copied().collect::<Vec<f64>>();
    let part = |waits: &[f64], part: f64| {
        let mut sorted = waits.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        heeler_sim::metrics::quantile(&sorted, part)
    };
    let now = scene.now();
    let average = |waits: &[f64]| waits.iter().sum::<f64>() / waits.len().max(1) as f64;
    BTreeMap::from([
        ("mean-wait-s".to_string(), over(&|figures| average(&waits(figures)))),
        ("p95-wait-s".to_string(), over(&|figures| part(&waits(figures), 0.95))),
        (
            "makespan-s".to_string(),
            over(&|figures| figures.ends.map_or(0.0, |at| at.since(now).secs_f64())),
        ),
        ("preemptions".to_string(), over(&|figures| figures.preemptions)),
        ("busy".to_string(), over(&|figures| figures.busy)),
    ])
}

/// Jobs whose first start differs most, as things are and as they would be.
fn starts(
    scene: &Scene,
    now: &[Figures],
    then: &[Figures],
) -> Vec<(u32, Option<f64>, Option<f64>)> {
    let middle = |futures: &[Figures]| -> BTreeMap<JobId, f64> {
        let mut times: BTreeMap<JobId, Vec<Time>> = BTreeMap::new();
        for (job, at) in futures.iter().flat_map(|figures| &figures.starts) {
            times.entry(*job).or_default().push(*at);
        }
        let half = futures.len().div_ceil(2);
        let often = times.into_iter().filter(|(_, times)| times.len() >= half);
        often
            .map(|(job, mut times)| {
                times.sort_unstable();
                (job, scene.seconds(times[(times.len() - 1) / 2]))
            })
            .collect()
    };
    let (now, then) = (middle(now), middle(then));
    let jobs: BTreeSet<JobId> = now.keys().chain(then.keys()).copied().collect();
    let mut rows: Vec<(u32, Option<f64>, Option<f64>)> =
        jobs.iter().map(|job| (job.0, now.get(job).copied(), then.get(job).copied())).collect();
    let differs = |row: &(u32, Option<f64>, Option<f64>)| match (row.1, row.2) {
        (Some(now), Some(then)) => (then - now).abs(),
        _ => f64::INFINITY,
    };
    rows.retain(|row| differs(row) >= 1.0);
    rows.sort_by(|a, b| differs(b).total_cmp(&differs(a)).then(a.0.cmp(&b.0)));
    rows.truncate(JOBS_MAX);
    rows
}
