//! Cells on their own: HiveD's safety claim with random layouts, gangs and failures.

use heeler_parts::cells::{
    Answer, CellType, Cells, Layout, Phase, PhysicalCell, Request, VirtualCells, VirtualCluster,
};
use proptest::prelude::*;

const RACK: &str = "rack";
const LEVELS: [(&str, u32); 4] = [("gpu", 1), ("pair", 2), ("node", 4), ("rack", 8)];
const RACKS: u32 = 3;

fn layout(clusters: &[[u32; 4]]) -> Layout {
    let kind = |name: &str, child: &str, is_node| CellType {
        name: name.into(),
        child: child.into(),
        count: 2,
        is_node,
    };
    let types =
        vec![kind("pair", "gpu", false), kind("node", "pair", true), kind(RACK, "node", false)];
    let node = |number: u32| PhysicalCell {
        address: Some(format!("n{number}")),
        ..PhysicalCell::default()
    };
    let rack = |rack: u32| PhysicalCell {
        children: vec![node(2 * rack), node(2 * rack + 1)],
        ..PhysicalCell::default()
    };
    let physical = (0..RACKS).map(|number| (RACK.to_string(), rack(number))).collect();
    let owned = |counts: &[u32; 4]| {
        let cells = LEVELS.iter().zip(counts).filter(|(_, count)| **count > 0);
        let cells = cells.map(|((cell, _), number)| VirtualCells {
            chain: RACK.into(),
            cell: cell.to_string(),
            number: *number,
        });
        cells.collect()
    };
    let clusters = clusters.iter().enumerate().map(|(index, counts)| VirtualCluster {
        name: index.to_string(),
        cells: owned(counts),
        pinned: Vec::new(),
    });
    Layout { types, physical, clusters: clusters.collect() }
}

/// What was asked for, one cell less here and there until everybody can have theirs.
fn cut(mut counts: Vec<[u32; 4]>) -> Vec<[u32; 4]> {
    let mut turn = 0;
    while Cells::new(&layout(&counts)).is_err() {
        let count = &mut counts[turn % 3][turn / 3 % 4];
        *count = count.saturating_sub(1);
        turn += 1;
    }
    counts
}

fn healthy(layout: &Layout) -> Cells {
    let mut cells = Cells::new(layout).expect("everybody can have theirs").steady();
    for node in 0..cells.nodes().len() as u32 {
        cells.set_healthy(node);
    }
    cells
}

/// A gang of a cluster.
#[derive(Clone, Copy, Debug)]
struct Gang {
    cluster: usize,
    priority: i32,
    pods: u32,
    leaves: u32,
    lazy: bool,
}

/// Ask for a gang and, where it can go, let it; whoever is in the way goes. Returns whether it is
/// there, and who had to go.
fn start(cells: &mut Cells, id: u32, gang: Gang) -> Option<Vec<u32>> {
    let (cluster, members) = (gang.cluster.to_string(), [(gang.pods, gang.leaves)]);
    let request = Request {
        cluster: &cluster,
        priority: gang.priority,
        lazy: gang.lazy,
        pinned: None,
        leaf_type: None,
        chain: None,
        gang: id,
        members: &members,
        pod: 0,
        leaves: gang.leaves,
    };
    let mut victims = Vec::new();
    let mut answer = cells.schedule(&request, None, Phase::Preempting).ok()?;
    if let Answer::Preempt(gangs) = answer {
        gangs.iter().for_each(|gang| cells.leave(*gang));
        victims = gangs;
        answer = cells.schedule(&request, None, Phase::Preempting).ok()?;
    }
    match answer {
        Answer::Bind(binding) => {
            cells.enter(&request, &binding);
            Some(victims)
        }
        _ => None,
    }
}

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    Ask(Gang),
    /// The gang at this part of those there, in 2⁻¹⁶, ends.
    End(u16),
    Break(u32),
    Repair(u32),
}

fn step(failures: bool) -> impl Strategy<Value = Step> {
    let sizes = prop_oneof![
        Just((1u32, 1u32)),
        Just((1, 2)),
        Just((1, 3)),
        Just((1, 4)),
        Just((2, 4)),
        Just((2, 2)),
        Just((3, 4))
    ];
    let gang = (0usize..3, -1i32..3, sizes, any::<bool>()).prop_map(
        |(cluster, priority, (pods, leaves), lazy)| {
            Step::Ask(Gang { cluster, priority, pods, leaves, lazy })
        },
    );
    let weight = u32::from(failures);
    prop_oneof![
        6 => gang,
        3 => any::<u16>().prop_map(Step::End),
        weight => (0..2 * RACKS).prop_map(Step::Break),
        weight => (0..2 * RACKS).prop_map(Step::Repair),
    ]
}

fn clusters() -> impl Strategy<Value = Vec<[u32; 4]>> {
    let counts = (0u32..4, 0u32..3, 0u32..3, 0u32..2);
    let one = counts.prop_map(|(gpus, pairs, nodes, racks)| [gpus, pairs, nodes, racks]);
    prop::collection::vec(one, 3..=3).prop_map(cut)
}

fn nth(cells: &Cells, part: u16) -> Option<u32> {
    let ids: Vec<u32> = cells.gangs().map(|(id, _)| id).collect();
    let index = (usize::from(part) * ids.len()) >> 16;
    ids.get(index).copied()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Every cluster also has a copy of the cells to itself, in which only its own gangs with a
    /// guarantee are. Whenever one starts there, it starts in the shared cells, too; and there only
    /// gangs without a guarantee, or of lower priority in the same cluster, have to go for it.
    #[test]
    fn whoever_can_start_alone_can_start_here(
        counts in clusters(),
        steps in prop::collection::vec(step(false), 1..60),
    ) {
        let mut shared = healthy(&layout(&counts));
        let mut alone = vec![shared.clone(); counts.len()];
        let mut gangs: Vec<Gang> = Vec::new();
        for step in steps {
            match step {
                Step::Ask(gang) => {
                    let id = gangs.len() as u32;
                    gangs.push(gang);
                    let before = shared.clone();
                    let here = start(&mut shared, id, gang);
                    if gang.priority >= 0 {
                        let there = start(&mut alone[gang.cluster], id, gang);
                        prop_assert_eq!(here.is_some(), there.is_some(), "{:?}", gang);
                    }
                    for victim in here.into_iter().flatten() {
                        let lost = gangs[victim as usize];
                        let was = before.gang(victim).expect("it was there");
                        let own = lost.cluster == gang.cluster && lost.priority < gang.priority;
                        prop_assert!(!was.is_guaranteed() || own, "{:?} for {:?}", lost, gang);
                    }
                }
                Step::End(part) => {
                    if let Some(id) = nth(&shared, part) {
                        shared.leave(id);
                        alone[gangs[id as usize].cluster].leave(id);
                    }
                }
                Step::Break(_) | Step::Repair(_) => {}
            }
            prop_assert_eq!(shared.audit(), Ok(()));
            prop_assert!(shared.is_safe());
        }
    }

    /// Nodes break and are repaired at any time. Nobody is sent to a node that is broken, the books
    /// stay right, and when all is repaired and everybody gone, every cluster can have all it owns.
    #[test]
    fn cells_survive_failures(
        counts in clusters(),
        steps in prop::collection::vec(step(true), 1..80),
    ) {
        let mut cells = healthy(&layout(&counts));
        let mut bad = [false; 2 * RACKS as usize];
        for (id, step) in steps.into_iter().enumerate() {
            match step {
                Step::Ask(gang) => {
                    start(&mut cells, id as u32, gang);
                    for (node, bad) in bad.iter().enumerate() {
                        let used_by = |slot| cells.used_by(&format!("n{node}"), slot);
                        let used = (0..4).any(|slot| used_by(slot) == Some(id as u32));
                        prop_assert!(!(used && *bad), "{:?} on a broken node", gang);
                    }
                }
                Step::End(part) => {
                    if let Some(id) = nth(&cells, part) {
                        cells.leave(id);
                    }
                }
                Step::Break(node) => {
                    cells.set_bad(node);
                    bad[node as usize] = true;
                }
                Step::Repair(node) => {
                    cells.set_healthy(node);
                    bad[node as usize] = false;
                }
            }
            prop_assert_eq!(cells.audit(), Ok(()));
            prop_assert!(cells.is_safe() || bad.contains(&true));
        }
        (0..2 * RACKS).for_each(|node| cells.set_healthy(node));
        let ids: Vec<u32> = cells.gangs().map(|(id, _)| id).collect();
        ids.into_iter().for_each(|id| cells.leave(id));
        prop_assert_eq!(cells.audit(), Ok(()));
        let mut id = 1000;
        for (cluster, counts) in counts.iter().enumerate() {
            // Whole cells from the largest down, each filled by one gang.
            for (level, (_, leaves)) in LEVELS.iter().enumerate().rev() {
                for _ in 0..counts[level] {
                    let (pods, leaves) = (leaves.div_ceil(4), (*leaves).min(4));
                    let gang = Gang { cluster, priority: 0, pods, leaves, lazy: false };
                    let started = start(&mut cells, id, gang);
                    prop_assert!(started.is_some(), "{:?} of {:?}", gang, counts);
                    id += 1;
                }
            }
        }
    }
}
