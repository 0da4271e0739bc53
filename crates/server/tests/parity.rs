//! Live parity: a run with several tenants, preemptions, a lost node, a change of recipe and a
//! restart of the server; its journal, taken up again without any world, gives the same orders,
//! byte for byte, one decision after another.

use heeler_api::{
    Class, Gpus, JobState, RecipeChange, Role, Selection, Submission, TenantChange, Who,
};
use heeler_backend::{Backend, Expected, Inventory, Order};
use heeler_live::{Act, Ask, Filter, Live, Which};
use heeler_model::Cluster;
use heeler_server::noop::{Noop, RUNS_MS};
use heeler_server::{Asker, Handle, Loop, Replay, Settings};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A world that notes what it is told.
struct Noting {
    world: Noop,
    told: Arc<Mutex<Vec<String>>>,
}

impl Backend for Noting {
    fn inventory(&self) -> Inventory {
        self.world.inventory()
    }

    fn adopt(&mut self, expected: Vec<Expected>) {
        self.world.adopt(expected);
    }

    fn carry_out(&mut self, order: Order) {
        let text = serde_json::to_string(&order).expect("an order is plain data");
        self.told.lock().expect("nobody panicked").push(text);
        self.world.carry_out(order);
    }

    fn readings(&mut self) -> Vec<Vec<BTreeMap<String, f64>>> {
        Vec::new()
    }
}

fn admin() -> Who {
    Who { user: "root".into(), uid: None, gid: None, role: Role::Admin, tenants: Vec::new() }
}

fn ask(handle: &Handle, ask: Ask) {
    let what = format!("{ask:?}");
    handle.ask(Asker::Known(admin()), ask).unwrap_or_else(|problem| panic!("{what}: {problem:?}"));
}

fn job(tenant: &str, gpus: u32, runs_ms: u32, class: Class) -> Submission {
    Submission {
        name: format!("{tenant}-{gpus}"),
        tenant: Some(tenant.into()),
        command: vec!["true".into()],
        dir: "/".into(),
        env: BTreeMap::from([(RUNS_MS.to_string(), runs_ms.to_string())]),
        gpus: Gpus { count: gpus, ..Gpus::default() },
        class,
        requeue: true,
        expected_s: Some(1),
        ..Submission::default()
    }
}

fn start(settings: &Settings, told: &Arc<Mutex<Vec<String>>>) -> Loop {
    let told = told.clone();
    let world = move |tell| {
        let world = Noop::new(Cluster::uniform(3, 4), Duration::from_millis(100), tell);
        Ok(Box::new(Noting { world, told }) as Box<dyn Backend>)
    };
    Loop::start(settings, world).expect("a loop")
}

/// Wait until something is so.
fn until(handle: &Handle, what: &str, so: impl Fn(&Live) -> bool) {
    let begun = Instant::now();
    while !handle.look(&so) {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn unfinished(live: &Live) -> usize {
    live.jobs(&admin(), &Filter { which: Which::Unfinished, ..Filter::default() }).len()
}

/// The first server: tenants fill the cluster, and one takes back what is its own.
fn first_day(handle: &Handle) {
    for (name, quota) in [("vision", 4), ("speech", 8)] {
        let change = TenantChange { quota: Some(Some(quota)), ..TenantChange::default() };
        ask(handle, Ask::Tenant { name: name.into(), change });
    }
    let long = |tenant, gpus| job(tenant, gpus, 600_000, Class::Guaranteed);
    ask(handle, Ask::Submit((0..6).map(|_| long("vision", 2)).collect()));
    until(handle, "one tenant has all", |live| live.engine().state().running() == 6);
    ask(handle, Ask::Submit(vec![long("speech", 4), long("speech", 4)]));
    until(handle, "the other has its own", |live| {
        let all = live.jobs(&admin(), &Filter { which: Which::All, ..Filter::default() });
        let run = all.iter().filter(|job| job.state == JobState::Running);
        !live.evictions(&admin()).is_empty()
            && run.filter(|job| job.tenant == "speech").count() == 2
    });
    // Each of the three nodes now has a job that runs, so whichever is lost, somebody is.
    ask(handle, Ask::Submit((0..30).map(|_| job("vision", 1, 20, Class::BestEffort)).collect()));
    ask(handle, Ask::Lose { node: "n1".into() });
    let lost = |live: &Live| {
        let all = live.jobs(&admin(), &Filter { which: Which::All, ..Filter::default() });
        all.iter().any(|job| job.restarts > 0)
    };
    until(handle, "somebody was lost with the node", lost);
}

/// The second: another recipe, the node comes back, everybody ends.
fn second_day(handle: &Handle) {
    let name = Some("tiresias".to_string());
    ask(handle, Ask::Recipe(RecipeChange { name, ..RecipeChange::default() }));
    ask(handle, Ask::Undrain { node: "n1".into() });
    ask(handle, Ask::Submit((0..8).map(|_| job("speech", 3, 30, Class::Guaranteed)).collect()));
    let numbers: Vec<String> = (1..=8).map(|number: u32| number.to_string()).collect();
    let jobs: Selection = numbers.join(",").parse().expect("numbers");
    ask(handle, Ask::Act { jobs, act: Act::Cancel });
    until(handle, "everybody is over", |live| unfinished(live) == 0);
}

#[test]
fn a_journal_gives_the_same_orders_again_byte_for_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = Settings::new(folder.path().join("state"));
    settings.recipe = "capacity".into();
    settings.seed = Some(3);
    let told = Arc::new(Mutex::new(Vec::new()));
    let server = start(&settings, &told);
    first_day(&server.handle());
    server.stop().expect("it ends well");
    let server = start(&settings, &told);
    second_day(&server.handle());
    let digest = server.handle().look(Live::digest);
    server.stop().expect("it ends well");

    let contents = heeler_journal::read_all(&settings.state.join("journal")).expect("a journal");
    assert!(contents.snapshot.is_none(), "the journal is whole");
    let mut replay = Replay::from(None).expect("nothing yet");
    let (mut again, mut decisions) = (Vec::new(), 0);
    for (number, bytes) in &contents.records {
        let noted = replay.take(*number, bytes, |_, decision| {
            decisions += 1;
            let text = |order| serde_json::to_string(order).expect("an order is plain data");
            again.extend(decision.orders.iter().map(text));
        });
        noted.expect("a record");
    }
    let told = told.lock().expect("nobody panicked");
    for (index, (live, again)) in told.iter().zip(&again).enumerate() {
        assert_eq!(live, again, "order {index}");
    }
    assert_eq!(told.len(), again.len(), "as many orders");
    assert_eq!(replay.notes, Vec::<String>::new(), "no decision differs");
    let live = replay.live.expect("a state");
    assert_eq!(live.digest(), digest);
    assert!(decisions > 20 && told.len() > 60, "{decisions} decisions, {} orders", told.len());
    for word in ["\"start\"", "\"stop\"", "\"end\"", "\"lose\"", "\"forget\""] {
        assert!(told.iter().any(|order| order.contains(word)), "nobody was told to {word}");
    }
}
