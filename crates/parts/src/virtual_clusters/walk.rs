//! One decision: jobs with a guarantee first, by priority and then in order, each asking the cells
//! of its tenant; then the others, for what is left. Goes on until nobody more can start, so that
//! deciding again changes nothing.

use super::describe::{Described, NOBODY, cluster_name};
use super::{Standing, VirtualClusters};
use crate::cells::{Answer, Binding, Cells, OPPORTUNISTIC, PRIORITY_MAX, Phase, Request, Shortage};
use crate::place::{Fit, Racks, Remainder, why_not};
use heeler_engine::{Draft, Fleet, Grip, Job, Pick, Place, View, Want};
use heeler_model::{
    Assignment, Demand, JobId, NodeId, Placement, Plan, Reach, Reason, Run, Slice, Slots, Stop,
    TenantId, Tier, Wait,
};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// One way to try: a sort of nodes, the pods there, and the nodes to keep to.
struct Try {
    sort: usize,
    pods: Vec<(u32, u32)>,
    nodes: Option<BTreeSet<u32>>,
}

/// A decision in the making.
pub(super) struct Walk<'a> {
    policy: &'a VirtualClusters,
    described: &'a Described,
    cells: &'a mut Cells,
    view: &'a View<'a>,
    draft: Draft<'a>,
    plan: Plan,
    /// Jobs that start by this plan.
    starts: BTreeSet<JobId>,
    /// Jobs that were only promised GPUs and lose them by this plan: they may have others.
    displaced: BTreeSet<JobId>,
    /// What each tenant is given by this plan, thousandths of GPUs.
    extra_milli: BTreeMap<TenantId, i64>,
}

/// Jobs that are alike to this walk.
type Class = (TenantId, bool, i32, heeler_engine::DemandId);

impl<'a> Walk<'a> {
    pub(super) fn new(
        policy: &'a VirtualClusters,
        described: &'a Described,
        cells: &'a mut Cells,
        view: &'a View<'a>,
    ) -> Walk<'a> {
        Walk {
            policy,
            described,
            cells,
            view,
            draft: view.state().draft(),
            plan: Plan::none(),
            starts: BTreeSet::new(),
            displaced: BTreeSet::new(),
            extra_milli: BTreeMap::new(),
        }
    }

    pub(super) fn plan(mut self) -> Plan {
        while self.pass() {}
        self.plan
    }

    /// Ask for everybody who waits. Says whether somebody started.
    fn pass(&mut self) -> bool {
        self.plan.wait.clear();
        let mut in_vain: BTreeMap<Class, Reason> = BTreeMap::new();
        let mut blocked: BTreeMap<Option<TenantId>, (JobId, u32)> = BTreeMap::new();
        let mut started = false;
        let policy = self.policy;
        for seat in &policy.queue {
            let job = self.view.job(seat.job);
            let displaced = self.displaced.contains(&job.id);
            if self.starts.contains(&job.id) || (job.is_placed() && !displaced) {
                continue;
            }
            let by_right = seat.standing.is_some_and(|standing| standing.by_right);
            let class = (job.spec.tenant, by_right, job.spec.priority, job.demand);
            let line = self.view.tenants().guarantor(job.spec.tenant).filter(|_| by_right);
            let known = in_vain.get(&class).copied();
            let reason = match (seat.standing, known, blocked.get_mut(&line)) {
                (None, ..) => Reason::NoSuchCell { need: job.spec.demand.asked() },
                (_, _, Some((first, ahead))) if policy.strict => {
                    *ahead += 1;
                    Reason::Behind { ahead: *ahead, first: *first }
                }
                (_, Some(reason), _) => reason,
                (Some(standing), ..) => match self.start(job, standing) {
                    Ok(()) => {
                        started = true;
                        continue;
                    }
                    Err(reason) => reason,
                },
            };
            if reason.tier() == Tier::Turn {
                blocked.entry(line).or_insert((job.id, 0));
            }
            // Whoever is displaced is told by whom, and others of its class why they wait.
            if displaced {
                continue;
            }
            in_vain.insert(class, reason);
            if known.is_none() || self.view.wants_all_verdicts() {
                self.plan.wait.push(Wait { job: job.id, reason });
            }
        }
        started
    }

    fn start(&mut self, job: &Job, standing: Standing) -> Result<(), Reason> {
        let milli = i64::from(standing.gpus) * i64::from(job.spec.demand.share.0);
        let tenants = self.view.tenants();
        let used = |tenant: TenantId| {
            tenants.usage(tenant).milli as i64 + self.extra_milli.get(&tenant).copied().unwrap_or(0)
        };
        tenants.within_limits(job.spec.tenant, milli, used)?;
        let demand = Demand {
            sizes: heeler_model::Sizes { asked: standing.gpus, ..job.spec.demand.sizes },
            ..job.spec.demand
        };
        let want = Want {
            gpus: standing.gpus,
            demand,
            skewed: job.spec.skewed,
            insists: job.spec.demand.reach,
        };
        let placement = match standing.gpus {
            // Jobs without GPUs use no cells.
            0 => {
                let remainder = Remainder::AsPicked;
                let fit =
                    Fit { pick: Pick::Tightest, remainder, relax: false, racks: Racks::Fullest };
                fit.place(&want, &self.draft, self.view)?
            }
            _ => self.in_cells(job, standing, &want)?,
        };
        self.draft.claim(&placement, Grip::from(&demand));
        self.book(job.spec.tenant, milli);
        let assignment = want.met_by(placement);
        self.starts.insert(job.id);
        self.plan.stop.retain(|stop| stop.job != job.id);
        self.plan.run.push(Run { job: job.id, assignment, lease: None });
        Ok(())
    }

    fn book(&mut self, tenant: TenantId, milli: i64) {
        for tenant in self.view.tenants().lineage(tenant) {
            *self.extra_milli.entry(tenant).or_default() += milli;
        }
    }

    /// GPUs for a job, in its tenant's cells or in what others leave.
    fn in_cells(
        &mut self,
        job: &Job,
        standing: Standing,
        want: &Want,
    ) -> Result<Placement, Reason> {
        let owner = self.view.tenants().guarantor(job.spec.tenant).filter(|_| standing.by_right);
        let (cluster, priority) = match owner {
            Some(owner) => (cluster_name(owner), job.spec.priority.clamp(0, PRIORITY_MAX)),
            None => (NOBODY.to_string(), OPPORTUNISTIC),
        };
        let mut shortage = Shortage::TooFewCells;
        for way in self.ways(&job.spec.demand, standing.gpus) {
            let request = Request {
                cluster: &cluster,
                priority,
                lazy: self.policy.lazy,
                pinned: None,
                leaf_type: None,
                chain: Some(&self.described.sorts[way.sort].chain),
                gang: job.id.0,
                members: &way.pods,
                pod: 0,
                leaves: way.pods[0].1,
            };
            match self.ask(&request, way.nodes.as_ref(), job, Grip::from(&want.demand)) {
                Ok(placement) => return Ok(placement),
                Err(Shortage::TooFewCells) => {}
                Err(other) => shortage = other,
            }
        }
        let need = standing.gpus;
        Err(match (owner, shortage) {
            (Some(tenant), Shortage::TooFewCells) => Reason::CellsTaken { tenant, need },
            (Some(tenant), Shortage::BadNode(_) | Shortage::Unmapped) => {
                Reason::CellsBad { tenant, need }
            }
            _ => why_not(want, &self.draft),
        })
    }

    /// All ways to try for a demand, best first.
    fn ways(&self, demand: &Demand, gpus: u32) -> Vec<Try> {
        let mut ways = Vec::new();
        for (sort, pods) in fitting(self.described, demand, gpus, &self.draft) {
            let of = &self.described.sorts[sort];
            let able = self.able(demand, pods[0].1, &of.racks);
            for nodes in of.node_sets(demand, gpus) {
                let both = able.as_ref().map(|able| nodes.map_or(able.clone(), |set| able & set));
                // First where CPUs and memory are free as it is.
                if both.is_some() {
                    ways.push(Try { sort, pods: pods.clone(), nodes: both });
                }
                ways.push(Try { sort, pods: pods.clone(), nodes: nodes.cloned() });
            }
        }
        ways
    }

    /// Nodes with the CPUs and memory for a pod, where some have not.
    fn able(&self, demand: &Demand, gpus: u32, racks: &[BTreeSet<u32>]) -> Option<BTreeSet<u32>> {
        if demand.cpu_milli == 0 && demand.memory_mb == 0 {
            return None;
        }
        let all = |each: u32| each.saturating_mul(gpus);
        let (cpu_milli, memory_mb) = (all(demand.cpu_milli), all(demand.memory_mb));
        let grip = Grip { cpu_milli, memory_mb, ..Grip::NOTHING };
        let offers = |node: &&u32| self.draft.offers(self.described.nodes[**node as usize], grip);
        let able: BTreeSet<u32> = racks.iter().flatten().filter(offers).copied().collect();
        let nodes: usize = racks.iter().map(BTreeSet::len).sum();
        (able.len() < nodes).then_some(able)
    }

    /// Ask the cells one way, and make room.
    fn ask(
        &mut self,
        request: &Request,
        nodes: Option<&BTreeSet<u32>>,
        job: &Job,
        grip: Grip,
    ) -> Result<Placement, Shortage> {
        // Cells know nothing of CPUs and memory; if those do not suffice, all is as it was.
        let beside = grip.cpu_milli > 0 || grip.memory_mb > 0;
        let before = beside.then(|| self.cells.clone());
        let savepoint = self.draft.savepoint();
        let (binding, victims) = bind(self.cells, request, nodes)?;
        for victim in &victims {
            if let Some(on) = self.on(JobId(*victim)) {
                let demand = &self.view.job(JobId(*victim)).spec.demand;
                self.draft.release(&on.placement, Grip::from(demand));
            }
        }
        let placement = placement(&binding);
        if !self.draft.has_room_for(&placement, grip) {
            self.draft.back_to(savepoint);
            if let Some(before) = before {
                *self.cells = before;
            } else {
                self.cells.leave(request.gang);
            }
            return Err(Shortage::NotSuggested(String::new()));
        }
        for victim in victims {
            self.displace(JobId(victim), job.id);
        }
        Ok(placement)
    }

    /// What a job has, or is to have by this plan.
    fn on(&self, id: JobId) -> Option<Assignment> {
        let planned = self.plan.run.iter().find(|run| run.job == id);
        let now = self.view.job(id).assignment.as_ref();
        planned.map(|run| &run.assignment).or(now).cloned()
    }

    /// A job gives way to another.
    fn displace(&mut self, id: JobId, by: JobId) {
        let victim = self.view.job(id);
        let milli = self.on(id).map_or(0, |on| on.milli());
        self.book(victim.spec.tenant, -(milli as i64));
        if self.starts.remove(&id) {
            // It was to start by this very plan; whoever stops for it stops for the other.
            self.plan.run.retain(|run| run.job != id);
            for stop in &mut self.plan.stop {
                if stop.reason == (Reason::Displaced { by: id }) {
                    stop.reason = Reason::Displaced { by };
                }
            }
        }
        if victim.is_placed() {
            self.plan.stop.push(Stop { job: id, reason: Reason::Displaced { by } });
        }
        if victim.phase == heeler_engine::Phase::Held {
            self.displaced.insert(id);
        }
    }
}

/// The sorts of nodes that could ever serve a demand, with the pods it would have there.
pub(super) fn fitting(
    described: &Described,
    demand: &Demand,
    gpus: u32,
    fleet: &Fleet,
) -> Vec<(usize, Vec<(u32, u32)>)> {
    let serves = |sort: &super::describe::Sort| {
        let pod = gpus.min(sort.node_gpus);
        demand.kinds.contains(sort.kind)
            && demand.gpu_memory_mb <= fleet.memory_of(sort.kind)
            && (demand.reach != Reach::Node || gpus <= sort.node_gpus)
            && sort.serves(pod, demand.cpu_milli, demand.memory_mb)
    };
    let sorts = described.sorts.iter().enumerate().filter(|(_, sort)| serves(sort));
    sorts.map(|(number, sort)| (number, sort.pods(gpus))).collect()
}

/// Where the cells let a gang go, who has gone for that, and the gang has entered.
fn bind(
    cells: &mut Cells,
    request: &Request,
    nodes: Option<&BTreeSet<u32>>,
) -> Result<(Binding, Vec<u32>), Shortage> {
    let refused = |_| Shortage::TooFewCells;
    let mut answer = cells.schedule(request, nodes, Phase::Preempting).map_err(refused)?;
    let mut victims = Vec::new();
    if let Answer::Preempt(gangs) = answer {
        for gang in &gangs {
            cells.leave(*gang);
        }
        victims = gangs;
        // Those who gave way may have been on nodes that are bad by now; that does not matter.
        answer = cells.schedule(request, nodes, Phase::Filtering).map_err(refused)?;
    }
    match answer {
        Answer::Bind(binding) => {
            cells.enter(request, &binding);
            Ok((binding, victims))
        }
        Answer::Wait(shortage) => Err(shortage),
        Answer::Preempt(_) => Err(Shortage::Unmapped),
    }
}

fn placement(binding: &Binding) -> Placement {
    let mut slots: BTreeMap<NodeId, Slots> = BTreeMap::new();
    for pod in &binding.pods {
        let node = NodeId(pod.node.parse().expect("nodes were named by number"));
        let of_node = slots.entry(node).or_default();
        *of_node = pod.slots.iter().fold(*of_node, |all, slot| all.or(Slots::one(*slot)));
    }
    let slices: SmallVec<[Slice; 1]> =
        slots.into_iter().map(|(node, slots)| Slice { node, slots }).collect();
    Placement::new(slices)
}
