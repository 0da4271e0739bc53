//! The rows of the picture of who ran where: single GPUs while there are few, then parts of nodes,
//! nodes, and groups of neighbouring nodes, so that they always fit on a screen.

use heeler_model::{Cluster, NodeId, Slots};

/// More than this cannot be read.
const ROWS_MAX: usize = 64;

/// What one row stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    name: String,
    /// Whether it begins a node or a group of nodes.
    first: bool,
    gpus: u32,
}

/// Rows and which GPUs belong to them.
#[derive(Clone, Debug)]
pub struct Rows {
    rows: Vec<Row>,
    /// By node: its first row.
    starts: Vec<usize>,
    /// GPUs of one node that share a row.
    gpus_each: u32,
}

impl Rows {
    /// Rows for a cluster.
    pub fn of(cluster: &Cluster) -> Rows {
        let with_gpus = cluster.nodes.iter().filter(|node| node.gpus > 0).count();
        let rows_with = |each: u32| -> usize {
            cluster.nodes.iter().map(|node| node.gpus.div_ceil(each) as usize).sum()
        };
        let each = [1, 2, 4, 8, 16, 32, 64].into_iter().find(|each| rows_with(*each) <= ROWS_MAX);
        let gpus_each = each.unwrap_or(u32::MAX);
        let nodes_each = if each.is_some() { 1 } else { with_gpus.div_ceil(ROWS_MAX) };
        let mut rows = Rows { rows: Vec::new(), starts: Vec::new(), gpus_each };
        if nodes_each > 1 {
            rows.group(cluster, nodes_each);
        } else {
            rows.divide(cluster);
        }
        rows
    }

    fn divide(&mut self, cluster: &Cluster) {
        for node in &cluster.nodes {
            self.starts.push(self.rows.len());
            for start in (0..node.gpus).step_by(self.gpus_each as usize) {
                let end = start.saturating_add(self.gpus_each).min(node.gpus);
                let name = match end - start {
                    all if all == node.gpus => node.name.clone(),
                    1 => format!("{} GPU {start}", node.name),
                    _ => format!("{} GPUs {start}–{}", node.name, end - 1),
                };
                self.rows.push(Row { name, first: start == 0, gpus: end - start });
            }
        }
    }

    fn group(&mut self, cluster: &Cluster, nodes_each: usize) {
        let mut members = 0;
        let mut first_name = "";
        for node in &cluster.nodes {
            if node.gpus > 0 && members % nodes_each == 0 {
                first_name = &node.name;
                self.rows.push(Row { name: first_name.to_string(), first: true, gpus: 0 });
            }
            self.starts.push(self.rows.len().saturating_sub(1));
            if node.gpus == 0 {
                continue;
            }
            let row = self.rows.last_mut().expect("a row was begun above");
            row.gpus += node.gpus;
            if members % nodes_each > 0 {
                row.name = format!("{first_name} to {}", node.name);
            }
            members += 1;
        }
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// What a row is called.
    pub fn name(&self, row: usize) -> &str {
        &self.rows[row].name
    }

    /// Whether a row begins a node.
    pub fn is_first(&self, row: usize) -> bool {
        self.rows[row].first
    }

    /// How many GPUs a row stands for.
    pub fn gpus(&self, row: usize) -> u32 {
        self.rows[row].gpus
    }

    /// The rows that some slots of a node belong to, and how many of the slots each has.
    pub fn of_slots(&self, node: NodeId, slots: Slots) -> impl Iterator<Item = (usize, u32)> {
        let start = self.starts[node.index()];
        let each = self.gpus_each.min(64);
        let parts = (0..64u32.div_ceil(each)).map(move |part| {
            let mask = Slots(Slots::first(each).0 << (part * each));
            (start + part as usize, slots.and(mask).count())
        });
        parts.filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(nodes: u32, gpus: u32) -> Rows {
        Rows::of(&Cluster::uniform(nodes, gpus))
    }

    #[test]
    fn rows_always_fit_and_stand_for_all_gpus() {
        for (nodes, gpus, expected) in [
            (2, 8, 16),
            (16, 8, 64),
            (17, 8, 34),
            (64, 8, 64),
            (65, 8, 33),
            (1_000, 8, 63),
            (1, 64, 64),
            (3, 64, 48),
        ] {
            let rows = rows(nodes, gpus);
            assert_eq!(rows.count(), expected, "{nodes} nodes of {gpus}");
            let sum: u32 = (0..rows.count()).map(|row| rows.gpus(row)).sum();
            assert_eq!(sum, nodes * gpus);
            for node in 0..nodes {
                let of: Vec<_> = rows.of_slots(NodeId(node), Slots::first(gpus)).collect();
                assert_eq!(of.iter().map(|(_, count)| count).sum::<u32>(), gpus);
                assert!(of.iter().all(|(row, _)| *row < rows.count()));
            }
        }
        assert_eq!(rows(0, 0).count(), 0);
    }

    #[test]
    fn rows_are_called_by_their_nodes() {
        assert_eq!(rows(1, 4).name(2), "n0 GPU 2");
        assert_eq!(rows(16, 8).name(5), "n1 GPUs 2–3");
        assert_eq!(rows(64, 8).name(5), "n5");
        assert_eq!(rows(130, 8).name(1), "n3 to n5");
    }

    #[test]
    fn nodes_without_gpus_have_no_row() {
        let mut cluster = Cluster::uniform(3, 2);
        cluster.nodes[1].gpus = 0;
        let rows = Rows::of(&cluster);
        assert_eq!(rows.count(), 4);
        assert_eq!(rows.of_slots(NodeId(2), Slots(0b10)).collect::<Vec<_>>(), [(3, 1)]);
    }
}
