//! What reaches the control plane: bodies of requests, records of a journal, reports of jobs.
//! Whatever they say, it must not panic, must save and load as it is, and must not plan what
//! cannot be.

use crate::{first_line, text};
use heeler_api::{
    RecipeChange, Role, Selection, Submission, TenantChange, TokenRequest, WhatIf, Who,
};
use heeler_backend::{Inventory, Order, Said, Sign};
use heeler_live::{Act, Ask, Input, Live, Record};
use heeler_model::{Cluster, Generation, JobId, Time};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Jobs of several kinds, some of which run.
const BEGUN: &str = r#"[
    {"name": "a", "command": ["true"], "dir": "/", "gpus": {"count": 2}, "requeue": true},
    {"name": "b", "command": ["true"], "dir": "/", "gpus": {"count": 2, "min": 1, "max": 4}},
    {"name": "c", "command": ["true"], "dir": "/", "gpus": {"count": 8}, "time-limit-s": 60},
    {"name": "d", "command": ["true"], "dir": "/", "array": {"indices": [0, 1, 5], "most": 1}}
]"#;

/// One that waits for another.
const AFTER: &str =
    r#"[{"name": "e", "command": ["true"], "dir": "/", "after": [{"when": "ok", "job": 1}]}]"#;

fn who(role: Role) -> Who {
    let tenants = if role >= Role::Operator { Vec::new() } else { vec!["default".into()] };
    Who { user: "ann".into(), uid: Some(1000), gid: Some(1000), role, tenants }
}

/// Recipes that decide: a plain one, and one that learns from what jobs report.
const RECIPES: [&str; 2] = ["fifo", "sia"];

/// A control plane with some jobs, as it was saved.
fn begun(recipe: usize) -> Live {
    static SAVED: [OnceLock<Value>; 2] = [OnceLock::new(), OnceLock::new()];
    let saved = SAVED[recipe].get_or_init(|| {
        let inventory = Inventory { cluster: Cluster::uniform(2, 4), ..Inventory::default() };
        let recipe = RECIPES[recipe];
        let mut live = Live::open(1_700_000_000, inventory, recipe, 7).expect("a recipe");
        let (at, who) = (Time::from_secs(1), who(Role::Admin));
        for jobs in [BEGUN, AFTER] {
            let jobs: Vec<Submission> = serde_json::from_str(jobs).expect("sound jobs");
            let ask = live.check(&who, Ask::Submit(jobs), at).expect("sound jobs");
            go_on(&mut live, at, vec![Input::Asked { who: who.clone(), ask }]);
        }
        live.save()
    });
    Live::load(saved.clone()).expect("what was saved can be loaded")
}

/// Take something up, decide, and let what was ordered begin.
fn go_on(live: &mut Live, at: Time, inputs: Vec<Input>) {
    let digest = live.digest();
    let _ = live.apply(&Record { at, inputs, digest });
    let orders = live.decide(live.now()).orders;
    let started = orders.iter().filter_map(|order| match order {
        Order::Start(launch) => Some(Input::Sign(Sign::Started {
            job: launch.job,
            generation: launch.generation,
            took_ms: 5,
            resumed: false,
        })),
        _ => None,
    });
    let inputs: Vec<_> = started.chain([Input::Tick]).collect();
    let digest = live.digest();
    let _ = live.apply(&Record { at: live.now(), inputs, digest });
    let _ = live.decide(live.now());
}

/// It can be looked at, saved and loaded.
fn is_whole(live: &Live) {
    let who = who(Role::Admin);
    for job in live.jobs(&who, &heeler_live::Filter::default()) {
        live.job(&who, job.id).expect("a job that is listed can be shown");
    }
    let _ = (live.nodes(), live.tenants(&who), live.usage(&who), live.evictions(&who));
    let load = |saved: &Value| Live::load(saved.clone()).expect("what was saved can be loaded");
    // Demands are numbered as they come, so the first loading may number them otherwise.
    let once = load(&live.save());
    assert_eq!(once.digest(), live.digest());
    let twice = load(&once.save());
    assert_eq!(difference("", &once.save(), &twice.save()), None, "loading changed what was saved");
}

/// The first place where two values differ, and how.
fn difference(path: &str, one: &Value, other: &Value) -> Option<String> {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<_> = a.keys().chain(b.keys()).collect();
            keys.into_iter().find_map(|key| {
                let (a, b) =
                    (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                difference(&format!("{path}/{key}"), a, b)
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => (0..a.len())
            .find_map(|place| difference(&format!("{path}/{place}"), &a[place], &b[place])),
        _ => (one != other).then(|| format!("{path}: {one} became {other}")),
    }
}

/// What is asked: the first line says what kind of body, and for some whom or what it is about.
fn ask(kind: &str, about: &str, body: &str) -> Option<Ask> {
    fn json<T: DeserializeOwned>(body: &str) -> Option<T> {
        serde_json::from_str(body).ok()
    }
    let jobs = || about.parse::<Selection>().ok();
    Some(match kind {
        "submit" => Ask::Submit(json(body).or_else(|| Some(vec![json(body)?]))?),
        "tenant" => Ask::Tenant { name: about.into(), change: json::<TenantChange>(body)? },
        "token" => Ask::Token { request: json::<TokenRequest>(body)?, hash: "0".repeat(64) },
        "recipe" => Ask::Recipe(json::<RecipeChange>(body)?),
        "act" => Ask::Act { jobs: jobs()?, act: json::<Act>(body)? },
        "what-if" => Ask::Submit(vec![json::<WhatIf>(body)?.job?]),
        "drain" => Ask::Drain { node: about.into(), note: Some(body.into()) },
        "lose" => Ask::Lose { node: about.into() },
        _ => json(body)?,
    })
}

/// A body of a request: `ROLE KIND ABOUT` and then JSON.
pub(crate) fn body(data: &[u8]) {
    let Some((head, body)) = text(data).map(first_line) else { return };
    let mut head = head.splitn(3, ' ');
    let role = match head.next() {
        Some("viewer") => Role::Viewer,
        Some("user") => Role::User,
        Some("operator") => Role::Operator,
        _ => Role::Admin,
    };
    let (kind, about) = (head.next().unwrap_or(""), head.next().unwrap_or(""));
    let Some(ask) = ask(kind, about, body) else { return };
    let mut live = begun(0);
    let at = Time::from_secs(2);
    let Ok(ask) = live.check(&who(role), ask, at) else { return };
    go_on(&mut live, at, vec![Input::Asked { who: who(role), ask }]);
    is_whole(&live);
}

/// A hundred years after a journal began. Times in it are the server's own, and checksummed.
const LATEST: Time = Time::from_secs(100 * 366 * 86_400);

/// Records, one a line, as a journal may hold them.
pub(crate) fn record(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let lines = text.lines().take(6);
    let records: Vec<Record> = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
    if records.is_empty() {
        return;
    }
    for recipe in 0..RECIPES.len() {
        let mut live = begun(recipe);
        for record in &records {
            go_on(&mut live, record.at.min(LATEST), record.inputs.clone());
        }
        is_whole(&live);
    }
}

/// A line that a running job says to its shepherd, who passes on what it reports.
pub(crate) fn report(data: &[u8]) {
    let lines = data.split(|byte| *byte == b'\n');
    let said: Vec<Value> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    for recipe in 0..RECIPES.len() {
        let mut live = begun(recipe);
        let mut at = Time::from_secs(2);
        // One that learns also solves in every turn; a few reports show what many would.
        let most = if recipe == 0 { 6 } else { 2 };
        for line in said.iter().take(most) {
            let Some(report) = line.get("report") else { continue };
            for job in [1, 2, 99] {
                let (job, generation) = (JobId(job), Generation(1));
                let said = Said { report: report.clone() };
                at = Time::from_micros(at.micros() + 1_000_000);
                let sign = Sign::Reported { job, generation, said };
                go_on(&mut live, at, vec![Input::Sign(sign)]);
            }
        }
        is_whole(&live);
    }
}
