//! Alibaba's openb lists of nodes: `sn, cpu_milli, memory_mib, gpu, model`. Nodes without GPUs
//! stay; their kind is called `cpu`.

use super::{ClusterError, KINDS_MAX, NODES_MAX};
use crate::workload::Table;
use heeler_model::{Cluster, GPUS_PER_NODE_MAX, RackId, Tenant};
use std::path::Path;

pub(super) fn read(path: &Path) -> Result<Cluster, ClusterError> {
    let mut cluster = Cluster {
        racks: vec!["rack0".into()],
        tenants: vec![Tenant::named("default")],
        ..Cluster::default()
    };
    let table = Table::open(path, ',')?;
    if !table.header().has(&["sn", "cpu_milli", "memory_mib", "gpu", "model"]) {
        return Err(ClusterError::file(&path.display().to_string(), "is no list of nodes")
            .hint("its header must be: sn,cpu_milli,memory_mib,gpu,model"));
    }
    table.each(|row| {
        let gpus = row.count("gpu")?;
        if gpus > GPUS_PER_NODE_MAX {
            let message = format!("a node has at most {GPUS_PER_NODE_MAX} GPUs, found {gpus}");
            return Err(row.wrong("gpu", message));
        }
        let model = if gpus == 0 { "cpu" } else { row.text("model")? };
        let new = !cluster.kinds.iter().any(|kind| kind.name == model);
        if cluster.nodes.len() == NODES_MAX || (new && cluster.kinds.len() == KINDS_MAX) {
            let message = format!("there are more than {NODES_MAX} nodes or {KINDS_MAX} kinds");
            return Err(row.broken(message));
        }
        let kind = cluster.kind_named(model);
        let id = cluster.add_node(kind, gpus, RackId(0));
        let node = &mut cluster.nodes[id.index()];
        node.name = row.text("sn")?.to_string();
        node.cpu_milli = row.count("cpu_milli")?.into();
        node.memory_mb = row.count("memory_mib")?.into();
        Ok(())
    })?;
    if cluster.nodes.is_empty() {
        return Err(ClusterError::file(&path.display().to_string(), "lists no nodes"));
    }
    Ok(cluster)
}
