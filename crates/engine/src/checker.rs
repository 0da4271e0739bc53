//! Checks a plan before it is carried out, with code that shares nothing with the code that made
//! it: capacity, whole gangs, limits, and that nobody is stopped for nothing.

use crate::fleet::Grip;
use crate::state::{Job, State};
use heeler_model::{JobId, NodeId, Plan, Reach, Reason, Scope, TenantId};
use smallvec::SmallVec;
use std::fmt;

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It names a job that is done or was never submitted.
    NoSuchJob(JobId),
    /// It names a job twice.
    NamedTwice(JobId),
    /// It gives a job a number of GPUs, a kind, a share or a spread the job cannot use.
    NotAsAsked(JobId),
    /// It uses a node that is down, or a slot that the node does not have.
    NoSuchGpu(JobId),
    /// A GPU would be used beyond its thousandths.
    GpuOverfull(NodeId, u32),
    /// A GPU's memory, or a node's CPUs or memory, would not suffice.
    NodeOverfull(NodeId),
    /// A tenant would go beyond its limit.
    OverLimit(TenantId),
    /// It stops a job that has nothing, or for one that does not start.
    StoppedForNothing(JobId),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoSuchJob(job) => write!(f, "job {job} is not there"),
            Fault::NamedTwice(job) => write!(f, "job {job} is named twice"),
            Fault::NotAsAsked(job) => write!(f, "job {job} cannot run on what it is given"),
            Fault::NoSuchGpu(job) => write!(f, "job {job} is given GPUs that are not there"),
            Fault::GpuOverfull(node, slot) => write!(f, "GPU {slot} of n{node} is overfull"),
            Fault::NodeOverfull(node) => write!(f, "memory or CPUs of n{node} do not suffice"),
            Fault::OverLimit(tenant) => write!(f, "tenant {tenant} goes beyond its limit"),
            Fault::StoppedForNothing(job) => write!(f, "job {job} is stopped for nothing"),
        }
    }
}

/// Whether a plan may be carried out. A policy that packs may give jobs less of a GPU than they
/// asked for.
pub fn check(state: &State, plan: &Plan, packs: bool) -> Result<(), Fault> {
    let stops = || plan.stop.iter().chain(&plan.end);
    if plan.run.is_empty() && stops().next().is_none() && plan.scope == Scope::Changes {
        return Ok(());
    }
    let runs = plan.run.iter().map(|run| run.job);
    let mut named: Vec<JobId> = runs.clone().chain(stops().map(|stop| stop.job)).collect();
    if let Some(job) = named.iter().find(|job| state.jobs().get(**job).is_none()) {
        return Err(Fault::NoSuchJob(*job));
    }
    named.sort_unstable();
    if let Some(twice) = named.windows(2).find(|two| two[0] == two[1]) {
        return Err(Fault::NamedTwice(twice[0]));
    }
    let mut starting: Vec<JobId> = runs.collect();
    starting.sort_unstable();
    for stop in &plan.stop {
        let benefits = match stop.reason {
            Reason::Displaced { by } => starting.binary_search(&by).is_ok(),
            _ => true,
        };
        if !state.job(stop.job).is_placed() || !benefits {
            return Err(Fault::StoppedForNothing(stop.job));
        }
    }
    for run in &plan.run {
        as_asked(state, state.job(run.job), &run.assignment, packs)?;
    }
    Balance::of(state, plan, &named).check(state)
}

/// Whether a job can run on an assignment at all.
fn as_asked(
    state: &State,
    job: &Job,
    to: &heeler_model::Assignment,
    packs: bool,
) -> Result<(), Fault> {
    let demand = &job.spec.demand;
    let fleet = state.fleet();
    let nodes = &fleet.cluster().nodes;
    // Nodes that are closed to new jobs let those that are there go on.
    let stays = job.assignment.as_ref() == Some(to);
    let slices = to.placement.slices();
    let mut seen: SmallVec<[NodeId; 4]> = slices.iter().map(|slice| slice.node).collect();
    seen.sort_unstable();
    if seen.windows(2).any(|two| two[0] == two[1]) {
        return Err(Fault::NoSuchGpu(job.id));
    }
    for slice in slices {
        let node = nodes.get(slice.node.index()).ok_or(Fault::NoSuchGpu(job.id))?;
        let open = stays || fleet.is_up(slice.node);
        let there = open && slice.slots.without(node.slots()).is_empty();
        if !there {
            return Err(Fault::NoSuchGpu(job.id));
        }
        if !demand.kinds.contains(node.kind) || (slice.slots.is_empty() && demand.asked() > 0) {
            return Err(Fault::NotAsAsked(job.id));
        }
    }
    let mut racks = slices.iter().map(|slice| nodes[slice.node.index()].rack);
    let within_reach = match demand.reach {
        Reach::Cluster => true,
        Reach::Rack => racks.next().is_none_or(|first| racks.all(|rack| rack == first)),
        Reach::Node => to.placement.nodes() <= 1,
    };
    for slice in to.placement.slices() {
        let left = fleet.memory_of(fleet.kind_of(slice.node));
        if demand.gpu_memory_mb > left {
            return Err(Fault::NodeOverfull(slice.node));
        }
    }
    let size = demand.sizes.admits(to.gpus()) && to.placement.nodes() > 0;
    let packed = packs && to.share.0 > 0 && to.share < demand.share;
    // What is given beside GPUs may be more than was asked for, never less.
    let fed = to.portion.is_none_or(|portion| portion.covers(demand.portion()));
    if !size || !within_reach || !fed || !(packed || to.share == demand.share) {
        return Err(Fault::NotAsAsked(job.id));
    }
    Ok(())
}

/// What a plan takes and gives of GPUs, nodes and tenants, one thing after another.
#[derive(Default)]
struct Balance {
    gpus: Vec<((NodeId, u32), Sums)>,
    nodes: Vec<(NodeId, Sums)>,
    tenants: Vec<(TenantId, Sums)>,
}

/// Thousandths or CPUs, and memory.
#[derive(Clone, Copy, Default)]
struct Sums {
    amount: i64,
    memory: i64,
}

/// What was taken and given of each, by what it is of.
fn sums<K: Ord + Copy>(mut changes: Vec<(K, Sums)>) -> Vec<(K, Sums)> {
    changes.sort_unstable_by_key(|(of, _)| *of);
    changes.dedup_by(|(of, more), (before, sums)| {
        let same = of == before;
        if same {
            sums.amount += more.amount;
            sums.memory += more.memory;
        }
        same
    });
    changes
}

impl Balance {
    /// `named` are all jobs that the plan names, in order.
    fn of(state: &State, plan: &Plan, named: &[JobId]) -> Balance {
        let mut balance = Balance::default();
        if plan.scope == Scope::Whole {
            let unnamed = |job: &&Job| named.binary_search(&job.id).is_err();
            for job in state.jobs().iter().filter(|job| job.is_placed()).filter(unnamed) {
                balance.add_current(state, job, -1);
            }
        }
        for stop in plan.stop.iter().chain(&plan.end) {
            balance.add_current(state, state.job(stop.job), -1);
        }
        for run in &plan.run {
            let job = state.job(run.job);
            // Who goes on as it is takes what it gives.
            if job.assignment.as_ref() != Some(&run.assignment) {
                balance.add_current(state, job, -1);
                balance.add(state, job, &run.assignment, 1);
            }
        }
        balance
    }

    fn add_current(&mut self, state: &State, job: &Job, sign: i64) {
        if let Some(assignment) = &job.assignment {
            self.add(state, job, assignment, sign);
        }
    }

    fn add(&mut self, state: &State, job: &Job, to: &heeler_model::Assignment, sign: i64) {
        let demand = &job.spec.demand;
        let beside = to.portion.unwrap_or(demand.portion());
        let sums = |times: i64, amount: u32, memory: u32| Sums {
            amount: times * i64::from(amount),
            memory: times * i64::from(memory),
        };
        for slice in to.placement.slices() {
            let each = sums(sign, to.share.0, demand.gpu_memory_mb);
            self.gpus.extend(slice.slots.iter().map(|slot| ((slice.node, slot), each)));
            let times = sign * i64::from(slice.slots.count().max(1));
            self.nodes.push((slice.node, sums(times, beside.cpu_milli, beside.memory_mb)));
        }
        let used = Sums { amount: sign * to.milli() as i64, memory: 0 };
        let lineage = state.tenants().lineage(job.spec.tenant);
        self.tenants.extend(lineage.map(|tenant| (tenant, used)));
    }

    fn check(self, state: &State) -> Result<(), Fault> {
        let fleet = state.fleet();
        for ((node, slot), more) in sums(self.gpus) {
            let left = i64::from(fleet.left_of(node, slot));
            if more.amount > left {
                return Err(Fault::GpuOverfull(node, slot));
            }
            if more.memory > 0 && more.memory > fleet.gpu_memory_left(node, slot) {
                return Err(Fault::NodeOverfull(node));
            }
        }
        for (node, more) in sums(self.nodes) {
            let one = |cpu_milli, memory_mb| Grip { cpu_milli, memory_mb, ..Grip::NOTHING };
            let cpu = more.amount.max(0) as u32;
            let memory = more.memory.max(0) as u32;
            if !fleet.offers(node, one(cpu, memory)) {
                return Err(Fault::NodeOverfull(node));
            }
        }
        for (tenant, more) in sums(self.tenants) {
            let Some(limit) = state.tenants().spec(tenant).limit else { continue };
            let used = state.tenants().usage(tenant).milli as i64 + more.amount;
            if more.amount > 0 && used > i64::from(limit) * 1000 {
                return Err(Fault::OverLimit(tenant));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;
    use heeler_model::{Assignment, Cluster, Demand, JobSpec, Milli, Placement, Portion, Slots};
    use std::sync::Arc;

    /// Two jobs that asked for the one whole GPU, each with half of it.
    fn halves(gpu_memory_mb: u32) -> (State, Plan) {
        let mut cluster = Cluster::uniform(1, 1);
        cluster.kinds[0].memory_mb = 16_000;
        let mut state = State::new(Arc::new(cluster), Rules::default(), 1);
        let mut plan = Plan::none();
        for job in [JobId(0), JobId(1)] {
            let demand = Demand { gpu_memory_mb, ..Demand::gpus(1) };
            assert!(state.admit(job, JobSpec::new(demand)));
            let placement = Placement::on(NodeId(0), Slots::one(0));
            plan.start(job, Assignment::new(placement, Milli(500)));
        }
        (state, plan)
    }

    #[test]
    fn only_who_packs_gives_less_than_asked_and_memory_must_fit() {
        let (state, plan) = halves(8_000);
        assert_eq!(check(&state, &plan, true), Ok(()));
        assert_eq!(check(&state, &plan, false), Err(Fault::NotAsAsked(JobId(0))));
        let (state, plan) = halves(8_001);
        assert_eq!(check(&state, &plan, true), Err(Fault::NodeOverfull(NodeId(0))));
    }

    #[test]
    fn what_is_beside_gpus_is_counted_as_given_and_never_less_than_asked() {
        let mut cluster = Cluster::uniform(1, 2);
        (cluster.nodes[0].cpu_milli, cluster.nodes[0].memory_mb) = (8_000, 1_000);
        let mut state = State::new(Arc::new(cluster), Rules::default(), 1);
        let given = |cpus: [u32; 2]| {
            let mut plan = Plan::none();
            for (job, cpu_milli) in [0, 1].into_iter().zip(cpus) {
                let placement = Placement::on(NodeId(0), Slots::one(job));
                let portion = Some(Portion { cpu_milli, memory_mb: 500 });
                let on = Assignment { portion, ..Assignment::whole(placement) };
                plan.start(JobId(job), on);
            }
            plan
        };
        for job in [JobId(0), JobId(1)] {
            let demand = Demand { cpu_milli: 2_000, ..Demand::gpus(1) };
            assert!(state.admit(job, JobSpec::new(demand)));
        }
        assert_eq!(check(&state, &given([6_000, 2_000]), false), Ok(()));
        let overfull = Err(Fault::NodeOverfull(NodeId(0)));
        assert_eq!(check(&state, &given([6_000, 2_001]), false), overfull);
        let starved = Err(Fault::NotAsAsked(JobId(1)));
        assert_eq!(check(&state, &given([2_000, 1_999]), false), starved);
    }
}
