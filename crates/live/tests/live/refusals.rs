//! Who may do what, and what is refused with which words.

use crate::world::{Plane, admin, gpus, person};
use heeler_api::{
    Array, Code, Gpus, Pause, Problem, Role, Submission, TenantChange, TokenRequest, Who,
};
use heeler_live::{Act, Ask, Done, Filter};
use heeler_model::Time;

fn two_tenants() -> (Plane, Who, Who, Who) {
    let mut plane = Plane::new(1, 4, "fifo");
    for (name, user) in [("red", "ann"), ("blue", "bob"), ("red", "amy")] {
        let change = TenantChange { add_users: vec![user.into()], ..TenantChange::default() };
        plane.ask(&admin(), Ask::Tenant { name: name.into(), change }).unwrap();
    }
    let local = |plane: &Plane, user: &str| plane.live.who_is(user, 1000, 1000, 0);
    let (ann, bob) = (local(&plane, "ann"), local(&plane, "bob"));
    let amy = local(&plane, "amy");
    (plane, ann, bob, amy)
}

fn refused(plane: &mut Plane, who: &Who, ask: Ask) -> Problem {
    let records = plane.records.len();
    let problem = plane.ask(who, ask).expect_err("it is refused");
    assert_eq!(plane.records.len(), records, "nothing was changed");
    problem
}

#[test]
fn what_one_may_not_see_is_not_there() {
    let (mut plane, ann, bob, amy) = two_tenants();
    let job = plane.submit(&ann, gpus(1));
    assert_eq!(plane.live.job(&ann, job).unwrap().tenant, "red");
    assert_eq!(plane.live.job(&bob, job).unwrap_err().code, Code::NotFound);
    assert!(plane.live.jobs(&bob, &Filter::default()).is_empty());
    assert_eq!(plane.live.jobs(&amy, &Filter::default()).len(), 1, "a tenant's users see it");
    let cancel = |jobs: &str| Ask::Act { jobs: jobs.parse().unwrap(), act: Act::Cancel };
    assert_eq!(refused(&mut plane, &bob, cancel("1")).code, Code::NotFound);
    assert_eq!(refused(&mut plane, &bob, cancel("1-100")).code, Code::NotFound);
    assert_eq!(refused(&mut plane, &amy, cancel("1")).code, Code::Forbidden);
    let viewer = person("vic", Role::Viewer, &["red"]);
    assert_eq!(plane.live.jobs(&viewer, &Filter::default()).len(), 1);
    assert_eq!(refused(&mut plane, &viewer, cancel("1")).code, Code::Forbidden);
    let other = Submission { tenant: Some("blue".into()), ..gpus(1) };
    let problem = refused(&mut plane, &ann, Ask::Submit(vec![other]));
    assert_eq!((problem.code, problem.field.as_deref()), (Code::NotFound, Some("tenant")));
    let after = heeler_api::Dependency { when: heeler_api::Condition::Ok, job };
    let spy = Submission { after: vec![after], ..gpus(1) };
    assert_eq!(refused(&mut plane, &bob, Ask::Submit(vec![spy])).code, Code::NotFound);
    let operator = person("olga", Role::Operator, &[]);
    plane.ask(&operator, cancel("1")).unwrap();
    assert_eq!(plane.live.usage(&bob).rows.len(), 0);
    assert_eq!(plane.live.tenants(&bob).len(), 1);
}

#[test]
fn each_role_may_do_what_it_may() {
    let (mut plane, ann, _, _) = two_tenants();
    let operator = person("olga", Role::Operator, &[]);
    let drain = || Ask::Drain { node: "n0".into(), note: None };
    let recipe =
        || Ask::Recipe(heeler_api::RecipeChange { name: Some("las".into()), ..Default::default() });
    let tenant = || Ask::Tenant { name: "red".into(), change: TenantChange::default() };
    for ask in [drain(), recipe(), tenant()] {
        assert_eq!(refused(&mut plane, &ann, ask).code, Code::Forbidden);
    }
    plane.ask(&operator, drain()).unwrap();
    plane.ask(&operator, recipe()).unwrap();
    let problem = refused(&mut plane, &operator, tenant());
    assert_eq!(problem.hint.as_deref(), Some("this takes the role admin"));
    let audit: Vec<String> = plane.live.audit().into_iter().map(|entry| entry.what).collect();
    assert_eq!(audit, ["tenant", "tenant", "tenant", "drain", "recipe"]);
    assert_eq!(plane.live.who_is("x", 0, 0, 5).role, Role::Admin);
    assert_eq!(plane.live.who_is("x", 5, 5, 5).role, Role::Admin);
    assert_eq!(plane.live.who_is("x", 6, 6, 5).tenants, ["default"]);
}

#[test]
fn tokens_are_known_by_their_hash_until_they_end() {
    let (mut plane, ann, _, _) = two_tenants();
    let request = |tenants: Vec<String>, expires_s| TokenRequest {
        user: "rob".into(),
        role: Role::User,
        tenants,
        expires_s,
    };
    let hash = "ab".repeat(32);
    let ask = Ask::Token { request: request(vec!["red".into()], Some(60)), hash: hash.clone() };
    assert_eq!(refused(&mut plane, &ann, ask.clone()).code, Code::Forbidden);
    assert_eq!(plane.ask(&admin(), ask.clone()), Ok(Done::Token(1)));
    let who = plane.live.token(&hash, Time::from_secs(59)).unwrap();
    assert_eq!((who.user.as_str(), who.role), ("rob", Role::User));
    assert_eq!(who.tenants, ["red"]);
    assert_eq!(plane.live.token(&hash, Time::from_secs(60)), None);
    assert_eq!(plane.live.token(&"cd".repeat(32), Time::ZERO), None);
    assert_eq!(plane.ask(&admin(), ask).unwrap_err().code, Code::Conflict);
    plane.ask(&admin(), Ask::Revoke { token: 1 }).unwrap();
    assert_eq!(plane.live.token(&hash, Time::ZERO), None);
    let short = Ask::Token { request: request(Vec::new(), None), hash: "abc".into() };
    assert_eq!(refused(&mut plane, &admin(), short).field.as_deref(), Some("hash"));
}

fn gpus_of(change: fn(&mut Gpus)) -> Submission {
    let mut job = gpus(2);
    change(&mut job.gpus);
    job
}

fn with(change: fn(&mut Submission)) -> Submission {
    let mut job = gpus(1);
    change(&mut job);
    job
}

fn all_refused(cases: Vec<(&str, Submission)>) {
    let mut plane = Plane::new(1, 4, "fifo");
    plane.live.check(&admin(), Ask::Submit(vec![gpus(1)]), Time::ZERO).unwrap();
    for (field, job) in cases {
        let problem = refused(&mut plane, &admin(), Ask::Submit(vec![job]));
        assert_eq!(problem.field.as_deref(), Some(field), "{}", problem.message);
    }
}

#[test]
fn words_that_make_no_sense_are_refused_by_field() {
    all_refused(vec![
        ("name", with(|job| job.name = "../../etc/passwd".into())),
        ("name", with(|job| job.name = "x".repeat(129))),
        ("command", with(|job| job.command.clear())),
        ("command", with(|job| job.command = vec![String::new()])),
        ("command", with(|job| job.command = vec!["x".into(), "a\0b".into()])),
        ("command", with(|job| job.command = vec!["x".repeat(300_000)])),
        ("command", with(|job| job.script = Some("y".repeat(300_000)))),
        (
            "env",
            with(|job| {
                job.env.insert("A=B".into(), "c".into());
            }),
        ),
        ("dir", with(|job| job.dir = "relative".into())),
    ]);
}

#[test]
fn numbers_that_make_no_sense_are_refused_by_field() {
    all_refused(vec![
        ("tenant", with(|job| job.tenant = Some("nobody".into()))),
        ("tenant", with(|job| job.tenant = Some("best-effort".into()))),
        ("gpus.kinds", gpus_of(|gpus| gpus.kinds = vec!["gpv".into()])),
        ("gpus.count", gpus_of(|gpus| gpus.count = u32::MAX)),
        ("gpus.min", gpus_of(|gpus| gpus.min = Some(3))),
        ("gpus.min", gpus_of(|gpus| gpus.min = Some(0))),
        ("gpus.min", gpus_of(|gpus| gpus.max = Some(1))),
        ("gpus.share", gpus_of(|gpus| gpus.share = Some(1001))),
        ("nodes", with(|job| job.nodes = Some(2))),
        ("array.indices", with(|job| job.array = Some(Array { indices: vec![1, 1], most: None }))),
        ("array.indices", with(|job| job.array = Some(Array::default()))),
        (
            "array.most",
            with(|job| {
                job.array = Some(Array { indices: vec![1], most: Some(0) });
            }),
        ),
        ("time-limit-s", with(|job| job.time_limit_s = Some(0))),
        ("time-limit-s", with(|job| job.time_limit_s = Some(u64::MAX))),
        ("grace-s", with(|job| job.grace_s = u64::MAX)),
        ("retries", with(|job| job.retries = u32::MAX)),
        ("priority", with(|job| job.priority = i32::MIN)),
        ("begin", with(|job| job.begin = Some(u64::MAX))),
        ("deadline", with(|job| job.deadline = Some(u64::MAX))),
        (
            "early.signal",
            with(|job| {
                job.early = Some(heeler_api::Early { signal: "NOPE".into(), before_s: 1 });
            }),
        ),
        ("appetite.pace", with(|job| job.appetite = vec![heeler_api::Fed::default()])),
        ("once", with(|job| job.once = Some(String::new()))),
        ("model", with(|job| job.model = Some("a/b".into()))),
        (
            "terminal",
            with(|job| {
                job.terminal = true;
                job.array = Some(Array { indices: vec![1], most: None });
            }),
        ),
    ]);
}

#[test]
fn refusals_say_what_was_meant_and_how_much_is_too_much() {
    let mut plane = Plane::new(1, 4, "fifo");
    let kind = gpus_of(|gpus| gpus.kinds = vec!["gpv".into()]);
    let problem = refused(&mut plane, &admin(), Ask::Submit(vec![kind]));
    assert_eq!(problem.hint.as_deref(), Some("did you mean `gpu`?"));
    let array = Some(Array { indices: (0..60_000).collect(), most: None });
    let large = Submission { array, ..gpus(1) };
    let problem = refused(&mut plane, &admin(), Ask::Submit(vec![large.clone(), large]));
    assert_eq!(problem.code, Code::Busy);
}

#[test]
fn defaults_are_filled_in() {
    let plane = Plane::new(1, 4, "fifo");
    let job = Submission {
        name: String::new(),
        command: vec!["/usr/bin/train.py".into()],
        retries: 1,
        gpus: Gpus { count: 1, kinds: vec!["GPU".into()], ..Gpus::default() },
        pause: Pause::Checkpoint,
        ..Submission::default()
    };
    let Ok(Ask::Submit(jobs)) = plane.live.check(&admin(), Ask::Submit(vec![job]), Time::ZERO)
    else {
        panic!()
    };
    let job = &jobs[0];
    assert_eq!((job.name.as_str(), job.tenant.as_deref()), ("train.py", Some("default")));
    assert_eq!((job.grace_s, job.backoff_s), (30, 10));
    assert_eq!(job.gpus.kinds, ["gpu"], "kinds are spelt as the cluster does");
}

#[test]
fn what_cannot_be_done_to_a_job_is_said_of_each() {
    let mut plane = Plane::new(1, 4, "fifo");
    let done = plane.submit(&admin(), gpus(1));
    plane.started(done);
    plane.exits(done, 0);
    let stays = plane.submit(&admin(), Submission { pause: Pause::Never, ..gpus(1) });
    plane.started(stays);
    let mut said = |jobs: &str, act: Act| plane.act(&admin(), jobs, act).unwrap_err().message;
    let message = said("1", Act::Priority(3));
    assert_eq!(message, "there is nothing to give another priority: job 1 is completed");
    let message = said("1-2", Act::Suspend);
    assert!(message.ends_with("job 1 is completed; job 2 was submitted with --pause never"));
    assert!(said("2", Act::Hold).ends_with("job 2 is running and has its GPUs"));
    plane.act(&admin(), "2", Act::Cancel).unwrap();
    let again = Ask::Act { jobs: "2".parse().unwrap(), act: Act::Cancel };
    let notes = vec!["job 2 is stopping already".to_owned()];
    assert_eq!(plane.ask(&admin(), again), Ok(Done::Acted { jobs: Vec::new(), notes }));
    assert_eq!(plane.act(&admin(), "2", Act::Kill), Ok(vec![2]), "it need not be waited for");
}

#[test]
fn what_can_never_start_is_taken_with_a_note() {
    let mut plane = Plane::new(1, 4, "fifo");
    let mut notes =
        |submission: Submission| match plane.ask(&admin(), Ask::Submit(vec![submission])) {
            Ok(Done::Submitted(jobs)) => jobs[0].notes.clone(),
            other => panic!("not taken: {other:?}"),
        };
    assert_eq!(notes(gpus(4)), Vec::<String>::new());
    let said = notes(gpus(5));
    assert!(said[0].contains("it needs 5 GPUs") && said[0].contains("4 GPUs or fewer"), "{said:?}");
    let late = Submission { deadline: Some(crate::world::EPOCH), ..gpus(1) };
    let problem = refused(&mut plane, &admin(), Ask::Submit(vec![late]));
    assert_eq!(problem.field.as_deref(), Some("deadline"));
}

#[test]
fn the_trail_is_in_words_and_output_has_its_number() {
    let mut plane = Plane::new(1, 4, "fifo");
    let change = TenantChange {
        quota: Some(Some(2)),
        limit: Some(None),
        add_users: vec!["ann".into()],
        ..TenantChange::default()
    };
    plane.ask(&admin(), Ask::Tenant { name: "red".into(), change }).unwrap();
    let request = TokenRequest {
        user: "ann".into(),
        role: Role::Viewer,
        tenants: Vec::new(),
        expires_s: None,
    };
    plane.ask(&admin(), Ask::Token { request, hash: "a".repeat(64) }).unwrap();
    let details: Vec<String> = plane.live.audit().into_iter().map(|one| one.detail).collect();
    assert_eq!(details, ["red: made, quota 2, no limit, with ann", "1 for ann as viewer"]);
    let job = plane.submit(&admin(), Submission { output: Some("/o/%x-%3j".into()), ..gpus(1) });
    let shown = plane.live.job(&admin(), job).unwrap().output;
    assert_eq!(shown.as_deref(), Some("/o/job-1-001"));
}
