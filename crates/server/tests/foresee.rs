//! Answers about what is to come, on engines that are fed by hand.

use heeler_api::{Code, WhatIf};
use heeler_engine::{Engine, Policy, Rules};
use heeler_model::{
    Action, Cluster, Demand, Event, JobId, JobSpec, KindSet, RackId, Reason, Span, Time,
};
use heeler_server::foresee::{
    Elsewise, Hint, Names, Newcomer, Past, Scene, test_only, whatif, when, why,
};
use heeler_sim::Before;
use std::sync::Arc;

const EPOCH: u64 = 1_700_000_000;

fn policy(name: &str) -> Box<dyn Policy> {
    let text = heeler_recipes::find(name).expect("a recipe").text;
    heeler_recipes::Card::read(text, name).expect("a card").build()
}

/// An engine at the tenth second with these jobs, numbered from one.
fn engine(recipe: &str, cluster: Cluster, demands: &[Demand]) -> Engine {
    let mut engine = Engine::new(Arc::new(cluster), policy(recipe), Rules::default(), 1);
    for (index, demand) in demands.iter().enumerate() {
        let job = JobId(index as u32 + 1);
        let spec = Box::new(JobSpec::new(*demand));
        engine.step(Time::from_secs(10), Event::Submitted { job, spec });
    }
    engine
}

fn hint(left_s: u64) -> Hint {
    Hint { left: Some(Span::from_secs(left_s)), ..Hint::default() }
}

fn scene(engine: &Engine, hints: &[Hint]) -> Scene {
    let numbered = hints.iter().enumerate();
    let hints = numbered.map(|(index, hint)| (JobId(index as u32 + 1), hint.clone())).collect();
    Scene { hints, seed: 5, past: Past::default(), ..Scene::of(engine.fork(), EPOCH) }
}

fn elsewise(asked: WhatIf) -> Elsewise {
    Elsewise { asked, policy: None, in_charge: policy("fifo"), newcomer: None }
}

#[test]
fn fewer_gpus_or_another_kind_would_help() {
    // Eight of kind a, of which three are in use, and eight of kind b.
    let mut cluster = Cluster::uniform(0, 0);
    let (a, b) = (cluster.kind_named("a"), cluster.kind_named("b"));
    cluster.add_node(a, 4, RackId(0));
    cluster.add_node(a, 4, RackId(0));
    cluster.add_node(b, 8, RackId(0));
    let of = |kind, gpus| Demand { kinds: KindSet::NONE.with(kind), ..Demand::gpus(gpus) };
    let engine = engine("fifo", cluster, &[of(a, 3), of(a, 8), of(a, 1)]);
    let names = Names::of(&engine, EPOCH);
    let said = why(&engine, &names, EPOCH, JobId(2));
    assert_eq!(said.state, "pending");
    let reason = said.reason.expect("a reason");
    assert_eq!((reason.name.as_str(), reason.tier.as_str()), ("not-enough-free", "turn"));
    let helps: Vec<(&str, usize)> =
        said.helps.iter().map(|helps| (helps.change.as_str(), helps.stops.len())).collect();
    assert_eq!(helps, [("kind=any", 0), ("gpus=5", 0)]);
    // What is said to help does.
    let mut other = engine.fork();
    let spec = Box::new(JobSpec::new(of(a, 5)));
    other.observe(Time::from_secs(11), Event::Cancelled { job: JobId(2) });
    other.observe(Time::from_secs(11), Event::Cancelled { job: JobId(3) });
    let step = other.step(Time::from_secs(11), Event::Submitted { job: JobId(4), spec });
    let Some(Action::Start { assignment, .. }) = step.actions.last() else { panic!("{step:?}") };
    assert_eq!(said.helps[1].on, names.place(assignment));
    // The third waits behind the second, and no change of its own size helps that.
    let behind = why(&engine, &names, EPOCH, JobId(3));
    assert_eq!(behind.reason.expect("a reason").name, "behind");
    assert_eq!(why(&engine, &names, EPOCH, JobId(1)).on.as_deref(), Some("n0[0-2]"));
    assert_eq!(why(&engine, &names, EPOCH, JobId(77)).state, "over");
}

#[test]
fn whoever_is_held_is_told_so_and_nothing_is_tried() {
    let mut engine = engine("fifo", Cluster::uniform(1, 1), &[Demand::gpus(1), Demand::gpus(1)]);
    engine.observe(
        Time::from_secs(20),
        Event::Held { job: JobId(2), reason: Reason::NotBefore { until: Time::from_secs(60) } },
    );
    let said = why(&engine, &Names::of(&engine, EPOCH), EPOCH, JobId(2));
    let reason = said.reason.expect("a reason");
    assert_eq!(reason.sentence, "it may not start before 2023-11-14 22:14:20 UTC");
    assert!(said.helps.is_empty());
}

#[test]
fn a_start_is_foreseen_with_an_interval_and_again_the_same() {
    let demands = [Demand::gpus(1), Demand::gpus(1), Demand::gpus(1)];
    let engine = engine("fifo", Cluster::uniform(1, 1), &demands);
    let scene = scene(&engine, &[hint(100), hint(200), hint(50)]);
    let forecast = when(&scene, JobId(3));
    let starts = forecast.starts.expect("a start") - EPOCH as f64;
    assert!((280.0..340.0).contains(&starts), "after 300 seconds or so: {starts}");
    let (low, high) = forecast.between.expect("an interval");
    assert!(low < forecast.starts.unwrap_or(0.0) && forecast.starts.unwrap_or(0.0) < high);
    assert!((high - low) < 120.0, "jobs that count their steps are known well");
    let ends = forecast.ends.expect("an end") - EPOCH as f64;
    assert!((starts + 30.0..starts + 80.0).contains(&ends), "{ends}");
    assert_eq!((forecast.futures, forecast.on.as_deref()), (24, Some("n0[0]")));
    assert!(forecast.assumes.iter().any(|it| it.contains("nobody else hands in")));
    assert_eq!(when(&scene, JobId(3)), forecast, "chance begins at the same place");
    let running = when(&scene, JobId(1));
    assert_eq!(running.starts, Some(EPOCH as f64 + 10.0));
    let newcomer = Newcomer { spec: JobSpec::new(Demand::gpus(1)), hint: hint(10) };
    let tested = test_only(&scene, &newcomer);
    assert!(tested.starts > forecast.starts, "behind all others");
    assert_eq!(tested.job, 0);
    let too_large = Newcomer { spec: JobSpec::new(Demand::gpus(2)), hint: hint(10) };
    assert_eq!(test_only(&scene, &too_large).starts, None);
}

#[test]
fn a_held_job_starts_when_what_it_waits_for_has_passed_or_never() {
    let demands = [Demand::gpus(1), Demand::gpus(1), Demand::gpus(1)];
    let mut engine = engine("fifo", Cluster::uniform(1, 4), &demands[..1]);
    for job in [JobId(2), JobId(3)] {
        let spec = Box::new(JobSpec::new(demands[0]));
        engine.observe(Time::from_secs(10), Event::Submitted { job, spec });
        engine.observe(Time::from_secs(10), Event::Held { job, reason: Reason::HeldBack });
    }
    let follows = Before { ends: vec![JobId(1)], ..Before::default() };
    let second = Hint { before: Some(follows), ..hint(10) };
    let scene = scene(&engine, &[hint(100), second, hint(10)]);
    let starts = when(&scene, JobId(2)).starts.expect("a start") - EPOCH as f64;
    assert!((80.0..150.0).contains(&starts), "{starts}");
    let never = when(&scene, JobId(3));
    assert_eq!(never.starts, None);
    assert!(never.assumes[0].starts_with("it does not start while"), "{:?}", never.assumes);
}

#[test]
fn whoever_starts_neither_way_does_not_count() {
    let demands = [Demand::gpus(4), Demand::gpus(4), Demand::gpus(4), Demand::gpus(1)];
    let waits = |jobs: usize| {
        let mut engine = engine("fifo", Cluster::uniform(1, 4), &demands[..jobs]);
        if jobs == 4 {
            let held = Event::Held { job: JobId(4), reason: Reason::HeldBack };
            engine.observe(Time::from_secs(10), held);
        }
        let scene = scene(&engine, &vec![hint(100); jobs]);
        let answer = whatif(&scene, elsewise(WhatIf::default())).expect("an answer");
        let told = answer.assumes.iter().any(|text| text.contains("start neither way"));
        (answer.now["mean-wait-s"], told)
    };
    let (three, told) = waits(3);
    assert!(three > 90.0 && !told);
    assert_eq!(waits(4), (three, true));
}

#[test]
fn another_future_differs_by_what_was_changed_alone() {
    let demands = [Demand::gpus(4), Demand::gpus(4), Demand::gpus(4)];
    let engine = engine("fifo", Cluster::uniform(1, 4), &demands);
    let scene = scene(&engine, &[hint(100), hint(100), hint(100)]);
    let same = whatif(&scene, elsewise(WhatIf::default())).expect("an answer");
    assert_eq!(same.now, same.then);
    assert_eq!(same.jobs, []);
    assert!((90.0..110.0).contains(&same.now["mean-wait-s"]), "{:?}", same.now);
    let asked = WhatIf { add_nodes: 2, ..WhatIf::default() };
    let more = whatif(&scene, elsewise(asked)).expect("an answer");
    assert_eq!(more.now, same.now, "the same draws");
    assert_eq!(more.then["mean-wait-s"], 0.0);
    assert!(more.then["makespan-s"] < more.now["makespan-s"] / 2.0);
    let jobs: Vec<u32> = more.jobs.iter().map(|(job, ..)| *job).collect();
    assert_eq!(jobs, [3, 2], "whoever gains most comes first");
    let asked = WhatIf { without_nodes: vec!["n0".into()], ..WhatIf::default() };
    let gone = whatif(&scene, elsewise(asked)).expect("an answer");
    assert!(gone.jobs.iter().all(|(_, now, then)| now.is_some() && then.is_none()));
    let newcomer = Newcomer { spec: JobSpec::new(Demand::gpus(1)), hint: hint(10) };
    let one_more = Elsewise { newcomer: Some(newcomer), ..elsewise(WhatIf::default()) };
    let one_more = whatif(&scene, one_more).expect("an answer");
    assert_eq!(
        one_more.jobs.iter().map(|(job, now, _)| (*job, *now)).collect::<Vec<_>>(),
        [(4, None)]
    );
    let asked = WhatIf { without_nodes: vec!["n7".into()], ..WhatIf::default() };
    let problem = whatif(&scene, elsewise(asked)).expect_err("no such node");
    assert_eq!(problem.code, Code::NotFound);
}

#[test]
fn a_long_queue_is_looked_at_as_far_as_the_budget_goes() {
    let demands = vec![Demand::gpus(1); 10_000];
    let engine = {
        let mut engine = engine("fifo", Cluster::uniform(1, 2), &[]);
        for (index, demand) in demands.iter().enumerate() {
            let spec = Box::new(JobSpec::new(*demand));
            let job = JobId(index as u32 + 1);
            engine.observe(Time::from_secs(10), Event::Submitted { job, spec });
        }
        engine.decide(Time::from_secs(10));
        engine
    };
    let said = why(&engine, &Names::of(&engine, EPOCH), EPOCH, JobId(10_000));
    assert_eq!(said.reason.expect("a reason").name, "not-enough-free");
    let scene = Scene::of(engine.fork(), EPOCH);
    let near = when(&scene, JobId(100));
    assert_eq!(near.futures, 24);
    let far = when(&scene, JobId(10_000));
    assert!((5..24).contains(&far.futures), "{}", far.futures);
    assert!(far.starts > near.starts);
}
