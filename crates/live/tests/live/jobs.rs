//! What becomes of jobs, one rule at a time.

use crate::world::{EPOCH, Plane, admin, gpus, inventory, person};
use heeler_api::{
    Array, Class, Code, Condition, Dependency, Early, Fed, JobState, Pause, Regimes, Role,
    Submission, TenantChange,
};
use heeler_backend::{Ending, Expected, Order, Resume, Said, Sign, Way};
use heeler_live::{Act, Ask, Done, Input, Live};
use heeler_model::{JobId, NodeId, Time};

#[test]
fn a_job_starts_runs_and_ends() {
    let mut plane = Plane::new(1, 4, "fifo");
    let job = plane.submit(&admin(), gpus(2));
    assert_eq!(job, 1, "numbers begin with one");
    assert_eq!(plane.state(job), JobState::Starting);
    plane.pass(2.0);
    plane.started(job);
    assert_eq!(plane.state(job), JobState::Running);
    plane.pass(10.0);
    plane.exits(job, 0);
    let view = plane.live.job(&admin(), job).unwrap();
    assert_eq!((view.state, view.exit_code), (JobState::Completed, Some(0)));
    assert_eq!(view.ended, Some(EPOCH as f64 + 12.0));
    assert_eq!(view.gpu_s, 24.0);
    assert!(plane.world.forgotten.contains(&job));
}

#[test]
fn a_job_that_ended_when_nobody_was_there_has_held_nothing_since() {
    let mut plane = Plane::new(1, 4, "fifo");
    let job = plane.submit(&admin(), gpus(2));
    plane.started(job);
    plane.pass(100.0);
    let Sign::Ended { job: id, generation, ending, .. } =
        plane.world.ended(job, Ending::Exited { code: 0 })
    else {
        panic!("it ended");
    };
    plane.sign(Sign::Ended { job: id, generation, ending, ago_ms: 90_000 });
    let view = plane.live.job(&admin(), job).unwrap();
    assert_eq!((view.ran_s, view.gpu_s), (10.0, 20.0));
    assert_eq!(view.ended, Some(EPOCH as f64 + 10.0));
    assert_eq!(plane.live.usage(&admin()).rows[0].useful_gpu_s, 20.0);
}

#[test]
fn who_looks_while_nothing_happens_sees_time_pass() {
    let mut plane = Plane::new(1, 4, "fifo");
    let job = plane.submit(&admin(), gpus(2));
    plane.started(job);
    plane.live.see(Time::from_secs(30));
    let view = plane.live.job(&admin(), job).unwrap();
    assert_eq!((view.ran_s, view.gpu_s), (30.0, 60.0));
    plane.pass(50.0);
    plane.tick();
    let view = plane.live.job(&admin(), job).unwrap();
    assert_eq!(view.ran_s, 50.0, "a look never holds time back");
}

#[test]
fn environments_and_scripts_are_their_owners_alone() {
    let mut plane = Plane::new(1, 4, "fifo");
    let ann = person("ann", Role::User, &["default"]);
    let env = [("KEY".to_owned(), "secret".to_owned())].into();
    let job = plane.submit(&ann, Submission { env, ..gpus(1) });
    let seen =
        |who: &heeler_api::Who| plane.live.job(who, job).unwrap().submission.unwrap().env.len();
    let others = [person("bob", Role::User, &["default"]), person("eve", Role::Viewer, &[])];
    let [bob, eve] = &others;
    assert_eq!((seen(&ann), seen(&admin())), (1, 1));
    assert_eq!(seen(bob), 0);
    assert!(plane.live.job(eve, job).is_err() || seen(eve) == 0);
}

#[test]
fn what_cannot_be_started_has_failed_with_a_message() {
    let mut plane = Plane::new(1, 4, "fifo");
    let job = plane.submit(&admin(), Submission { retries: 3, ..gpus(1) });
    let sign = plane.world.ended(job, Ending::NotStarted { message: "no such program".into() });
    plane.sign(sign);
    let view = plane.live.job(&admin(), job).unwrap();
    assert_eq!(view.state, JobState::Failed);
    assert_eq!(view.message.as_deref(), Some("no such program"));
}

#[test]
fn a_failed_job_is_tried_again_later_each_time() {
    let mut plane = Plane::new(1, 1, "fifo");
    let job = plane.submit(&admin(), Submission { retries: 2, backoff_s: 10, ..gpus(1) });
    for (wait, restarts) in [(10.0, 1), (20.0, 2)] {
        plane.started(job);
        plane.exits(job, 7);
        assert_eq!(plane.state(job), JobState::Pending);
        assert_eq!(plane.reason(job), "not-before");
        plane.pass(wait - 1.0);
        plane.tick();
        assert!(plane.running().is_empty());
        plane.pass(1.0);
        plane.tick();
        assert_eq!(plane.running(), [job]);
        assert_eq!(plane.live.job(&admin(), job).unwrap().restarts, restarts);
    }
    plane.started(job);
    plane.exits(job, 7);
    let view = plane.live.job(&admin(), job).unwrap();
    assert_eq!((view.state, view.exit_code), (JobState::Failed, Some(7)));
}

#[test]
fn retried_hand_ins_are_one_job() {
    let mut plane = Plane::new(1, 1, "fifo");
    let once = || Submission { once: Some("k".into()), ..gpus(1) };
    let ask = Ask::Submit(vec![once(), gpus(1)]);
    let Ok(Done::Submitted(first)) = plane.ask(&admin(), ask) else { panic!() };
    let Ok(Done::Submitted(again)) = plane.ask(&admin(), Ask::Submit(vec![once()])) else {
        panic!()
    };
    assert_eq!((again[0].job, again[0].again), (first[0].job, true));
    let other = person("bob", Role::User, &["default"]);
    let Ok(Done::Submitted(theirs)) = plane.ask(&other, Ask::Submit(vec![once()])) else {
        panic!()
    };
    assert!(!theirs[0].again, "keys are everybody's own");
}

#[test]
fn an_array_runs_so_many_at_once() {
    let mut plane = Plane::new(1, 4, "fifo");
    let array = Array { indices: vec![0, 2, 5, 9], most: Some(2) };
    let head = plane.submit(&admin(), Submission { array: Some(array), ..gpus(1) });
    assert_eq!(plane.running(), [head, head + 1]);
    assert_eq!(plane.reason(head + 2), "array-full");
    assert_eq!(plane.live.job(&admin(), head + 1).unwrap().array, Some((head, 2)));
    plane.started(head);
    plane.exits(head, 0);
    assert_eq!(plane.running(), [head + 1, head + 2]);
    // One that waits is taken back without letting another ahead.
    assert_eq!(plane.act(&admin(), "1_9", Act::Cancel).unwrap(), [head + 3]);
    assert_eq!(plane.running(), [head + 1, head + 2]);
    assert_eq!(plane.act(&admin(), "1", Act::Cancel).unwrap(), [head + 1, head + 2]);
}

#[test]
fn jobs_follow_others_by_how_those_end() {
    let mut plane = Plane::new(1, 8, "fifo");
    let first = plane.submit(&admin(), gpus(1));
    let after = |when| Submission { after: vec![Dependency { when, job: first }], ..gpus(1) };
    let any = plane.submit(&admin(), after(Condition::Any));
    let ok = plane.submit(&admin(), after(Condition::Ok));
    let not_ok = plane.submit(&admin(), after(Condition::NotOk));
    let begun = plane.submit(&admin(), after(Condition::After));
    assert_eq!(plane.running(), [first, begun]);
    assert_eq!(plane.reason(ok), "after-jobs");
    plane.started(first);
    plane.exits(first, 1);
    assert_eq!(plane.running(), [any, not_ok, begun]);
    assert_eq!(plane.state(ok), JobState::Pending);
    assert_eq!(plane.reason(ok), "needed-job-failed");
    let late = plane.submit(&admin(), after(Condition::NotOk));
    assert!(plane.running().contains(&late), "what is so already is not waited for");
    plane.act(&admin(), &ok.to_string(), Act::Cancel).unwrap();
    assert_eq!(plane.state(ok), JobState::Cancelled);
}

#[test]
fn a_job_follows_a_whole_array() {
    let mut plane = Plane::new(1, 8, "fifo");
    let array = Array { indices: vec![0, 1], most: None };
    let head = plane.submit(&admin(), Submission { array: Some(array), ..gpus(1) });
    let after = vec![Dependency { when: Condition::Ok, job: head }];
    let last = plane.submit(&admin(), Submission { after, ..gpus(1) });
    plane.started(head);
    plane.exits(head, 0);
    assert_eq!(plane.reason(last), "after-jobs");
    plane.started(head + 1);
    plane.exits(head + 1, 0);
    assert_eq!(plane.running(), [last]);
}

#[test]
fn a_job_may_not_begin_before_its_time() {
    let mut plane = Plane::new(1, 1, "fifo");
    let job = plane.submit(&admin(), Submission { begin: Some(EPOCH + 60), ..gpus(1) });
    assert_eq!(plane.reason(job), "not-before");
    let wake = plane.wake.expect("it asks to be woken");
    assert_eq!(wake, heeler_model::Time::from_secs(60));
    plane.at = wake;
    plane.tick();
    assert_eq!(plane.running(), [job]);
}

#[test]
fn held_jobs_wait_until_they_are_released() {
    let mut plane = Plane::new(1, 1, "fifo");
    let job = plane.submit(&admin(), Submission { hold: true, ..gpus(1) });
    assert_eq!(plane.state(job), JobState::Held);
    plane.act(&admin(), "last", Act::Release).unwrap();
    assert_eq!(plane.running(), [job]);
    let problem = plane.act(&admin(), "last", Act::Hold).unwrap_err();
    assert_eq!(problem.code, Code::Conflict, "a running job is suspended, not held");
}

#[test]
fn suspended_jobs_go_on_where_they_were() {
    let mut plane = Plane::new(1, 1, "fifo");
    let job = plane.submit(&admin(), gpus(1));
    let next = plane.submit(&admin(), gpus(1));
    plane.started(job);
    plane.pass(10.0);
    plane.act(&admin(), "1", Act::Suspend).unwrap();
    assert_eq!(plane.state(job), JobState::Stopping);
    plane.stopped(job, Way::Checkpointed);
    assert_eq!(plane.state(job), JobState::Suspended);
    assert_eq!(plane.running(), [next]);
    let sleeps = plane.live.expected().into_iter().any(
        |expected| matches!(expected, Expected::Sleeps { job: known, .. } if known == JobId(job)),
    );
    assert!(sleeps);
    plane.act(&admin(), "1", Act::Resume).unwrap();
    plane.started(next);
    plane.exits(next, 0);
    assert_eq!(plane.world.runs[&job].launch.resume, Resume::Processes);
    plane.started(job);
    plane.pass(5.0);
    plane.exits(job, 0);
    let view = plane.live.job(&admin(), job).unwrap();
    assert_eq!((view.gpu_s, view.lost_gpu_s), (15.0, 0.0));
}

#[test]
fn a_suspended_job_whose_processes_perish_begins_again() {
    let mut plane = Plane::new(1, 1, "fifo");
    let job = plane.submit(&admin(), gpus(1));
    plane.started(job);
    plane.pass(10.0);
    plane.act(&admin(), "1", Act::Suspend).unwrap();
    plane.stopped(job, Way::Frozen);
    plane.world.sleeps.clear();
    plane.sign(Sign::Perished { job: JobId(job) });
    plane.act(&admin(), "1", Act::Resume).unwrap();
    assert_eq!(plane.world.runs[&job].launch.resume, Resume::No);
    assert_eq!(plane.live.job(&admin(), job).unwrap().lost_gpu_s, 10.0);
}

#[test]
fn requeued_jobs_begin_from_the_beginning() {
    let mut plane = Plane::new(1, 1, "fifo");
    let job = plane.submit(&admin(), gpus(1));
    plane.started(job);
    plane.pass(10.0);
    plane.act(&admin(), "1", Act::Requeue).unwrap();
    assert!(plane.world.runs[&job].ending);
    let sign = plane.world.ended(job, Ending::Killed { signal: 15, out_of_memory: false });
    plane.sign(sign);
    assert_eq!(plane.world.runs[&job].launch.resume, Resume::No);
    assert_eq!(plane.world.runs[&job].launch.restarts, 1);
}

#[test]
fn cancelling_works_in_every_state() {
    let mut plane = Plane::new(1, 1, "fifo");
    let running = plane.submit(&admin(), gpus(1));
    let waiting = plane.submit(&admin(), gpus(1));
    let held = plane.submit(&admin(), Submission { hold: true, ..gpus(1) });
    let too_large = plane.submit(&admin(), gpus(9));
    plane.started(running);
    plane.act(&admin(), "all", Act::Cancel).unwrap();
    for job in [waiting, held, too_large] {
        assert_eq!(plane.state(job), JobState::Cancelled);
    }
    assert_eq!(plane.state(running), JobState::Stopping);
    assert!(plane.world.runs[&running].ending);
    let again = plane.act(&admin(), "1", Act::Cancel);
    assert_eq!(again, Ok(Vec::new()), "it is on its way out, and nothing more is done");
    let sign = plane.world.ended(running, Ending::Killed { signal: 9, out_of_memory: false });
    plane.sign(sign);
    assert_eq!(plane.state(running), JobState::Cancelled);
    // A job that is being stopped for another reason, and one that sleeps.
    let job = plane.submit(&admin(), gpus(1));
    plane.started(job);
    plane.act(&admin(), "last", Act::Suspend).unwrap();
    plane.act(&admin(), "last", Act::Cancel).unwrap();
    plane.stopped(job, Way::Frozen);
    assert_eq!(plane.state(job), JobState::Cancelled);
    assert!(plane.world.sleeps.is_empty(), "nothing of it is left");
}

#[test]
fn time_limits_warn_and_end() {
    let mut plane = Plane::new(1, 1, "fifo");
    let early = Some(Early { signal: "USR1".into(), before_s: 20 });
    let job = plane.submit(&admin(), Submission { time_limit_s: Some(60), early, ..gpus(1) });
    plane.pass(5.0);
    plane.started(job);
    plane.pass(40.0);
    assert_eq!(plane.wake, Some(plane.at));
    plane.tick();
    assert_eq!(plane.world.signals, [(job, 10)]);
    plane.act(&admin(), "1", Act::TimeLimit(Some(90))).unwrap();
    plane.pass(49.0);
    plane.tick();
    assert_eq!(plane.state(job), JobState::Running);
    plane.pass(1.0);
    plane.tick();
    assert!(plane.world.runs[&job].ending);
    let sign = plane.world.ended(job, Ending::Killed { signal: 15, out_of_memory: false });
    plane.sign(sign);
    assert_eq!(plane.state(job), JobState::Timeout);
}

#[test]
fn what_is_lost_comes_back_if_it_may() {
    let mut plane = Plane::new(2, 1, "fifo");
    let comes = plane.submit(&admin(), gpus(1));
    let goes = plane.submit(&admin(), Submission { requeue: false, ..gpus(1) });
    plane.started(comes);
    plane.started(goes);
    for node in ["n0", "n1"] {
        plane.ask(&admin(), Ask::Lose { node: node.into() }).unwrap();
        for job in std::mem::take(&mut plane.world.lost) {
            let sign = plane.world.ended(job, Ending::Lost);
            plane.sign(sign);
        }
    }
    assert_eq!(plane.state(comes), JobState::Pending);
    assert_eq!(plane.state(goes), JobState::Failed);
    assert_eq!(plane.live.nodes()[0].state, "down");
    plane.ask(&admin(), Ask::Undrain { node: "n0".into() }).unwrap();
    assert_eq!(plane.running(), [comes]);
}

#[test]
fn drained_nodes_keep_their_jobs_and_get_no_new_ones() {
    for recipe in ["fifo", "hived", "tiresias", "capacity"] {
        let mut plane = Plane::new(2, 2, recipe);
        let first = plane.submit(&admin(), gpus(2));
        plane.started(first);
        let node = plane.live.job(&admin(), first).unwrap().on.unwrap();
        let node = node.split('[').next().unwrap().to_string();
        let note = Some("a fan is broken".into());
        plane.ask(&admin(), Ask::Drain { node: node.clone(), note }).unwrap();
        let second = plane.submit(&admin(), gpus(2));
        assert_eq!(plane.fault, None, "{recipe}");
        assert!(plane.world.runs.contains_key(&first), "{recipe}");
        let other = plane.live.job(&admin(), second).unwrap().on;
        assert!(other.is_some_and(|on| !on.starts_with(&node)), "{recipe}");
        let view = plane.live.nodes().into_iter().find(|view| view.name == node).unwrap();
        assert_eq!(view.state, "draining");
        plane.exits(first, 0);
        let view = plane.live.nodes().into_iter().find(|view| view.name == node).unwrap();
        assert_eq!((view.state.as_str(), view.free_milli), ("drained", 2000));
    }
}

#[test]
fn recipes_that_rearrange_start_nothing_on_drained_nodes() {
    for recipe in ["gandiva", "gavel", "sia", "las", "elastic", "chronus"] {
        let mut plane = Plane::new(2, 2, recipe);
        let first = plane.submit(&admin(), gpus(2));
        plane.started(first);
        let node = plane.world.runs[&first].launch.assignment.placement.slices()[0].node;
        let name = plane.live.nodes()[node.index()].name.clone();
        plane.ask(&admin(), Ask::Drain { node: name, note: None }).unwrap();
        for _ in 0..10 {
            plane.submit(&admin(), gpus(1));
            plane.pass(300.0);
            plane.tick();
            assert_eq!(plane.fault, None, "{recipe}");
            for (job, proc) in plane.world.runs.iter().filter(|(job, _)| **job != first) {
                let there = proc.launch.assignment.placement.slices().iter();
                assert!(there.into_iter().all(|slice| slice.node != node), "{recipe}: job {job}");
            }
            let first_runs = plane.world.runs.get(&first);
            if first_runs.is_some_and(|proc| proc.stopping) {
                plane.stopped(first, Way::Saved);
            }
        }
    }
}

#[test]
fn signs_that_cannot_be_are_ignored() {
    let mut plane = Plane::new(1, 2, "fifo");
    let job = plane.submit(&admin(), gpus(1));
    let digest = plane.live.digest();
    let generation = plane.world.runs[&job].launch.generation;
    let other = heeler_model::Generation(generation.0 + 1);
    let ending = Ending::Exited { code: 0 };
    let said = |report: serde_json::Value| Said { report };
    let signs = [
        Sign::Ended { job: JobId(99), generation, ending: ending.clone(), ago_ms: 0 },
        Sign::Ended { job: JobId(job), generation: other, ending, ago_ms: 0 },
        Sign::Stopped { job: JobId(99), generation, way: Way::Saved, took_ms: 1 },
        Sign::Perished { job: JobId(job) },
        Sign::NodeDown { node: NodeId(77), message: "?".into() },
        Sign::NodeUp { node: NodeId(0) },
        Sign::Reported { job: JobId(job), generation, said: said("garbage".into()) },
        Sign::Reported {
            job: JobId(job),
            generation: other,
            said: said(serde_json::json!({"seq": 1, "step": 5})),
        },
    ];
    for sign in signs {
        plane.sign(sign);
    }
    assert_eq!((plane.state(job), plane.live.digest()), (JobState::Starting, digest));
    assert_eq!(plane.live.job(&admin(), job).unwrap().steps, None);
    plane.started(job);
    let sign = plane.world.ended(job, Ending::Exited { code: 0 });
    plane.sign(sign.clone());
    plane.sign(sign);
    assert_eq!(plane.state(job), JobState::Completed);
}

#[test]
fn reports_are_kept_and_slower_ones_are_told() {
    let mut plane = Plane::new(1, 1, "fifo");
    let job = plane.submit(&admin(), gpus(1));
    plane.started(job);
    let generation = plane.world.runs[&job].launch.generation;
    let report = |plane: &mut Plane, seq: u64, step: u64, loss: f64| {
        let report = serde_json::json!({
            "seq": seq, "step": step, "total-steps": 100, "loss": loss, "saves": true,
        });
        plane.sign(Sign::Reported { job: JobId(job), generation, said: Said { report } });
    };
    report(&mut plane, 1, 0, 3.0);
    plane.pass(10.0);
    report(&mut plane, 2, 20, 2.0);
    report(&mut plane, 1, 90, 9.0);
    let view = plane.live.job(&admin(), job).unwrap();
    assert_eq!((view.steps, view.loss, view.progress), (Some((20, 2.0)), Some(2.0), Some(0.2)));
    plane.pass(10.0);
    report(&mut plane, 3, 30, 1.0);
    let pace = plane.live.engine().state().job(JobId(job)).progress.pace;
    assert_eq!(pace, 0.5, "half of the best seen alone");
}

#[test]
fn regimes_reach_whoever_plans_by_them() {
    let mut plane = Plane::new(1, 1, "shockwave");
    let regimes = Regimes { epochs: 10, epoch_s: vec![60.0, 20.0] };
    let job = plane.submit(&admin(), Submission { regimes: Some(regimes), ..gpus(1) });
    plane.started(job);
    let generation = plane.world.runs[&job].launch.generation;
    let known = plane.live.engine().state().job(JobId(job)).spec.regimes().cloned();
    assert_eq!(known.expect("what it was handed in with").epoch_s, [60.0, 20.0]);
    let saved = |plane: &Plane| serde_json::to_string(&plane.live.engine().snapshot()).unwrap();
    for (seq, regime) in [(1, 1), (2, 4_000_000_000u32)] {
        let report = serde_json::json!({"seq": seq, "step": 9, "epoch": 3.5, "regime": regime});
        plane.sign(Sign::Reported { job: JobId(job), generation, said: Said { report } });
        let seen = "\"epochs\":{\"regime\":1,\"seen\":[3.0]}";
        assert!(saved(&plane).contains(seen), "{}", saved(&plane));
    }
}

#[test]
fn cpus_go_to_whoever_can_use_them_and_are_told_to_the_world() {
    let mut there = inventory(1, 2);
    there.cluster.nodes[0].cpu_milli = 6_000;
    let live = Live::open(EPOCH, there, "synergy", 7).expect("a recipe");
    let mut plane = Plane { live, ..Plane::new(1, 2, "synergy") };
    let fed = |cpu_milli, pace| Fed { cpu_milli, memory_mb: 0, pace };
    let frugal = Submission { appetite: vec![fed(1_000, 1.0)], ..gpus(1) };
    let hungry = Submission { appetite: vec![fed(5_000, 2.0), fed(3_000, 1.0)], ..gpus(1) };
    let jobs = [plane.submit(&admin(), frugal), plane.submit(&admin(), hungry)];
    plane.started(jobs[0]);
    // The second waits for the next round.
    plane.pass(300.0);
    plane.tick();
    let told = jobs.map(|job| plane.world.runs[&job].launch.cpu_milli);
    assert_eq!(told, [1_000, 5_000]);
}

#[test]
fn a_job_that_saves_itself_goes_on_from_there_when_it_is_lost() {
    let mut plane = Plane::new(1, 1, "fifo");
    let job = plane.submit(&admin(), Submission { requeue: false, ..gpus(1) });
    plane.started(job);
    let generation = plane.world.runs[&job].launch.generation;
    let report = serde_json::json!({"seq": 1, "step": 100, "saved-step": 75, "saves": true});
    plane.sign(Sign::Reported { job: JobId(job), generation, said: Said { report } });
    plane.pass(100.0);
    let sign = plane.world.ended(job, Ending::Lost);
    plane.sign(sign);
    assert_eq!(plane.world.runs[&job].launch.resume, Resume::Saved);
    assert_eq!(plane.live.job(&admin(), job).unwrap().lost_gpu_s, 25.0);
}

#[test]
fn one_that_may_not_be_suspended_runs_to_its_end() {
    let mut plane = Plane::new(1, 1, "capacity");
    let quota = TenantChange { quota: Some(Some(1)), ..TenantChange::default() };
    plane.ask(&admin(), Ask::Tenant { name: "owners".into(), change: quota }).unwrap();
    let never = Submission { pause: Pause::Never, ..gpus(1) };
    let first = plane.submit(&admin(), never);
    plane.started(first);
    let owner = person("ann", Role::User, &["owners"]);
    let second = plane.submit(&owner, gpus(1));
    assert_eq!(plane.running(), [first]);
    assert!(!plane.world.runs[&first].stopping);
    assert_eq!(plane.state(first), JobState::Running);
    plane.exits(first, 0);
    assert_eq!(plane.running(), [second]);
    assert_eq!(plane.state(first), JobState::Completed);
}

#[test]
fn best_effort_gives_way() {
    for recipe in ["capacity", "hived"] {
        let mut plane = Plane::new(1, 2, recipe);
        let quota = TenantChange { quota: Some(Some(2)), ..TenantChange::default() };
        plane.ask(&admin(), Ask::Tenant { name: "owners".into(), change: quota }).unwrap();
        let owner = person("ann", Role::User, &["owners"]);
        let left_over = Submission { class: Class::BestEffort, ..gpus(2) };
        let first = plane.submit(&owner, left_over);
        plane.started(first);
        plane.pass(3600.0);
        let second = plane.submit(&owner, gpus(2));
        assert!(plane.world.runs[&first].stopping, "{recipe}");
        plane.pass(2.0);
        plane.stopped(first, Way::Requeued);
        assert_eq!(plane.running(), [second], "{recipe}");
        let eviction = plane.live.evictions(&owner).remove(0);
        assert_eq!((eviction.job, eviction.by, eviction.stop_s), (first, Some(second), Some(2.0)));
        assert_eq!(
            eviction.sentence,
            format!("{first} stopped because {second} then starts on n0[0-1]; lost 2.0 GPU-hours")
        );
    }
    let mut plane = Plane::new(1, 1, "priority");
    let busy = plane.submit(&admin(), gpus(1));
    let class = Class::BestEffort;
    let low = plane.submit(&admin(), Submission { class, priority: 50, ..gpus(1) });
    let high = plane.submit(&admin(), Submission { priority: -50, ..gpus(1) });
    plane.exits(busy, 0);
    assert_eq!(plane.running(), [high]);
    assert_eq!(plane.state(low), JobState::Pending);
}

#[test]
fn a_recipe_takes_over_without_stopping_jobs() {
    let mut plane = Plane::new(1, 2, "fifo");
    let first = plane.submit(&admin(), gpus(2));
    plane.started(first);
    let large = plane.submit(&admin(), gpus(2));
    let small = plane.submit(&admin(), gpus(1));
    for recipe in ["tiresias", "gandiva", "sia", "srtf", "smallest"] {
        let change = heeler_api::RecipeChange { name: Some(recipe.into()), ..Default::default() };
        plane.ask(&admin(), Ask::Recipe(change)).unwrap();
        assert_eq!(plane.live.recipe().name, recipe);
        assert!(plane.world.runs.contains_key(&first), "{recipe}");
    }
    if plane.world.runs[&first].stopping {
        plane.stopped(first, Way::Saved);
    } else {
        plane.exits(first, 0);
    }
    assert_eq!(plane.running(), [small], "the smallest goes first now");
    assert_eq!(plane.state(large), JobState::Pending);
    let wrong = heeler_api::RecipeChange { name: Some("tiresas".into()), ..Default::default() };
    let problem = plane.ask(&admin(), Ask::Recipe(wrong)).unwrap_err();
    assert_eq!(problem.hint.as_deref(), Some("did you mean `tiresias`?"));
}

#[test]
fn orders_after_a_restart_are_expected() {
    let mut plane = Plane::new(1, 3, "fifo");
    let runs = plane.submit(&admin(), gpus(1));
    let stops = plane.submit(&admin(), gpus(1));
    let ends = plane.submit(&admin(), gpus(1));
    plane.started(stops);
    plane.act(&admin(), &stops.to_string(), Act::Suspend).unwrap();
    plane.act(&admin(), &ends.to_string(), Act::Cancel).unwrap();
    plane.take(vec![Input::Restarted]);
    let expected = plane.live.expected();
    assert!(matches!(&expected[0], Expected::Runs(launch) if launch.job.0 == runs));
    assert!(matches!(&expected[1], Expected::Stops(launch) if launch.job.0 == stops));
    assert!(matches!(&expected[2], Expected::Ends(launch) if launch.job.0 == ends));
    let Expected::Runs(launch) = &expected[0] else { panic!() };
    assert_eq!(**launch, plane.world.runs[&runs].launch, "the same launch as was ordered");
}

#[test]
fn two_who_cancel_at_once_are_both_answered() {
    let mut plane = Plane::new(1, 1, "fifo");
    let job = plane.submit(&admin(), gpus(1));
    let ask = Ask::Act { jobs: job.to_string().parse().unwrap(), act: Act::Cancel };
    let ask = plane.live.check(&admin(), ask, plane.at).unwrap();
    let input = Input::Asked { who: admin(), ask };
    let (answers, decision) = plane.take(vec![input.clone(), input]);
    assert_eq!(answers.len(), 2);
    assert!(answers[0].is_ok());
    let notes = vec![format!("job {job} is stopping already")];
    assert_eq!(answers[1], Ok(Done::Acted { jobs: Vec::new(), notes }));
    let ends = decision.orders.iter().filter(|order| matches!(order, Order::End { .. })).count();
    assert_eq!(ends, 1);
}

#[test]
fn predictors_know_who_handed_a_job_in() {
    let mut plane = Plane::new(1, 4, "fifo");
    let [ann, bob] = ["ann", "bob"].map(|user| person(user, Role::User, &["default"]));
    let jobs = [&ann, &bob, &ann].map(|who| plane.submit(who, gpus(1)));
    let saved = plane.live.save();
    let read = Live::load(saved).expect("it was saved");
    for live in [&plane.live, &read] {
        let user = |job| live.engine().state().job(JobId(job)).spec.user;
        let [first, second, third] = jobs.map(user);
        assert!(first == third && first != second && !first.is_unknown());
        assert_eq!(live.imagined(&gpus(1), "bob").user, second);
        assert!(live.imagined(&gpus(1), "eve").user.is_unknown(), "nobody who was here");
    }
}
