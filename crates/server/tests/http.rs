//! What people do over HTTP: hand in, look, act, and find all of it again after a restart.

mod common;

use common::{Rig, block_on, exchange, job, until, whole};
use http_body_util::BodyExt;
use hyper::body::Bytes;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::UnixStream;

#[test]
fn jobs_are_handed_in_listed_shown_and_cancelled() {
    let rig = Rig::new();
    let client = rig.client();
    let made = client.post("/v1/jobs", &job("first"));
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.json(), json!([{ "job": 1, "tasks": 1, "again": false }]));
    let mut array = job("tasks");
    array["array"] = json!({ "indices": [0, 1, 2] });
    let made = client.post("/v1/jobs", &json!([job("second"), array]));
    assert_eq!(made.json()[1], json!({ "job": 3, "tasks": 3, "again": false }));

    let running = client.wait_for(1, "running");
    assert_eq!(running["name"], "first");
    assert_eq!(running["submission"]["command"], json!(["true"]));
    let names = |path: &str| {
        let listed = client.get(path);
        assert_eq!(listed.status, 200, "{}", listed.text());
        let jobs = listed.json().as_array().expect("a list").clone();
        jobs.iter().map(|job| job["id"].as_u64().expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!(names("/v1/jobs"), [1, 2, 3, 4, 5]);
    assert_eq!(names("/v1/jobs?limit=2"), [1, 2]);
    assert_eq!(names("/v1/jobs?limit=2&after=2"), [3, 4]);
    assert_eq!(names("/v1/jobs?ids=3_1,1"), [1, 4]);
    assert_eq!(client.get("/v1/jobs/3_2").json()["id"], 5);

    let done = client.post("/v1/jobs/1-2/cancel", &Value::Null);
    assert_eq!(done.json(), json!({ "jobs": [1, 2] }));
    client.wait_for(1, "cancelled");
    client.wait_for(2, "cancelled");
    assert_eq!(names("/v1/jobs"), [3, 4, 5]);
    assert_eq!(names("/v1/history"), [2, 1]);
    let held = client.post("/v1/jobs/3_0/priority", &json!({ "value": 5 }));
    assert_eq!(held.status, 200, "{}", held.text());
    assert_eq!(client.get("/v1/jobs/3_0").json()["priority"], 5);
}

#[test]
fn a_restart_keeps_everything() {
    let mut rig = Rig::new();
    let client = rig.client();
    let ann = rig.client_of("ann", "user", &["default"]);
    for number in 0..12 {
        assert_eq!(ann.post("/v1/jobs", &job(&format!("job{number}"))).status, 201);
    }
    client.wait_for(1, "running");
    client.post("/v1/jobs/11/hold", &Value::Null);
    let before = client.get("/v1/jobs").json();
    let digest = client.get("/v1/server").json()["digest"].clone();
    rig.stop();
    assert!(std::os::unix::net::UnixStream::connect(rig.settings.socket()).is_err());
    rig.start();
    let after = client.get("/v1/jobs").json();
    let seen = |jobs: &Value| {
        let jobs = jobs.as_array().expect("a list");
        jobs.iter().map(|it| (it["id"].clone(), it["user"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(seen(&before), seen(&after));
    assert_eq!(client.get("/v1/jobs/11").json()["state"], "held");
    assert_eq!(ann.get("/v1/jobs").status, 200, "tokens are kept");
    let next = ann.post("/v1/jobs", &job("next")).json();
    assert_eq!(next[0]["job"], 13);
    let server = client.get("/v1/server").json();
    assert_eq!(server["notes"], json!([]));
    assert_eq!(server["digest"], digest, "nobody could start meanwhile, so nothing was decided");
}

#[test]
fn a_loop_that_was_not_stopped_well_is_found_again_by_its_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = heeler_server::Settings::new(folder.path());
    let world = |tell| {
        let runs = Duration::from_secs(60);
        Ok(Box::new(heeler_server::noop::Noop::new(common::cluster(), runs, tell)) as _)
    };
    let main = heeler_server::Loop::start(&settings, world).expect("a loop");
    let who = heeler_server::Asker::Peer { user: "root".into(), uid: 0, gid: 0 };
    let jobs = vec![serde_json::from_value(job("kept")).expect("a job")];
    main.handle().ask(who, heeler_live::Ask::Submit(jobs)).expect("it is taken up");
    // What is on disk now is what a killed server leaves behind.
    let copy = tempfile::tempdir().expect("a folder");
    let to = copy.path().join("journal");
    std::fs::create_dir(&to).expect("a folder");
    for entry in std::fs::read_dir(folder.path().join("journal")).expect("it is there") {
        let entry = entry.expect("an entry");
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
    let again = heeler_server::Loop::start(&heeler_server::Settings::new(copy.path()), world);
    let again = again.expect("a loop");
    let all = heeler_api::Who { role: heeler_api::Role::Admin, ..heeler_api::Who::default() };
    let name = again.handle().look(|live| live.job(&all, 1).map(|job| job.name));
    assert_eq!(name, Ok("kept".into()));
    main.stop().expect("it ends well");
    again.stop().expect("it ends well");
}

#[test]
fn two_servers_do_not_share_a_folder() {
    let rig = Rig::new();
    let world = |tell| {
        let runs = Duration::from_secs(1);
        Ok(Box::new(heeler_server::noop::Noop::new(common::cluster(), runs, tell)) as _)
    };
    let refused = heeler_server::Server::start(&rig.settings, world).err().expect("a refusal");
    assert!(refused.to_string().contains("another server"), "{refused}");
    assert_eq!(rig.client().get("/healthz").status, 200);
}

#[test]
fn whoever_follows_is_told_and_whoever_comes_back_misses_nothing() {
    let rig = Rig::new();
    let ann = rig.client_of("ann", "user", &["default"]);
    rig.client().send_json("PUT", "/v1/tenants/blue", &json!({}));
    let bob = rig.client_of("bob", "user", &["blue"]);
    let read = |client: &common::Client, path: &str, headers: &[(&str, &str)], want: &str| {
        let request = client.request("GET", path, headers, Bytes::new());
        let want = want.to_owned();
        let socket = client.socket.clone();
        std::thread::spawn(move || {
            block_on(async {
                let stream = UnixStream::connect(socket).await.expect("a socket");
                let mut response = exchange(stream, request).await;
                assert_eq!(response.headers()["content-type"], "text/event-stream");
                let mut text = String::new();
                while !text.contains(&want) {
                    let frame = response.body_mut().frame().await.expect("more").expect("a frame");
                    text += &String::from_utf8_lossy(frame.data_ref().expect("data"));
                }
                text
            })
        })
    };
    let following = read(&ann, "/v1/events?after=0", &[], "\"name\":\"anns\"");
    bob.post("/v1/jobs", &job("bobs"));
    ann.post("/v1/jobs", &job("anns"));
    let text = following.join().expect("read");
    assert!(text.contains("event: gone"), "those before the server are gone: {text}");
    assert!(text.contains("event: job") && !text.contains("bobs"), "{text}");

    let ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
    let first: u64 = ids.map(|id| id.parse().expect("a number")).next().expect("an event");
    let last = first.to_string();
    let again = read(&ann, "/v1/events", &[("last-event-id", &last)], "\"state\":\"running\"");
    let text = again.join().expect("read");
    assert!(!text.contains("event: gone"), "{text}");
    assert!(!text.contains(&format!("id: {last}\n")) && !text.contains("bobs"), "{text}");
    assert_eq!(ann.send("GET", "/v1/events", &[("last-event-id", "x")], Bytes::new()).status, 400);
}

#[test]
fn figures_can_be_read_by_prometheus() {
    let rig = Rig::new();
    let client = rig.client();
    client.post("/v1/jobs", &json!([job("a"), job("b")]));
    client.wait_for(1, "running");
    let got = client.get("/metrics");
    assert!(got.headers["content-type"].to_str().unwrap().starts_with("application/openmetrics"));
    let text = got.text();
    assert!(text.ends_with("# EOF\n"));
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        assert!(name.starts_with("heeler_"), "{line}");
        value.parse::<f64>().unwrap_or_else(|_| panic!("{line}"));
    }
    let value = |name: &str| {
        let line = text.lines().find(|line| line.split(' ').next() == Some(name));
        let line = line.unwrap_or_else(|| panic!("{name} is missing in {text}"));
        line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok()).expect("a number")
    };
    assert_eq!(value("heeler_submits_total"), 2.0);
    assert_eq!(value("heeler_gpus"), 8.0);
    assert_eq!(value("heeler_gpus_used"), 2.0);
    assert_eq!(value("heeler_queue_wait_seconds_count"), 2.0);
    assert!(value("heeler_journal_sync_seconds_count") >= 2.0);
    assert!(value("heeler_decision_seconds_count") >= 2.0);
    assert!(text.contains("heeler_jobs{state=\"running\"}"));
    for name in ["heeler_preemptions_total", "heeler_lost_gpu_seconds_total"] {
        assert_eq!(value(name), 0.0);
    }
}

#[test]
fn nodes_tenants_recipe_and_audit() {
    let rig = Rig::new();
    let client = rig.client();
    let node = client.get("/v1/nodes").json()[0]["name"].as_str().expect("a name").to_owned();
    let drained = client.post(&format!("/v1/nodes/{node}/drain"), &json!({ "note": "fan" }));
    assert_eq!(drained.status, 200, "{}", drained.text());
    assert_eq!(client.get("/v1/nodes").json()[0]["state"], "drained");
    assert_eq!(client.get("/v1/nodes").json()[0]["note"], "fan");
    let undrained = client.send("POST", &format!("/v1/nodes/{node}/undrain"), &[], Bytes::new());
    assert_eq!(undrained.status, 200, "{}", undrained.text());
    let quota = json!({ "quota": 4, "add-users": ["ann"] });
    assert_eq!(client.send_json("PUT", "/v1/tenants/blue", &quota).status, 200);
    let tenants = client.get("/v1/tenants").json();
    let blue = tenants.as_array().unwrap().iter().find(|it| it["name"] == "blue").expect("it is");
    assert_eq!(blue["quota"], 4);
    let changed = client.send_json("PUT", "/v1/recipe", &json!({ "name": "las" }));
    assert!([200, 400, 404].contains(&changed.status), "{}", changed.text());
    let audit = client.get("/v1/audit").text();
    assert!(audit.contains("drain") && audit.contains("blue"), "{audit}");
    assert_eq!(client.get("/v1/usage").status, 200);
    assert_eq!(client.get("/v1/evictions").json(), json!([]));
}

#[test]
fn why_when_and_what_if_are_answered_beside_the_loop() {
    let rig = Rig::new();
    let client = rig.client();
    let mut large = job("large");
    large["gpus"]["count"] = json!(8);
    large["time-limit-s"] = json!(600);
    client.post("/v1/jobs", &json!([large, large]));
    client.wait_for(1, "running");
    let why = client.get("/v1/jobs/2/why");
    assert_eq!(why.status, 200, "{}", why.text());
    assert_eq!(why.json()["state"], "pending");
    assert!(why.json()["reason"]["sentence"].is_string(), "{}", why.text());
    let when = client.get("/v1/jobs/last/when");
    assert_eq!(when.status, 200, "{}", when.text());
    assert!(when.json()["starts"].is_number(), "{}", when.text());
    let test = client.post("/v1/test-only", &large);
    assert_eq!(test.status, 200, "{}", test.text());
    assert_eq!(client.get("/v1/jobs").json().as_array().unwrap().len(), 2, "nothing came in");
    let more = client.post("/v1/whatif", &json!({ "add-nodes": 2 }));
    assert_eq!(more.status, 200, "{}", more.text());
    assert!(more.json()["then"].is_object());
}

#[test]
fn keeping_a_connection_works_for_many_requests() {
    let rig = Rig::new();
    let client = rig.client();
    let statuses = block_on(async {
        let stream = UnixStream::connect(&client.socket).await.expect("a socket");
        let io = hyper_util::rt::TokioIo::new(stream);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(io).await.expect("HTTP");
        tokio::spawn(connection);
        let mut statuses = Vec::new();
        for number in 0..20 {
            let body = job(&format!("j{number}")).to_string();
            let json = [("content-type", "application/json")];
            let request = client.request("POST", "/v1/jobs", &json, body.into());
            statuses.push(whole(sender.send_request(request).await.expect("sent")).await.status);
        }
        statuses
    });
    assert_eq!(statuses, [201; 20]);
    until(|| (client.get("/v1/jobs").json().as_array()?.len() == 20).then_some(()));
}
