//! Sia's choices in a round against what the solver HiGHS found for the same programmes.

use heeler_solve::choose::{Chooser, Choosing, Offer, WORK_MAX};
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn choosing(instance: &Value) -> Choosing {
    let capacities = instance["capacity"].as_object().expect("a table");
    let kinds: Vec<&String> = capacities.keys().collect();
    let configs = instance["configs"].as_array().expect("a list");
    let row = |costs: &Value| {
        let costs = costs.as_array().expect("a list").iter();
        let offers = configs.iter().zip(costs).map(|(config, cost)| Offer {
            kind: kinds.iter().position(|kind| config[0] == **kind).expect("a known kind"),
            amount: number(&config[2]) as u32,
            cost: number(cost),
        });
        Chooser { offers: offers.collect(), without: number(&instance["lambda"]), forced: None }
    };
    let rows = instance["cost"].as_array().expect("a list").iter().map(row).collect();
    let capacities = capacities.values().map(|capacity| number(capacity) as u32).collect();
    Choosing { capacities, rows }
}

/// All nine are solved to the end. The stored optima allow a gap of one in ten thousand, so ours
/// may be lower; no lower than the relaxation, though (stored with four digits after the point).
#[test]
fn no_choice_is_worse_than_the_stored_one() {
    let Some(path) = heeler_reference::file("sia/reference/ilp_instances.json.gz") else { return };
    let file = std::fs::File::open(path).expect("the file is there");
    let instances = serde_json::from_reader(flate2::read::GzDecoder::new(file));
    let instances: Vec<Value> = instances.expect("a list of instances");
    assert_eq!(instances.len(), 9);
    for instance in &instances {
        let choosing = choosing(instance);
        let chosen = choosing.cheapest(WORK_MAX);
        let without: f64 = choosing.rows.iter().map(|row| row.without).sum();
        let (ours, bound) = (chosen.cost - without, chosen.bound - without);
        let theirs = number(&instance["optimum_of_sum_cost_minus_lambda"]);
        let relaxed = number(&instance["lp_relaxation"]);
        let (name, work) = (&instance["name"], chosen.work);
        println!("{name}: {ours:.4}, stored {theirs}, bound {bound:.4}, relaxed {relaxed}, {work}");
        assert!(chosen.is_optimal, "{name}");
        assert!(ours <= theirs + 1e-6, "{name}: {ours} {theirs}");
        assert!(ours >= relaxed - 1e-4, "{name}: {ours} {relaxed}");
    }
}
