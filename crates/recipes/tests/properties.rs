//! What must hold for every recipe, on random clusters, jobs and faults.

// One test runs simulations side by side to show that threads change nothing.
#![allow(clippy::disallowed_methods)]

use heeler_engine::{Engine, Phase, State};
use heeler_model::{
    Appetite, Cluster, Deadline, Demand, Event, JobId, JobSpec, KindId, KindSet, Milli, ModelId,
    NodeId, Portion, RackId, Reach, Reason, Scope, Sizes, Stages, Step, StudyId, Tenant, Time,
    Truth,
};
use heeler_recipes::{Card, all};
use heeler_sim::Simulation;
use heeler_sim::metrics::write_jobs;
use heeler_sim::services::{self, ServiceSpec};
use heeler_sim::workload::{Curve, Rising, TraceJob, Trial, Workload};
use heeler_sim::world::{Cost, Costs, Failures, Mechanism, PairTable, Sharing, World};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A job to be made up.
#[derive(Clone, Debug)]
struct Made {
    submit_s: u64,
    length_s: u64,
    gpus: u32,
    elastic: bool,
    share: u32,
    kind: u8,
    memory_mb: u32,
    cpus: u32,
    reach: u8,
    tenant: u16,
    /// It follows the job at this part of those before it, in 2⁻⁶⁴.
    follows: Option<u64>,
    skewed: bool,
    /// It is a trial of a study and becomes so good in the end, in thousandths.
    trial: Option<u32>,
    /// Its deadline is so many times its length after its submission.
    due: Option<u64>,
}

/// A cluster and a world to be made up.
#[derive(Clone, Debug)]
struct Setting {
    nodes: Vec<(u8, u32, u32)>,
    limit: Option<u32>,
    quota: Option<u32>,
    costs_s: (u8, u8),
    breaks: bool,
    /// Replicas of a service beside the jobs, GPUs of each, and their priority.
    serves: Option<(u32, u32, i32)>,
    seed: u64,
}

fn made() -> impl Strategy<Value = Made> {
    let sizes = prop_oneof![4 => Just(1u32), 2 => 2u32..=4, 2 => Just(8u32), 1 => 9u32..=20];
    let shares = prop_oneof![5 => Just(1000u32), 1 => 100u32..=900];
    (
        (0u64..400, 1u64..200, sizes, any::<bool>(), shares, 0u8..4),
        (
            0u32..20_000,
            0u32..4,
            0u8..6,
            0u16..3,
            prop::option::weighted(0.1, any::<u64>()),
            any::<bool>(),
            (prop::option::weighted(0.3, 0u32..1000), prop::option::weighted(0.3, 1u64..200)),
        ),
    )
        .prop_map(|((submit_s, length_s, gpus, elastic, share, kind), rest)| {
            let (memory_mb, cpus, reach, tenant, follows, skewed, (trial, due)) = rest;
            let share = if gpus <= 8 { share } else { 1000 };
            Made {
                submit_s,
                length_s,
                gpus,
                elastic,
                share,
                kind,
                memory_mb,
                cpus,
                reach,
                tenant,
                follows,
                skewed,
                trial,
                due,
            }
        })
}

fn setting() -> impl Strategy<Value = Setting> {
    let nodes = prop::collection::vec((0u8..2, prop_oneof![Just(4u32), Just(8u32)], 0u32..3), 1..6);
    let limits = prop::option::weighted(0.3, 1u32..12);
    let serves = prop::option::weighted(0.3, (1u32..5, 1u32..3, 0i32..2));
    let more = (any::<bool>(), serves);
    (nodes, limits.clone(), limits, (0u8..3, 0u8..3), more, any::<u64>()).prop_map(
        |(nodes, limit, quota, costs_s, (breaks, serves), seed)| Setting {
            nodes,
            limit,
            quota,
            costs_s,
            breaks,
            serves,
            seed,
        },
    )
}

fn cluster(setting: &Setting) -> Cluster {
    let mut cluster =
        Cluster { racks: vec!["a".into(), "b".into(), "c".into()], ..Cluster::default() };
    for name in ["fast", "slow"] {
        cluster.kind_named(name);
    }
    cluster.kinds[0].memory_mb = 16_000;
    for (kind, gpus, rack) in &setting.nodes {
        let node = cluster.add_node(heeler_model::KindId(*kind), *gpus, RackId(*rack));
        let node = &mut cluster.nodes[node.index()];
        node.cpu_milli = u64::from(*gpus) * 3_000;
        node.link_group = 4;
    }
    cluster.tenants = ["a", "b", "c"].map(Tenant::named).to_vec();
    cluster.tenants[0].quota = setting.quota;
    cluster.tenants[1].limit = setting.limit;
    cluster.tenants[2].parent = Some(heeler_model::TenantId(0));
    cluster
}

fn job(made: &Made, index: usize) -> TraceJob {
    let mut demand = Demand::gpus(made.gpus);
    demand.share = Milli(made.share);
    demand.kinds = match made.kind {
        0 => KindSet::only(heeler_model::KindId(0)),
        1 => KindSet::only(heeler_model::KindId(1)),
        _ => KindSet::ANY,
    };
    demand.gpu_memory_mb = made.memory_mb;
    demand.cpu_milli = made.cpus * 1000;
    demand.reach = match made.reach {
        0 => Reach::Node,
        1 => Reach::Rack,
        _ => Reach::Cluster,
    };
    if made.elastic && made.share == 1000 {
        let (min, max) = (made.gpus.div_ceil(2), made.gpus * 2);
        demand.sizes = Sizes { asked: made.gpus, min, max, step: Step::Any };
    }
    let truth = Truth { work: made.length_s as f64 * 1e6 };
    let mut spec = JobSpec::new(demand).with_truth(truth);
    spec.tenant = heeler_model::TenantId(made.tenant);
    spec.skewed = made.skewed;
    spec.model = ModelId(index as u16 % 3);
    spec.declared = Some(heeler_model::Span::from_secs(made.length_s * (1 + index as u64 % 3)));
    let submit = Time::from_secs(made.submit_s);
    if let Some(times) = made.due {
        let at = submit + heeler_model::Span::from_secs(made.length_s * times);
        spec.extras_mut().deadlines = vec![Deadline { at, value: 1 }];
    }
    if !made.length_s.is_multiple_of(3) {
        let stage = |times: u64| (made.length_s * times % 10) as f64 / 10.0;
        let stage_s = [3, 7, 9].map(stage).to_vec();
        spec.extras_mut().stages = Some(Stages { iteration_s: 1.0, stage_s });
    }
    if !made.length_s.is_multiple_of(4) {
        let portion = |cpus: u64| Portion { cpu_milli: cpus as u32 * 1000, memory_mb: 0 };
        let (enough, measured) = (portion(made.length_s % 9), vec![(portion(3), 1.0)]);
        spec.extras_mut().appetite = Some(Appetite { enough, best: 1.5, measured });
    }
    let mut job = TraceJob::new(submit, spec);
    if let Some(limit) = made.trial {
        job.spec = job.spec.with_truth(Truth { work: made.length_s as f64 });
        job.spec.nominal_pace = 1e-6;
        job.spec.extras_mut().study = Some(StudyId(made.tenant % 2));
        let limit = f64::from(limit) / 1000.0;
        let curve = Curve::Rising(Rising { limit, tau: 9.0, noise: 0.01, seed: index as u32 });
        job.trial = Some(Box::new(Trial { study: made.tenant.to_string().into(), curve }));
    }
    job
}

/// Three models that slow each other down on GPUs that they share, one side more than the other,
/// and two of them more than turns would.
fn sharing() -> Sharing {
    let mut table = PairTable::default();
    for (model, neighbour, pace) in [(0, 1, 0.9), (1, 0, 0.6), (1, 2, 0.3), (2, 1, 0.4)] {
        let (model, neighbour) = (ModelId(model), ModelId(neighbour));
        table.insert(KindId(0), Mechanism::TimeSlice, model, neighbour, pace);
    }
    Sharing { table: Some(Arc::new(table)), unmeasured: 0.9, ..Sharing::default() }
}

/// Whoever may put two jobs on the same GPUs does so every other time.
fn card(text: &str, setting: &Setting) -> Card {
    let pairs = format!("pairs = {}", setting.seed.is_multiple_of(2));
    let text = text.replace("pairs = false", &pairs);
    Card::read(&text, "card").expect("built-in cards can be read")
}

fn simulation(text: &str, setting: &Setting, jobs: &[Made]) -> Simulation {
    let card = card(text, setting);
    let (save, restore) = setting.costs_s;
    let costs = Costs {
        save: Cost::fixed(f64::from(save)),
        restore: Cost::fixed(f64::from(restore)),
        relocate: Cost::fixed(f64::from(restore)),
        checkpoint_every_s: Some(10.0),
        ..Costs::default()
    };
    let failures = Failures { mean_between_h: 0.1, mean_repair_h: 0.01 };
    let failures = setting.breaks.then_some(failures);
    let world = World { costs, failures, sharing: sharing(), ..World::default() };
    let mut list: Vec<TraceJob> =
        jobs.iter().enumerate().map(|(index, made)| job(made, index)).collect();
    list.sort_by_key(|job| job.submit);
    let mut sorted: Vec<&Made> = jobs.iter().collect();
    sorted.sort_by_key(|made| made.submit_s);
    for (index, made) in sorted.iter().enumerate().skip(1) {
        if let Some(part) = made.follows {
            let first = (u128::from(part) * index as u128) >> 64;
            // Replicas are numbered among the jobs when their service begins.
            let begun = sorted[first as usize].submit_s >= SERVICE_FROM_S;
            let replicas = setting.serves.filter(|_| begun).map_or(0, |serves| serves.0);
            list[index].spec.extras_mut().after = vec![JobId(first as u32 + replicas)];
        }
    }
    let pairs = world.sharing.table.as_ref().expect("a table").known(Mechanism::TimeSlice);
    let cluster = Arc::new(Cluster { pairs, ..cluster(setting) });
    let engine = Engine::new(cluster.clone(), card.build(), world.rules, setting.seed);
    let services: Vec<ServiceSpec> = setting.serves.map(service).into_iter().collect();
    Simulation::new(engine, world, cluster, Box::new(Workload::new(list)), setting.seed)
        .with_services(&services)
}

/// When the service begins.
const SERVICE_FROM_S: u64 = 7;

/// A service for five minutes that is busy every other minute.
fn service((replicas, gpus, priority): (u32, u32, i32)) -> ServiceSpec {
    let text = format!(
        "name = \"web\"\nreplicas = {replicas}\ngpus = {gpus}\npriority = {priority}\n\
         from = \"{SERVICE_FROM_S} s\"\nuntil = \"307 s\"\nload-s = 3\n\
         [traffic]\nrate-per-s = 40\nshape = {{ step-s = 60, factors = [0.1, 1.0] }}\n\
         [model.batch]\ntarget-ms = 200\n\
         latency = {{ linear = {{ fixed-ms = 50, per-request-ms = 5 }} }}\n"
    );
    services::parse(&text, "web.toml", &mut Cluster::uniform(1, 1)).expect("a service")
}

/// Everything that is claimed fits, counted anew from the jobs alone.
fn audit(state: &State) -> Result<(), TestCaseError> {
    let fleet = state.fleet();
    let nodes = &fleet.cluster().nodes;
    let mut gpus: BTreeMap<(NodeId, u32), (u32, u32)> = BTreeMap::new();
    let mut cpus: BTreeMap<NodeId, u64> = BTreeMap::new();
    for job in state.jobs().iter() {
        let Some(on) = &job.assignment else { continue };
        let demand = &job.spec.demand;
        prop_assert!(demand.sizes.admits(on.gpus()), "{}: a gang is whole or does not run", job.id);
        for slice in on.placement.slices() {
            let node = &nodes[slice.node.index()];
            prop_assert!(demand.kinds.contains(node.kind), "{}: on a kind it asked for", job.id);
            prop_assert!(slice.slots.without(node.slots()).is_empty(), "{}: on real GPUs", job.id);
            let times = u64::from(slice.slots.count().max(1));
            let beside = on.portion.unwrap_or(demand.portion());
            prop_assert!(beside.covers(demand.portion()), "{}: no less than it asked for", job.id);
            *cpus.entry(slice.node).or_default() += u64::from(beside.cpu_milli) * times;
            for slot in slice.slots.iter() {
                let gpu = gpus.entry((slice.node, slot)).or_default();
                gpu.0 += on.share.0;
                gpu.1 += demand.gpu_memory_mb;
            }
        }
    }
    for ((node, slot), (milli, memory)) in gpus {
        prop_assert!(milli <= 1000, "GPU {slot} of node {node} has {milli} thousandths in use");
        let there = fleet.cluster().kinds[nodes[node.index()].kind.index()].memory_mb;
        prop_assert!(there == 0 || memory <= there, "GPU {slot} of node {node}: memory");
    }
    for (node, milli) in cpus {
        prop_assert!(milli <= nodes[node.index()].cpu_milli, "CPUs of node {node}");
    }
    for (index, tenant) in fleet.cluster().tenants.iter().enumerate() {
        let id = heeler_model::TenantId(index as u16);
        let used = state.tenants().usage(id).milli;
        prop_assert!(
            tenant.limit.is_none_or(|limit| used <= u64::from(limit) * 1000),
            "{}",
            tenant.name
        );
    }
    Ok(())
}

/// What a full plan must be like.
fn plans_well(engine: &Engine, settled: bool) -> Result<(), TestCaseError> {
    let plan = engine.full_plan();
    prop_assert_eq!(&plan, &engine.full_plan(), "planning twice gives the same plan");
    let runs: BTreeSet<JobId> = plan.run.iter().map(|run| run.job).collect();
    let mut verdicts = BTreeSet::new();
    for wait in &plan.wait {
        prop_assert!(verdicts.insert(wait.job), "job {} has two verdicts", wait.job);
        prop_assert!(!runs.contains(&wait.job), "job {} both runs and waits", wait.job);
    }
    for job in engine.state().jobs().iter().filter(|job| job.phase == Phase::Waiting) {
        let over = plan.end.iter().any(|end| end.job == job.id);
        let known = verdicts.contains(&job.id) || runs.contains(&job.id) || over;
        prop_assert!(known, "job {} waits without a verdict", job.id);
    }
    for stop in &plan.stop {
        if let Reason::Displaced { by } = stop.reason {
            prop_assert!(runs.contains(&by), "job {} stops for one that does not start", stop.job);
        }
    }
    if settled {
        let placed = |id: &JobId| engine.state().job(*id).assignment.clone();
        let moved = plan.run.iter().find(|run| placed(&run.job) != Some(run.assignment.clone()));
        prop_assert!(moved.is_none(), "with nothing changed, {moved:?} moves");
        let named = |id: JobId| runs.contains(&id);
        let stops = plan.stop.len()
            + match plan.scope {
                Scope::Changes => 0,
                Scope::Whole => {
                    let placed = engine.state().jobs().iter().filter(|job| job.is_placed());
                    placed.filter(|job| !named(job.id)).count()
                }
            };
        prop_assert_eq!(stops, 0, "with nothing changed, nobody stops");
        prop_assert!(plan.end.is_empty(), "with nothing changed, nobody is over");
    }
    Ok(())
}

fn invariants_hold(
    name: &str,
    text: &str,
    setting: &Setting,
    jobs: &[Made],
) -> Result<(), TestCaseError> {
    let mut simulation = simulation(text, setting, jobs);
    let mut moments = 0;
    while simulation.advance(Time::MAX) {
        moments += 1;
        prop_assert!(moments < 20_000, "{name} does not come to an end");
        // A recipe that decides in rounds may well want something else in between.
        let by_event = !text.contains("round");
        let fine = audit(simulation.engine().state())
            .and_then(|()| plans_well(simulation.engine(), by_event));
        prop_assert!(fine.is_ok(), "{name} at {}: {fine:?}", simulation.now());
    }
    Ok(())
}

fn everybody_finishes(
    name: &str,
    text: &str,
    setting: &Setting,
    jobs: &[Made],
) -> Result<(), TestCaseError> {
    let mut simulation = simulation(text, setting, jobs);
    simulation.run();
    for job in simulation.engine().state().jobs().iter() {
        let told = |of: fn(&Reason) -> bool| job.noted.is_some_and(|noted| of(&noted.reason));
        let never = told(|reason| reason.tier() == heeler_model::Tier::Never);
        let over_limit = told(|reason| matches!(reason, Reason::OverLimit { .. }));
        // A study is not at rest while one of its trials waits for something else.
        let in_study = told(Reason::is_within_study);
        prop_assert!(
            never || over_limit || in_study || job.after > 0,
            "{name}: job {} never ran: {:?}",
            job.id,
            job.noted
        );
    }
    Ok(())
}

fn goes_on_when_restored(
    name: &str,
    text: &str,
    setting: &Setting,
    jobs: &[Made],
    moments: usize,
) -> Result<(), TestCaseError> {
    let mut simulation = simulation(text, setting, jobs);
    for _ in 0..moments {
        simulation.advance(Time::MAX);
    }
    let mut other = simulation.fork();
    other.restart(card(text, setting).build());
    simulation.run();
    other.run();
    let mut written = [Vec::new(), Vec::new()];
    for (simulation, bytes) in [&simulation, &other].into_iter().zip(&mut written) {
        write_jobs(simulation, bytes).expect("a vector takes everything");
    }
    let [first, second] = written.map(|b| String::from_utf8_lossy(&b).into_owned());
    prop_assert_eq!(first, second, "{}", name);
    Ok(())
}

/// Recipes with successive halving before them, in all its variants. A gate that counts (workers,
/// quota) stands only before recipes in which the order stops nobody: where somebody gives way late
/// in a plan, whoever is let in for that may make room only in the next.
fn with_studies() -> Vec<(String, String)> {
    let gates = [
        ("fifo-easy", "{ asha = { eta = 2 } }"),
        ("las", "{ asha = { eta = 2, leftover = 'resume' } }"),
        ("elastic", "{ asha = { eta = 3, workers = 2, most = 40 } }"),
        ("capacity", "{ all = ['within-quota', { asha = { variant = 'stop' } }] }"),
        ("sjf", "{ all = [{ asha = { first = 2, workers = 1 } }, 'within-quota'] }"),
    ];
    let card = |(name, gate): (&str, &str)| {
        let recipe = all().iter().find(|recipe| recipe.name == name).expect("a built-in card");
        let text = recipe.text.replace("[policy]\n", &format!("[policy]\ngate = {gate}\n"));
        (format!("{name} with {gate}"), text)
    };
    gates.map(card).into()
}

/// Something that people do to a job or a node after so many moments.
#[derive(Clone, Copy, Debug)]
struct Meddling {
    after: u32,
    job: u32,
    what: u8,
}

fn meddling() -> impl Strategy<Value = Vec<Meddling>> {
    let one = (0u32..60, 0u32..30, 0u8..9);
    let one = one.prop_map(|(after, job, what)| Meddling { after, job, what });
    prop::collection::vec(one, 0..20)
}

/// People hold, release and reprioritise jobs, and close nodes on which jobs run on; in the end
/// everybody is released and all nodes are open.
fn bears_meddling(
    recipe: &str,
    text: &str,
    setting: &Setting,
    jobs: &[Made],
    acts: &[Meddling],
) -> Result<(), TestCaseError> {
    let mut simulation = simulation(text, setting, jobs);
    let mut moments = 0;
    loop {
        for act in acts.iter().filter(|act| act.after == moments) {
            let job = JobId(act.job);
            let nodes = simulation.engine().state().fleet().cluster().nodes.len() as u32;
            let node = NodeId(act.job % nodes);
            // Nodes that break by themselves come back when nobody expects it.
            match act.what {
                6 | 7 if !setting.breaks => simulation.tell(Event::NodeDown { node }),
                8 if !setting.breaks => simulation.tell(Event::NodeUp { node }),
                _ => {}
            }
            if act.what > 5 || !simulation.engine().state().jobs().knows(job) {
                continue;
            }
            simulation.tell(match act.what {
                0 | 1 => Event::Held { job, reason: Reason::HeldBack },
                2 | 3 => Event::Released { job },
                4 => Event::Priority { job, priority: act.after as i32 % 5 - 2 },
                _ => Event::Held { job, reason: Reason::Suspended },
            });
            audit(simulation.engine().state())?;
        }
        if !simulation.advance(Time::MAX) && moments > 60 {
            break;
        }
        moments += 1;
        prop_assert!(moments < 20_000, "{recipe} does not come to an end");
        let by_event = !text.contains("round");
        let fine = audit(simulation.engine().state())
            .and_then(|()| plans_well(simulation.engine(), by_event));
        prop_assert!(fine.is_ok(), "{recipe} at {}: {fine:?}", simulation.now());
        if moments == 61 {
            let held = |job: &heeler_engine::Job| job.held.is_some();
            let jobs = simulation.engine().state().jobs().iter();
            let held: Vec<JobId> = jobs.filter(|job| held(job)).map(|job| job.id).collect();
            held.into_iter().for_each(|job| simulation.tell(Event::Released { job }));
            let nodes = simulation.engine().state().fleet().cluster().nodes.len() as u32;
            for node in (0..nodes).map(NodeId).filter(|_| !setting.breaks) {
                simulation.tell(Event::NodeUp { node });
            }
        }
    }
    let state = simulation.engine().state();
    let forgotten = state.jobs().iter().find(|job| job.held.is_some());
    prop_assert!(forgotten.is_none(), "{recipe}: {forgotten:?} is still held");
    Ok(())
}

/// Another recipe takes over while jobs run, and all of them come to their end.
fn takes_over(
    (first, second): (&str, &str),
    texts: (&str, &str),
    setting: &Setting,
    jobs: &[Made],
    moments: usize,
) -> Result<(), TestCaseError> {
    let mut simulation = simulation(texts.0, setting, jobs);
    for _ in 0..moments {
        simulation.advance(Time::MAX);
    }
    simulation.adopt(card(texts.1, setting).build());
    audit(simulation.engine().state())?;
    let mut moments = 0;
    while simulation.advance(Time::MAX) {
        moments += 1;
        prop_assert!(moments < 20_000, "{second} after {first} does not come to an end");
        let fine = audit(simulation.engine().state());
        prop_assert!(fine.is_ok(), "{second} after {first}: {fine:?}");
    }
    for job in simulation.engine().state().jobs().iter() {
        let told = |of: fn(&Reason) -> bool| job.noted.is_some_and(|noted| of(&noted.reason));
        let never = told(|reason| reason.tier() == heeler_model::Tier::Never);
        let over_limit = told(|reason| matches!(reason, Reason::OverLimit { .. }));
        let excused = never || over_limit || told(Reason::is_within_study) || job.after > 0;
        prop_assert!(excused, "{second} after {first}: job {} never ran: {:?}", job.id, job.noted);
    }
    Ok(())
}

/// The bytes that a whole run writes.
fn bytes(text: &str, setting: &Setting, jobs: &[Made]) -> Vec<u8> {
    let mut simulation = simulation(text, setting, jobs);
    simulation.run();
    let mut bytes = Vec::new();
    write_jobs(&simulation, &mut bytes).expect("a vector takes everything");
    bytes
}

/// The recipes of a run: all of them, or those that `HEELER_RECIPES` names.
fn tried() -> impl Iterator<Item = &'static heeler_recipes::BuiltIn> {
    let named = std::env::var("HEELER_RECIPES").ok();
    let is_named = move |name: &str| match &named {
        Some(named) => named.split(',').any(|other| other.trim() == name),
        None => true,
    };
    all().iter().filter(move |recipe| is_named(recipe.name))
}

/// So many cases, each for every recipe; as many as `PROPTEST_CASES` says, where it says so.
fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").is_ok();
    let plain = ProptestConfig { max_shrink_iters: 4000, ..ProptestConfig::default() };
    // Everybody's usual run tries the same cases; whoever asks for more gets new ones.
    let same = proptest::test_runner::RngSeed::Fixed(1);
    if asked { plain } else { ProptestConfig { cases: usual, rng_seed: same, ..plain } }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn invariants_hold_for_all_recipes(
        setting in setting(),
        jobs in prop::collection::vec(made(), 1..30),
    ) {
        for recipe in tried() {
            invariants_hold(recipe.name, recipe.text, &setting, &jobs)?;
        }
    }

    #[test]
    fn everybody_who_can_run_finishes(
        mut setting in setting(),
        jobs in prop::collection::vec(made(), 1..20),
    ) {
        setting.breaks = false;
        for recipe in tried() {
            everybody_finishes(recipe.name, recipe.text, &setting, &jobs)?;
        }
    }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn equal_seeds_give_equal_bytes_on_one_thread_and_on_many(
        setting in setting(),
        jobs in prop::collection::vec(made(), 1..30),
    ) {
        let run = |recipe: &&heeler_recipes::BuiltIn| {
            let run = || bytes(recipe.text, &setting, &jobs);
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            ended.unwrap_or_else(|_| panic!("{} panicked, see above", recipe.name))
        };
        let recipes: Vec<_> = tried().collect();
        let alone: Vec<Vec<u8>> = recipes.iter().map(run).collect();
        let together: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                recipes.iter().map(|recipe| scope.spawn(|| run(recipe))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no thread fails")).collect()
        });
        prop_assert_eq!(alone, together);
    }

    #[test]
    fn a_restored_engine_goes_on_as_if_nothing_had_happened(
        setting in setting(),
        jobs in prop::collection::vec(made(), 1..30),
        moments in 0usize..40,
    ) {
        for recipe in tried() {
            goes_on_when_restored(recipe.name, recipe.text, &setting, &jobs, moments)?;
        }
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn people_may_hold_jobs_and_close_nodes(
        setting in setting(),
        jobs in prop::collection::vec(made(), 1..30),
        acts in meddling(),
    ) {
        for recipe in tried() {
            bears_meddling(recipe.name, recipe.text, &setting, &jobs, &acts)?;
        }
    }

    #[test]
    fn another_recipe_takes_over_while_jobs_run(
        mut setting in setting(),
        jobs in prop::collection::vec(made(), 1..20),
        moments in 0usize..40,
        shift in 0usize..24,
    ) {
        setting.breaks = false;
        for (index, first) in all().iter().enumerate() {
            let second = &all()[(index + shift) % all().len()];
            let (names, texts) = ((first.name, second.name), (first.text, second.text));
            takes_over(names, texts, &setting, &jobs, moments)?;
        }
    }

    #[test]
    fn studies_run_under_any_recipe(
        mut setting in setting(),
        jobs in prop::collection::vec(made(), 1..30),
        moments in 0usize..80,
    ) {
        for (name, text) in with_studies() {
            invariants_hold(&name, &text, &setting, &jobs)?;
            goes_on_when_restored(&name, &text, &setting, &jobs, moments)?;
        }
        setting.breaks = false;
        for (name, text) in with_studies() {
            everybody_finishes(&name, &text, &setting, &jobs)?;
        }
    }
}
