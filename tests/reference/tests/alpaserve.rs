//! AlpaServe: the part of requests answered in time under six placements in thirteen settings,
//! against runs of the authors' simulator. Both draw their own requests, so that only averages can
//! agree.

use heeler_reference::file;
use heeler_serve::placement::{
    Call, Cut, Model, Plan, Setup, calls, greedy, replicate, round_robin, search, simulate,
};
use heeler_serve::{SECOND_NS, TrafficCard};

/// Means of ten pairs of traces, one to place by and one to score on.
const SEEDS: u64 = 10;
/// How far our mean may be from the one run of theirs.
const TOLERANCE: f64 = 0.05;
/// Goodputs of theirs that are nearer to one another than this may come in either order.
const NOISE: f64 = 0.03;

const POLICIES: [&str; 6] =
    ["sr-greedy", "mp-rr-4", "mp-greedy-2", "mp-greedy-4", "mp-greedy-8", "mp-search"];

/// A line of the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Setting {
    models: usize,
    gpus: u32,
    rate: f64,
    cv: f64,
    slo_scale: f64,
    duration: u64,
}

/// Stage latencies and weights that the authors keep for tests, as the reference has them.
fn cuts(table: &str) -> Vec<Cut> {
    let rows = table.lines().filter(|line| line.starts_with("bert-1.3b,"));
    let cut = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let stages = fields[4].split(';').map(|s| s.parse::<f64>().expect("seconds") * 1e3);
        let weight_gib: f64 = fields[5].parse().expect("a weight");
        Cut { stages_ms: stages.collect(), memory_mb: (weight_gib * 1024.0).ceil() as u64 }
    };
    rows.map(cut).collect()
}

impl Setting {
    fn setup(&self, cuts: &[Cut]) -> Setup {
        let model = Model { target_ms: self.slo_scale * 99.0, cuts: cuts.to_vec() };
        Setup {
            gpus: self.gpus,
            // 13 GiB, and four more for weights rounded up to whole MiB: so five models fit on a
            // GPU, nine on two and nineteen on four, as in the reference.
            memory_mb: 13 * 1024 + 4,
            models: vec![model; self.models],
            overhead_ms: 11.0,
            slower_per_stage: 0.009,
        }
    }

    fn calls(&self, seed: u64) -> Vec<Call> {
        let weight = |model: usize| ((model + 1) as f64).powf(-0.5);
        let total: f64 = (0..self.models).map(weight).sum();
        let card = |model| TrafficCard {
            cv: self.cv,
            ..TrafficCard::poisson(self.rate * weight(model) / total)
        };
        let traffic: Vec<TrafficCard> = (0..self.models).map(card).collect();
        calls(&traffic, seed, self.duration * SECOND_NS)
    }

    /// Goodput of each policy with one pair of traces.
    fn run(&self, setup: &Setup, seed: u64) -> [f64; 6] {
        let (train, test) = (self.calls(2 * seed), self.calls(2 * seed + 1));
        let in_groups = |size| greedy(setup, Plan::empty(setup.gpus, size), &train);
        let plans = [
            replicate(setup, &train),
            round_robin(setup, Plan::empty(setup.gpus, 4)),
            in_groups(2),
            in_groups(4),
            in_groups(8),
            search(setup, &train),
        ];
        // They leave out the first and the last ten seconds.
        let skip = 10 * test.len() / self.duration as usize;
        let counted = skip..test.len() - skip;
        plans.map(|plan| simulate(setup, &plan, &test, counted.clone()).goodput())
    }
}

fn reference(table: &str) -> Vec<(Setting, [f64; 6])> {
    let mut lines = table.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let mut settings = Vec::new();
    while let Some(first) = lines.next() {
        let number = |field: usize| first[field].parse::<f64>().expect("a number");
        let setting = Setting {
            models: number(1) as usize,
            gpus: number(2) as u32,
            rate: number(3),
            cv: number(4),
            slo_scale: number(5),
            duration: number(6) as u64,
        };
        let rest = lines.by_ref().take(POLICIES.len() - 1);
        let rows: Vec<Vec<&str>> = std::iter::once(first).chain(rest).collect();
        let goodput = |policy: usize| {
            assert_eq!(rows[policy][8], POLICIES[policy]);
            rows[policy][9].parse().expect("a goodput")
        };
        settings.push((setting, std::array::from_fn(goodput)));
    }
    settings
}

#[test]
fn goodput_of_six_placements() {
    let read = |name: &str| {
        let path = file(&format!("alpaserve-reference/{name}"))?;
        Some(std::fs::read_to_string(path).expect("the table"))
    };
    let Some(table) = read("own_goodput_bert1.3b_8gpu.tsv") else { return };
    let Some(profile) = read("profile_test_models.csv") else { return };
    let cuts = cuts(&profile);
    let settings = reference(&table);
    assert_eq!((settings.len(), cuts.len()), (13, 4));
    let (mut worst, mut problems) = (0.0_f64, Vec::new());
    for (setting, theirs) in &settings {
        let setup = setting.setup(&cuts);
        let mut ours = [0.0; 6];
        for seed in 0..SEEDS {
            let goodput = setting.run(&setup, seed);
            (0..6).for_each(|policy| ours[policy] += goodput[policy] / SEEDS as f64);
        }
        let Setting { rate, cv, slo_scale, .. } = setting;
        println!("rate {rate} cv {cv} slo {slo_scale}: ours {ours:.3?} theirs {theirs:.3?}");
        for (policy, name) in POLICIES.iter().enumerate() {
            let gap = ours[policy] - theirs[policy];
            worst = worst.max(gap.abs());
            if gap.abs() > TOLERANCE {
                problems.push(format!("{setting:?} {name}: {gap:+.3}"));
            }
            for (other, other_name) in POLICIES.iter().enumerate() {
                if theirs[policy] > theirs[other] + NOISE && ours[policy] < ours[other] {
                    problems.push(format!("{setting:?}: {name} should be before {other_name}"));
                }
            }
        }
    }
    println!("largest difference {worst:.3}");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
