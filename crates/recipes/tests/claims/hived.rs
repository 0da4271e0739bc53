//! Virtual clusters of cells: what a tenant owns it can have, whatever others do.

use super::scene::{Row, Scene, job, rows};
use heeler_engine::{Engine, Rules};
use heeler_model::{Cluster, Demand, Event, Exit, JobId, JobSpec, NodeId, TenantId, Time};
use heeler_recipes::{Card, find};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Two nodes of four GPUs; vision and speech have a quota of four each. Vision runs four jobs by
/// right and four more on what speech leaves idle; at 50 half of each four end, so that two GPUs
/// are free on each node. Speech wants its four at 100. Where quotas count GPUs, vision is within
/// its own, four are free, and speech waits until jobs end at 1000. Where they are cells, the two
/// jobs on speech's node give way.
#[test]
fn hived_has_no_sharing_anomaly() {
    let mut table: Vec<Row> = Vec::new();
    for (name, length_s) in [("v0", 50), ("v1", 50), ("v2", 1000), ("v3", 1000)] {
        table.push(job(name, 0, 1, length_s).of("vision"));
    }
    for (name, length_s) in [("w0", 50), ("w1", 50), ("w2", 1000), ("w3", 1000)] {
        table.push(job(name, 0, 1, length_s).of("vision").priority(-1));
    }
    table.push(job("s", 100, 4, 100).of("speech"));
    let scene = Scene::new("2x4", table).quota("vision", 4).quota("speech", 4);
    assert_eq!(scene.run("capacity", &[]).start("s"), 1000.0);
    let run = scene.run("hived", &[]);
    assert_eq!(run.start("s"), 100.0);
    assert_eq!(run.preemptions(), 2);
    // They go on beside the two of vision's own, on GPUs that it owns and does not use.
    assert_eq!(["v2", "v3", "w2", "w3"].map(|name| run.end(name)), [1000.0; 4]);
}

/// A guest uses all eight GPUs; vision owns one of the two nodes and takes it back at 100. Its own
/// job of lowest priority waits for what is left, like the guest's.
#[test]
fn hived_lends_what_is_idle_and_takes_it_back() {
    let mut table = vec![job("g1", 0, 4, 1000).of("guest"), job("g2", 1, 4, 1000).of("guest")];
    table.push(job("own", 100, 4, 50).of("vision"));
    table.push(job("extra", 101, 4, 10).of("vision").priority(-1));
    let run = Scene::new("2x4", table).quota("vision", 4).run("hived", &[]);
    assert_eq!([run.start("own"), run.end("own")], [100.0, 150.0]);
    // One of the guest's two was stopped, and came first when vision's job had ended.
    assert_eq!(run.preemptions(), 1);
    assert_eq!(run.start("extra"), 1000.0);
}

/// Vision owns one of two nodes. Its first job has that at priority 0; at 10 comes one of priority
/// 5. The first loses its guarantee and not its GPUs: the other node is idle. Where it is not
/// lazy, the first is stopped, and goes on by right when the second has ended.
#[test]
fn hived_preempts_lazily() {
    let table =
        [job("low", 0, 4, 1000).of("vision"), job("high", 10, 4, 100).of("vision").priority(5)];
    let scene = Scene::new("2x4", table).quota("vision", 4);
    let lazy = scene.run("hived", &[]);
    assert_eq!([lazy.start("high"), lazy.end("low")], [10.0, 1000.0]);
    assert_eq!(lazy.preemptions(), 0);
    let strict = scene.run("hived", &[("lazy", "false")]);
    assert_eq!([strict.start("high"), strict.end("low")], [10.0, 1100.0]);
    assert_eq!(strict.preemptions(), 1);
}

/// Who goes first inside a virtual cluster is what the order says, and the order can be any.
#[test]
fn hived_takes_any_order() {
    let table = [
        job("first", 0, 4, 100).of("vision"),
        job("long", 1, 4, 500).of("vision"),
        job("short", 2, 4, 50).of("vision"),
    ];
    let scene = Scene::new("2x4", table).quota("vision", 4);
    let run = scene.run("hived", &[]);
    assert_eq!([run.start("long"), run.start("short")], [100.0, 600.0]);
    let run = scene.run("hived", &[("order", "{ sjf = { predict = \"declared\" } }")]);
    assert_eq!([run.start("long"), run.start("short")], [150.0, 100.0]);
}

/// An engine with nodes of four GPUs, of which some tenants own one each.
fn engine(nodes: u32, owners: &[&str]) -> Engine {
    let mut cluster = Cluster::uniform(nodes, 4);
    for name in owners {
        let tenant = cluster.tenant_named(name);
        cluster.tenants[tenant.index()].quota = Some(4);
    }
    let card = Card::read(find("hived").expect("it is built in").text, "hived").expect("a card");
    Engine::new(Arc::new(cluster), card.build(), Rules::default(), 1)
}

fn submit(engine: &mut Engine, at_s: u64, number: u32, tenant: u16, gpus: u32) {
    let mut spec = JobSpec::new(Demand::gpus(gpus));
    spec.tenant = TenantId(tenant);
    let event = Event::Submitted { job: JobId(number), spec: Box::new(spec) };
    engine.step(Time::from_secs(at_s), event);
}

fn node_of(engine: &Engine, number: u32) -> Option<u32> {
    let on = engine.state().job(JobId(number)).assignment.as_ref()?;
    on.placement.slices().first().map(|slice| slice.node.0)
}

/// Its node breaks, and the world says that the job is lost.
fn break_under(engine: &mut Engine, at_s: u64, number: u32) -> u32 {
    let at = Time::from_secs(at_s);
    let node = node_of(engine, number).expect("it runs");
    engine.observe(at, Event::NodeDown { node: NodeId(node) });
    let generation = engine.state().job(JobId(number)).generation;
    let exit = Exit::Lost { done: 0.0 };
    engine.observe(at, Event::Stopped { job: JobId(number), generation, exit });
    engine.decide(at);
    node
}

/// Vision and a guest each run on a node, speech's is idle. Vision's node breaks: its cell moves to
/// another node at once. That breaks, too: now two healthy cells are left for none but vision and
/// speech, the guest gives way. When a third node breaks there is nothing left, and vision waits
/// until a node is repaired.
#[test]
fn hived_moves_cells_away_from_bad_nodes() {
    let mut engine = engine(3, &["vision", "speech"]);
    submit(&mut engine, 0, 0, 1, 4);
    submit(&mut engine, 1, 1, 0, 4);
    let first = break_under(&mut engine, 2, 0);
    let second = node_of(&engine, 0).expect("it goes on elsewhere");
    assert_ne!(second, first);
    let guest = node_of(&engine, 1).expect("nobody needs its node");
    assert!(guest != first && guest != second);
    break_under(&mut engine, 3, 0);
    assert_eq!(node_of(&engine, 0), Some(guest), "the guest gave way");
    break_under(&mut engine, 4, 0);
    assert_eq!(node_of(&engine, 0), None);
    engine.step(Time::from_secs(5), Event::NodeUp { node: NodeId(first) });
    assert_eq!(node_of(&engine, 0), Some(first));
}

/// A guest's job has all four GPUs of vision's node and is told to stop for one of vision's. While
/// it is being saved another of the guest's is promised a GPU, which the next of vision's takes:
/// the same decision promises the guest's another, and no job is lost from the cells.
#[test]
fn hived_promises_another_gpu_in_place_of_one_it_takes() {
    let mut engine = engine(1, &["vision"]);
    submit(&mut engine, 0, 0, 0, 4);
    submit(&mut engine, 1, 1, 1, 1);
    submit(&mut engine, 2, 2, 0, 1);
    let before = engine.state().job(JobId(2)).assignment.clone();
    submit(&mut engine, 3, 3, 1, 1);
    assert_eq!(engine.state().job(JobId(3)).assignment, before, "vision has the guest's GPU");
    let after = engine.state().job(JobId(2)).assignment.clone();
    assert!(after.is_some() && after != before, "the guest has another");
    submit(&mut engine, 4, 4, 0, 1);
    submit(&mut engine, 5, 5, 0, 1);
    assert_eq!([4, 5].map(|job| node_of(&engine, job)), [Some(0), None], "four GPUs are promised");
    let generation = engine.state().job(JobId(0)).generation;
    let exit = Exit::Saved { done: 0.0 };
    engine.step(Time::from_secs(6), Event::Stopped { job: JobId(0), generation, exit });
    let runs = |job| engine.state().job(JobId(job)).is_running();
    assert_eq!([0, 1, 2, 3, 4, 5].map(runs), [false, true, true, true, true, false]);
}

/// Of whom, the submission, GPUs and length of a job, and whether it has a guarantee.
type Made = (usize, u64, u32, u64, bool);

const TENANTS: [&str; 3] = ["vision", "speech", "guest"];

fn table(made: &[Made], keep: impl Fn(&Made) -> bool) -> Vec<Row> {
    let mut made: Vec<&Made> = made.iter().collect();
    made.sort_by_key(|(_, submit_s, ..)| *submit_s);
    let all = made.into_iter().enumerate().filter(|(_, made)| keep(made));
    all.map(|(index, (tenant, submit_s, gpus, length_s, by_right))| {
        let row = job(&index.to_string(), *submit_s, *gpus, *length_s).of(TENANTS[*tenant]);
        if *by_right { row } else { row.priority(-1) }
    })
    .collect()
}

/// When each job started first, by its name.
fn starts(scene: &Scene, recipe: &str) -> BTreeMap<String, Option<Time>> {
    let run = scene.run(recipe, &[]);
    let names = scene.jobs.iter().map(|job| job.name.as_deref().expect("a name").to_string());
    names.zip(run.starts()).collect()
}

proptest! {
    /// Vision owns one node of four GPUs, speech one and a half, guests nothing. Whatever others
    /// do, vision's jobs by right start when they would on a node of its own, by a recipe that
    /// knows nothing of cells; and speech's when they would with nobody else there.
    #[test]
    fn hived_is_as_good_as_a_private_cluster(
        made in prop::collection::vec(
            (0usize..3, 0u64..120, 1u32..=4, 1u64..60, any::<bool>()),
            1..40,
        ),
    ) {
        let shared = Scene::new("4x4/2", table(&made, |_| true));
        let shared = starts(&shared.quota("vision", 4).quota("speech", 6), "hived");
        let alone = Scene::new("1x4", table(&made, |(tenant, .., right)| *tenant == 0 && *right));
        for (name, start) in starts(&alone, "fifo-skip") {
            prop_assert_eq!(shared[&name], start, "vision's {}", name);
        }
        let alone = Scene::new("4x4/2", table(&made, |(tenant, .., right)| *tenant == 1 && *right));
        for (name, start) in starts(&alone.quota("speech", 6), "hived") {
            prop_assert_eq!(shared[&name], start, "speech's {}", name);
        }
    }

    #[test]
    fn hived_with_one_tenant_and_one_level_is_fifo(table in rows(6, 1, 30)) {
        let scene = Scene::new("6x1", table).quota("default", 6);
        let cells = scene.run("hived", &[("fit", "strict")]);
        prop_assert_eq!(cells.starts(), scene.run("fifo", &[]).starts());
    }
}
