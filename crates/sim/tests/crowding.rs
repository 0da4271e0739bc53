//! Training jobs on several nodes that are in each other's way.

use heeler_model::{Batch, Cluster, Demand, JobSpec, ModelId, Time};
use heeler_recipes::Card;
use heeler_sim::Simulation;
use heeler_sim::workload::{Names, TraceJob, Workload};
use heeler_sim::world::{Profiles, TrainingSettings, WorldCard};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A model that makes a step of thirty examples in a second on three GPUs, and is trained after
/// 600 of them.
fn profiles(interference: f64, cluster: &Cluster) -> Profiles {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("heeler-crowding-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let model = folder.join("net");
    std::fs::create_dir_all(&model).expect("a folder");
    let placements = "placement,local_bsz,step_time,sync_time\n3,10,1.0,0.1\n12,10,1.0,0.1\n";
    let curve = "progress,iteration,metric,grad_sqr,grad_var\n600,600,0,1,0\n";
    std::fs::write(model.join("placements.csv"), placements).expect("a file");
    let larger = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n";
    std::fs::write(model.join("scalability.csv"), larger).expect("a file");
    std::fs::write(model.join("validation-30.csv"), curve).expect("a file");
    let mut models = Names::default();
    models.number("");
    models.number("net");
    let settings = TrainingSettings { interference, ..TrainingSettings::default() };
    let profiles = Profiles::read(&folder, &settings, &models, cluster).expect("profiles");
    std::fs::remove_dir_all(folder).expect("it was made above");
    profiles
}

/// When jobs of three GPUs end that come at such times on nodes of so many GPUs.
fn ends(interference: f64, nodes: (u32, u32), submits_s: &[u64]) -> Vec<f64> {
    let recipe = heeler_recipes::find("fifo").expect("a recipe");
    let knobs = [("place".to_string(), "anywhere".to_string())];
    let card = Card::read_with(recipe.text, recipe.name, &knobs).expect("a sound card");
    let cluster = Cluster::uniform(nodes.0, nodes.1);
    let mut world = WorldCard::find("plain").expect("a world").world();
    world.profiles = Some(Arc::new(profiles(interference, &cluster)));
    let job = |submit_s: &u64| {
        let mut spec = JobSpec::new(Demand::gpus(3));
        spec.model = ModelId(1);
        spec.extras_mut().batch = Some(Batch { asked: 30, ..Batch::default() });
        TraceJob::new(Time::from_secs(*submit_s), spec)
    };
    let jobs = Workload::new(submits_s.iter().map(job).collect());
    let mut simulation = Simulation::of_recipe(&card, world, Arc::new(cluster), Box::new(jobs), 0);
    simulation.run();
    let records = simulation.records().all();
    records.iter().map(|record| record.finish().secs_f64()).collect()
}

/// A node each and a GPU of the one between: half as fast as long as both are there. The first has
/// done 300 steps when the second comes, and so has the second when the first ends.
#[test]
fn two_that_share_a_node_are_slower_while_both_are_there() {
    assert_eq!(ends(0.5, (3, 2), &[0, 300]), [900.0, 1200.0]);
}

#[test]
fn nobody_is_slower_alone_or_on_one_node_or_where_it_is_not_said() {
    assert_eq!(ends(0.5, (3, 2), &[0]), [600.0]);
    assert_eq!(ends(0.5, (1, 6), &[0, 300]), [600.0, 900.0]);
    assert_eq!(ends(0.0, (3, 2), &[0, 300]), [600.0, 900.0]);
}

#[test]
fn nobody_loses_all_of_its_pace() {
    let card = "name = \"mine\"\nsummary = \"\"\n[training]\ninterference = 1.0\n";
    let error = WorldCard::read(card, "mine.toml").expect_err("a mistake").to_string();
    assert!(error.starts_with("mine.toml:4:") && error.contains("below 1"), "{error}");
}
