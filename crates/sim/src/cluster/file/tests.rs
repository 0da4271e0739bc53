//! Cluster files, sound and broken.

use super::*;
use heeler_model::Slots;

const FILE: &str = r#"
# Two kinds, three groups of nodes.
[[kind]]
name = "a100"
memory-mb = 81920
speed = 2.5

[[kind]]
name = "t4"

[[nodes]]
name = "dgx"
count = 3
gpus = 8
kind = "a100"
cpus = 128
memory-mb = 1048576
racks-of = 2
link-group = 4

[[nodes]]
name = "old"
gpus = 4
kind = "t4"
rack = "cellar"

[[nodes]]
count = 2
gpus = 0
cpus = 31.5

[[tenant]]
name = "vision"
parent = "research"
weight = 3
quota = 8
limit = 16

[[tenant]]
name = "research"
"#;

#[test]
fn prices_are_read() {
    let with = |price: &str| {
        let kinds = format!("[[kind]]\nname = \"a\"\nprice = {price}\n");
        parse(&format!("{kinds}[[nodes]]\ngpus = 1\nkind = \"a\"\n"), "c.toml")
    };
    let prices = |text: &str| with(text).expect("a cluster").kinds[0].prices.clone();
    let price = |from_s: u64, micro: u64| Price { from: Time::from_secs(from_s), micro };
    assert_eq!(prices("0.74"), [price(0, 740_000)]);
    assert_eq!(prices("[[0, 0.5], [1.5, 2]]"), [price(0, 500_000), price(5400, 2_000_000)]);
    for wrong in ["-1", "[[2, 1], [1, 1]]", "\"much\""] {
        assert!(with(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn every_field_is_read() {
    let cluster = parse(FILE, "c.toml").expect("a cluster");
    let names: Vec<_> = cluster.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["dgx0", "dgx1", "dgx2", "old", "n4", "n5"]);
    assert_eq!(cluster.racks, ["rack0", "rack1", "cellar", "rack"]);
    let racks: Vec<_> = cluster.nodes.iter().map(|node| node.rack.0).collect();
    assert_eq!(racks, [0, 0, 1, 2, 3, 3]);
    assert_eq!((cluster.kinds[0].memory_mb, cluster.kinds[0].speed), (81_920, Milli(2500)));
    assert_eq!(cluster.kinds[1].speed, Milli::WHOLE);
    assert_eq!(cluster.kinds[2].name, "cpu");
    let dgx = &cluster.nodes[0];
    assert_eq!((dgx.cpu_milli, dgx.memory_mb), (128_000, 1_048_576));
    assert_eq!(dgx.linked_with(5), Slots(0b1111_0000));
    assert_eq!(cluster.nodes[5].cpu_milli, 31_500);
    let tenants: Vec<_> = cluster.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    assert_eq!(tenants, ["default", "vision", "research"]);
    assert_eq!(
        cluster.tenants[1],
        Tenant {
            parent: Some(TenantId(2)),
            weight: 3,
            quota: Some(8),
            limit: Some(16),
            ..Tenant::named("vision")
        }
    );
}

#[test]
fn little_is_enough() {
    let cluster = parse("[[nodes]]\ncount = 2\ngpus = 8\n", "c.toml").expect("a cluster");
    assert_eq!((cluster.gpus(), cluster.kinds[0].name.as_str()), (16, "gpu"));
    let named = parse("[[nodes]]\ngpus = 8\n[[tenant]]\nname = \"default\"\nquota = 4\n", "c.toml");
    let named = named.expect("a cluster");
    assert_eq!((named.tenants.len(), named.tenants[0].quota), (1, Some(4)));
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (before, after, error) in [
        ("gpus = 8", "gpus = 65", "c.toml:14:8: a node has at most 64 GPUs, found 65"),
        ("kind = \"t4\"", "kind = \"t5\"", "c.toml:24:8: there is no [[kind]] called `t5`"),
        ("kind = \"t4\"\n", "", "c.toml:23:8: say of which `kind` these nodes' GPUs are"),
        ("count = 3", "count = 0", "c.toml:13:9: expected 1 to 1000000 nodes, found 0"),
        (
            "speed = 2.5",
            "speed = 0.0",
            "c.toml:6:9: expected a speed of 0.001 to 1000000 times the reference kind's",
        ),
        ("link-group = 4", "link-group = 9", "c.toml:19:14: is larger than the node's 8 GPUs"),
        ("racks-of = 2", "racks-of = 0", "c.toml:18:12: expected at least one node in a rack"),
        ("cpus = 31.5", "cpus = -1.0", "c.toml:30:8: expected a number of CPU cores from 0 on"),
        ("name = \"t4\"", "name = \"a100\"", "c.toml:9:8: kind `a100` is described twice"),
        ("name = \"old\"", "name = \"dgx0\"", "c.toml:22:8: two nodes are called `dgx0`"),
        (
            "parent = \"research\"",
            "parent = \"reserch\"",
            "c.toml:34:10: there is no tenant `reserch`",
        ),
        (
            "parent = \"research\"",
            "parent = \"vision\"",
            "c.toml:34:10: a tenant cannot be below itself",
        ),
        ("limit = 16", "limit = 4", "c.toml:37:9: is below the quota of 8 GPUs"),
        ("weight = 3", "weight = 0", "c.toml:35:10: expected a weight above 0"),
    ] {
        assert!(FILE.contains(before), "{before}");
        let found = parse(&FILE.replacen(before, after, 1), "c.toml").expect_err(after);
        assert_eq!(found.to_string(), error);
    }
}

#[test]
fn hints_say_what_was_meant() {
    let hint = |text: &str| parse(text, "c.toml").expect_err(text).hint.unwrap_or_default();
    assert_eq!(hint("[[nodes]]\ngpus = 8\nmemory_mb = 5\n"), "did you mean `memory-mb`?");
    assert_eq!(hint("[[node]]\ngpus = 8\n"), "did you mean `nodes`?");
    assert!(hint("[[nodes]]\ngpus = \n").starts_with("a cluster file has [[nodes]]"));
    assert_eq!(hint(&FILE.replace("kind = \"t4\"", "kind = \"t5\"")), "did you mean `t4`?");
    let empty = parse("", "c.toml").expect_err("nothing");
    assert!(empty.to_string().contains("nodes"), "{empty}");
}
