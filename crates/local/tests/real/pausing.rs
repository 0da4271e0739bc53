//! Jobs that are suspended and go on, that report and save themselves, and that talk to a terminal.

use crate::world::{World, gpus, lines, shell, until};
use heeler_backend::{Backend, Ending, Ranks, Resume, Sign, Way, Window, frame, resized};
use heeler_model::{Generation, JobId};
use std::io::{Read, Write};

/// A job in Python that talks to its shepherd.
const TALKS: &str = r#"#!/usr/bin/env python3
import json, os, socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect(os.environ["HEELER_SOCKET"])
says = lambda value: line.sendall((json.dumps(value) + "\n").encode())
says({"report": {"seq": 1, "step": 10, "loss": 0.5, "saves": True}})
request = json.loads(line.makefile().readline())
print(request["request"], request["stop"], request["grace_s"], flush=True)
says({"saved": {"step": 10}})
sys.exit(143)
"#;

#[test]
fn a_job_reports_and_saves_itself() {
    let mut world = World::new();
    let mut launch = shell(1, "");
    launch.script = Some(TALKS.into());
    launch.command.clear();
    world.start(&launch);
    world.started(&launch);
    match world.sign() {
        Sign::Reported { said, .. } => assert_eq!(said.report["step"], 10),
        other => panic!("{other:?}"),
    }
    world.stop(&launch);
    assert_eq!(world.stopped(&launch), Way::Saved);
    assert_eq!(world.output(1), "save True 10\n");

    let mut next = shell(1, "echo $HEELER_RESUME $HEELER_GENERATION $HEELER_RESTARTS");
    (next.generation, next.resume, next.restarts) = (Generation(2), Resume::Saved, 1);
    world.start(&next);
    assert_eq!(world.ended(&next), Ending::Exited { code: 0 });
    assert_eq!(world.output(1), "save True 10\n1 2 1\n");
}

#[test]
fn what_is_frozen_stands_still_and_goes_on() {
    let mut world = World::new();
    let steps = world.path("steps");
    let mut launch = shell(1, "i=0; while :; do i=$((i+1)); echo $i >> $STEPS; sleep 0.01; done");
    launch.env.insert("STEPS".into(), steps.display().to_string());
    world.start(&launch);
    world.started(&launch);
    until("it steps", || lines(&steps).len() > 3);
    world.stop(&launch);
    assert_eq!(world.stopped(&launch), Way::Frozen);
    let before = lines(&steps).len();
    assert!(world.is_quiet());
    assert_eq!(lines(&steps).len(), before);
    let mut next = launch.clone();
    (next.generation, next.resume) = (Generation(2), Resume::Processes);
    world.start(&next);
    assert!(world.started(&next));
    until("it goes on", || lines(&steps).len() > before + 3);
    let numbers: Vec<usize> = lines(&steps).iter().filter_map(|line| line.parse().ok()).collect();
    assert!(numbers.iter().copied().eq(1..=numbers.len()), "never from the beginning");
    world.end(&next, false);
    assert!(matches!(world.ended(&next), Ending::Killed { signal: 15, .. }));
}

#[test]
fn who_may_only_be_requeued_is_ended_and_begins_again() {
    let mut world = World::new();
    let runs = world.path("runs");
    let mut launch = shell(1, "trap '' TERM; echo x >> $RUNS; while :; do sleep 0.05; done");
    launch.env.insert("RUNS".into(), runs.display().to_string());
    launch.ways = vec![Way::Requeued];
    launch.grace_s = 1;
    world.start(&launch);
    world.started(&launch);
    until("it runs", || lines(&runs).len() == 1);
    world.stop(&launch);
    assert_eq!(world.stopped(&launch), Way::Requeued);
    let mut next = launch.clone();
    next.generation = Generation(2);
    world.start(&next);
    assert!(!world.started(&next));
    until("it runs again", || lines(&runs).len() == 2);
    world.end(&next, true);
    world.ended(&next);
}

#[test]
fn a_script_that_saves_when_asked_politely_is_believed() {
    let mut world = World::new();
    let ready = world.path("ready");
    let mut launch = shell(1, "trap 'exit 143' TERM; touch $READY; while :; do sleep 0.02; done");
    launch.env.insert("READY".into(), ready.display().to_string());
    launch.ways = vec![Way::Saved];
    world.start(&launch);
    world.started(&launch);
    until("the trap is set", || ready.exists());
    world.stop(&launch);
    assert_eq!(world.stopped(&launch), Way::Saved);
}

#[test]
fn sleepers_can_be_ended_and_can_perish() {
    let mut world = World::new();
    let pid = world.path("pid");
    for job in [1, 2] {
        let mut launch = shell(job, "echo $$ > $PID; while :; do sleep 0.05; done");
        launch.env.insert("PID".into(), pid.display().to_string());
        world.start(&launch);
        world.started(&launch);
        until("it runs", || !lines(&pid).is_empty());
        world.stop(&launch);
        assert_eq!(world.stopped(&launch), Way::Frozen);
        if job == 1 {
            world.end(&launch, false);
            assert!(matches!(world.ended(&launch), Ending::Killed { signal: 9, .. }));
            std::fs::remove_file(&pid).expect("it is there");
            continue;
        }
        let number = nix::unistd::Pid::from_raw(lines(&pid)[0].parse().expect("a number"));
        nix::sys::signal::kill(number, nix::sys::signal::Signal::SIGKILL).expect("it is there");
        assert_eq!(world.next(), Sign::Perished { job: JobId(2) });
        // Whoever wants it to go on gets it from what it saved.
        let mut next = launch.clone();
        next.command[2] = "echo $HEELER_RESUME".into();
        (next.generation, next.resume) = (Generation(2), Resume::Processes);
        world.start(&next);
        assert!(!world.started(&next));
        assert_eq!(world.ended(&next), Ending::Exited { code: 0 });
        assert_eq!(world.output(2), "1\n");
    }
}

#[test]
fn what_has_finished_is_not_suspended_though_it_left_something_behind() {
    let mut world = World::new();
    let (ready, ended) = (world.path("ready"), world.path("ended"));
    let lingers = "(trap '' TERM; touch $READY; while :; do sleep 0.02; done) & ";
    let rank = "while [ ! -e $READY ]; do sleep 0.01; done; touch $ENDED";
    let mut launch = shell(1, &format!("{lingers}{rank}"));
    launch.env.insert("READY".into(), ready.display().to_string());
    launch.env.insert("ENDED".into(), ended.display().to_string());
    world.start(&launch);
    world.started(&launch);
    until("it is over", || ended.exists());
    world.stop(&launch);
    assert_eq!(world.ended(&launch), Ending::Exited { code: 0 });
}

#[test]
fn whoever_is_suspended_while_it_ends_runs_once() {
    let mut world = World::new();
    let runs = world.path("runs");
    let (mut slept, mut finished) = (0, 0);
    for job in 1..=60 {
        let mut launch = shell(job, "echo began >> $RUNS; sleep 0.02; echo ended >> $RUNS");
        launch.env.insert("RUNS".into(), runs.display().to_string());
        launch.ways = vec![Way::Frozen];
        world.start(&launch);
        while !matches!(world.next(), Sign::Started { job, .. } if job == launch.job) {
            // Whoever is told to stop what has ended hears a second time that it has.
        }
        // Around its end, sooner or later, wherever that is on this machine.
        if job % 3 == 0 {
            until("it is about to end", || lines(&runs).len() as u32 == 2 * job - 1);
            std::thread::sleep(std::time::Duration::from_millis(u64::from(15 + job % 12)));
        } else {
            until("it has all but ended", || lines(&runs).len() as u32 == 2 * job);
        }
        world.stop(&launch);
        match world.next() {
            Sign::Stopped { way, .. } => {
                assert_eq!(way, Way::Frozen);
                let mut next = launch.clone();
                (next.generation, next.resume) = (Generation(2), Resume::Processes);
                world.start(&next);
                assert_eq!(world.ended(&next), Ending::Exited { code: 0 });
                slept += 1;
            }
            Sign::Ended { ending, .. } => {
                assert_eq!(ending, Ending::Exited { code: 0 });
                finished += 1;
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(lines(&runs).len() as u32, 2 * job, "{slept} slept, {finished} had finished");
    }
}

#[test]
fn a_rank_that_has_finished_does_not_end_the_sleep_of_the_others() {
    let mut world = World::new();
    let (done, go) = (world.path("done"), world.path("go"));
    let mut launch = shell(
        1,
        "[ $RANK = 0 ] && { touch $DONE; exit; }; while [ ! -e $GO ]; do sleep 0.02; done",
    );
    launch.env.insert("DONE".into(), done.display().to_string());
    launch.env.insert("GO".into(), go.display().to_string());
    launch.ranks = Ranks::PerGpu;
    launch.assignment = gpus(&[(0, 0b11)]);
    world.start(&launch);
    world.started(&launch);
    until("one is done", || done.exists());
    world.stop(&launch);
    assert_eq!(world.stopped(&launch), Way::Frozen);
    assert!(world.is_quiet());
    let mut next = launch.clone();
    (next.generation, next.resume) = (Generation(2), Resume::Processes);
    world.start(&next);
    assert!(world.started(&next));
    std::fs::write(&go, "").expect("it can be written");
    assert_eq!(world.ended(&next), Ending::Exited { code: 0 });
}

#[test]
fn output_is_cut_into_files_and_read_as_one() {
    let mut world = World::with(|setup| (setup.log_bytes, setup.log_files) = (1000, 2));
    let launch = shell(1, "i=0; while [ $i -lt 900 ]; do echo line $i; i=$((i+1)); done");
    world.start(&launch);
    assert_eq!(world.ended(&launch), Ending::Exited { code: 0 });
    let look = world.local().look();
    let all: String = (0..900).map(|number| format!("line {number}\n")).collect();
    let (mut place, mut text) = (0, String::new());
    loop {
        let piece = look.output(JobId(1), place, 700).expect("it can be read");
        if piece.bytes.is_empty() {
            break;
        }
        text += std::str::from_utf8(&piece.bytes).expect("text");
        place = piece.next();
    }
    assert_eq!(place, all.len() as u64, "places are counted from the first byte");
    assert!(all.ends_with(&text) && text.len() > 2000 && text.len() < 4000, "{}", text.len());
}

#[test]
fn output_goes_where_its_owner_wants() {
    let mut world = World::new();
    let mut launch = shell(17, "echo one; echo two >&2");
    launch.dir = world.folder.path().display().to_string();
    launch.output = Some("%x-%j-%4A_%a.out".into());
    launch.array = Some((15, 2));
    world.start(&launch);
    assert_eq!(world.ended(&launch), Ending::Exited { code: 0 });
    assert_eq!(lines(&world.path("test-17-0015_2.out")), ["one", "two"]);
    assert_eq!(world.output(17), "one\ntwo\n");
}

#[test]
fn a_terminal_can_be_seen_and_typed_into() {
    let mut world = World::new();
    let mut launch = shell(1, "stty size; tty > /dev/null && read a; echo got $a; stty size");
    launch.terminal = true;
    world.start(&launch);
    world.started(&launch);
    let look = world.local().look();
    let window = Window { rows: 30, columns: 100 };
    let mut stream = look.terminal(JobId(1), window).expect("a terminal");
    let size = Window { rows: 40, columns: 120 };
    stream.write_all(&resized(size)).expect("it listens");
    stream.write_all(&frame(b"words\n")).expect("it listens");
    let mut shown = String::new();
    stream.read_to_string(&mut shown).expect("text");
    assert!(shown.contains("got words"), "{shown:?}");
    assert!(shown.ends_with("40 120\r\n"), "{shown:?}");
    assert_eq!(world.ended(&launch), Ending::Exited { code: 0 });
    assert!(world.output(1).contains("got words"));
}
