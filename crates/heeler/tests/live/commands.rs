//! Each command once, as a Slurm user would type it.

use crate::Place;

#[test]
fn the_first_ten_commands() {
    let place = Place::new();
    let nodes = place.run("nodes").good();
    assert!(nodes.contains("A100 (emulated)"), "{nodes}");
    let said = place.run("submit -J first --gpus 8 -t 10 -- sleep 1000").good();
    assert_eq!(said, "Submitted job 1\n");
    assert_eq!(place.run("submit --parsable --gpus 4 -- sleep 1000").good(), "2\n");
    let queue = place.run("queue").good();
    assert!(queue.contains("first") && queue.contains("pending"), "{queue}");
    let why = place.run("why 2").good();
    assert!(why.contains("4 GPUs") && why.contains("why"), "{why}");
    let show = place.run("show 1").good();
    assert!(show.contains("sleep 1000"), "{show}");
    assert!(place.run("hold 2").good().contains("held"));
    assert!(place.run("queue -t held").good().contains("held"));
    assert!(place.run("release 2").good().contains("released"));
    assert!(place.run("cancel 1-2").good().contains("cancelled"));
    assert_eq!(place.run("submit --wait --gpus 1 -- true").code, Some(0));
    let history = place.run("history").good();
    assert!(history.contains("completed") && history.contains("cancelled"), "{history}");
    assert!(place.run("usage").good().contains("GPU-h"));
    assert!(place.run("server").good().contains("recipe"));
}

#[test]
fn a_job_ends_as_its_process_does_and_prints_what_it_prints() {
    let place = Place::new();
    assert_eq!(place.run("submit -W --gpus 1 -- sh -c 'exit 3'").code, Some(3));
    let ran = place.run("run --gpus 2 sh -c 'echo $WORLD_SIZE $HEELER_JOB; exit 4'");
    assert_eq!((ran.code, ran.out.as_str()), (Some(4), "1 2\n"), "{}", ran.err);
    let ranks = place.run("run --gpus 2 -n 2 -- sh -c 'echo rank $RANK of $WORLD_SIZE'").good();
    let mut lines: Vec<&str> = ranks.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["rank 0 of 2", "rank 1 of 2"]);
    assert_eq!(place.run("logs 2").good(), "1 2\n");
}

#[test]
fn scripts_yaml_files_arrays_and_dependencies() {
    let place = Place::new();
    let script = "#!/bin/sh\n#SBATCH --gpus=1 -J sweep\n#SBATCH --mail-type=END\n#SBATCH -a 1-3\n\
                  echo \"task $SLURM_ARRAY_TASK_ID of $1\" >> tasks\n";
    place.write("sweep.sh", script);
    let sent = place.run("submit sweep.sh -- alpha");
    assert!(sent.err.contains("ignored") && sent.err.contains("--mail-type (line 3)"));
    assert_eq!(sent.out, "Submitted job 1 with 3 tasks\n");
    place.write("job.yaml", "name: after\nsetup: X=7\nrun: echo y$X >> tasks\nenvs: {A: b}\n");
    let ended = place.run("submit -W -d afterok:1 --output=out.txt job.yaml");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let mut lines: Vec<String> = place.read("tasks").lines().map(str::to_string).collect();
    assert_eq!(lines.pop().as_deref(), Some("y7"));
    lines.sort_unstable();
    assert_eq!(lines, ["task 1 of alpha", "task 2 of alpha", "task 3 of alpha"]);
    let jobs = place.json("queue --all --json 1_[2-3]");
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(2), "{jobs}");
    let nothing = place.run("submit --test-only --gpus 4 -- true").good();
    assert!(nothing.contains("starts now") || nothing.contains("most likely"), "{nothing}");
}

#[test]
fn tenants_quotas_recipes_and_nodes() {
    let place = Place::new();
    place.run("tenant set vision --quota 4 --weight 2 --add-user ada").good();
    place.run("quota vision 6").good();
    let tenants = place.json("tenant list --json");
    let vision = tenants["tenants"].as_array().expect("a list");
    let vision = vision.iter().find(|one| one["name"] == "vision").expect("the tenant");
    assert_eq!((vision["quota"].as_u64(), vision["weight"].as_u64()), (Some(6), Some(2)));
    assert!(place.run("recipe set tiresias").good().contains("tiresias decides"));
    assert!(place.run("recipe show").good().contains("tiresias"));
    let nodes = place.json("nodes --json");
    let name = nodes["nodes"][0]["name"].as_str().expect("a name").to_string();
    place.run(&format!("drain {name} --note broken")).good();
    assert!(place.run("nodes").good().contains("broken"));
    place.run(&format!("undrain {name}")).good();
    let token = place.run("token make ada --role viewer --tenant vision");
    assert!(token.good().trim().len() >= 20);
    assert!(place.run("token list").good().contains("viewer"));
    place.run("token revoke 1").good();
    assert!(place.run("audit").good().contains("recipe"));
}

#[test]
fn what_slurm_users_type_is_answered() {
    let place = Place::new();
    place.write("x.sh", "#!/bin/sh\necho $1 > said\n");
    let sent = place.run("sbatch x.sh hello");
    assert!(sent.err.contains("sbatch is `heeler submit` here"), "{}", sent.err);
    assert_eq!(sent.code, Some(0));
    place.run("submit -W -d afterany:1 -- true").good();
    assert_eq!(place.read("said"), "hello\n");
    for command in ["squeue", "sinfo", "sacct", "scontrol show job 1"] {
        let ended = place.run(command);
        assert_eq!(ended.code, Some(0), "{command}: {}", ended.err);
        assert!(ended.err.starts_with("note: "), "{}", ended.err);
    }
}

#[test]
fn options_of_slurm_are_understood_where_they_are_typed() {
    let place = Place::new();
    place.write("x.sh", "#!/bin/sh\n#SBATCH -p gpu\necho\n");
    let said = place.run("sbatch x.sh").mistake();
    assert!(said.contains("x.sh:2: `--partition gpu`") && said.contains("tenant"), "{said}");
    let script = "#!/bin/sh\n#SBATCH -o out -e err -c 1 --gpus 2\n\
                  echo $SLURM_NNODES $SLURM_GPUS_ON_NODE $SLURM_CPUS_PER_TASK \
                  $SLURM_JOB_PARTITION\ntest -n \"$SLURM_JOB_NODELIST\" && \
                  test -d \"$SLURM_SUBMIT_DIR\" && echo oh >&2\n";
    let mut command = place.command();
    command.args(["sbatch", "--wait"]).stdin(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let mut input = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut input, script.as_bytes()).expect("it reads");
    drop(input);
    assert!(child.wait().expect("it ends").success());
    assert_eq!(place.read("out"), "1 2 1 default\n");
    assert_eq!(place.read("err"), "oh\n");
    place.run("submit -J x --gpus 1 -- sleep 1000").good();
    for line in ["squeue -j 2 -l", "sacct -j 1", "sacct --since today", "sinfo -N -l"] {
        place.run(line).good();
    }
    assert!(place.run("squeue -o %i").err.contains("ignored"));
    assert!(place.run("scontrol show job 1").good().contains("completed"));
    place.run("scontrol update jobid=2 timelimit=5").good();
    assert!(place.run("scontrol show job 2").good().contains("of 5:00"));
    let nodes = place.json("nodes --json");
    let node = nodes["nodes"][0]["name"].as_str().expect("a name").to_string();
    place.run(&format!("scontrol update nodename={node} state=drain reason=fan")).good();
    assert!(place.run("nodes").good().contains("fan"));
    place.run(&format!("scontrol update nodename={node} state=resume")).good();
    assert!(place.run("scancel --name y").mistake().contains("no such job"));
    assert!(place.run("scancel --name x").good().contains("cancelled"));
}
