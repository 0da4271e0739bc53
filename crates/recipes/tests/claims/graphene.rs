//! Graphene: by the heaviest chain of jobs.

use super::scene::{Row, Scene, job};
use heeler_model::JobId;

/// Jobs follow those of these numbers.
fn chained(cluster: &str, rows: Vec<Row>, after: &[(usize, &[u32])]) -> Scene {
    let mut scene = Scene::new(cluster, rows);
    for (index, before) in after {
        let ids = before.iter().map(|number| JobId(*number)).collect();
        scene.jobs[*index].spec.extras_mut().after = ids;
    }
    scene
}

/// A chain of 10, 300 and 300 s, and two jobs of 200 s that came before it. On one GPU the head of
/// the chain goes first, though it is short. On two it starts beside one of the lone jobs, and all
/// is done after 610 s, when the chain is; in order of submission the chain begins when the lone
/// jobs are done, after 200 s, and all takes 810 s.
#[test]
fn graphene_goes_along_the_heaviest_chain() {
    let rows = vec![
        job("lone", 0, 1, 200),
        job("alone", 0, 1, 200),
        job("head", 0, 1, 10),
        job("middle", 0, 1, 300),
        job("tail", 0, 1, 300),
    ];
    let after: &[(usize, &[u32])] = &[(3, &[2]), (4, &[3])];
    let seen = chained("1x1", rows.clone(), after).run("graphene", &[]);
    assert_eq!([seen.start("head"), seen.start("middle"), seen.start("tail")], [0.0, 10.0, 310.0]);
    assert_eq!(seen.start("lone"), 610.0, "the lightest are last");
    let two = chained("1x2", rows, after);
    let last = |recipe: &str| {
        let seen = two.run(recipe, &[]);
        let ends = ["lone", "alone", "head", "middle", "tail"].map(|name| seen.end(name));
        ends.into_iter().fold(0.0, f64::max)
    };
    assert_eq!((last("graphene"), last("fifo-skip")), (610.0, 810.0));
}

#[test]
fn graphene_hears_of_followers_that_come_later() {
    let rows = vec![
        job("busy", 0, 1, 100),
        job("long", 1, 1, 200),
        job("head", 2, 1, 10),
        job("follower", 50, 1, 500),
    ];
    let seen = chained("1x1", rows, &[(3, &[2])]).run("graphene", &[]);
    assert_eq!((seen.start("head"), seen.start("follower")), (100.0, 110.0));
    assert_eq!(seen.start("long"), 610.0);
}

#[test]
fn graphene_without_chains_is_largest_first() {
    let rows = vec![
        job("busy", 0, 2, 100),
        job("short", 1, 1, 50),
        job("wide", 2, 2, 60),
        job("long", 3, 1, 90),
    ];
    let seen = Scene::new("1x2", rows).run("graphene", &[]);
    // 120, 90 and 50 GPU seconds.
    assert_eq!(
        (seen.start("wide"), seen.start("long"), seen.start("short")),
        (100.0, 160.0, 160.0)
    );
}
