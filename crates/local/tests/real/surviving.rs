//! A server that goes away and comes back: nothing is lost, and nothing runs twice.

use crate::world::{World, is_there, lines, shell, until};
use heeler_backend::{Backend, Ending, Expected, Launch, Resume, Sign, Way};
use heeler_model::Generation;

/// A job that notes each of its starts, and goes on until a file appears.
fn noting(world: &World, job: u32) -> Launch {
    let command = "echo $$ >> $RUNS; while [ ! -e $GO ]; do sleep 0.02; done; exit 4";
    let mut launch = shell(job, command);
    let (runs, go) = (world.path(&format!("runs{job}")), world.path("go"));
    launch.env.insert("RUNS".into(), runs.display().to_string());
    launch.env.insert("GO".into(), go.display().to_string());
    launch
}

fn runs(launch: &Launch) -> Vec<String> {
    lines(launch.env["RUNS"].as_ref())
}

/// Its shepherd's number.
fn shepherd(world: &World, launch: &Launch) -> i32 {
    let claim = world.state().join(format!("jobs/{}/{}/claim", launch.job, launch.generation));
    let text = std::fs::read_to_string(claim).expect("it is claimed");
    let claim: serde_json::Value = serde_json::from_str(&text).expect("a claim");
    claim["shepherd"]["pid"].as_i64().expect("a shepherd") as i32
}

fn kill(pid: i32) {
    let pid = nix::unistd::Pid::from_raw(pid);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).expect("it is there");
}

fn expect_runs(launch: &Launch) -> Vec<Expected> {
    vec![Expected::Runs(Box::new(launch.clone()))]
}

#[test]
fn what_still_runs_goes_on() {
    let mut world = World::new();
    let launch = noting(&world, 1);
    world.start(&launch);
    world.started(&launch);
    until("it runs", || runs(&launch).len() == 1);
    world.crash();
    world.open();
    world.local().adopt(expect_runs(&launch));
    assert!(!world.started(&launch), "it says so again");
    std::fs::write(world.path("go"), "").expect("a file");
    assert_eq!(world.ended(&launch), Ending::Exited { code: 4 });
    assert_eq!(runs(&launch).len(), 1);
}

#[test]
fn what_ended_meanwhile_is_told_exactly() {
    let mut world = World::new();
    let launch = noting(&world, 1);
    world.start(&launch);
    world.started(&launch);
    world.crash();
    std::fs::write(world.path("go"), "").expect("a file");
    let exit = world.state().join("jobs/1/1/exit.json");
    until("it has ended", || exit.exists());
    world.open();
    world.local().adopt(expect_runs(&launch));
    assert_eq!(world.ended(&launch), Ending::Exited { code: 4 });
    assert_eq!(runs(&launch).len(), 1);
}

#[test]
fn what_was_never_started_is_started_once() {
    let mut world = World::new();
    let launch = noting(&world, 1);
    world.crash();
    world.open();
    world.local().adopt(expect_runs(&launch));
    world.started(&launch);
    until("it runs", || runs(&launch).len() == 1);
    // The same order once more, as a server gives it that does not know whether it had.
    world.start(&launch);
    world.started(&launch);
    std::fs::write(world.path("go"), "").expect("a file");
    assert_eq!(world.ended(&launch), Ending::Exited { code: 4 });
    assert_eq!(runs(&launch).len(), 1);
}

#[test]
fn what_was_to_end_before_it_began_never_does() {
    let mut world = World::new();
    let (launch, other) = (noting(&world, 1), noting(&world, 2));
    world.crash();
    world.open();
    world.local().adopt(vec![
        Expected::Ends(Box::new(launch.clone())),
        Expected::Stops(Box::new(other.clone())),
    ]);
    let mut signs = [world.next(), world.next()];
    signs.sort_by_key(|sign| matches!(sign, Sign::Stopped { .. }));
    assert!(matches!(signs[0], Sign::Ended { ending: Ending::Lost, .. }), "{signs:?}");
    assert!(matches!(signs[1], Sign::Stopped { way: Way::Requeued, .. }), "{signs:?}");
    assert_eq!((runs(&launch).len(), runs(&other).len()), (0, 0));
}

#[test]
fn orders_that_did_not_arrive_are_given_again() {
    let mut world = World::new();
    let (ends, stops) = (noting(&world, 1), noting(&world, 2));
    for launch in [&ends, &stops] {
        world.start(launch);
        world.started(launch);
    }
    world.crash();
    world.open();
    world.local().adopt(vec![
        Expected::Ends(Box::new(ends.clone())),
        Expected::Stops(Box::new(stops.clone())),
    ]);
    let (mut ended, mut stopped) = (false, false);
    while !(ended && stopped) {
        match world.next() {
            Sign::Started { .. } => {}
            Sign::Ended { job, .. } => ended = job == ends.job,
            Sign::Stopped { job, way, .. } => stopped = job == stops.job && way == Way::Frozen,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_nobody_expects_is_ended() {
    let mut world = World::new();
    let launch = noting(&world, 1);
    world.start(&launch);
    world.started(&launch);
    until("it runs", || runs(&launch).len() == 1);
    world.crash();
    world.open();
    world.local().adopt(Vec::new());
    until("it is ended", || !is_there(&runs(&launch)[0]));
    assert!(world.is_quiet(), "nobody asked");
}

#[test]
fn a_killed_shepherd_takes_its_job_with_it() {
    let mut world = World::new();
    let pid = world.path("pid");
    let mut launch = noting(&world, 1);
    let grandchild = "setsid sleep 600 & echo $! > $PID; ";
    launch.command[2].insert_str(0, grandchild);
    launch.env.insert("PID".into(), pid.display().to_string());
    world.start(&launch);
    world.started(&launch);
    until("it runs", || runs(&launch).len() == 1);
    kill(shepherd(&world, &launch));
    assert_eq!(world.ended(&launch), Ending::Lost);
    assert!(!is_there(&runs(&launch)[0]), "the job is gone");
    assert!(!is_there(&lines(&pid)[0]), "and what it had started");
}

#[test]
fn a_shepherd_killed_with_the_server_is_noticed() {
    let mut world = World::with(|setup| setup.cgroups = false);
    let pid = world.path("pid");
    let mut launch = noting(&world, 1);
    launch.command[2].insert_str(0, "setsid sleep 600 & echo $! > $PID; ");
    launch.env.insert("PID".into(), pid.display().to_string());
    world.start(&launch);
    world.started(&launch);
    until("it runs", || runs(&launch).len() == 1);
    let shepherd = shepherd(&world, &launch);
    world.crash();
    kill(shepherd);
    world.open();
    world.local().adopt(expect_runs(&launch));
    assert_eq!(world.ended(&launch), Ending::Lost);
    assert!(!is_there(&lines(&pid)[0]), "found by its mark alone");
    assert_eq!(runs(&launch).len(), 1);
}

#[test]
fn after_a_power_loss_nothing_uncertain_runs_again() {
    let mut world = World::new();
    let launch = noting(&world, 1);
    world.crash();
    std::fs::write(world.state().join("boot"), "another start").expect("a file");
    world.open();
    world.local().adopt(expect_runs(&launch));
    assert_eq!(world.ended(&launch), Ending::Lost);
    assert_eq!(runs(&launch).len(), 0);
}

#[test]
fn what_sleeps_is_found_and_goes_on() {
    let mut world = World::new();
    let launch = noting(&world, 1);
    world.start(&launch);
    world.started(&launch);
    until("it runs", || runs(&launch).len() == 1);
    world.stop(&launch);
    assert_eq!(world.stopped(&launch), Way::Frozen);
    world.crash();
    world.open();
    let (job, generation) = (launch.job, launch.generation);
    world.local().adopt(vec![Expected::Sleeps { job, generation }]);
    assert!(world.is_quiet(), "it goes on sleeping");
    let mut next = launch.clone();
    next.generation = Generation(2);
    next.resume = Resume::Processes;
    world.start(&next);
    assert!(world.started(&next), "the same processes");
    world.crash();
    world.open();
    world.local().adopt(expect_runs(&next));
    assert!(world.started(&next));
    std::fs::write(world.path("go"), "").expect("a file");
    assert_eq!(world.ended(&next), Ending::Exited { code: 4 });
    assert_eq!(runs(&launch).len(), 1);
}

#[test]
fn an_order_to_go_on_that_did_not_arrive_is_given_again() {
    let mut world = World::new();
    let launch = noting(&world, 1);
    world.start(&launch);
    world.started(&launch);
    world.stop(&launch);
    assert_eq!(world.stopped(&launch), Way::Frozen);
    world.crash();
    world.open();
    let mut next = launch.clone();
    next.generation = Generation(3);
    next.resume = Resume::Processes;
    world.local().adopt(expect_runs(&next));
    assert!(world.started(&next));
    world.end(&next, true);
    assert!(matches!(world.ended(&next), Ending::Killed { signal: 9, .. }));
}

#[test]
fn servers_that_come_and_go_under_load_start_everything_once() {
    let mut world = World::with(|setup| setup.ready = 2);
    let launches: Vec<Launch> = (1..=12).map(|job| noting(&world, job)).collect();
    for (number, launch) in launches.iter().enumerate() {
        world.start(launch);
        // Killed at any moment: before, while and after a shepherd takes it.
        if number % 3 == 2 {
            world.crash();
            world.open();
            let known = launches[..=number].iter();
            let expected = known.map(|launch| Expected::Runs(Box::new(launch.clone())));
            world.local().adopt(expected.collect());
        }
    }
    for launch in &launches {
        until("it runs", || !runs(launch).is_empty());
    }
    std::fs::write(world.path("go"), "").expect("a file");
    let mut ended = std::collections::BTreeSet::new();
    while ended.len() < launches.len() {
        if let Sign::Ended { job, ending, .. } = world.next() {
            assert_eq!(ending, Ending::Exited { code: 4 }, "{job}");
            assert!(ended.insert(job), "{job} ended twice");
        }
    }
    assert!(launches.iter().all(|launch| runs(launch).len() == 1));
}
