//! `why`, `recipes` and `worlds`.

use crate::Folder;

/// Eight GPUs on two nodes; big waits for eight, small fits.
const TRACE: &str = "\
id,submit_s,gpus,duration_s,declared_s
first,0,2,1000,1000
second,0,2,500,500
big,10,8,100,100
small,20,1,50,50
long,30,1,5000,5000
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("t.csv", TRACE);
    folder
}

#[test]
fn a_paused_trial_says_its_rung_and_its_rank() {
    let folder = Folder::new();
    let mut trace = String::from("id,submit_s,gpus,steps,rates,study,scores\n");
    for (index, score) in [0.4, 0.1, 0.3, 0.2, 0.5].iter().enumerate() {
        trace.push_str(&format!("t{index},0,1,16,1,lr,{score}\n"));
    }
    folder.write("s.csv", &trace);
    let asked = "--trace s.csv --cluster 1x1 --recipe asha --at 2.5";
    let said = folder.run(&format!("why t1 {asked}")).good();
    assert!(said.contains("it is 2nd of 2 trials after one iteration"), "{said}");
    let json = folder.run(&format!("why t1 {asked} --json")).json();
    assert_eq!(json["reason"]["reason"], "paused-at-rung");
    assert_eq!(
        (json["reason"]["rung"].as_u64(), json["reason"]["rank"].as_u64()),
        (Some(1), Some(2))
    );
}

#[test]
fn a_job_that_waits_says_why_and_until_when() {
    let folder = folder();
    let said = folder.run("why big --trace t.csv --cluster 2x4 --at 60").good();
    assert!(said.contains("Job big (8 GPUs, tenant default, submitted at 10s) at 1min"), "{said}");
    assert!(said.contains("it needs 8 GPUs and 4 are left for it"), "{said}");
    assert!(said.contains("with 4 GPUs it would start now"), "{said}");
    assert!(said.contains("starts    at 16min 40s, in 15min 40s"), "{said}");
    let json = folder.run("why big --trace t.csv --cluster 2x4 --at 60 --json").json();
    assert_eq!(json["reason"]["reason"], "not-enough-free");
    assert_eq!(
        (json["reason"]["need"].as_u64(), json["reason"]["free"].as_u64()),
        (Some(8), Some(4))
    );
    assert_eq!(json["starts_s"], 1000.0);
    assert_eq!(json["ends_s"], 1100.0);
    assert_eq!(json["would_start_with"], 4);
}

/// One node of four GPUs and 16 CPUs, of which the first job takes 13 and has one GPU.
#[test]
fn who_is_short_of_cpus_is_not_told_of_gpus() {
    let folder = Folder::new();
    folder.write("c.toml", "[[nodes]]\ngpus = 4\ncpus = 16\nmemory-mb = 65536\n");
    let rows = "a,0,1,1000,13,1024\nb,0,1,1000,13,1024\nc,0,2,1000,2,1024\nd,0,1,10,1,65536\n";
    folder.write("t.csv", &format!("id,submit_s,gpus,duration_s,cpus,memory_mb\n{rows}"));
    let asked = "--trace t.csv --cluster c.toml --recipe fifo-skip --at 60";
    let said = folder.run(&format!("why b {asked}")).good();
    assert!(said.contains("it needs one GPU with 13 CPU cores with 1 GB of memory, and"), "{said}");
    assert!(said.contains("no GPU that is free has that beside it"), "{said}");
    let json = folder.run(&format!("why c {asked} --json")).json();
    assert_eq!(json["reason"]["reason"], "short-beside");
    assert_eq!(
        (json["reason"]["need"].as_u64(), json["reason"]["largest"].as_u64()),
        (Some(2), Some(1))
    );
    let json = folder.run(&format!("why d {asked} --json")).json();
    assert_eq!(json["reason"]["memory_mb"], 65536);
}

#[test]
fn gpus_that_are_free_but_kept_for_another_are_not_called_free() {
    let folder = folder();
    let jobs = "first,0,3,1000,1000\nlarge,1,4,100,100\nsmall,2,1,100,100\n";
    folder.write("kept.csv", &format!("id,submit_s,gpus,duration_s,declared_s\n{jobs}"));
    let asked = "--trace kept.csv --cluster 1x4 --recipe antman --at 60";
    let all = folder.run(&format!("why {asked}")).good();
    assert!(all.contains("1 jobs run on 3.00 of 4.00 GPUs, 2 wait."), "{all}");
    let said = folder.run(&format!("why small {asked}")).good();
    assert!(said.contains("it needs one GPU and none is left for it"), "{said}");
}

#[test]
fn what_if_answers_for_another_request() {
    let folder = folder();
    let base = "why big --trace t.csv --cluster 2x4 --at 60 --if";
    let four = folder.run(&format!("{base} gpus=4")).good();
    assert!(four.contains("if        gpus=4: it would start now on 4 GPUs of n1"), "{four}");
    let nine = folder.run(&format!("{base} gpus=9")).good();
    assert!(
        nine.contains("it needs 9 GPUs together, and the cluster has at most 8 such"),
        "{nine}"
    );
}

#[test]
fn backfill_explains_whom_a_job_would_delay() {
    let folder = folder();
    let base = "--trace t.csv --cluster 2x4 --recipe fifo-easy --at 60";
    let long = folder.run(&format!("why long {base}")).good();
    assert!(long.contains("into the reservation of job big"), "{long}");
    let big = folder.run(&format!("why big {base}")).good();
    assert!(big.contains("reserved  8 GPUs of n0 and n1 from 16min 40s on"), "{big}");
    let small = folder.run(&format!("why small {base}")).good();
    assert!(small.contains("running"), "it passed: {small}");
}

#[test]
fn everybody_who_waits_is_listed() {
    let folder = folder();
    let said = folder.run("why --trace t.csv --cluster 2x4 --at 60").good();
    assert!(said.starts_with("At 1min: 2 jobs run on 4.00 of 8.00 GPUs, 3 wait."), "{said}");
    assert!(said.contains("2 jobs are ahead of it in the queue; job big is first"), "{said}");
    let json = folder.run("why --trace t.csv --cluster 2x4 --at 60 --json").json();
    assert_eq!(json["waiting"].as_array().map(Vec::len), Some(3));
}

#[test]
fn jobs_that_do_not_wait_say_so() {
    let folder = folder();
    let runs = folder.run("why first --trace t.csv --cluster 2x4").good();
    assert!(runs.contains("running") && runs.contains("2 GPUs of n0"), "{runs}");
    let done = folder.run("why first --trace t.csv --cluster 2x4 --at 2h").good();
    assert!(done.contains("it is done since 16min 40s"), "{done}");
    let early = folder.run("why long --trace t.csv --cluster 2x4 --at 5").mistake();
    assert!(early.contains("it is submitted at 30s"), "{early}");
}

#[test]
fn every_recipe_can_be_shown_and_its_card_read_again() {
    let folder = Folder::new();
    let list = folder.run("recipes --json").json();
    let recipes = list["recipes"].as_array().expect("a list");
    assert!(recipes.len() >= 15);
    for recipe in recipes {
        let name = recipe["name"].as_str().expect("a name");
        let text = folder.run(&format!("recipes show {name}")).good();
        for part in ["Parts", "Claims"] {
            assert!(text.contains(part), "{name} has no {part}: {text}");
        }
        folder.write("card.toml", &folder.run(&format!("recipes show {name} --card")).good());
        let again = folder.run("recipes show card.toml --json").json();
        assert_eq!(again["parts"], recipe["parts"], "{name}");
    }
}

#[test]
fn every_world_can_be_shown_and_its_card_read_again() {
    let folder = Folder::new();
    let list = folder.run("worlds list --json").json();
    for world in list["worlds"].as_array().expect("a list") {
        let name = world["name"].as_str().expect("a name");
        assert!(folder.run(&format!("worlds show {name}")).good().contains("costs"));
        folder.write("w.toml", &folder.run(&format!("worlds show {name} --card")).good());
        let again = folder.run("worlds show w.toml --json").json();
        assert_eq!(again["costs"], world["costs"], "{name}");
    }
}
