//! Profiles from small made-up tables, and what is said of broken ones.

use super::*;
use heeler_model::{Batch, Demand};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

const PLACEMENTS: &str = "placement,local_bsz,step_time,sync_time\n\
    1,10,1.0,0.1\n1,20,2.0,0.1\n2,10,1.5,0.5\n12,10,2.5,1.5\n11,10,2.0,1.0\n";
const SCALABILITY: &str = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n2,4,10,3.0,2.0\n";
const TWENTY: &str = "progress,iteration,metric,grad_sqr,grad_var\n100,100,0,1,3\n200,200,0,1,5\n";
const FORTY: &str = "progress,iteration,metric,grad_sqr,grad_var\n101,60,0,1,7\n199,110,0,1,9\n";

fn folder(placements: &str, twenty: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("heeler-profiles-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(folder.join("net")).expect("a folder");
    for (name, text) in [
        ("placements-t4.csv", placements),
        ("scalability-t4.csv", SCALABILITY),
        ("validation-20.csv", twenty),
        ("validation-40.csv", FORTY),
    ] {
        std::fs::write(folder.join("net").join(name), text).expect("a file");
    }
    folder
}

fn read(placements: &str, twenty: &str) -> Result<Profiles, TraceError> {
    let folder = folder(placements, twenty);
    let cluster = crate::cluster::parse("2x2:t4+1x2:p100").expect("a cluster");
    let mut models = Names::default();
    models.number("");
    models.number("net");
    let read = Profiles::read(&folder, &TrainingSettings::default(), &models, &cluster);
    std::fs::remove_dir_all(folder).expect("a folder");
    read
}

#[test]
fn steps_between_measurements_lie_on_lines() {
    let profiles = read(PLACEMENTS, TWENTY).expect("profiles");
    let steps = profiles.of(ModelId(1)).expect("a model").steps[0].as_ref().expect("measured");
    let at = |gpus: &[u32], batch| {
        let time = steps.at(gpus, batch);
        (time.step_s, time.exchange_s)
    };
    assert_eq!(at(&[1], 15), (1.5, 0.1));
    assert_eq!(at(&[2, 1], 10), (2.5, 1.5), "the same going round");
    assert_eq!(at(&[1], 99), (2.0, 0.1), "no larger batch was measured");
    assert_eq!(at(&[2, 2], 10), (3.0, 2.0), "measured wherever the GPUs lay");
    assert_eq!(at(&[1, 1, 1], 10), (2.5, 1.5), "as on two nodes: no more were measured");
    assert_eq!((steps.range(), steps.most_on(&[2]), steps.alone()), ((10, 20), 10, 10.0));
}

#[test]
fn owners_may_be_told_of_other_nodes_than_there_are() {
    let mut profiles = read(PLACEMENTS, TWENTY).expect("profiles");
    let of = |profiles: &Profiles, told| {
        profiles.iteration_s(profiles.of(ModelId(1)).expect("a model"), 0, 2, 20, told)
    };
    assert_eq!((of(&profiles, true), of(&profiles, false)), (1.5, 1.5), "two on one node");
    profiles.settings.told_gpus_on_node = Some(1);
    assert_eq!((of(&profiles, true), of(&profiles, false)), (2.0, 1.5), "on two, as is said");
}

/// Each line names a place and corners around it.
#[test]
fn known_places_lie_among_their_corners() {
    let numbers = |text: &str| -> Vec<u32> {
        text.split_whitespace().map(|number| number.parse().expect("a number")).collect()
    };
    for line in KnownPlaces::Pollux.lines() {
        let (place, corners) = line.split_once(':').expect("a place and corners");
        let place = numbers(place.split_once(' ').expect("a model").1);
        let corners: Vec<_> = corners.split(',').map(numbers).collect();
        assert!((2..=4).contains(&corners.len()) && place.len() == 3, "{line}");
        for axis in 0..3 {
            let along = || corners.iter().map(|corner| corner[axis]);
            let (least, most) = (along().min().expect("one"), along().max().expect("one"));
            assert!((least..=most).contains(&place[axis]), "{line}");
        }
    }
}

#[test]
fn training_is_as_slow_as_the_slowest_batch_and_as_noisy_as_between_two() {
    let profiles = read(PLACEMENTS, TWENTY).expect("profiles");
    let curves = &profiles.of(ModelId(1)).expect("a model").curves;
    assert_eq!(
        (curves.work(), curves.end_after(0.0), curves.end_after(100.0)),
        (199.0, 100.0, 199.0)
    );
    assert_eq!(curves.noise(30, 0.0).variance, 5.0);
    assert_eq!(curves.noise(40, 100.0).variance, 9.0);
    assert_eq!(curves.iterations(30), 155.0);
}

#[test]
fn jobs_are_described_by_their_profile() {
    let profiles = read(PLACEMENTS, TWENTY).expect("profiles");
    let mut spec = JobSpec::new(Demand::gpus(1));
    assert!(!profiles.describe(&mut spec), "of another model nothing is known");
    spec.model = ModelId(1);
    spec.extras_mut().batch = Some(Batch { asked: 20, adapts: true, ..Batch::default() });
    assert!(profiles.describe(&mut spec));
    let batch = spec.batch().expect("a batch");
    assert_eq!((batch.initial, batch.most, batch.on_gpu[0]), (20, 40, (10, 20)));
    assert_eq!(spec.demand.sizes, Sizes::range(1, 1, 4), "forty examples, ten to a GPU");
    assert_eq!(spec.demand.kinds, KindSet::only(KindId(0)), "it was not measured on the other");
    // 199 units in 200 steps of two seconds each.
    assert!((spec.rates()[0] - 199.0 / 200.0 / 2.0).abs() < 1e-12);
    assert_eq!(spec.truth_for_the_oracle().map(|truth| truth.work), Some(199.0));
}

#[test]
fn broken_profiles_are_refused_with_their_place() {
    let wrong = |placements: &str, twenty: &str| {
        let error = read(placements, twenty).expect_err("it is broken").to_string();
        error.rsplit("net/").next().unwrap_or_default().to_string()
    };
    for (placements, error) in [
        (
            "placement,local_bsz,step_time,sync_time\n1a,10,1,0\n",
            "placements-t4.csv:2: column 1 (`placement`): expected GPUs of each node as digits, \
             found `1a`",
        ),
        (
            "placement,local_bsz,step_time,sync_time\n1,0,1,0\n",
            "placements-t4.csv:2: a step has at least one example and takes some time",
        ),
        (
            "placement,step_time,sync_time\n1,1,0\n",
            "placements-t4.csv:1: there is no column `local_bsz`",
        ),
    ] {
        assert_eq!(wrong(placements, TWENTY), error);
    }
    let empty = "progress,iteration,metric,grad_sqr,grad_var\n";
    assert!(wrong(PLACEMENTS, empty).ends_with("has 0 epochs for some batch size, 1 needed"));
}
