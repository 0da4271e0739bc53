//! Every recipe decides about real processes: the same few jobs of two tenants, one after the other
//! under all of them, on servers that change the recipe while they run.

use super::Place;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Several servers share the recipes, since most of the time is waiting.
const SERVERS: usize = 4;
/// A recipe that has not run them all by then never will.
const PATIENCE: Duration = Duration::from_secs(120);

/// A recipe's name, and its knobs that are times of several seconds, shortened: nobody waits for
/// rounds of six minutes here.
fn recipes() -> Vec<String> {
    let place = Place::empty();
    let text = place.run("recipes --json").good();
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let line = |recipe: &Value| {
        let mut line = recipe["name"].as_str().expect("a name").to_owned();
        for knob in recipe["knobs"].as_array().into_iter().flatten() {
            let word = |key: &str| knob[key].as_str().unwrap_or_default();
            let (name, value) = (word("name"), word("value"));
            let set = match name {
                // There is no oracle; what people declare there is.
                "predict" | "estimate" if value == "oracle" => "declared",
                "cadence" if value.contains("round") => "{ round = \"1 s\" }",
                // Those of a forecast are not waited for.
                _ if word("takes").ends_with("in whole tens of minutes") => continue,
                _ if word("takes").starts_with("a time") && is_long(value) => "1 s",
                _ => continue,
            };
            line.push_str(&format!(" '{name}={set}'"));
        }
        line
    };
    all["recipes"].as_array().expect("a list").iter().map(line).collect()
}

fn is_long(time: &str) -> bool {
    let (number, unit) = time.split_once(' ').unwrap_or_default();
    unit != "ms" && number.parse::<f64>().is_ok_and(|number| unit != "s" || number > 1.0)
}

/// Jobs of all shapes; their numbers.
fn submit(place: &Place) -> Vec<u64> {
    let jobs = [
        "--tenant a --gpus 1 --array 0-2 -- sleep 0.2",
        "--tenant b --gpus 4 -t 10:00 -- sleep 0.2",
        "--tenant b --gpus 2 --expected 1:00 -- sleep 0.1",
        "--tenant a --gpus 2 --min-gpus 1 --max-gpus 4 -- sleep 0.3",
        "--tenant a --gpus 1 --deadline now+1hour -t 5:00 -- sleep 0.1",
        "--tenant b --gpus 0 -- true",
    ];
    let numbers = jobs.iter().map(|words| {
        let said = place.run(&format!("submit --parsable {words}")).good();
        said.trim().parse().unwrap_or_else(|_| panic!("{words}: {said}"))
    });
    numbers.collect()
}

#[test]
fn every_recipe_runs_real_jobs() {
    let all = recipes();
    assert!(all.len() > 20, "{all:?}");
    std::thread::scope(|scope| {
        for server in 0..SERVERS {
            let mine: Vec<&String> = all.iter().skip(server).step_by(SERVERS).collect();
            scope.spawn(move || {
                let place = Place::empty();
                place.run("up --emulate 2x4xA100 --background").good();
                place.run("tenant set a --quota 4").good();
                place.run("tenant set b --quota 4").good();
                for recipe in mine {
                    runs(&place, recipe);
                }
            });
        }
    });
}

fn runs(place: &Place, recipe: &str) {
    place.run(&format!("recipe set {recipe}")).good();
    let numbers = submit(place);
    let begun = Instant::now();
    loop {
        let queue = place.json("queue --json");
        let left = queue["jobs"].as_array().map_or(0, Vec::len);
        if left == 0 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{recipe}: {queue:#}");
        std::thread::sleep(Duration::from_millis(50));
    }
    for number in numbers {
        let shown = place.json(&format!("show {number} --json"));
        // An array is shown as its tasks.
        let jobs = shown["jobs"].as_array().cloned().unwrap_or_else(|| vec![shown.clone()]);
        let done = |job: &Value| job["state"] == "completed";
        assert!(!jobs.is_empty() && jobs.iter().all(done), "{recipe}: {shown:#}");
    }
}
