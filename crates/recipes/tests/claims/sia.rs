//! Sia: shapes by goodput that is learnt from what jobs report, in rounds.

// The measurements of a made-up model are written to files, because that is how worlds read them.
#![allow(clippy::disallowed_methods)]

use super::scene::{Row, Run, Scene, job};
use heeler_model::{Batch, ModelId, Sizes};
use heeler_sim::workload::Names;
use heeler_sim::world::{Profiles, TrainingSettings};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

const CLUSTER: &str = "2x4:small+1x8:large";

/// How long a pass and an exchange take of a model that scales, on GPUs of one of two kinds.
fn seconds(speed: f64, nodes: usize, gpus: u32, batch: u32, exchange_s: f64) -> (f64, f64) {
    let pass = (0.02 + 0.002 * f64::from(batch)) / speed;
    let exchange = match (nodes, gpus) {
        (_, 1) => 0.0001,
        (1, _) => exchange_s,
        _ => 3.0 * exchange_s,
    };
    (pass + exchange, exchange)
}

/// Write the profile of a model whose exchanges take so long.
fn write_model(folder: &Path, exchange_s: f64) {
    std::fs::create_dir_all(folder).expect("a folder");
    let save = |name: String, text: &str| std::fs::write(folder.join(name), text).expect("a file");
    let kinds =
        [("small", 1.0, vec!["1", "2", "4", "44"]), ("large", 3.0, vec!["1", "2", "4", "8"])];
    for (kind, speed, placements) in kinds {
        let mut text = String::from("placement,local_bsz,step_time,sync_time\n");
        for placement in placements {
            let gpus = placement.chars().filter_map(|digit| digit.to_digit(10)).sum();
            for batch in [16, 32, 64, 128, 256] {
                let (step, sync) = seconds(speed, placement.len(), gpus, batch, exchange_s);
                writeln!(text, "{placement},{batch},{step},{sync}").expect("a string");
            }
        }
        save(format!("placements-{kind}.csv"), &text);
        let header = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n";
        save(format!("scalability-{kind}.csv"), header);
    }
    for batch in [64, 128, 256, 512, 1024] {
        let mut text = String::from("progress,iteration,metric,grad_sqr,grad_var\n");
        for epoch in 1..=40 {
            // Gradients get noisier, so that larger batches pay later on.
            let (done, noise) = (400 * epoch, 2.0 + 0.5 * f64::from(epoch));
            writeln!(text, "{done},{},0.5,1.0,{noise}", done * 64 / batch).expect("a string");
        }
        save(format!("validation-{batch}.csv"), &text);
    }
}

/// Jobs of two models, one that scales and one that hardly does, which may change their size and
/// batch or must not.
pub(crate) fn training(jobs: &[(&str, u64)], adaptive: bool) -> Scene {
    let row = |(index, (_, submit)): (usize, &(&str, u64))| job(&index.to_string(), *submit, 4, 1);
    let mut scene = Scene::new(CLUSTER, jobs.iter().enumerate().map(row));
    let mut models = Names::default();
    models.number("");
    for ((model, _), job) in jobs.iter().zip(&mut scene.jobs) {
        job.spec.model = ModelId(models.number(model) as u16);
        if adaptive {
            job.spec.demand.sizes = Sizes::range(1, 4, 16);
        }
        let batch = Batch { asked: 256, adapts: adaptive, ..Batch::default() };
        job.spec.extras_mut().batch = Some(batch);
    }
    let name = format!("heeler-sia-{}-{:?}", std::process::id(), std::thread::current().id());
    let folder = std::env::temp_dir().join(name);
    write_model(&folder.join("scales"), 0.004);
    write_model(&folder.join("stalls"), 2.0);
    let settings = TrainingSettings::default();
    let profiles = Profiles::read(&folder, &settings, &models, &scene.cluster).expect("profiles");
    std::fs::remove_dir_all(&folder).expect("the folder was made above");
    scene.world.profiles = Some(Arc::new(profiles));
    scene
}

fn sizes(run: &Run, name: &str) -> Vec<u32> {
    run.stays(name).iter().map(|stay| stay.2).collect()
}

/// Alone on sixteen GPUs, a job that scales begins on one GPU, at most doubles, and comes to have
/// the whole faster node; one whose exchanges take longer than its passes tries some more, and goes
/// back to one.
#[test]
fn sia_grows_what_scales() {
    let run = training(&[("scales", 0)], true).run("sia", &[]);
    let grown = sizes(&run, "0");
    assert_eq!(grown[0], 1, "{grown:?}");
    assert!(grown.windows(2).all(|pair| pair[1] <= 2 * pair[0]), "{grown:?}");
    assert_eq!(grown.last(), Some(&8), "{grown:?}");
    let run = training(&[("stalls", 0)], true).run("sia", &[]);
    let tried = sizes(&run, "0");
    assert!(tried.iter().all(|gpus| *gpus <= 4), "{tried:?}");
    assert_eq!(tried.last(), Some(&1), "{tried:?}");
}

/// Twelve jobs of both models within ten minutes, once as Sia has them and once as they were asked
/// for: four GPUs and a batch of 256.
#[test]
fn sia_beats_schedulers_of_rigid_jobs() {
    let jobs: Vec<(&str, u64)> = (0..12)
        .map(|index| (if index % 3 == 2 { "stalls" } else { "scales" }, 50 * index))
        .collect();
    let sia = training(&jobs, true).run("sia", &[]).mean_s();
    let rigid = training(&jobs, false);
    for (recipe, factor) in [("fifo-skip", 1.5), ("gavel", 1.5)] {
        let mean = rigid.run(recipe, &[]).mean_s();
        assert!(mean > factor * sia, "{recipe}: {mean} s, sia: {sia} s");
    }
}

/// Two GPUs of two kinds, and two jobs: one is four times as fast on the better kind, the other by
/// a fifth. Costs are 1/√4 + 1 = 1.5 with the first on it, and 1 + 1/√1.2 = 1.91 the other way.
#[test]
fn sia_gives_the_better_kind_to_who_gains_by_it() {
    let rows: [Row; 2] = [
        job("little", 0, 1, 1).units(3000.0, &[1.0, 1.2]),
        job("much", 0, 1, 1).units(3000.0, &[1.0, 4.0]),
    ];
    let run = Scene::new("1x1:slow+1x1:fast", rows).run("sia", &[]);
    let first_node = |name: &str| {
        let id = run.simulation.find(name).expect("a job");
        let stay = run.stays.iter().filter(|stay| stay.job == id).min_by_key(|stay| stay.from);
        stay.expect("it ran").nodes[0]
    };
    assert_eq!((first_node("little"), first_node("much")), (0, 1));
}

/// With GPUs of one kind and jobs that are rigid there is nothing to choose: as long as all fit,
/// each starts at the end of the round in which it came and is left alone.
#[test]
fn sia_with_room_for_all_leaves_rigid_jobs_alone() {
    let each = |index: u64| job(&index.to_string(), index * 37, 1 + index as u32 % 4, 200);
    let scene = Scene::new("4x8", (0..20).map(each));
    let run = scene.run("sia", &[]);
    for index in 0..20u64 {
        let (name, start) = (index.to_string(), (index * 37).div_ceil(60) as f64 * 60.0);
        assert_eq!([run.start(&name), run.end(&name)], [start, start + 200.0]);
        assert_eq!(run.stays(&name).len(), 1, "it stays where it is");
    }
}
