//! From what people count in (GPUs or CPU cores on each node, for each task, in all) to what a
//! submission says: GPUs in all, and CPU and memory beside each of them.

use super::Wrong;
use super::wish::Wish;
use crate::{Gpus, Ranks};

/// What a job needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Needs {
    pub(super) gpus: Gpus,
    pub(super) nodes: Option<u32>,
    pub(super) ranks: Ranks,
    pub(super) cpu_milli: u32,
    pub(super) memory_mb: u32,
}

/// Work out what a job needs. Whether it is a script decides what `--ntasks` means: Slurm starts
/// a script once, and `srun` in it the tasks; without a script it is the command that is started.
pub(super) fn needs(wish: &Wish, is_script: bool) -> Result<Needs, Wrong> {
    let (count, nodes) = gpus(wish)?;
    let tasks = tasks(wish, nodes)?;
    let ranks = ranks(wish, is_script, tasks, count, nodes)?;
    let cpus = cpus(wish, tasks, ranks, count, nodes)?;
    let beside = count.max(1);
    let cpu_milli = match wish.cpus_per_gpu {
        Some(cpus) => times(cpus, 1000, "cpus-per-gpu")?,
        None => times(cpus, 1000, "cpus-per-task")? / beside,
    };
    let memory_mb = match (wish.mem_per_gpu, wish.mem_per_cpu, wish.mem) {
        (Some(mb), _, _) => mb,
        (None, Some(mb), _) => times(mb, cpus.max(1), "mem-per-cpu")?.div_ceil(beside),
        (None, None, Some(mb)) => times(mb, nodes.unwrap_or(1), "mem")?.div_ceil(beside),
        (None, None, None) => 0,
    };
    let gpus = Gpus {
        count,
        min: wish.min_gpus,
        max: wish.max_gpus,
        kinds: kinds(wish),
        share: wish.share_milli,
        memory_mb: wish.gpu_memory_mb.unwrap_or(0),
    };
    Ok(Needs { gpus, nodes, ranks, cpu_milli, memory_mb })
}

fn times(a: u32, b: u32, flag: &str) -> Result<u32, Wrong> {
    a.checked_mul(b).ok_or_else(|| Wrong::new("is more than any machine has").about(dashed(flag)))
}

fn dashed(flag: &str) -> String {
    format!("--{flag}")
}

fn kinds(wish: &Wish) -> Vec<String> {
    let named = [&wish.gpus, &wish.per_node, &wish.per_task];
    let named = named.into_iter().flatten().filter_map(|(kind, _)| kind.clone());
    let mut kinds: Vec<String> = named.chain(wish.kinds.iter().cloned()).collect();
    kinds.dedup();
    kinds
}

/// GPUs in all, and the nodes they must be spread over.
fn gpus(wish: &Wish) -> Result<(u32, Option<u32>), Wrong> {
    let per_node = wish.per_node.as_ref().map(|(_, count)| *count);
    let (count, nodes) = match (&wish.gpus, per_node, &wish.per_task) {
        (Some((_, count)), Some(0), _) | (Some((_, count)), None, _) => (*count, wish.nodes),
        (Some((_, count)), Some(each), _) => {
            if !count.is_multiple_of(each) {
                let message = format!("{count} GPUs cannot be {each} on each node");
                return Err(Wrong::new(message).about("--gpus-per-node"));
            }
            let nodes = count / each;
            if wish.nodes.is_some_and(|said| said != nodes) {
                let message = format!("{count} GPUs with {each} on each node are {nodes} nodes");
                return Err(Wrong::new(message).about("--nodes"));
            }
            (*count, Some(nodes))
        }
        (None, Some(each), _) => {
            (times(each, wish.nodes.unwrap_or(1), "gpus-per-node")?, wish.nodes.or(Some(1)))
        }
        (None, None, Some((_, each))) => {
            let tasks = tasks(wish, wish.nodes)?.unwrap_or(1);
            (times(*each, tasks, "gpus-per-task")?, wish.nodes)
        }
        (None, None, None) => (implied(wish), wish.nodes),
    };
    if let Some(nodes) = nodes.filter(|nodes| count > 0 && !count.is_multiple_of(*nodes)) {
        let message = format!("{count} GPUs cannot be spread evenly over {nodes} nodes");
        return Err(Wrong::new(message).about("--nodes").hint("say --gpus-per-node"));
    }
    in_range(wish, count)?;
    Ok((count, nodes.filter(|_| count > 0 || wish.nodes.is_some())))
}

/// GPUs of a job that does not say how many, but something about them.
fn implied(wish: &Wish) -> u32 {
    let one = wish.share_milli.is_some() || wish.gpu_memory_mb.is_some() || !wish.kinds.is_empty();
    wish.min_gpus.or(wish.max_gpus).unwrap_or(u32::from(one))
}

fn in_range(wish: &Wish, count: u32) -> Result<(), Wrong> {
    if let Some(min) = wish.min_gpus.filter(|min| *min > count) {
        let message = format!("the fewest GPUs, {min}, are more than the {count} asked for");
        return Err(Wrong::new(message).about("--min-gpus"));
    }
    if let Some(max) = wish.max_gpus.filter(|max| *max < count) {
        let message = format!("the most GPUs, {max}, are fewer than the {count} asked for");
        return Err(Wrong::new(message).about("--max-gpus"));
    }
    Ok(())
}

fn tasks(wish: &Wish, nodes: Option<u32>) -> Result<Option<u32>, Wrong> {
    match (wish.tasks, wish.tasks_per_node) {
        (Some(tasks), _) => Ok(Some(tasks)),
        (None, Some(each)) => times(each, nodes.unwrap_or(1), "ntasks-per-node").map(Some),
        (None, None) => Ok(None),
    }
}

fn ranks(
    wish: &Wish,
    is_script: bool,
    tasks: Option<u32>,
    gpus: u32,
    nodes: Option<u32>,
) -> Result<Ranks, Wrong> {
    if let Some(ranks) = wish.ranks {
        return Ok(ranks);
    }
    match tasks {
        _ if is_script => Ok(Ranks::One),
        None | Some(1) => Ok(Ranks::One),
        Some(tasks) if tasks == gpus => Ok(Ranks::PerGpu),
        Some(tasks) if Some(tasks) == nodes => Ok(Ranks::PerNode),
        Some(tasks) => {
            let message = format!(
                "{tasks} processes are neither one, nor one for each node, nor one for each of \
                 {gpus} GPUs"
            );
            let hint = "use --ranks per-gpu or per-node, or let the command start its own";
            Err(Wrong::new(message).about("--ntasks").hint(hint))
        }
    }
}

/// CPU cores in all; zero, if nothing is said.
fn cpus(
    wish: &Wish,
    tasks: Option<u32>,
    ranks: Ranks,
    gpus: u32,
    nodes: Option<u32>,
) -> Result<u32, Wrong> {
    if let Some(cpus) = wish.cpus {
        return times(cpus, nodes.unwrap_or(1), "cpus");
    }
    if let Some(cpus) = wish.cpus_per_gpu {
        return times(cpus, gpus, "cpus-per-gpu");
    }
    let Some(cpus) = wish.cpus_per_task else { return Ok(0) };
    let started = match ranks {
        Ranks::One => 1,
        Ranks::PerNode => nodes.unwrap_or(1),
        Ranks::PerGpu => gpus,
    };
    times(cpus, tasks.unwrap_or(started), "cpus-per-task")
}
