//! AlloX: jobs matched with places in the lines of GPUs.

use super::scene::{Row, Scene, job};

/// Alone on one GPU, the short job (3600) before the long one (7200): ends at 3600 and 10,800. With
/// a GPU of another kind beside it, `long` takes 7200 on the first and 8640 on the second, `short`
/// 3600 and 14,400. Both on the first: 3600 + 10,800 = 14,400. `long` on the second, though it is
/// slower there: 3600 + 8640 = 12,240, the least of all. (With `fill-idle` it would move to the first
/// as soon as that is idle.)
#[test]
fn allox_matches_jobs_with_the_lines_that_cost_least() {
    let table = || {
        [
            job("long", 0, 1, 0).units(7200.0, &[1.0, 7200.0 / 8640.0]),
            job("short", 0, 1, 0).units(3600.0, &[1.0, 0.25]),
        ]
    };
    let knobs = [("fill-idle", "false")];
    let alone = Scene::new("v100=1", table()).run("allox", &knobs);
    assert_eq!([alone.end("short"), alone.end("long")], [3600.0, 10_800.0]);
    let both = Scene::new("v100=1,k80=1", table()).run("allox", &knobs);
    assert_eq!([both.end("short"), both.end("long")], [3600.0, 8640.0]);
}

/// Jobs that are there from the start, in no order of length.
fn mixed() -> Vec<Row> {
    let each = |index: u64| {
        let rounds = [7, 3, 9, 1, 5, 2, 8][index as usize % 7];
        job(&format!("job{index}"), 0, 1, rounds * 360)
    };
    (0..7).map(each).collect()
}

#[test]
fn allox_on_one_gpu_is_shortest_first() {
    let scene = Scene::new("1x1", mixed());
    let knobs = [("reset", "1 s")];
    assert_eq!(scene.run("allox", &knobs).ends(), scene.run("sjf", &[]).ends());
}

/// A long job that has a GPU keeps it, though shorter ones come.
#[test]
fn allox_lets_who_was_matched_finish() {
    let mut table = vec![job("long", 0, 1, 36_000)];
    table.extend((0..10).map(|index| job(&format!("short{index}"), 400 + index, 1, 360)));
    let run = Scene::new("1x1", table).run("allox", &[]);
    assert_eq!(run.end("long"), 36_000.0);
}

/// Short jobs keep coming on one GPU. Considering all who wait, the long one that came second waits
/// for all of them; considering a tenth, which is never less than one GPU's worth, it is next.
#[test]
fn allox_with_a_small_part_goes_by_who_came_first() {
    let mut table = vec![job("first", 0, 1, 3600), job("long", 10, 1, 36_000)];
    table.extend((0..30).map(|index| job(&format!("short{index}"), 20 + index * 600, 1, 720)));
    let scene = Scene::new("1x1", table);
    let knobs = [("reset", "1 s"), ("fill-idle", "false")];
    let all = scene.run("allox", &knobs);
    let some = scene.run("allox", &[knobs[0], knobs[1], ("alpha", "0.1")]);
    assert_eq!(some.end("long"), 39_600.0);
    assert!(all.end("long") > 57_600.0, "{}", all.end("long"));
    assert!(all.mean_s() < some.mean_s());
}
