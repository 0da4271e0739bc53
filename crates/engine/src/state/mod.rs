//! Everything the engine knows, kept up to date event by event. Nothing here is computed anew for
//! a decision, and nothing is copied.

mod as_asked;
mod clearing;
mod hidden;
mod job;
mod table;
mod tenants;
mod touched;

pub use hidden::Hidden;
pub use job::{DemandId, Job, Leaving, Noted, Phase, Progress, Tempo};
pub use table::JobTable;
pub use tenants::{TenantUse, Tenants};
pub use touched::Touched;

use clearing::Clearing;

use crate::fleet::{Draft, Fleet, Grip};
use crate::rules::Rules;
use heeler_model::{
    Assignment, Cluster, Demand, Generation, JobId, JobSpec, KindSet, NodeId, Placement, Reach,
    Reason, Reservation, Sizes, Time, Transition,
};
use smallvec::SmallVec;
use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of the cluster and of all jobs that are not done.
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) now: Time,
    pub(crate) seed: u64,
    pub(crate) rules: Rules,
    pub(crate) fleet: RefCell<Fleet>,
    pub(crate) jobs: JobTable,
    pub(crate) tenants: Tenants,
    /// Demands by class, and back.
    demands: Vec<Demand>,
    /// The most GPUs a demand could ever have and of which kinds, or why it can never be met, by
    /// class.
    ever: Vec<Result<(u32, KindSet), Reason>>,
    /// Whether a node could ever have all of it, by class.
    on_a_node: Vec<bool>,
    classes: BTreeMap<Demand, DemandId>,
    /// GPUs that jobs told to stop have not given back yet.
    pub(crate) clearing: Clearing,
    /// Jobs promised GPUs that are being cleared.
    pub(crate) held: BTreeMap<JobId, Transition>,
    /// Jobs that have or are promised GPUs of each node.
    on_node: Vec<SmallVec<[JobId; 8]>>,
    /// Nodes on which something changed.
    touched: Touched,
    /// Who waits for whom.
    followers: BTreeMap<JobId, Vec<JobId>>,
    /// GPUs promised ahead by the latest plan.
    pub(crate) reservations: Vec<Reservation>,
    pub(crate) waiting: usize,
    pub(crate) running: usize,
    /// When a decision was taken last.
    pub(crate) decided: Option<Time>,
}

impl State {
    pub(crate) fn new(cluster: Arc<Cluster>, rules: Rules, seed: u64) -> State {
        State {
            now: Time::ZERO,
            seed,
            rules,
            tenants: Tenants::new(&cluster),
            on_node: vec![SmallVec::new(); cluster.nodes.len()],
            touched: Touched::default(),
            fleet: RefCell::new(Fleet::new(cluster)),
            jobs: JobTable::default(),
            demands: Vec::new(),
            ever: Vec::new(),
            on_a_node: Vec::new(),
            classes: BTreeMap::new(),
            clearing: Clearing::default(),
            held: BTreeMap::new(),
            followers: BTreeMap::new(),
            reservations: Vec::new(),
            waiting: 0,
            running: 0,
            decided: None,
        }
    }

    /// The stamp of the latest event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Where the world differs from the plain one.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The seed of all random streams.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// What is free.
    pub fn fleet(&self) -> Ref<'_, Fleet> {
        self.fleet.borrow()
    }

    /// A copy of what is free to try things out on, without copying. Only one at a time.
    pub fn draft(&self) -> Draft<'_> {
        Draft::new(self.fleet.borrow_mut())
    }

    /// Whether one node could have all that a job asks for, were it empty.
    pub fn could_be_on_a_node(&self, job: &Job) -> bool {
        self.on_a_node[job.demand.0 as usize]
    }

    /// The jobs that are not done.
    pub fn jobs(&self) -> &JobTable {
        &self.jobs
    }

    /// A job that is known not to be done.
    pub fn job(&self, id: JobId) -> &Job {
        self.jobs.get(id).expect("the job is not done")
    }

    /// How many jobs are in the queue.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many jobs have GPUs or are promised some.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Whether some job is being stopped.
    pub fn is_clearing(&self) -> bool {
        !self.clearing.is_empty()
    }

    /// The tenants and what they use.
    pub fn tenants(&self) -> &Tenants {
        &self.tenants
    }

    /// GPUs promised ahead by the latest plan.
    pub fn reservations(&self) -> &[Reservation] {
        &self.reservations
    }

    /// Jobs that have or are promised GPUs of a node.
    pub fn on_node(&self, node: NodeId) -> &[JobId] {
        &self.on_node[node.index()]
    }

    /// Nodes of which GPUs came free, in order.
    pub fn touched(&self) -> &Touched {
        &self.touched
    }

    /// The demand of a class.
    pub fn demand(&self, class: DemandId) -> &Demand {
        &self.demands[class.0 as usize]
    }

    pub(crate) fn class_of(&mut self, demand: &Demand) -> DemandId {
        if let Some(class) = self.classes.get(demand) {
            return *class;
        }
        let class = DemandId(self.demands.len() as u32);
        self.demands.push(*demand);
        let fleet = self.fleet.get_mut();
        self.ever.push(fleet.could_ever(demand));
        let sizes = Sizes::rigid(demand.asked());
        let near = Demand { reach: Reach::Node, sizes, ..*demand };
        self.on_a_node.push(fleet.could_ever(&near).is_ok());
        self.classes.insert(*demand, class);
        class
    }

    /// Enter a new job. Says whether it may be considered.
    pub(crate) fn admit(&mut self, id: JobId, mut spec: JobSpec) -> bool {
        assert!(!self.jobs.knows(id), "job numbers are used once and count up");
        let asked = self.class_of(&spec.demand);
        if let Ok((most, kinds)) = self.ever[asked.0 as usize] {
            // Kinds that cannot serve it need not be tried, and an elastic job that asks for more
            // than there is asks for the most it could have.
            spec.demand.kinds = kinds;
            let sizes = &mut spec.demand.sizes;
            if most < sizes.asked {
                let before = sizes.asked;
                sizes.asked = sizes.largest_up_to(most).unwrap_or(sizes.asked);
                // With fewer GPUs it gets on more slowly.
                spec.nominal_pace *= f64::from(sizes.asked) / f64::from(before.max(1));
            }
        }
        let class = self.class_of(&spec.demand);
        let never = self.ever[class.0 as usize].err();
        let mut job = Job::new(id, spec, self.now, class);
        let unfinished: Vec<JobId> = job
            .spec
            .after()
            .iter()
            .copied()
            .filter(|other| !self.jobs.knows(*other) || self.jobs.get(*other).is_some())
            .collect();
        job.after = unfinished.len() as u32;
        if let Some(reason) = never {
            job.note(reason, self.now);
        }
        let ready = never.is_none() && unfinished.is_empty();
        job.phase = if ready { Phase::Waiting } else { Phase::Blocked };
        for other in unfinished {
            self.followers.entry(other).or_default().push(id);
        }
        self.waiting += usize::from(ready);
        self.tenants.joined(job.spec.tenant);
        if ready {
            self.tenants.has_work(job.spec.tenant);
        }
        self.jobs.insert(job);
        ready
    }

    /// Enter a job as it was in a snapshot.
    pub(crate) fn remember(&mut self, job: Job) {
        self.tenants.joined(job.spec.tenant);
        if job.phase != Phase::Blocked {
            self.tenants.has_work(job.spec.tenant);
        }
        if let Some(assignment) = job.assignment.clone() {
            self.tenants.took(job.spec.tenant, assignment.milli());
            self.touch(job.id, &assignment.placement, true);
            self.running += 1;
        }
        self.waiting += usize::from(job.phase == Phase::Waiting);
        for other in job.spec.after().iter().filter(|_| job.phase == Phase::Blocked) {
            self.followers.entry(*other).or_default().push(job.id);
        }
        self.jobs.insert(job);
    }

    /// A job is done: jobs that followed it may be considered now. Returns those.
    pub(crate) fn let_go(&mut self, id: JobId, finished: bool) -> Vec<JobId> {
        let mut ready = Vec::new();
        for follower in self.followers.remove(&id).unwrap_or_default() {
            let now = self.now;
            let Some(job) = self.jobs.get_mut(follower) else { continue };
            if !finished {
                job.note(Reason::NeededJobFailed { job: id }, now);
                continue;
            }
            job.after -= 1;
            if job.after == 0
                && !job.never_runs()
                && job.phase == Phase::Blocked
                && job.held.is_none()
            {
                job.phase = Phase::Waiting;
                job.since = now;
                self.waiting += 1;
                self.tenants.has_work(job.spec.tenant);
                ready.push(follower);
            }
        }
        ready
    }

    /// Give a job GPUs, or promise them if they are being cleared.
    pub(crate) fn place(
        &mut self,
        id: JobId,
        assignment: Assignment,
        lease: Option<Time>,
        transition: Transition,
    ) {
        let grip = Grip::of(&self.job(id).spec.demand, &assignment);
        self.fleet.get_mut().claim_all(&assignment.placement, grip);
        self.touch(id, &assignment.placement, true);
        let job = self.jobs.get_mut(id).expect("the job is not done");
        self.tenants.took(job.spec.tenant, assignment.milli());
        if job.phase == Phase::Waiting {
            self.waiting -= 1;
        }
        self.running += 1;
        job.assignment = Some(assignment);
        job.lease = lease;
        job.generation = job.generation.next();
        if job.phase != Phase::Stopping {
            job.phase = Phase::Held;
        }
        self.held.insert(id, transition);
    }

    /// Take a job's GPUs away: it is told to stop, and they are cleared when it says so.
    pub(crate) fn displace(&mut self, id: JobId) {
        let now = self.now;
        let assignment = self.unclaim(id);
        let job = self.jobs.get_mut(id).expect("the job is not done");
        match job.phase {
            Phase::Running => {
                job.settle(now, &assignment);
                self.clearing.insert(id, assignment.placement, job.generation);
                job.phase = Phase::Stopping;
            }
            // It was only promised GPUs; nothing has to be stopped.
            Phase::Held => {
                job.phase = Phase::Waiting;
                self.waiting += 1;
            }
            // It was on its way elsewhere, and is still being saved.
            Phase::Stopping => {}
            Phase::Waiting | Phase::Blocked => unreachable!("only placed jobs are displaced"),
        }
        job.since = now;
        job.lease = None;
        self.held.remove(&id);
    }

    /// Release what a job has, without a word on what becomes of it.
    pub(crate) fn unclaim(&mut self, id: JobId) -> Assignment {
        let job = self.jobs.get_mut(id).expect("the job is not done");
        let assignment = job.assignment.take().expect("a placed job has an assignment");
        let grip = Grip::of(&job.spec.demand, &assignment);
        self.tenants.gave(job.spec.tenant, assignment.milli());
        self.fleet.get_mut().release_all(&assignment.placement, grip);
        self.touch(id, &assignment.placement, false);
        self.running -= 1;
        assignment
    }

    /// Note who is on which node.
    fn touch(&mut self, id: JobId, placement: &Placement, comes: bool) {
        for slice in placement.slices() {
            let here = &mut self.on_node[slice.node.index()];
            if comes {
                here.push(id);
            } else {
                here.retain(|job| *job != id);
                self.touched.release(slice.node, slice.slots.count());
            }
        }
    }

    /// A promised job gets its GPUs.
    pub(crate) fn begin(&mut self, id: JobId) {
        let now = self.now;
        let job = self.jobs.get_mut(id).expect("the job is not done");
        let spec = &job.spec;
        let part = f64::from(job.gpus().max(1)) / f64::from(spec.demand.asked().max(1));
        job.progress.pace = spec.nominal_pace * part;
        job.progress.from = now;
        job.phase = Phase::Running;
        job.since = now;
        job.started.get_or_insert(now);
    }

    /// Whether the GPUs a job is promised are clear.
    pub(crate) fn is_clear(&self, placement: &Placement) -> bool {
        self.clearing.is_empty() || self.clearing.first_on(placement).is_none()
    }

    /// The job that keeps another from the GPUs it is promised.
    pub fn clearing_for(&self, id: JobId) -> Option<JobId> {
        let wanted = &self.jobs.get(id)?.assignment.as_ref()?.placement;
        self.clearing.first_on(wanted)
    }

    /// What a job that was told to stop has not given back yet, and the number of that assignment.
    pub fn clearing_of(&self, id: JobId) -> Option<(&Placement, Generation)> {
        self.clearing.jobs().get(&id).map(|(placement, generation)| (placement, *generation))
    }

    /// A node comes or goes.
    pub(crate) fn set_up(&mut self, node: NodeId, up: bool) {
        self.fleet.get_mut().set_up(node, up);
        self.touched.release(node, self.fleet.get_mut().cluster().nodes[node.index()].gpus);
    }
}
