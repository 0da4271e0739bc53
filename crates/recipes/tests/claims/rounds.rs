//! Shares of time, realised in rounds, as Gavel has them.

use super::scene::{Scene, job};
use heeler_model::Time;

const ROUND_S: u64 = 360;

#[test]
fn isolated_shares_time_equally() {
    for (cluster, jobs) in [("1x1", 3), ("1x2", 5), ("v100=1,k80=1", 3)] {
        let names: Vec<String> = (0..jobs).map(|index| format!("job{index}")).collect();
        let rows = names.iter().map(|name| job(name, 0, 1, 1_000_000));
        let scene = Scene::new(cluster, rows);
        let gpus = f64::from(scene.cluster.gpus());
        let kinds = scene.cluster.kinds.len() as f64;
        let mut simulation = scene.simulation("gavel-isolated", &[]);
        for round in 1..=100 {
            simulation.run_until(Time::from_secs(round * ROUND_S));
            let fair_s = (round * ROUND_S) as f64 * gpus / jobs as f64;
            for job in simulation.engine().state().jobs().iter() {
                let apart_s = job.attained_at(simulation.now()).secs_f64() - fair_s;
                let within = apart_s.abs() <= kinds * ROUND_S as f64;
                assert!(within, "{cluster}: {} is {apart_s} s off after {round}", job.id);
            }
        }
    }
}

/// `a` and `b` are both fastest on the V100. `a` came first and has it; `b` makes do with the K80,
/// and `c`, which is fastest there, waits for it. At 3600, a whole number of rounds, `a` has done
/// its 14,400 units at 4 a second. Then `b` moves to the V100, where it does the 3600 it has left
/// at 3 a second until 4800, and `c` has the K80 for its 2160 at 3 a second, until 4320.
#[test]
fn gavel_fifo_gives_the_best_kind_with_room() {
    let table = [
        job("a", 0, 1, 0).units(14_400.0, &[4.0, 1.0]),
        job("b", 0, 1, 0).units(7_200.0, &[3.0, 1.0]),
        job("c", 0, 1, 0).units(2_160.0, &[2.0, 3.0]),
    ];
    let run = Scene::new("v100=1,k80=1", table).run("gavel-fifo", &[]);
    assert_eq!(["a", "b", "c"].map(|name| run.end(name)), [3600.0, 4800.0, 4320.0]);
    let on = |name: &str| -> Vec<u32> {
        let id = run.simulation.find(name).expect("a job");
        let stays = run.stays.iter().filter(|stay| stay.job == id);
        stays.flat_map(|stay| stay.nodes.clone()).collect()
    };
    let (v100, k80) = (0, 1);
    assert_eq!([on("a"), on("b"), on("c")], [vec![v100], vec![k80, v100], vec![k80]]);
}

/// With a second V100 both `a` and `b` have one, `c` has the K80, and nobody waits or moves.
#[test]
fn gavel_fifo_uses_the_best_kind_for_all_while_it_lasts() {
    let table = [
        job("a", 0, 1, 0).units(14_400.0, &[4.0, 1.0]),
        job("b", 0, 1, 0).units(7_200.0, &[3.0, 1.0]),
        job("c", 0, 1, 0).units(2_160.0, &[2.0, 3.0]),
    ];
    let run = Scene::new("v100=2,k80=1", table).run("gavel-fifo", &[]);
    assert_eq!(["a", "b", "c"].map(|name| run.end(name)), [3600.0, 2400.0, 720.0]);
}

/// `a` is fastest on the V100, but two K80s have more room than one; then `b` has the V100, the
/// first by name of those with as much room being the K80, which `c` gets.
#[test]
fn gavel_fifo_takes_any_kind() {
    let table = [
        job("a", 0, 1, 0).units(3_600.0, &[4.0, 1.0]),
        job("b", 0, 1, 0).units(3_600.0, &[4.0, 1.0]),
        job("c", 0, 1, 0).units(3_600.0, &[4.0, 1.0]),
    ];
    let knobs = [("shares", "any-kind-first")];
    let run = Scene::new("v100=1,k80=2", table).run("gavel-fifo", &knobs);
    assert_eq!(["a", "b", "c"].map(|name| run.end(name)), [3600.0, 3600.0, 900.0]);
}
