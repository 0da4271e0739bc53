//! `trace`.

use crate::Folder;

#[test]
fn what_is_generated_can_be_described_converted_and_run() {
    let folder = Folder::new();
    let made = folder.run("trace generate helios a.csv --jobs 300 --cluster 4x8 --seed 3").good();
    assert_eq!(made, "wrote 300 jobs to a.csv\n");
    let seen = folder.run("trace describe a.csv --cluster 4x8").good();
    for part in
        ["Run times, jobs by duration", "Sizes, jobs by GPUs", "Submissions over time", "load"]
    {
        assert!(seen.contains(part), "{seen}");
    }
    folder.run("trace convert a.csv b.jsonl.gz").good();
    folder.run("trace convert b.jsonl.gz c.csv").good();
    assert_eq!(folder.read("a.csv"), folder.read("c.csv"), "nothing is lost on the way");
    let from_file = folder.run("sim --trace a.csv --cluster 4x8 --recipe srtf --json").json();
    let generated = "sim --generate helios --jobs 300 --cluster 4x8 --recipe srtf --seed 3 --json";
    let generated = folder.run(generated).json();
    for figure in ["completion_s", "waiting_s", "fairness", "restarts", "gpu_hours", "sizes"] {
        let (file, drawn) = (&from_file["summary"][figure], &generated["summary"][figure]);
        assert_eq!(file, drawn, "the file is the workload: {figure}");
    }
}

#[test]
fn cuts_keep_what_was_asked_for() {
    let folder = Folder::new();
    folder.run("trace generate philly a.csv --jobs 500 --cluster 4x8").good();
    folder.run("trace cut a.csv b.csv --gpus 2.. --first 20 --from-zero --faster 2").good();
    let seen = folder.run("trace describe b.csv --json").json();
    assert_eq!(seen["jobs"], 20);
    assert!(seen["gpus"]["min"].as_f64() >= Some(2.0), "{seen}");
    let said = folder.run("trace cut a.csv c.csv --gpus 33..").mistake();
    assert!(said.contains("nothing of a.csv is left"), "{said}");
    assert!(!folder.has("c.csv"));
}

#[test]
fn a_load_can_be_asked_of_a_trace() {
    let folder = Folder::new();
    folder.run("trace generate philly a.csv --jobs 400 --cluster 4x8").good();
    let shown = folder.run("sim --trace a.csv --cluster 4x8 --load 2 --recipe fifo-skip --json");
    let shown = shown.json();
    assert!(shown["setting"]["jobs"].as_str().expect("text").contains("at load 2"), "{shown}");
    let calm = folder.run("sim --trace a.csv --cluster 4x8 --load 0.1 --recipe fifo-skip --json");
    let wait = |shown: &serde_json::Value| shown["summary"]["waiting_s"]["mean"].as_f64();
    assert!(wait(&shown) > wait(&calm.json()));
    folder.write("once.csv", "id,submit_s,gpus,duration_s\na,0,1,5\nb,0,1,5\n");
    let said = folder.run("sim --trace once.csv --load 0.5").mistake();
    assert!(said.contains("all come at once"), "{said}");
}

#[test]
fn formats_are_listed() {
    let listed = Folder::new().run("trace formats").good();
    for format in ["csv", "philly", "swf", "slurm", "tiresias", "gavel"] {
        assert!(listed.lines().any(|line| line.starts_with(format)), "{listed}");
    }
}

#[test]
fn a_trace_may_come_through_a_pipe() {
    let folder = Folder::new();
    let mut command = crate::heeler(&folder.0);
    command.args(["sim", "--trace", "-", "--cluster", "1x2", "--json"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let text = "id,submit_s,gpus,duration_s\na,0,1,60\nb,10,2,100\n";
    let mut pipe = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut pipe, text.as_bytes()).expect("it is read");
    drop(pipe);
    let ended = crate::Ended::of(&child.wait_with_output().expect("it ends")).json();
    assert_eq!(ended["summary"]["jobs"]["finished"], 2);
}

#[test]
fn users_stay_beside_tenants() {
    let folder = Folder::new();
    let text = "id,submit_s,gpus,duration_s,tenant,user\na,0,1,60,lab,ann\nb,5,2,60,lab,bob\n";
    folder.write("a.csv", text);
    folder.run("trace convert a.csv b.jsonl").good();
    folder.run("trace convert b.jsonl c.csv").good();
    assert_eq!(folder.read("c.csv"), text);
    folder.run("trace cut a.csv d.csv --gpus 2..").good();
    assert!(folder.read("d.csv").contains(",lab,bob\n"), "{}", folder.read("d.csv"));
}
