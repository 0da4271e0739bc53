//! Jobs put together from options, as a Slurm user writes them.

use super::*;
use crate::read::{Origin, find, script};
use crate::{Class, Condition, Pause, Ranks, Selector};

fn context(command: &[&str]) -> Context {
    let env = [("PATH", "/bin"), ("HEELER_TOKEN", "secret"), ("LANG", "C"), ("SHLVL", "2")];
    Context {
        now: "2026-03-10T15:00:00+00:00[UTC]".parse().expect("a moment"),
        dir: "/home/ada".into(),
        env: env.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        name: "some/place/my job.sh".into(),
        command: command.iter().map(ToString::to_string).collect(),
    }
}

fn typed(words: &str) -> Vec<Given> {
    let one = |word: &str| {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (word, None),
        };
        Given { flag: find(name).expect(name), value, origin: Origin::Typed }
    };
    words.split_whitespace().map(one).collect()
}

fn command(words: &str) -> Result<Submission, String> {
    let built = Draft::default().build(&typed(words), &context(&["python", "x.py"]));
    built.map(|job| job.submission).map_err(|wrong| wrong.to_string())
}

fn good(words: &str) -> Submission {
    command(words).expect(words)
}

#[test]
fn gpus_are_counted_in_all() {
    assert_eq!(good("gpus=4").gpus.count, 4);
    assert_eq!(good("gpus=a100:4").gpus.kinds, ["a100"]);
    let spread = good("gpus-per-node=4 nodes=2");
    assert_eq!((spread.gpus.count, spread.nodes), (8, Some(2)));
    let told = good("gpus=16 gpus-per-node=8");
    assert_eq!((told.gpus.count, told.nodes), (16, Some(2)));
    assert_eq!(good("gpus-per-task=2 ntasks=4 ranks=one").gpus.count, 8);
    assert_eq!(good("gres=gpu:h100:2").gpus.count, 2);
    assert_eq!(good("gpu-share=0.5").gpus.count, 1);
    assert_eq!(good("gpu-share=0.5 gpu-memory=16G").gpus.memory_mb, 16_384);
    assert_eq!(good("").gpus.count, 0);
    let elastic = good("gpus=4 min-gpus=2 max-gpus=8").gpus;
    assert_eq!((elastic.min, elastic.count, elastic.max), (Some(2), 4, Some(8)));
    assert_eq!(good("gpu-kinds=a100,h100 gpus=2").gpus.kinds, ["a100", "h100"]);
}

#[test]
fn cpus_and_memory_are_beside_each_gpu() {
    let job = good("gpus=4 cpus-per-task=8 mem=64G");
    assert_eq!((job.cpu_milli, job.memory_mb), (2_000, 16_384));
    let job = good("gpus=8 nodes=2 cpus=16 mem=32G");
    assert_eq!((job.cpu_milli, job.memory_mb), (4_000, 8_192));
    let job = good("gpus=2 cpus-per-gpu=3 mem-per-gpu=1G");
    assert_eq!((job.cpu_milli, job.memory_mb), (3_000, 1_024));
    let job = good("cpus-per-task=4 mem-per-cpu=2G");
    assert_eq!((job.cpu_milli, job.memory_mb), (4_000, 8_192));
}

#[test]
fn tasks_are_one_or_one_each() {
    assert_eq!(good("gpus=4 ntasks=4").ranks, Ranks::PerGpu);
    assert_eq!(good("gpus=8 nodes=2 ntasks=2").ranks, Ranks::PerNode);
    assert_eq!(good("gpus=8 nodes=2 ntasks-per-node=4").ranks, Ranks::PerGpu);
    assert_eq!(good("gpus=4 ntasks=1").ranks, Ranks::One);
    assert_eq!(good("gpus=4 ranks=per-gpu").ranks, Ranks::PerGpu);
    let wrong = command("gpus=4 ntasks=3").expect_err("three of four");
    assert!(wrong.contains("`--ntasks`: 3 processes"), "{wrong}");
    // A script is started once; its own launcher starts the tasks.
    let script = Draft { script: Some("#!/bin/sh\n".into()), ..Draft::default() };
    let job = script.build(&typed("gpus=4 ntasks=3 cpus-per-task=4"), &context(&[]));
    let job = job.expect("a job").submission;
    assert_eq!((job.ranks, job.cpu_milli), (Ranks::One, 3_000));
}

#[test]
fn the_rest_of_the_options() {
    let job = good(
        "job-name=a.b time=1:00:00 expected=30min array=0-3%2 deadline=now+2hours begin=16:00 \
         no-requeue retries=3 backoff=1min signal=USR1@90 grace=45s output=logs/%j.out \
         chdir=run account=lab priority=-5 best-effort hold pause=never model=gpt once=k",
    );
    assert_eq!((job.name.as_str(), job.tenant.as_deref()), ("a.b", Some("lab")));
    assert_eq!((job.time_limit_s, job.expected_s), (Some(3_600), Some(1_800)));
    assert_eq!(job.array.map(|array| array.indices.len()), Some(4));
    assert_eq!(job.deadline.map(|at| at - job.begin.expect("a start")), Some(3_600));
    assert_eq!((job.requeue, job.retries, job.backoff_s, job.grace_s), (false, 3, 60, 45));
    assert_eq!(job.early.map(|early| early.before_s), Some(90));
    assert_eq!(job.dir, "/home/ada/run");
    assert_eq!(job.output.as_deref(), Some("/home/ada/run/logs/%j.out"));
    assert_eq!((job.class, job.priority, job.hold), (Class::BestEffort, -5, true));
    assert_eq!((job.pause, job.model.as_deref()), (Pause::Never, Some("gpt")));
    assert_eq!(job.once.as_deref(), Some("k"));
    assert_eq!(good("partition=p account=a").tenant.as_deref(), Some("a"));
    assert_eq!(good("partition=p").tenant.as_deref(), Some("p"));
    assert_eq!(good("qos=normal").class, Class::Guaranteed);
    assert_eq!(good("").name, "my-job.sh");
}

#[test]
fn variables_go_along_unless_they_should_not() {
    let names = |words: &str| good(words).env.into_keys().collect::<Vec<_>>().join(" ");
    assert_eq!(names(""), "LANG PATH");
    assert_eq!(names("export=NONE"), "");
    assert_eq!(names("export=PATH,NOT_SET"), "PATH");
    let mixed = good("export=ALL,A=1,LANG=de").env;
    assert_eq!((mixed["A"].as_str(), mixed["LANG"].as_str()), ("1", "de"));
    assert_eq!(mixed.len(), 3);
    let given = Given {
        flag: find("export").expect("export"),
        value: Some("A=1,ALL".into()),
        origin: Origin::Typed,
    };
    let job = Draft::default().build(&[given], &context(&["x"])).expect("a job");
    assert_eq!(job.submission.env.len(), 3);
    assert!(command("export==1").is_err());
}

#[test]
fn the_command_line_wins_over_the_file() {
    let text = "#!/bin/sh\n#SBATCH --gpus-per-node=8 -N 2 -t 60 -J theirs\n#SBATCH -d afterok:5\n";
    let read = || script::read(text, "job.sh").expect("a script");
    let job = read().build(&[], &context(&["arg"])).expect("a job");
    assert_eq!((job.submission.gpus.count, job.submission.nodes), (16, Some(2)));
    assert_eq!(job.submission.command, ["arg"]);
    assert_eq!(job.waits.len(), 1);
    assert_eq!((job.waits[0].when, &job.waits[0].jobs), (Condition::Ok, &Selector::Job(5)));
    let job = read().build(&typed("gpus=4 time=5 job-name=mine"), &context(&[])).expect("a job");
    assert_eq!((job.submission.gpus.count, job.submission.nodes), (4, Some(2)));
    assert_eq!((job.submission.time_limit_s, job.submission.name.as_str()), (Some(300), "mine"));
}

#[test]
fn mistakes_name_the_option_and_the_line() {
    for (words, says) in [
        ("gpus=5 nodes=2", "`--nodes`: 5 GPUs cannot be spread evenly over 2 nodes"),
        ("gpus=5 gpus-per-node=2", "`--gpus-per-node`: 5 GPUs cannot be 2 on each node"),
        ("gpus=4 gpus-per-node=2 nodes=3", "`--nodes`: 4 GPUs with 2 on each node are 2 nodes"),
        ("gpus=4 min-gpus=5", "`--min-gpus`"),
        ("gpus=4 max-gpus=3", "`--max-gpus`"),
        ("gpus=x", "`--gpus x`: expected a number of GPUs"),
        ("nodes=1-4", "`--nodes 1-4`: a range of nodes"),
        ("hold=yes", "`--hold yes`: takes no value"),
        ("time=", "`--time `: has no value"),
        ("job-name=a/b", "`--job-name a/b`"),
        ("qos=gold", "expected guaranteed, best-effort"),
        ("gpus-per-node=4000000000 nodes=2", "more than any machine has"),
        ("priority=high", "`--priority high`: expected a whole number"),
    ] {
        let wrong = command(words).expect_err(words);
        assert!(wrong.contains(says), "{words}: {wrong}");
    }
    let text = "#!/bin/sh\n#SBATCH -J a\n#SBATCH --time=soon\n";
    let read = script::read(text, "job.sh").expect("a script");
    let wrong = read.build(&[], &context(&[])).expect_err("no time").to_string();
    assert!(wrong.starts_with("job.sh:3: `--time soon`: expected a time"), "{wrong}");
    let nothing = Draft::default().build(&[], &context(&[])).expect_err("nothing to run");
    assert_eq!(nothing.to_string(), "there is nothing to run");
}
