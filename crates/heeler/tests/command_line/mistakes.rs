//! Mistakes: each is answered with the place, what was expected and a hint, ends with exit code 2,
//! and leaves nothing half-written.

use crate::Folder;

const HEADER: &str = "id,submit_s,gpus,duration_s\n";

#[test]
fn a_broken_trace_is_named_by_file_line_and_column() {
    for (rows, place, hint) in [
        ("a,0,1,60\nb,soon,1,60\n", "t.csv:3: column 2 (`submit_s`): expected", ""),
        ("a,0,one,60\n", "t.csv:2: column 3 (`gpus`): expected", ""),
        ("a,0,1,-5\n", "t.csv:2: column 4 (`duration_s`): expected", ""),
        ("a,0,1\n", "t.csv:2: ", ""),
        ("a,0,1,60\na,5,1,60\n", "t.csv:3: field `id`: `a` is already", ""),
    ] {
        let folder = Folder::new();
        folder.write("t.csv", &format!("{HEADER}{rows}"));
        let said = folder.run("sim --trace t.csv --jobs-out out.csv --report r.html").mistake();
        assert!(said.starts_with("error: ") && said.contains(place), "{said}");
        assert!(said.contains(hint), "{said}");
        assert!(!folder.has("out.csv") && !folder.has("r.html"), "nothing is half-written");
    }
    let folder = Folder::new();
    folder.write("t.csv", "id,submit_s,gpu,duration_s\n");
    let said = folder.run("sim --trace t.csv --format csv").mistake();
    assert!(said.contains("is `gpu` meant? call it `gpus`"), "{said}");
    folder.write("empty.csv", "");
    assert!(folder.run("sim --trace empty.csv").mistake().contains("is empty"));
    assert!(folder.run("sim --trace none.csv").mistake().contains("hint: check the path"));
}

#[test]
fn knobs_that_make_no_sense_are_refused() {
    let folder = Folder::new();
    for recipe in [
        "sia:round=0s",
        "sia:power=0",
        "sia:penalty=nan",
        "sia:scale-up=0",
        "sia:decimals=10",
        "gandiva:quantum=0s",
        "gavel:round=1ms",
        "chronus:lease=0s",
        "chronus:tick=0s",
        "chronus:margin=1e300",
        "chronus:predict={noisy={sigma=1000}}",
        "chronus:predict={noisy={sigma=1e300}}",
        "helios-ces:history=7min",
        "helios-ces:keep=3min",
        "clipper:delay=-1",
        "clipper:batching={fixed=0}",
        "clipper:batching={aimd={part=0,add=1,back-off=0.1}}",
        "mixed:batching={aimd={part=0.5,add=1,back-off=nan}}",
    ] {
        let said = folder.run(&format!("sim --jobs 5 --service web --recipe {recipe}")).mistake();
        assert!(said.contains("cannot be") && said.contains("hint: "), "{recipe}: {said}");
        assert!(said.len() < 600, "{recipe}: {said}");
    }
}

#[test]
fn a_service_that_cannot_be_is_named() {
    let folder = Folder::new();
    let said = folder.run("sim --service wbe").mistake();
    assert!(said.contains("there is no service `wbe`") && said.contains("hint:"), "{said}");
    folder.write("mine.toml", "name = \"mine\"\nreplicas = many\n");
    let said = folder.run("sim --service mine.toml").mistake();
    assert!(said.contains("mine.toml:2: "), "{said}");
    let said = folder.run("sim --service web --service web").mistake();
    assert!(said.contains("two services are called `web`"), "{said}");
    let said = folder.run("sim --service web --world gavel").mistake();
    assert!(said.contains("world `gavel` has no place for services"), "{said}");
    assert!(folder.run("services show wbe").mistake().contains("did you mean `web`?"));
}

#[test]
fn a_broken_card_is_named_by_file_line_and_column() {
    let folder = Folder::new();
    let card = folder.run("recipes show fifo --card").good();
    for (from, to, place) in [
        ("fit = \"strict\"", "fit = \"stric\"", "mine.toml:7:7: "),
        ("order = \"fifo\"", "ordr = \"fifo\"", "mine.toml:6:1: "),
        ("[policy]", "[policy", "mine.toml:5:"),
    ] {
        folder.write("mine.toml", &card.replace(from, to));
        for command in ["sim --recipe", "recipes show", "compare fifo"] {
            let said = folder.run(&format!("{command} mine.toml")).mistake();
            assert!(said.contains(place) && said.contains("hint: "), "{said}");
        }
    }
    folder.write("world.toml", "name = \"w\"\nsummary = \"w\"\n[costs]\nstrat = 3\n");
    let said = folder.run("sim --world world.toml").mistake();
    assert!(said.contains("world.toml:4:1: ") && said.contains("start"), "{said}");
    folder.write("cluster.toml", "[[nodes]]\ncount = 2\ngpu = 8\n");
    let said = folder.run("sim --cluster cluster.toml").mistake();
    assert!(said.contains("cluster.toml:3:"), "{said}");
}

#[test]
fn a_wrong_word_gets_the_right_one() {
    let folder = Folder::new();
    for (command, message, hint) in [
        ("sim --recipe tiresia", "there is no recipe `tiresia`", "did you mean `tiresias`?"),
        ("sim --world plan", "there is no world `plan`", "did you mean `plain`?"),
        ("sim --generate phily", "there is no shape `phily`", "philly"),
        ("sim --cluster 16y8", "expected `nodes x GPUs`", "16x8"),
        ("sim --load 0", "expected a number above 0", ""),
        ("sim --recipe fifo:speed=9", "there is no knob `speed`", "`fifo` has: "),
        ("sim --knob fit=never", "knob `fit` cannot be `never`", "takes strict, skip"),
        ("sim --recipe srsf:predict=noisy", "missing field `sigma`", "noisy = { sigma = X }"),
        ("compare fifo fifo", "recipe `fifo` is named twice", "name each recipe once"),
        ("report fifo fifo", "recipe `fifo` is named twice", "name each recipe once"),
        ("sim --elastic 3 --jobs 10", "`elastic`: expected a share", ""),
        ("why --jobs 50", "about which job", "--at TIME"),
        ("why 5 --if gpu=4", "nothing is called `gpu`", "did you mean `gpus`?"),
        ("why 5 --if kind=h100", "no GPU of kind `h100`", "gpu"),
        ("why 99999999 --jobs 50", "there is no job `99999999`", "50 jobs"),
        ("trace cut t.csv u.csv --gpus 8..1", "expected a number of GPUs or a range", ""),
    ] {
        let said = folder.run(command).mistake();
        assert!(said.contains(message) && said.contains(hint), "{command}: {said}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_a_failure_not_a_mistake() {
    let folder = Folder::new();
    let ended = folder.run("report fifo --jobs 20 --out nowhere/r.html");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("nowhere/r.html cannot be written"), "{}", ended.err);
}
