//! What becomes of jobs when another recipe takes over.

use crate::world::{Plane, admin, gpus, inventory};
use heeler_api::{Class, Fed, RecipeChange, Submission};
use heeler_backend::Way;
use heeler_engine::Verdict;
use heeler_live::{Ask, Live};
use heeler_model::{JobId, Reason, Span};

/// Eight GPUs of one node with CPUs beside them.
fn plane(recipe: &str) -> Plane {
    let mut there = inventory(1, 8);
    (there.cluster.nodes[0].cpu_milli, there.cluster.nodes[0].memory_mb) = (64_000, 512_000);
    let live = Live::open(crate::world::EPOCH, there, recipe, 7).expect("a recipe");
    Plane { live, ..Plane::new(1, 8, recipe) }
}

fn set(plane: &mut Plane, recipe: &str) {
    let change = RecipeChange { name: Some(recipe.into()), ..RecipeChange::default() };
    plane.ask(&admin(), Ask::Recipe(change)).unwrap_or_else(|problem| panic!("{problem:?}"));
    assert_eq!(plane.fault, None, "{recipe}");
}

/// Go on for a while, and take every decision that is wanted.
fn go_on(plane: &mut Plane, seconds: f64) {
    let until = plane.at.secs_f64() + seconds;
    while let Some(wake) = plane.wake.filter(|wake| wake.secs_f64() <= until) {
        plane.at = plane.at.max(wake);
        plane.tick();
        assert_eq!(plane.fault, None);
    }
}

fn stopping(plane: &Plane) -> Vec<u32> {
    let runs = plane.world.runs.iter();
    runs.filter(|(_, run)| run.stopping).map(|(job, _)| *job).collect()
}

/// What a recipe does to two jobs that have all GPUs, by itself and when it is left again.
fn harm(recipe: &str) -> Vec<String> {
    let mut plane = plane("fifo");
    let jobs = [4, 4].map(|count| plane.submit(&admin(), gpus(count)));
    jobs.iter().for_each(|job| plane.started(*job));
    plane.pass(100.0);
    let mut harm = Vec::new();
    for next in [recipe, "fifo"] {
        set(&mut plane, next);
        go_on(&mut plane, 2_000.0);
        if !stopping(&plane).is_empty() {
            harm.push(format!("{next} stops {:?} ({recipe})", stopping(&plane)));
            break;
        }
    }
    harm
}

#[test]
fn no_recipe_that_takes_over_stops_jobs_while_nobody_waits() {
    let harm: Vec<String> =
        heeler_recipes::all().iter().flat_map(|recipe| harm(recipe.name)).collect();
    assert_eq!(harm, [""; 0]);
}

#[test]
fn recipes_of_shares_and_windows_leave_no_gpu_idle_when_they_take_over() {
    let rounds =
        ["gavel", "gavel-fifo", "gavel-isolated", "gavel-gandiva", "allox", "pop", "shockwave"];
    for recipe in rounds {
        let mut plane = plane("fifo");
        let jobs = [4, 4, 4].map(|count| plane.submit(&admin(), gpus(count)));
        jobs[..2].iter().for_each(|job| plane.started(*job));
        plane.pass(100.0);
        set(&mut plane, recipe);
        let state = plane.live.engine().state();
        let given = state.jobs().iter().filter_map(|job| job.assignment.as_ref());
        assert_eq!(given.map(heeler_model::Assignment::milli).sum::<u64>(), 8_000, "{recipe}");
    }
}

/// A job that can make use of ten CPUs beside each GPU, and asks for none.
fn hungry(count: u32) -> Submission {
    Submission { appetite: vec![Fed { cpu_milli: 10_000, memory_mb: 0, pace: 2.0 }], ..gpus(count) }
}

#[test]
fn who_runs_keeps_its_cpus_when_a_recipe_that_hands_them_out_takes_over() {
    let mut plane = plane("fifo");
    let jobs = [3, 3].map(|count| plane.submit(&admin(), hungry(count)));
    jobs.iter().for_each(|job| plane.started(*job));
    set(&mut plane, "synergy");
    let late = plane.submit(&admin(), hungry(2));
    go_on(&mut plane, 1_000.0);
    assert_eq!(stopping(&plane), [0; 0]);
    let cpus = |job: u32| plane.world.runs[&job].launch.cpu_milli;
    assert_eq!((jobs.map(cpus), cpus(late)), ([0, 0], 10_000), "only who came since is given some");
}

#[test]
fn nobody_is_overtaken_when_a_recipe_that_hands_cpus_out_is_left() {
    let mut plane = plane("synergy");
    let jobs = [3, 3].map(|count| plane.submit(&admin(), hungry(count)));
    go_on(&mut plane, 1_000.0);
    jobs.iter().for_each(|job| plane.started(*job));
    let cpus = |plane: &Plane| jobs.map(|job| plane.world.runs[&job].launch.cpu_milli);
    assert_eq!(cpus(&plane), [10_000; 2]);
    let late = plane.submit(&admin(), gpus(3));
    set(&mut plane, "fifo");
    assert_eq!((plane.running(), stopping(&plane)), (jobs.to_vec(), Vec::new()));
    let portions = jobs.map(|job| {
        let known = plane.live.engine().state().job(JobId(job));
        known.assignment.as_ref().expect("it runs").portion
    });
    assert_eq!(portions, [None; 2], "no more is counted than they asked for");
    // Sixty of 64 CPUs were counted before.
    let small = plane.submit(&admin(), Submission { cpu_milli: 8_000, ..gpus(2) });
    assert_eq!(plane.running(), [jobs[0], jobs[1]], "it comes after the one that came before it");
    plane.exits(jobs[0], 0);
    assert_eq!(plane.running(), [jobs[1], late, small]);
}

#[test]
fn who_came_since_the_last_round_is_told_of_the_next() {
    for recipe in ["optimus", "gavel", "shockwave"] {
        let mut plane = plane(recipe);
        let first = plane.submit(&admin(), gpus(1));
        plane.exits(first, 0);
        plane.pass(1.0);
        let jobs = [4, 4, 4].map(|count| plane.submit(&admin(), gpus(count)));
        for job in jobs {
            let view = plane.live.job(&admin(), job).expect("a job");
            let said = view.reason.map(|reason| reason.name);
            assert_eq!(said.as_deref(), Some("round-not-over"), "{recipe}: job {job}");
            let why = plane.live.engine().why(JobId(job));
            let until = matches!(why, Verdict::Waits { reason: Reason::RoundNotOver { .. }, .. });
            assert!(until, "{recipe}: job {job}: {why:?}");
        }
    }
    let mut plane = plane("fifo");
    let jobs = [8, 4].map(|count| plane.submit(&admin(), gpus(count)));
    let said = plane.reason(jobs[1]);
    assert_eq!(said, "not-enough-free", "it was looked at as soon as it came");
}

#[test]
fn who_runs_has_a_lease_from_when_a_recipe_with_leases_takes_over() {
    let mut plane = plane("fifo");
    let first = plane.submit(&admin(), gpus(8));
    plane.started(first);
    plane.pass(20_000.0);
    let late = plane.submit(&admin(), gpus(8));
    set(&mut plane, "e-las");
    assert_eq!(plane.wake, Some(plane.at + Span::from_secs(300)), "job {late} waits for it to end");
    plane.pass(299.0);
    plane.tick();
    assert_eq!(stopping(&plane), [0; 0]);
    plane.pass(1.0);
    plane.tick();
    assert_eq!(stopping(&plane), [first]);
}

#[test]
fn gpus_that_jobs_share_are_used_once() {
    let mut plane = plane("antman");
    let used = |plane: &Plane| plane.live.used_milli();
    let sure = plane.submit(&admin(), gpus(6));
    assert_eq!(used(&plane), 6_000, "job {sure} is alone there");
    let low = Submission { class: Class::BestEffort, ..gpus(8) };
    let spare = plane.submit(&admin(), low);
    assert_eq!((plane.running(), used(&plane)), (vec![sure, spare], 8_000));
}

/// How much each job has of its GPUs on the books.
fn shares(plane: &Plane, jobs: &[u32]) -> Vec<u32> {
    let state = plane.live.engine().state();
    let share = |job: &u32| state.job(JobId(*job)).assignment.as_ref().map_or(0, |on| on.share.0);
    jobs.iter().map(share).collect()
}

#[test]
fn whoever_is_alone_on_its_gpus_goes_on_when_a_recipe_that_shares_gpus_is_left() {
    let mut harm = Vec::new();
    for recipe in heeler_recipes::all() {
        let mut plane = plane("antman");
        let jobs = [4, 4].map(|count| plane.submit(&admin(), gpus(count)));
        jobs.iter().for_each(|job| plane.started(*job));
        assert_eq!(shares(&plane, &jobs), [500, 500]);
        plane.pass(100.0);
        set(&mut plane, recipe.name);
        go_on(&mut plane, 2_000.0);
        if !stopping(&plane).is_empty() {
            harm.push(format!("{} stops {:?}", recipe.name, stopping(&plane)));
        }
    }
    assert_eq!(harm, [""; 0]);
}

#[test]
fn of_jobs_that_share_gpus_one_stays_when_a_recipe_takes_over_that_knows_nothing_of_it() {
    let mut plane = plane("antman");
    let low = Submission { class: Class::BestEffort, ..gpus(8) };
    let spare = plane.submit(&admin(), low);
    plane.started(spare);
    plane.pass(10.0);
    let sure = [2, 4].map(|count| plane.submit(&admin(), gpus(count)));
    sure.iter().for_each(|job| plane.started(*job));
    assert_eq!(plane.running(), [spare, sure[0], sure[1]]);
    set(&mut plane, "fifo");
    assert_eq!(stopping(&plane), [spare], "two with a guarantee are more important");
    assert_eq!(shares(&plane, &sure), [1_000, 1_000]);
    plane.stopped(spare, Way::Requeued);
    assert_eq!((plane.running(), plane.live.used_milli()), (sure.to_vec(), 6_000));
    assert_eq!(plane.live.nodes()[0].free_milli, 2_000);
    let late = plane.submit(&admin(), gpus(2));
    assert_eq!(plane.running(), sure, "job {late} comes after the one that was stopped");
    sure.iter().for_each(|job| plane.exits(*job, 0));
    assert_eq!(plane.running(), [spare]);
}
