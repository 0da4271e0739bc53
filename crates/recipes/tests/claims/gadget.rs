//! GADGET: workers where they add most to utility, rings on few nodes.

use super::scene::{Knobs, Scene, job};

const PLAIN: Knobs<'static> = &[("round", "10 s"), ("restart", "0 s")];

/// Eight GPUs. Two jobs that are alike have four each. A third that is done within a round on one
/// GPU has just that, however much more it could have.
#[test]
fn gadget_shares_by_marginal_utility() {
    let alike = |name: &str| job(name, 0, 4, 200).sizes(1, 8);
    let run = Scene::new("1x8", [alike("a"), alike("b")]).run("gadget", PLAIN);
    assert_eq!(["a", "b"].map(|name| run.stays(name)[0].2), [4, 4]);
    let small = job("small", 0, 4, 2).sizes(1, 8);
    let run = Scene::new("1x8", [alike("a"), small]).run("gadget", PLAIN);
    assert_eq!(run.stays("small"), [(0.0, 8.0, 1, 1)], "8 s on one GPU are enough");
}

/// Two nodes of four. Jobs that may have up to four GPUs have each a node for themselves.
#[test]
fn gadget_keeps_rings_on_few_nodes() {
    let ring = |name: &str| job(name, 0, 4, 100).sizes(1, 4);
    let run = Scene::new("2x4", [ring("a"), ring("b")]).run("gadget", PLAIN);
    for name in ["a", "b"] {
        assert_eq!(run.stays(name), [(0.0, 100.0, 4, 1)]);
    }
}

#[test]
fn gadget_alone_has_all_it_can_use() {
    let run = Scene::new("2x8", [job("only", 0, 4, 400).sizes(1, 16)]).run("gadget", PLAIN);
    assert_eq!(run.stays("only"), [(0.0, 100.0, 16, 2)]);
}
