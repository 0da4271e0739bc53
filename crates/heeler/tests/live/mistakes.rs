//! What people get wrong, and what they are told.

use crate::Place;

#[test]
fn no_server_is_said_with_what_to_do() {
    let place = Place::empty();
    let ended = place.run("queue");
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("no server answers at"), "{}", ended.err);
    assert!(ended.err.contains("heeler up"), "{}", ended.err);
    assert!(place.run("down").mistake().contains("no server works in"));
}

#[test]
fn mistakes_in_jobs_are_found_before_a_server_is_asked() {
    let place = Place::empty();
    place.write("bad.sh", "#!/bin/sh\n#SBATCH --time=soon\n");
    place.write("bad.yaml", "name: a\nrunn: x\n");
    place.write("plain.sh", "echo\n");
    place.write("dos.sh", "#!/bin/sh\r\necho\r\n");
    place.write("list.yaml", "name: [a]\nrun: x\n");
    for (line, says) in [
        ("submit bad.sh", "bad.sh:2: `--time soon`"),
        ("submit bad.yaml", "bad.yaml:2: "),
        ("submit plain.sh", "does not say what it is run by"),
        ("submit dos.sh", "dos.sh:1: ends as lines do on DOS"),
        ("submit list.yaml", "list.yaml:1: `name`: "),
        ("submit missing.sh", "a command goes after two dashes"),
        ("submit", "there is nothing to run"),
        ("submit -d singleton -- true", "`singleton` is not supported"),
        ("submit --gpus 5 -N 2 -- true", "spread evenly"),
        ("submit --gpuz 5 -- true", "--gpus"),
        ("cancel x", "names no jobs"),
        ("up --recipe fifoo", "there is no recipe `fifoo`"),
        ("up --emulate lots", "try 8xA100"),
        ("whatif", "what should be different?"),
        ("queue -t odd", "expected pending"),
    ] {
        let said = place.run(line).mistake();
        assert!(said.contains(says), "{line}: {said}");
    }
}

#[test]
fn refusals_of_the_server_are_told() {
    let place = Place::new();
    let said = place.run("show 99").mistake();
    assert!(said.contains("99"), "{said}");
    assert!(place.run("submit -G h900:1 -- true").mistake().contains("kind `h900`"));
    assert!(place.run("submit -A nobody -- true").mistake().contains("nobody"));
    assert!(place.run("drain nowhere").mistake().contains("nowhere"));
    let again = place.run("up --emulate 8xA100");
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("works in") && again.err.contains("heeler down"), "{}", again.err);
}
