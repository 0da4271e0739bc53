//! What the server refuses: what is not theirs, not allowed, too much, or makes no sense.

mod common;

use common::{Rig, block_on, exchange, job, whole};
use hyper::body::Bytes;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

#[test]
fn another_tenants_jobs_are_not_there() {
    let rig = Rig::new();
    for tenant in ["blue", "red"] {
        let made = rig.client().send_json("PUT", &format!("/v1/tenants/{tenant}"), &json!({}));
        assert_eq!(made.status, 200, "{}", made.text());
    }
    let ann = rig.client_of("ann", "user", &["blue"]);
    let bob = rig.client_of("bob", "user", &["red"]);
    assert_eq!(ann.post("/v1/jobs", &job("secret-plan")).status, 201);
    for path in ["/v1/jobs/1", "/v1/jobs/1/why", "/v1/jobs/1/when", "/v1/jobs/1/logs"] {
        let got = bob.get(path);
        assert_eq!((got.status, got.code().as_str()), (404, "not-found"), "{path}");
        assert!(!got.text().contains("secret-plan"));
    }
    for deed in ["cancel", "hold", "release", "suspend", "resume", "requeue"] {
        let got = bob.post(&format!("/v1/jobs/1/{deed}"), &Value::Null);
        assert_eq!(got.status, 404, "{deed}: {}", got.text());
    }
    assert_eq!(bob.post("/v1/jobs/1/signal", &json!({ "value": "KILL" })).status, 404);
    assert_eq!(bob.get("/v1/jobs").json(), json!([]));
    assert_eq!(bob.get("/v1/jobs?user=ann&state=active").json(), json!([]));
    let into_blue = bob.post("/v1/jobs", &{
        let mut job = job("intruder");
        job["tenant"] = json!("blue");
        job
    });
    assert!([403, 404].contains(&into_blue.status), "{}", into_blue.text());
    let tenants = bob.get("/v1/tenants").text();
    assert!(tenants.contains("red") && !tenants.contains("blue"), "{tenants}");
    assert_eq!(ann.get("/v1/jobs/1").status, 200);
}

#[test]
fn each_role_may_do_its_own() {
    let rig = Rig::new();
    let viewer = rig.client_of("vic", "viewer", &["default"]);
    let user = rig.client_of("una", "user", &["default"]);
    let operator = rig.client_of("oli", "operator", &[]);
    assert_eq!(user.post("/v1/jobs", &job("mine")).status, 201);
    assert_eq!(viewer.get("/v1/jobs/1").status, 200);
    let refused = |got: common::Got| {
        assert_eq!((got.status, got.code().as_str()), (403, "forbidden"), "{}", got.text());
    };
    refused(viewer.post("/v1/jobs", &job("no")));
    refused(viewer.post("/v1/jobs/1/cancel", &Value::Null));
    let node = viewer.get("/v1/nodes").json()[0]["name"].as_str().unwrap().to_owned();
    refused(user.post(&format!("/v1/nodes/{node}/drain"), &json!({})));
    refused(user.post(&format!("/v1/nodes/{node}/lose"), &json!({})));
    refused(user.send_json("PUT", "/v1/recipe", &json!({ "name": "fifo" })));
    refused(user.get("/v1/audit"));
    refused(user.post("/v1/whatif", &json!({ "add-nodes": 1 })));
    refused(operator.send_json("PUT", "/v1/tenants/new", &json!({})));
    refused(operator.get("/v1/tokens"));
    refused(operator.post("/v1/tokens", &json!({ "user": "oli", "role": "admin" })));
    assert_eq!(operator.post(&format!("/v1/nodes/{node}/drain"), &json!({})).status, 200);
    let second = rig.client_of("uli", "user", &["default"]);
    refused(second.post("/v1/jobs/1/cancel", &Value::Null));
    assert_eq!(operator.post("/v1/jobs/1/cancel", &Value::Null).status, 200);
}

#[test]
fn a_token_that_is_taken_back_is_worth_nothing_at_once() {
    let rig = Rig::new();
    let ann = rig.client_of("ann", "user", &["default"]);
    assert_eq!(ann.get("/v1/jobs").status, 200);
    let listed = rig.client().get("/v1/tokens");
    let token = ann.token.as_deref().unwrap();
    assert!(!listed.text().contains(token), "secrets are never listed");
    let id = listed.json()[0]["id"].clone();
    let gone = rig.client().send("DELETE", &format!("/v1/tokens/{id}"), &[], Bytes::new());
    assert_eq!(gone.status, 200, "{}", gone.text());
    let got = ann.get("/v1/jobs");
    assert_eq!((got.status, got.code().as_str()), (401, "unknown"));
    assert_eq!(got.headers["www-authenticate"], "Bearer");
    assert_eq!(ann.post("/v1/jobs", &job("late")).status, 401);
    let journal = std::fs::read_dir(rig.settings.state.join("journal")).unwrap();
    for file in journal.map(|entry| entry.unwrap().path()) {
        let bytes = std::fs::read(file).unwrap();
        let found = bytes.windows(token.len()).any(|window| window == token.as_bytes());
        assert!(!found, "no secret is written down");
    }
}

#[test]
fn bodies_that_make_no_sense() {
    let rig = Rig::new();
    let client = rig.client();
    let json = [("content-type", "application/json")];
    let send = |body: &str| client.send("POST", "/v1/jobs", &json, body.to_owned().into());
    for body in ["", "{", "null", "7", "\"x\"", "[]", "[{}, 1]", "{} {}", "\u{0}", "{\"a\":1}"] {
        let got = send(body);
        assert_eq!(got.status, 400, "{body:?}: {}", got.text());
        assert_eq!(got.code(), "invalid");
    }
    let got = send(r#"[{"command":["x"]},{"gpus":{"count":-1}}]"#);
    assert_eq!(got.json()["field"], "[1].gpus.count", "{}", got.text());
    let deep = format!("{{\"env\":{}1{}}}", "{\"a\":".repeat(50_000), "}".repeat(50_000));
    assert_eq!(send(&deep).status, 400);
    assert_eq!(client.send("POST", "/v1/jobs", &json, Bytes::from_static(b"\xff\xfe")).status, 400);
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""] {
        let body = job("x").to_string();
        let got = client.send("POST", "/v1/jobs", &[("content-type", kind)], body.into());
        assert_eq!((got.status, got.code().as_str()), (415, "wrong-type"), "{kind}");
    }
    let charset = [("content-type", "application/json; charset=utf-8")];
    assert_eq!(client.send("POST", "/v1/jobs", &charset, job("x").to_string().into()).status, 201);
    for query in ["limit=0", "limit=-1", "limit=x", "limit=10001", "what=1", "after=a"] {
        assert_eq!(client.get(&format!("/v1/jobs?{query}")).status, 400, "{query}");
    }
    assert_eq!(client.get("/v1/jobs?state=odd").status, 422);
    assert_eq!(client.get(&format!("/v1/jobs?user={}", "x".repeat(200))).status, 400);
    assert_eq!(client.post("/v1/jobs/1/signal", &json!({ "value": 99 })).status, 422);
    assert_eq!(client.post("/v1/jobs/1/signal", &json!({ "value": "NONE" })).status, 422);
}

#[test]
fn bodies_that_are_too_large() {
    let rig = Rig::with(|settings| settings.limits.body_bytes = 100_000);
    let client = rig.client();
    let mut large = job("large");
    large["script"] = json!("#".repeat(200_000));
    let got = client.post("/v1/jobs", &large);
    assert_eq!((got.status, got.code().as_str()), (413, "too-large"));
    // One that does not say how large it is.
    let mut stream = UnixStream::connect(&client.socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = "POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
                transfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("4e20\r\n{}\r\n", " ".repeat(20_000));
    for _ in 0..10 {
        // The other end may have heard enough.
        let _ = stream.write_all(chunk.as_bytes());
    }
    let mut answer = [0; 64];
    let length = stream.read(&mut answer).unwrap();
    assert!(answer[..length].starts_with(b"HTTP/1.1 413"), "{answer:?}");
    let many: Vec<Value> = (0..1_001).map(|_| json!({ "command": ["x"] })).collect();
    let got = client.post("/v1/jobs", &Value::Array(many));
    assert_eq!(got.status, 413, "{}", got.text());
    assert_eq!(client.get("/v1/jobs").json(), json!([]), "nothing of it came in");
}

#[test]
fn names_are_no_paths() {
    let rig = Rig::new();
    let client = rig.client();
    for name in ["../../etc/passwd", "a/b", "..", "x\u{0}y", "a\nb", "%2e%2e", &"n".repeat(500)] {
        let got = client.post("/v1/jobs", &job(name));
        assert_eq!((got.status, got.code().as_str()), (422, "invalid"), "{name:?}");
        let body = json!({ "user": name, "role": "user" });
        assert_eq!(client.post("/v1/tokens", &body).status, 422, "{name:?}");
    }
    for path in [
        "/v1/jobs/..%2f..%2fetc%2fpasswd/logs",
        "/v1/jobs/%2e%2e/logs",
        "/v1/jobs/1%00/logs",
        "/v1/jobs/../../metrics",
        "/v1/nodes/..%2f..%2fx",
        "//v1/jobs",
        "/v1/jobs/",
        "/v1/jobs/%ff",
        "/v1",
        "/",
    ] {
        let got = client.get(path);
        assert_eq!((got.status, got.code().as_str()), (404, "not-found"), "{path}");
    }
    for tenant in ["..%2fx", "a%2fb", "%00", "%20"] {
        let got = client.send_json("PUT", &format!("/v1/tenants/{tenant}"), &json!({}));
        assert_eq!(got.status, 422, "{tenant}: {}", got.text());
    }
}

#[test]
fn methods_that_do_not_fit_say_which_do() {
    let rig = Rig::new();
    let client = rig.client();
    for (method, path, allowed) in [
        ("DELETE", "/v1/jobs", vec!["GET", "POST"]),
        ("PATCH", "/v1/jobs/1", vec!["GET"]),
        ("GET", "/v1/jobs/1/cancel", vec!["POST"]),
        ("OPTIONS", "/v1/recipe", vec!["GET", "PUT"]),
        ("TRACE", "/metrics", vec!["GET"]),
    ] {
        let got = client.send(method, path, &[], Bytes::new());
        assert_eq!((got.status, got.code().as_str()), (405, "wrong-method"), "{method} {path}");
        let allow = got.headers["allow"].to_str().unwrap().to_owned();
        assert!(allowed.iter().all(|method| allow.contains(method)), "{path}: {allow}");
    }
}

#[test]
fn whoever_asks_too_often_has_to_wait_and_others_do_not() {
    let rig = Rig::with(|settings| {
        settings.limits.requests_per_s = 0.001;
        settings.limits.burst = 5.0;
    });
    let ann = rig.client_of("ann", "user", &["default"]);
    let bob = rig.client_of("bob", "user", &["default"]);
    assert_eq!(bob.get("/v1/jobs").status, 200);
    let statuses: Vec<u16> = (0..10).map(|_| ann.get("/v1/jobs").status).collect();
    assert_eq!(statuses.last(), Some(&429), "{statuses:?}");
    let got = ann.post("/v1/jobs", &job("no"));
    assert_eq!((got.status, got.code().as_str()), (429, "busy"));
    assert_eq!(got.headers["retry-after"], "1");
    assert_eq!(bob.get("/v1/jobs").status, 200);
    assert_eq!(rig.client().get("/v1/jobs").status, 200, "the server's own user is not limited");
}

#[test]
fn slow_and_odd_requests_do_not_hold_the_door() {
    let rig = Rig::with(|settings| settings.limits.arrive = Duration::from_millis(200));
    let socket = rig.settings.socket();
    let ends = |request: &[u8]| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(request).unwrap();
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    let slow = ends(
        b"POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
                      connection: close\r\ncontent-length: 50\r\n\r\n{",
    );
    assert!(slow.starts_with("HTTP/1.1 408"), "{slow}");
    assert!(!ends(b"GET /v1/jobs HTTP/1.1\r\nhost").contains("200"));
    assert!(!ends(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").contains("200"));
    let many = "x: y\r\n".repeat(200);
    let got = ends(format!("GET /v1/jobs HTTP/1.1\r\n{many}\r\n").as_bytes());
    assert!(got.starts_with("HTTP/1.1 431"), "{got}");
    let long = "a".repeat(100_000);
    assert!(!ends(format!("GET /{long} HTTP/1.1\r\n\r\n").as_bytes()).contains(" 200 "));
    assert_eq!(rig.client().get("/healthz").text(), "ok\n");
}

#[test]
fn one_user_cannot_take_all_connections() {
    // The server's own user is exempt, so this is about strangers over TCP.
    let rig = Rig::with(|settings| {
        settings.limits.connections_each = 3;
        let listen = "127.0.0.1:0".parse().unwrap();
        settings.tcp = Some(heeler_server::Tcp { listen, tls: None });
    });
    let address = rig.server.as_ref().unwrap().address().unwrap();
    let connect = || {
        let stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    };
    let served = |stream: &mut std::net::TcpStream| {
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
        let mut answer = [0; 15];
        stream.read(&mut answer).is_ok_and(|length| answer[..length].starts_with(b"HTTP/1.1 200"))
    };
    let mut held: Vec<_> = (0..3).map(|_| connect()).collect();
    assert!(held.iter_mut().all(served));
    assert!(!served(&mut connect()), "three are enough");
    drop(held);
    common::until(|| served(&mut connect()).then_some(()));
}

#[test]
fn a_terminal_needs_an_upgrade_and_a_job_that_has_one() {
    let rig = Rig::new();
    let client = rig.client();
    client.post("/v1/jobs", &job("plain"));
    client.wait_for(1, "running");
    assert_eq!(client.get("/v1/jobs/1/attach").status, 426);
    let upgrade = [("connection", "upgrade"), ("upgrade", "heeler-terminal")];
    let got = client.send("GET", "/v1/jobs/1/attach?rows=24&columns=80", &upgrade, Bytes::new());
    assert_eq!((got.status, got.code().as_str()), (409, "conflict"), "{}", got.text());
    let uli = rig.client_of("uli", "user", &["default"]);
    assert_eq!(uli.get("/v1/jobs/1/attach").status, 403);
    assert_eq!(client.get("/v1/jobs/1/attach?rows=0x").status, 400);
}

#[test]
fn tokens_and_tls_over_the_network() {
    let folder = tempfile::tempdir().unwrap();
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (chain, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    common::written(&chain, &certified.cert.pem());
    common::written(&key, &certified.signing_key.serialize_pem());
    let rig = Rig::with(|settings| {
        let listen = "127.0.0.1:0".parse().unwrap();
        let tls = Some((chain.clone(), key.clone()));
        settings.tcp = Some(heeler_server::Tcp { listen, tls });
    });
    let address = rig.server.as_ref().unwrap().address().unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certified.cert.der().clone()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
    let get = |client: &common::Client, path: &str| {
        let request = client.request("GET", path, &[], Bytes::new());
        block_on(async {
            let stream = tokio::net::TcpStream::connect(address).await.unwrap();
            let name = "localhost".try_into().unwrap();
            let stream = connector.connect(name, stream).await.expect("a handshake");
            whole(exchange(stream, request).await).await
        })
    };
    let ann = rig.client_of("ann", "user", &["default"]);
    assert_eq!(get(&ann, "/v1/jobs").status, 200);
    let nobody = rig.client();
    assert_eq!(get(&nobody, "/v1/jobs").status, 401, "no credentials come over the network");
    assert_eq!(get(&nobody, "/metrics").status, 401);
    assert_eq!(get(&nobody, "/healthz").status, 200);
    let wrong = common::Client { token: Some("heeler-0123".into()), ..nobody };
    assert_eq!(get(&wrong, "/v1/jobs").status, 401);
    let mut plain = std::net::TcpStream::connect(address).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "nothing is said in the clear");
}
