//! Gandiva on measured pairs: those of Gavel's table of jobs side by side on V100, P100 and K80,
//! and those measured on one H200 in slices and by MPS. Packing must pay, and whatever stays packed
//! must have measured at least as fast as turns.

use flate2::read::GzDecoder;
use heeler_model::{Assignment, Cluster, Demand, JobId, JobSpec, KindId, ModelId, Time, Truth};
use heeler_recipes::{Card, find};
use heeler_reference::file;
use heeler_sim::Simulation;
use heeler_sim::metrics::Summary;
use heeler_sim::workload::{Names, Options, TraceJob, Workload, read};
use heeler_sim::world::{Mechanism, PairTable, World, WorldCard};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Rows of a table by the names of its columns. Fields have no commas in them.
fn rows(text: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    lines.map(|line| names.iter().copied().zip(line.split(',')).collect()).collect()
}

fn number(row: &BTreeMap<&str, &str>, name: &str) -> f64 {
    row[name].parse().unwrap_or_else(|_| panic!("{} is no number", row[name]))
}

/// Two models on a kind of GPU, the smaller number first.
type Pair = (KindId, ModelId, ModelId);

/// Sums of the paces of two models side by side.
type Sums = BTreeMap<Pair, f64>;

/// What stands for two jobs that do not fit into memory together: they get nothing done.
const DOES_NOT_FIT: f64 = 1e-3;

/// Gavel's pairs on single GPUs, each relative to the same model alone.
fn gavel_pairs(data: &Path, models: &Names, cluster: &Cluster) -> (PairTable, Sums) {
    let path = data.join("throughput_isolated_simulation.csv");
    let alone_text = std::fs::read_to_string(path).expect("the table of single jobs");
    let on_one = |row: &&BTreeMap<&str, &str>| row["num_gpus"] == "1" && row["consolidated"] == "1";
    let alone_rows = rows(&alone_text);
    let alone: BTreeMap<(&str, &str), f64> = alone_rows
        .iter()
        .filter(on_one)
        .map(|row| ((row["gpu_type"], row["job_type"]), number(row, "steps_per_s")))
        .collect();
    let packed = std::fs::File::open(data.join("throughput_colocated.csv.gz")).expect("pairs");
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text).expect("a text");
    let (mut table, mut sums) = (PairTable::default(), Sums::new());
    for row in rows(&text).iter().filter(on_one) {
        let name = |column| models.find(row[column]).map(|index| ModelId(index as u16));
        let (Some(a), Some(b)) = (name("job_a"), name("job_b")) else { continue };
        let kind = cluster.kinds.iter().position(|kind| kind.name == row["gpu_type"]);
        let Some(kind) = kind.map(|index| KindId(index as u8)) else { continue };
        let part = |steps, job| {
            let alone = alone[&(row["gpu_type"], row[job])];
            if alone > 0.0 { (number(row, steps) / alone).max(DOES_NOT_FIT) } else { DOES_NOT_FIT }
        };
        let (of_a, of_b) = (part("steps_per_s_a", "job_a"), part("steps_per_s_b", "job_b"));
        for (model, neighbour, pace) in [(a, b, of_a), (b, a, of_b)] {
            table.insert(kind, Mechanism::TimeSlice, model, neighbour, pace);
        }
        sums.insert((kind, a.min(b), a.max(b)), of_a + of_b);
    }
    (table, sums)
}

/// What a run showed.
struct Seen {
    mean_h: f64,
    makespan_h: f64,
    /// Seconds alone of all jobs, over the GPU time they held.
    work_per_gpu_time: f64,
    shared_gpu_h: f64,
    /// The longest that two models stayed together on a kind, seconds.
    together_s: BTreeMap<Pair, f64>,
}

fn run(jobs: Workload, cluster: &Cluster, world: &World, packing: bool) -> Seen {
    let card = find("gandiva").expect("the recipe is built in");
    let knobs = [("packing".to_string(), packing.to_string())];
    let card = Card::read_with(card.text, card.name, &knobs).expect("a card");
    let shared = Arc::new(cluster.clone());
    let mut simulation = Simulation::of_recipe(&card, world.clone(), shared, Box::new(jobs), 0);
    let mut open: BTreeMap<(JobId, JobId), (Pair, Time)> = BTreeMap::new();
    let mut together_s: BTreeMap<Pair, f64> = BTreeMap::new();
    while simulation.advance(Time::MAX) {
        let now = simulation.now();
        let pairs = pairs(&simulation);
        open.retain(|jobs, (key, since)| {
            let longest = together_s.entry(*key).or_default();
            *longest = longest.max(now.since(*since).secs_f64());
            pairs.contains_key(jobs)
        });
        for (jobs, key) in pairs {
            open.entry(jobs).or_insert((key, now));
        }
    }
    simulation.run();
    let summary = Summary::of(&simulation);
    assert_eq!(summary.jobs.finished, summary.jobs.submitted);
    let records = simulation.records().all();
    let alone: f64 = records.iter().map(|record| record.alone.micros() as f64 * 1000.0).sum();
    let held: f64 = records.iter().map(|record| record.held_milli).sum();
    Seen {
        mean_h: summary.completion_s.mean / 3600.0,
        makespan_h: summary.makespan_s / 3600.0,
        work_per_gpu_time: alone / held,
        shared_gpu_h: summary.gpu_hours.shared,
        together_s,
    }
}

/// Running jobs that share GPUs, and of which models on which kind they are.
fn pairs(simulation: &Simulation) -> BTreeMap<(JobId, JobId), Pair> {
    let mut by_place: BTreeMap<&Assignment, Vec<(JobId, ModelId)>> = BTreeMap::new();
    for job in simulation.engine().state().jobs().iter().filter(|job| job.is_running()) {
        let on = job.assignment.as_ref().expect("a running job is placed");
        if !on.share.is_whole() {
            by_place.entry(on).or_default().push((job.id, job.spec.model));
        }
    }
    let pair = |(on, jobs): (&Assignment, Vec<(JobId, ModelId)>)| {
        let [(one, a), (other, b)] = jobs[..] else { return None };
        let node = on.placement.slices()[0].node;
        let kind = simulation.cluster().nodes[node.index()].kind;
        Some(((one, other), (kind, a.min(b), a.max(b))))
    };
    by_place.into_iter().filter_map(pair).collect()
}

/// Whatever stayed together for longer than a trial measured no slower than turns.
fn only_good_pairs_stay(seen: &Seen, sums: &Sums) -> (usize, usize) {
    let (mut kept, mut undone) = (0, 0);
    for (pair, longest_s) in &seen.together_s {
        // A trial takes a turn, and starting the two a little of the next.
        if *longest_s > 61.0 {
            assert!(sums[pair] >= 1.0, "{pair:?} stayed {longest_s} s with {}", sums[pair]);
            kept += 1;
        } else if sums[pair] < 1.0 {
            undone += 1;
        }
    }
    (kept, undone)
}

fn show(what: &str, packed: &Seen, turns: &Seen) {
    println!(
        "{what}: mean {:.2} h packed, {:.2} h in turns; makespan {:.1} h, {:.1} h; \
         work per GPU time {:.3}, {:.3}; {:.1} GPU-hours shared",
        packed.mean_h,
        turns.mean_h,
        packed.makespan_h,
        turns.makespan_h,
        packed.work_per_gpu_time,
        turns.work_per_gpu_time,
        packed.shared_gpu_h,
    );
}

#[test]
fn packing_pays_on_the_pairs_of_gavel() {
    let Some(data) = file("gavel") else { return };
    for gpus in ["v100=8", "v100=4,p100=4,k80=4"] {
        let mut cluster = heeler_sim::cluster::read(gpus).expect("a cluster");
        let path = data.join("traces/gen_cont_single_300_lam1800_s0.csv");
        let trace = read(&path, &Options::default(), &mut cluster).expect("a trace");
        let (table, sums) = gavel_pairs(&data, &trace.models, &cluster);
        let mut world = WorldCard::find("gandiva").expect("a world").world();
        world.sharing.table = Some(Arc::new(table));
        let packed = run(trace.workload.clone(), &cluster, &world, true);
        let turns = run(trace.workload, &cluster, &world, false);
        show(gpus, &packed, &turns);
        let (kept, undone) = only_good_pairs_stay(&packed, &sums);
        println!("{gpus}: {kept} pairs of models kept, {undone} undone");
        assert!(kept > 10 && undone > 0);
        assert!(packed.mean_h < turns.mean_h / 1.05);
        assert!(packed.work_per_gpu_time > turns.work_per_gpu_time * 1.05);
        assert!(turns.together_s.is_empty() && turns.shared_gpu_h == 0.0);
    }
}

/// The pairs measured on an H200, by mechanism.
fn probed(data: &Path, models: &mut Names) -> (PairTable, BTreeMap<Mechanism, Sums>) {
    let text = std::fs::read_to_string(data.join("probe.json")).expect("the measurements");
    let probe: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let (mut table, mut sums) = (PairTable::default(), BTreeMap::<Mechanism, Sums>::new());
    for (name, mechanism) in [("timeslice", Mechanism::TimeSlice), ("mps", Mechanism::Mps)] {
        for pair in probe[name]["pairs"].as_array().expect("pairs") {
            let mut model =
                |side: &str| ModelId(models.number(pair[side].as_str().expect("a name")) as u16);
            let (a, b) = (model("a"), model("b"));
            let pace = |side: &str| pair[side].as_f64().expect("a number");
            let (of_a, of_b) = match a == b {
                // One entry for both sides: their mean.
                true => [(pace("norm_a") + pace("norm_b")) / 2.0; 2].into(),
                false => (pace("norm_a"), pace("norm_b")),
            };
            table.insert(KindId(0), mechanism, a, b, of_a);
            table.insert(KindId(0), mechanism, b, a, of_b);
            let of_mechanism = sums.entry(mechanism).or_default();
            of_mechanism.insert((KindId(0), a.min(b), a.max(b)), of_a + of_b);
        }
    }
    (table, sums)
}

/// Jobs of these models of one to eight hours, a minute apart.
fn hours(models: &[ModelId], jobs: u64) -> Workload {
    let made = (0..jobs).map(|index| {
        let work = (1 + index * 5 % 8) as f64 * 3600.0 * 1e6;
        let mut spec = JobSpec::new(Demand::gpus(1)).with_truth(Truth { work });
        spec.model = models[index as usize % models.len()];
        TraceJob::new(Time::from_secs(index * 60), spec)
    });
    Workload::new(made.collect())
}

#[test]
fn the_mechanism_decides_which_pairs_of_the_h200_stay() {
    let Some(data) = file("h200-sharing-probe") else { return };
    let mut models = Names::default();
    let (table, sums) = probed(&data, &mut models);
    let table = Arc::new(table);
    let number = |name| ModelId(models.find(name).expect("a workload") as u16);
    let all = ["mlp", "resnet", "gpt"].map(number);
    let gpt = number("gpt");
    for (mechanism, stays) in [(Mechanism::TimeSlice, false), (Mechanism::Mps, true)] {
        let mut world = WorldCard::find("gandiva").expect("a world").world();
        world.sharing.mechanism = mechanism;
        world.sharing.table = Some(table.clone());
        let cluster = heeler_sim::cluster::read("1x4:h200").expect("a cluster");
        let packed = run(hours(&all, 24), &cluster, &world, true);
        let turns = run(hours(&all, 24), &cluster, &world, false);
        show(&format!("{mechanism:?}"), &packed, &turns);
        only_good_pairs_stay(&packed, &sums[&mechanism]);
        assert!(packed.mean_h < turns.mean_h / 1.3);
        assert!(packed.makespan_h < turns.makespan_h / 1.3);
        // Two that saturate the GPU are slower side by side than in turns, but not by MPS.
        let cluster = heeler_sim::cluster::read("1x1:h200").expect("a cluster");
        let twice = (KindId(0), gpt, gpt);
        let seen = run(hours(&[gpt], 2), &cluster, &world, true);
        assert_eq!(sums[&mechanism][&twice] >= 1.0, stays, "as measured");
        assert_eq!(seen.together_s[&twice] > 61.0, stays, "{:?}", seen.together_s);
    }
}
