//! Descriptions of clusters from files: our own samples and the examples of the reference.

use heeler_model::KindId;
use heeler_sim::cluster;
use std::path::Path;

fn here(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name).display().to_string()
}

#[test]
fn files_are_told_apart_by_their_names() {
    let file = cluster::read(&here("tests/data/cluster.toml")).expect("a cluster");
    assert_eq!((file.nodes.len(), file.gpus(), file.racks.len()), (6, 40, 3));
    let list = cluster::read(&here("tests/data/nodes.csv")).expect("a cluster");
    assert_eq!((list.nodes.len(), list.gpus()), (4, 18));
    assert_eq!(list.nodes[2].name, "node-c");
    assert_eq!((list.nodes[2].cpu_milli, list.nodes[2].memory_mb), (16_000, 65_536));
    let kinds: Vec<_> = list.kinds.iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(kinds, ["G9", "P7", "cpu"]);
    let short = cluster::read("2x4:fast").expect("a cluster");
    assert_eq!(short.gpus_of(KindId(0)), 8);
}

#[test]
fn mistakes_in_files_are_named_with_their_place() {
    let folder = std::env::temp_dir().join(format!("heeler-clusters-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, text, error) in [
        (
            "a.csv",
            "sn,cpu_milli,memory_mib,gpu,model\nx,1,1,99,T4\n",
            "a.csv:2: `gpu`: a node has at most 64 GPUs, found 99",
        ),
        (
            "b.csv",
            "sn,cpu_milli,memory_mib,gpu,model\nx,1,1,many,T4\n",
            "b.csv:2: `gpu`: expected a number, found `many`",
        ),
        ("c.csv", "a,b\n1,2\n", "c.csv: is no list of nodes"),
        ("d.csv", "sn,cpu_milli,memory_mib,gpu,model\n", "d.csv: lists no nodes"),
        ("e.csv", "", "e.csv: is empty"),
        (
            "f.toml",
            "[[nodes]]\ngpus = 8\nkind = 7\n",
            "f.toml:3:8: invalid type: integer `7`, expected a string",
        ),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a file");
        let found = cluster::read(&path.display().to_string()).expect_err(name).to_string();
        assert_eq!(found, format!("{}/{error}", folder.display()));
    }
    let missing = cluster::read(&folder.join("no.toml").display().to_string());
    let missing = missing.expect_err("no such file");
    assert!(missing.message.starts_with("cannot be read"), "{missing}");
    std::fs::remove_dir_all(folder).expect("a folder");
}

/// Every `toml` block of the page is a cluster, and so is every line of a `cluster` block.
#[test]
fn examples_of_the_reference_work() {
    let page = std::fs::read_to_string(here("../../docs/reference/clusters.md")).expect("the page");
    let mut examples = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').expect("a block");
        match language {
            "toml" => {
                cluster::from_toml(text, "the page").expect(text);
                examples += 1;
            }
            "cluster" => {
                for line in text.lines() {
                    let example = line.split_whitespace().next().expect("an example");
                    cluster::parse(example).expect(example);
                    examples += 1;
                }
            }
            _ => {}
        }
    }
    assert!(examples > 5, "{examples}");
}
