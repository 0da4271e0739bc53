//! The OpenAPI document is about what is really served.

mod common;

use common::Rig;
use hyper::body::Bytes;
use serde_json::Value;
use std::collections::BTreeSet;

fn document() -> Value {
    serde_json::from_str(&heeler_server::openapi()).expect("JSON")
}

#[test]
fn the_document_is_served_and_says_what_can_be_refused() {
    let rig = Rig::new();
    let served = rig.client().get("/v1/openapi.json");
    assert_eq!(served.headers["content-type"], "application/json");
    let document = served.json();
    assert_eq!(document, self::document());
    assert!(document["openapi"].as_str().expect("a version").starts_with("3."));
    let mut names = BTreeSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let name = operation["operationId"].as_str().expect("a name");
            assert!(names.insert(name.to_owned()), "{name} stands for two things");
            let responses = operation["responses"].as_object().expect("responses");
            for status in ["400", "401", "403", "404", "405", "429", "500", "507"] {
                assert!(responses.contains_key(status), "{method} {path}: {status}");
            }
            let well = responses.keys().any(|status| status.starts_with('2') || status == "101");
            assert!(well, "{method} {path} has no good end");
            let open = ["/healthz", "/readyz"].contains(&path.as_str());
            assert_eq!(operation["security"].is_array(), !open, "{method} {path}");
        }
    }
    assert!(document["components"]["securitySchemes"]["token"].is_object());
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    for name in ["Problem", "Code", "Submission", "JobView", "Forecast", "WhatIf", "TokenMade"] {
        assert!(schemas.contains_key(name), "{name}");
    }
}

#[test]
fn everything_referred_to_is_there() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let mut open = vec![&document];
    let mut seen = 0;
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(to)) = map.get("$ref") {
                    let name = to.strip_prefix("#/components/schemas/").expect("of a schema");
                    assert!(schemas.contains_key(name), "{name} is missing");
                    seen += 1;
                }
                assert!(!map.contains_key("prefixItems"), "{map:?}");
                open.extend(map.values());
            }
            Value::Array(list) => open.extend(list),
            _ => {}
        }
    }
    assert!(seen > 20);
}

#[test]
fn everything_in_the_document_is_served() {
    let rig = Rig::new();
    let client = rig.client();
    for (path, item) in document()["paths"].as_object().expect("paths") {
        if path == "/v1/events" {
            continue;
        }
        let real = path.replace("{job}", "1").replace("{deed}", "cancel").replace("{id}", "1");
        let real = real.replace("{node}", "n0").replace("{tenant}", "blue");
        for method in item.as_object().expect("operations").keys() {
            let got = client.send(&method.to_uppercase(), &real, &[], Bytes::new());
            assert_ne!(got.status, 405, "{method} {real}");
            assert!(got.status < 500, "{method} {real}: {}", got.text());
            if got.status == 404 {
                assert!(!got.text().contains("nothing at"), "{method} {real}: {}", got.text());
            }
        }
    }
}
