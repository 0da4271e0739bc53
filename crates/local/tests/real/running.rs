//! Real processes: how they end, what they find in their environment, what they print.

use crate::world::{World, gpus, is_there, lines, shell, until};
use heeler_backend::{Backend, Ending, Identity, Order, Ranks};
use heeler_model::{JobId, NodeId};

#[test]
fn codes_and_signals_are_told_exactly() {
    let mut world = World::new();
    let cases = [
        ("true", Ending::Exited { code: 0 }),
        ("exit 7", Ending::Exited { code: 7 }),
        ("exit 255", Ending::Exited { code: 255 }),
        ("kill -9 $$", Ending::Killed { signal: 9, out_of_memory: false }),
        ("kill -SEGV $$", Ending::Killed { signal: 11, out_of_memory: false }),
    ];
    for (number, (command, ending)) in cases.into_iter().enumerate() {
        let launch = shell(number as u32 + 1, command);
        world.start(&launch);
        assert!(!world.started(&launch));
        assert_eq!(world.ended(&launch), ending, "{command}");
        let exit = world.state().join(format!("jobs/{}/1/exit.json", launch.job));
        assert!(exit.is_file(), "the end is on disk before it is told");
    }
}

#[test]
fn what_cannot_be_started_says_why() {
    let mut world = World::new();
    let cases = [
        ("/", vec!["no-such-program-anywhere"], None, "no-such-program-anywhere: "),
        ("/no/such/folder", vec!["true"], None, "the folder /no/such/folder"),
        ("/", vec![], None, "there is no command"),
        ("/", vec![], Some("#!/no/such/interpreter\n"), "script: No such file"),
    ];
    for (number, (dir, command, script, expected)) in cases.into_iter().enumerate() {
        let mut launch = shell(number as u32 + 1, "");
        launch.dir = dir.into();
        launch.command = command.into_iter().map(String::from).collect();
        launch.script = script.map(String::from);
        world.start(&launch);
        match world.ended(&launch) {
            Ending::NotStarted { message } => assert!(message.contains(expected), "{message}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn scripts_run_with_their_arguments() {
    let mut world = World::new();
    let mut launch = shell(1, "");
    launch.script = Some("#!/bin/sh\necho \"$1|$2\"; pwd\n".into());
    launch.command = vec!["two words".into(), "$HOME".into()];
    launch.dir = world.folder.path().display().to_string();
    world.start(&launch);
    assert_eq!(world.ended(&launch), Ending::Exited { code: 0 });
    assert_eq!(world.output(1), format!("two words|$HOME\n{}\n", launch.dir));

    // A first line that names no interpreter means the shell, as it does at a prompt.
    let mut launch = shell(2, "");
    (launch.script, launch.command) = (Some("echo plain\n".into()), Vec::new());
    world.start(&launch);
    assert_eq!(world.ended(&launch), Ending::Exited { code: 0 });
    assert_eq!(world.output(2), "plain\n");
}

#[test]
fn a_gang_knows_itself() {
    let mut world = World::new();
    let mut launch = shell(
        5,
        "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK $CUDA_VISIBLE_DEVICES \
         $MASTER_ADDR:$MASTER_PORT $HEELER_JOB $HEELER_NODES $SLURM_PROCID $MINE $HEELER_TASK",
    );
    launch.assignment = gpus(&[(0, 0b1100), (1, 0b1)]);
    launch.ranks = Ranks::PerGpu;
    launch.array = Some((4, 9));
    launch.env.insert("MINE".into(), "a b".into());
    world.start(&launch);
    assert_eq!(world.ended(&launch), Ending::Exited { code: 0 });
    let output = world.output(5);
    let mut found: Vec<&str> = output.lines().collect();
    found.sort_unstable();
    let port = found[0].split([':', ' ']).nth(5).expect("a port");
    let rest = format!("127.0.0.1:{port} 5 n0,n1");
    assert_eq!(
        found,
        [
            format!("0/3 0/2 0 2,3 {rest} 0 a b 9"),
            format!("1/3 1/2 0 2,3 {rest} 1 a b 9"),
            format!("2/3 0/1 1 4 {rest} 2 a b 9"),
        ]
    );
}

#[test]
fn a_gang_dies_together() {
    let mut world = World::new();
    let mut launch = shell(1, "[ $RANK = 1 ] && exit 3; exec sleep 600");
    launch.assignment = gpus(&[(0, 0b1111)]);
    launch.ranks = Ranks::PerGpu;
    world.start(&launch);
    assert_eq!(world.ended(&launch), Ending::Exited { code: 3 });
}

#[test]
fn whoever_ignores_a_polite_request_is_killed_with_all_it_started() {
    let mut world = World::new();
    let pids = world.path("pids");
    let mut launch = shell(
        1,
        "trap '' TERM; \
         setsid sh -c 'trap \"\" TERM; echo $$ >> $PIDS; while :; do sleep 1; done' & \
         echo $$ >> $PIDS; while :; do sleep 1; done",
    );
    launch.env.insert("PIDS".into(), pids.display().to_string());
    launch.grace_s = 1;
    world.start(&launch);
    world.started(&launch);
    until("both run", || lines(&pids).len() == 2);
    world.end(&launch, false);
    assert_eq!(world.ended(&launch), Ending::Killed { signal: 9, out_of_memory: false });
    assert!(lines(&pids).iter().all(|pid| !is_there(pid)), "nothing is left");
}

#[test]
fn grace_is_given_and_its_code_counts() {
    let mut world = World::new();
    let ready = world.path("ready");
    let mut launch = shell(1, "trap 'echo bye; exit 42' TERM; touch $READY; sleep 600 & wait");
    launch.env.insert("READY".into(), ready.display().to_string());
    world.start(&launch);
    until("the trap is set", || ready.exists());
    world.end(&launch, false);
    assert_eq!(world.ended(&launch), Ending::Exited { code: 42 });
    assert_eq!(world.output(1), "bye\n");
}

#[test]
fn what_a_job_leaves_behind_goes_with_it() {
    let mut world = World::new();
    let pid = world.path("pid");
    let mut launch = shell(1, "(setsid sleep 600 & echo $! > $PID); exit 0");
    launch.env.insert("PID".into(), pid.display().to_string());
    world.start(&launch);
    assert_eq!(world.ended(&launch), Ending::Exited { code: 0 });
    assert!(!is_there(&lines(&pid)[0]));
}

#[test]
fn signals_are_passed_on() {
    let mut world = World::new();
    let ready = world.path("ready");
    let mut launch = shell(1, "trap 'exit 9' USR1; touch $READY; while :; do sleep 0.05; done");
    launch.env.insert("READY".into(), ready.display().to_string());
    world.start(&launch);
    until("the trap is set", || ready.exists());
    let (job, generation) = (launch.job, launch.generation);
    world.local().carry_out(Order::Signal { job, generation, signal: 10 });
    assert_eq!(world.ended(&launch), Ending::Exited { code: 9 });
}

#[test]
fn an_order_twice_is_one_order() {
    let mut world = World::new();
    let runs = world.path("runs");
    let mut launch = shell(1, "echo x >> $RUNS; exit 5");
    launch.env.insert("RUNS".into(), runs.display().to_string());
    world.start(&launch);
    assert_eq!(world.ended(&launch), Ending::Exited { code: 5 });
    world.start(&launch);
    assert_eq!(world.ended(&launch), Ending::Exited { code: 5 });
    assert_eq!(lines(&runs).len(), 1);
}

#[test]
fn a_lost_node_takes_its_jobs_with_it() {
    let mut world = World::new();
    let here = shell(1, "sleep 600");
    let mut there = shell(2, "sleep 600");
    there.assignment = gpus(&[(1, 0b1)]);
    world.start(&here);
    world.started(&here);
    world.start(&there);
    world.started(&there);
    world.local().carry_out(Order::Lose { node: NodeId(1) });
    assert_eq!(world.ended(&there), Ending::Lost);
    assert!(world.is_quiet());
}

#[test]
fn a_job_that_is_over_leaves_what_it_printed() {
    let mut world = World::new();
    let launch = shell(1, "echo words");
    world.start(&launch);
    world.ended(&launch);
    world.local().carry_out(Order::Forget { job: JobId(1) });
    let jobs = world.state().join("jobs/1");
    until("its folder is put aside", || !jobs.exists());
    assert_eq!(world.output(1), "words\n");
}

#[test]
fn jobs_run_as_who_handed_them_in() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let mut world = World::new();
    let mut launch = shell(1, "id -u; id -g; echo $HOME > /dev/null; cat /etc/shadow; exit 0");
    launch.identity = Some(Identity { uid: 65534, gid: 65534 });
    world.start(&launch);
    assert_eq!(world.ended(&launch), Ending::Exited { code: 0 });
    let output = world.output(1);
    assert!(output.starts_with("65534\n65534\n"), "{output}");
    assert!(output.contains("Permission denied"), "{output}");

    // A file that its user may not write is not written, though the server could.
    let forbidden = world.path("forbidden.txt");
    let mut launch = shell(2, "echo x");
    launch.identity = Some(Identity { uid: 65534, gid: 65534 });
    launch.output = Some(forbidden.display().to_string());
    world.start(&launch);
    assert!(matches!(world.ended(&launch), Ending::NotStarted { .. }));
    assert!(!forbidden.exists());
}
