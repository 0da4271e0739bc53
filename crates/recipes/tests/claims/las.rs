//! Least attained service first.

use super::scene::{Scene, job};
use heeler_model::{Span, Time};

const MINUTE: u64 = 60;
/// Short rounds, so that turns can be followed by hand.
const EVERY_MINUTE: (&str, &str) = ("cadence", "{ round = \"1 min\" }");

#[test]
fn las_shares_one_gpu_equally() {
    for jobs in 2..=5 {
        let names: Vec<String> = (0..jobs).map(|index| format!("job{index}")).collect();
        let rows = names.iter().map(|name| job(name, 0, 1, 7200));
        let mut simulation = Scene::new("1x1", rows).simulation("las", &[EVERY_MINUTE]);
        for minute in 1..=120 {
            simulation.run_until(Time::from_secs(minute * MINUTE));
            let state = simulation.engine().state();
            let served = state.jobs().iter().map(|job| job.attained_at(simulation.now()));
            let served: Vec<Span> = served.collect();
            let (least, most) = (served.iter().min(), served.iter().max());
            let apart = *most.expect("jobs") - *least.expect("jobs");
            assert!(apart <= Span::from_secs(MINUTE), "{jobs} jobs, minute {minute}: {apart}");
        }
    }
}

/// Three jobs on two GPUs, in minutes: `a` takes 2 on both GPUs, `b` 8 on one, `c` 6 on both. Only
/// `b` leaves a GPU free, and nobody else can use it. Service in GPU minutes before each minute,
/// and who runs (ties go to who came first):
///
/// ```text
/// minute   0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
/// a        0 2 2 2 2 .                            ends at 5
/// b        0 0 1 1 2 2 3 3 4 5  5  6  7  7        ends at 14
/// c        0 0 0 2 2 2 2 4 4 4  6  6  6  8  8 10  ends at 16
/// runs     a b c b a b c b b c  b  b  c  b  c  c
/// ```
///
/// So 11 minutes and 40 seconds on average. Least service to go needs (2 + 10 + 16) ÷ 3 = 9:20.
#[test]
fn three_jobs_take_turns() {
    let table =
        [job("a", 0, 2, 2 * MINUTE), job("b", 0, 1, 8 * MINUTE), job("c", 0, 2, 6 * MINUTE)];
    let scene = Scene::new("1x2", table);
    let las = scene.run("las", &[EVERY_MINUTE]);
    assert_eq!(["a", "b", "c"].map(|name| las.end(name)), [300.0, 840.0, 960.0]);
    assert_eq!(las.mean_s(), 700.0);
    let srsf = scene.run("srsf", &[]);
    assert_eq!(["a", "b", "c"].map(|name| srsf.end(name)), [120.0, 600.0, 960.0]);
    assert_eq!(srsf.mean_s(), 560.0);
}

/// Time on GPUs is not GPU time: `wide` has two GPUs, so by GPU time it has had as much after one
/// minute as `narrow` after two.
#[test]
fn gpu_time_counts_gpus() {
    let table = [job("wide", 0, 2, 1200), job("narrow", 0, 1, 1200)];
    let scene = Scene::new("1x2", table);
    let share = |served: &str| {
        let mut simulation = scene.simulation("las", &[EVERY_MINUTE, ("served", served)]);
        simulation.run_until(Time::from_secs(900));
        let attained = |name| {
            let id = simulation.find(name).expect("a job");
            simulation.engine().state().job(id).attained_at(simulation.now()).secs_f64()
        };
        [attained("wide"), attained("narrow")]
    };
    assert_eq!(share("gpu-time"), [300.0, 600.0]);
    assert_eq!(share("time"), [480.0, 420.0]);
}
