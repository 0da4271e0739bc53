//! Published lists of nodes.

use heeler_reference::file;
use heeler_sim::cluster;

#[test]
fn published_lists_of_nodes_are_read() {
    for (name, nodes, kinds) in
        [("openb_node_list_all_node.csv", 1523, 8), ("openb_node_list_gpu_node.csv", 1213, 7)]
    {
        let Some(path) = file(&format!("openb-gpu-v2023/{name}")) else { continue };
        let cluster = cluster::read(&path.display().to_string()).expect("a cluster");
        assert_eq!((cluster.nodes.len(), cluster.kinds.len()), (nodes, kinds), "{name}");
        assert_eq!(cluster.gpus(), 6212);
        let class = |kind: &str, gpus| {
            let same = |node: &&heeler_model::Node| {
                node.gpus == gpus && cluster.kinds[node.kind.index()].name == kind
            };
            cluster.nodes.iter().filter(same).count()
        };
        assert_eq!((class("G2", 8), class("T4", 2)), (549, 387), "the largest classes");
    }
}
