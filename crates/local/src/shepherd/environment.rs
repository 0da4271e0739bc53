//! What a job's processes find in their environment, and how many there are.

use crate::folder::State;
use crate::inventory::Part;
use crate::wire::Brief;
use heeler_backend::{Ranks, Resume};
use std::collections::BTreeMap;
use std::path::Path;

/// Variables by name.
pub(super) type Variables = BTreeMap<String, String>;

/// What is taken over from the shepherd's own environment for jobs of its own user.
const INHERITED: [&str; 11] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "TERM",
    "LD_LIBRARY_PATH",
];
/// Where programs are for somebody whose own path is not known.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Whom a job runs as, if not as its shepherd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Person {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) groups: Vec<u32>,
    pub(super) name: String,
    pub(super) home: String,
    pub(super) shell: String,
}

/// One process to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rank {
    pub(super) rank: usize,
    pub(super) world: usize,
    pub(super) local_rank: usize,
    pub(super) local_world: usize,
    pub(super) node_rank: usize,
    pub(super) node: String,
    pub(super) devices: Vec<u32>,
}

/// The processes of a job, in order.
pub(super) fn ranks(ranks: Ranks, parts: &[Part]) -> Vec<Rank> {
    let gpus: Vec<u32> = parts.iter().flat_map(|part| part.devices.clone()).collect();
    let first = parts.first().map_or_else(|| "localhost".to_owned(), |part| part.node.clone());
    let one = |devices, node| Rank {
        rank: 0,
        world: 1,
        local_rank: 0,
        local_world: 1,
        node_rank: 0,
        node,
        devices,
    };
    let mut all: Vec<Rank> = Vec::new();
    match ranks {
        Ranks::One => all.push(one(gpus, first)),
        // A job on CPUs alone has one process for each of its nodes, or one.
        Ranks::PerGpu if gpus.is_empty() => all.push(one(gpus, first)),
        Ranks::PerNode | Ranks::PerGpu => {
            for (node_rank, part) in parts.iter().enumerate() {
                let count = if ranks == Ranks::PerNode { 1 } else { part.devices.len() };
                for local_rank in 0..count {
                    // All of the job's GPUs there, as launchers have it: scripts take the one of
                    // their local rank.
                    let rank = one(part.devices.clone(), part.node.clone());
                    all.push(Rank { local_rank, local_world: count, node_rank, ..rank });
                }
            }
        }
    }
    let world = all.len();
    for (number, rank) in all.iter_mut().enumerate() {
        (rank.rank, rank.world) = (number, world);
    }
    all
}

/// What all processes of a job find.
pub(super) fn common(
    brief: &Brief,
    person: Option<&Person>,
    socket: &Path,
    port: u16,
) -> Variables {
    let launch = &brief.launch;
    let mut all = Variables::new();
    match person {
        None => {
            let own = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
            all.extend(INHERITED.iter().filter_map(own));
        }
        Some(person) => {
            for (name, value) in [
                ("PATH", USUAL_PATH),
                ("HOME", &person.home),
                ("USER", &person.name),
                ("LOGNAME", &person.name),
                ("SHELL", &person.shell),
            ] {
                all.insert(name.into(), value.into());
            }
        }
    }
    all.entry("PATH".into()).or_insert_with(|| USUAL_PATH.into());
    let checkpoints = State(brief.state.clone()).job(launch.job).join("checkpoint");
    all.insert("HEELER_CHECKPOINT_DIR".into(), checkpoints.display().to_string());
    all.extend(launch.env.clone());
    let mut set = |name: &str, value: String| all.insert(name.to_owned(), value);
    set("HEELER_JOB", launch.job.to_string());
    set("HEELER_NAME", launch.name.clone());
    set("HEELER_USER", launch.user.clone());
    set("HEELER_TENANT", launch.tenant.clone());
    set("HEELER_GENERATION", launch.generation.to_string());
    set("HEELER_RESTARTS", launch.restarts.to_string());
    set("HEELER_RESUME", u8::from(launch.resume != Resume::No).to_string());
    set("HEELER_SOCKET", socket.display().to_string());
    set("HEELER_GPUS", launch.assignment.gpus().to_string());
    let nodes: Vec<&str> = brief.parts.iter().map(|part| part.node.as_str()).collect();
    set("HEELER_NODES", nodes.join(","));
    set("MASTER_ADDR", "127.0.0.1".into());
    set("MASTER_PORT", port.to_string());
    set("CUDA_DEVICE_ORDER", "PCI_BUS_ID".into());
    if let Some((array, task)) = launch.array {
        set("HEELER_ARRAY", array.to_string());
        set("HEELER_TASK", task.to_string());
    }
    all.extend(as_in_slurm(brief));
    all.extend(brief.sharing.clone());
    all
}

/// The same in the words of Slurm, for scripts that come from there.
fn as_in_slurm(brief: &Brief) -> Variables {
    let launch = &brief.launch;
    let nodes: Vec<&str> = brief.parts.iter().map(|part| part.node.as_str()).collect();
    let mut all = Variables::new();
    let mut set = |name: &str, value: String| all.insert(name.to_owned(), value);
    set("SLURM_JOB_ID", launch.job.to_string());
    set("SLURM_JOB_NAME", launch.name.clone());
    set("SLURM_GPUS", launch.assignment.gpus().to_string());
    set("SLURM_JOB_PARTITION", launch.tenant.clone());
    set("SLURM_JOB_NODELIST", nodes.join(","));
    for name in ["SLURM_NNODES", "SLURM_JOB_NUM_NODES"] {
        set(name, nodes.len().max(1).to_string());
    }
    set("SLURM_SUBMIT_DIR", launch.dir.clone());
    if let Some(cores) = cores_of_rank(brief) {
        set("SLURM_CPUS_PER_TASK", cores.to_string());
    }
    if let Some((array, task)) = launch.array {
        set("SLURM_ARRAY_JOB_ID", array.to_string());
        set("SLURM_ARRAY_TASK_ID", task.to_string());
    }
    all
}

/// Whole CPU cores for each process, where a job asked for any.
fn cores_of_rank(brief: &Brief) -> Option<u32> {
    let launch = &brief.launch;
    let milli = launch.cpu_milli.checked_mul(launch.assignment.gpus().max(1))?;
    let processes = ranks(launch.ranks, &brief.parts).len() as u32;
    (milli > 0).then(|| (milli / 1000 / processes.max(1)).max(1))
}

/// What one of them finds beside that.
pub(super) fn of_rank(rank: &Rank, parts: &[Part]) -> Vec<(&'static str, String)> {
    let devices: Vec<String> = rank.devices.iter().map(u32::to_string).collect();
    let here = parts.iter().find(|part| part.node == rank.node);
    let here = here.map_or(0, |part| part.devices.len());
    vec![
        ("RANK", rank.rank.to_string()),
        ("WORLD_SIZE", rank.world.to_string()),
        ("LOCAL_RANK", rank.local_rank.to_string()),
        ("LOCAL_WORLD_SIZE", rank.local_world.to_string()),
        ("NODE_RANK", rank.node_rank.to_string()),
        ("HEELER_NODE", rank.node.clone()),
        ("CUDA_VISIBLE_DEVICES", devices.join(",")),
        ("SLURM_PROCID", rank.rank.to_string()),
        ("SLURM_LOCALID", rank.local_rank.to_string()),
        ("SLURM_NTASKS", rank.world.to_string()),
        ("SLURM_NODEID", rank.node_rank.to_string()),
        ("SLURM_GPUS_ON_NODE", here.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(node: &str, devices: &[u32]) -> Part {
        Part { node: node.into(), devices: devices.to_vec(), uuids: Vec::new() }
    }

    #[test]
    fn ranks_are_numbered_over_nodes() {
        let parts = [part("n0", &[0, 1]), part("n1", &[9])];
        let all = ranks(Ranks::PerGpu, &parts);
        let numbers = |rank: &Rank| (rank.rank, rank.local_rank, rank.local_world, rank.node_rank);
        let found: Vec<_> = all.iter().map(numbers).collect();
        assert_eq!(found, [(0, 0, 2, 0), (1, 1, 2, 0), (2, 0, 1, 1)]);
        assert!(all.iter().all(|rank| rank.world == 3));
        assert_eq!(all[2].devices, [9]);
        assert_eq!(all[1].devices, [0, 1], "its own is the one of its local rank");

        let all = ranks(Ranks::PerNode, &parts);
        let found: Vec<_> = all.iter().map(|rank| rank.devices.clone()).collect();
        assert_eq!(found, [vec![0, 1], vec![9]]);
        assert_eq!(ranks(Ranks::One, &parts)[0].devices, [0, 1, 9]);
    }

    #[test]
    fn jobs_without_gpus_have_processes_too() {
        let parts = [part("n0", &[]), part("n1", &[])];
        assert_eq!(ranks(Ranks::PerNode, &parts).len(), 2);
        assert_eq!(ranks(Ranks::PerGpu, &parts).len(), 1);
        assert_eq!(ranks(Ranks::One, &[]).len(), 1);
    }
}
