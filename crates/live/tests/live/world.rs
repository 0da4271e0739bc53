//! A world that is only a table: it does as it is told, and fails the test where it is told
//! something that cannot be.

use heeler_api::{Gpus, Role, Submission, Who};
use heeler_backend::{Ending, Inventory, Launch, Order, Resume, Sign, Way};
use heeler_live::{Act, Ask, Decision, Done, Input, Live, Record};
use heeler_model::{Cluster, Generation, JobId, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Seconds since 1970 at time zero.
pub(crate) const EPOCH: u64 = 1_700_000_000;

/// A stretch of a job in the world.
#[derive(Clone, Debug)]
pub(crate) struct Proc {
    pub(crate) launch: Launch,
    pub(crate) started: bool,
    pub(crate) stopping: bool,
    pub(crate) ending: bool,
}

/// What runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) runs: BTreeMap<u32, Proc>,
    pub(crate) sleeps: BTreeMap<u32, Generation>,
    pub(crate) seen: BTreeMap<u32, Generation>,
    pub(crate) forgotten: BTreeSet<u32>,
    pub(crate) signals: Vec<(u32, i32)>,
    pub(crate) lost: Vec<u32>,
}

impl World {
    pub(crate) fn carry_out(&mut self, order: &Order) {
        match order {
            Order::Start(launch) => self.start(launch),
            Order::Stop { job, generation } => {
                let proc = self.at(*job, *generation);
                proc.stopping = true;
            }
            Order::End { job, generation, .. } => {
                if self.sleeps.get(&job.0) == Some(generation) && !self.runs.contains_key(&job.0) {
                    self.sleeps.remove(&job.0);
                } else {
                    self.at(*job, *generation).ending = true;
                }
            }
            Order::Signal { job, generation, signal } => {
                self.at(*job, *generation);
                self.signals.push((job.0, *signal));
            }
            Order::Forget { job } => {
                assert!(!self.runs.contains_key(&job.0), "job {job} is forgotten and runs");
                assert!(self.forgotten.insert(job.0), "job {job} is forgotten twice");
                self.sleeps.remove(&job.0);
            }
            Order::Lose { node } => {
                let there = self.runs.iter().filter(|(_, proc)| {
                    let slices = proc.launch.assignment.placement.slices();
                    slices.iter().any(|slice| slice.node == *node)
                });
                self.lost = there.map(|(job, _)| *job).collect();
            }
        }
    }

    fn at(&mut self, job: JobId, generation: Generation) -> &mut Proc {
        let proc = self.runs.get_mut(&job.0).unwrap_or_else(|| panic!("job {job} does not run"));
        assert_eq!(proc.launch.generation, generation, "another stretch of job {job} runs");
        proc
    }

    fn start(&mut self, launch: &Launch) {
        let job = launch.job.0;
        assert!(!self.runs.contains_key(&job), "job {job} is started twice");
        assert!(!self.forgotten.contains(&job), "job {job} is started after it was over");
        let newest = self.seen.insert(job, launch.generation);
        assert!(newest.is_none_or(|seen| seen < launch.generation), "generations count up");
        let sleeps = self.sleeps.remove(&job).is_some();
        if launch.resume == Resume::Processes {
            assert!(sleeps, "job {job} should go on, and does not sleep");
        } else {
            assert!(!sleeps, "job {job} should begin, and sleeps");
        }
        let proc = Proc { launch: launch.clone(), started: false, stopping: false, ending: false };
        self.runs.insert(job, proc);
        self.check_gpus();
    }

    /// No GPU is given to more than it has.
    fn check_gpus(&self) {
        let mut used: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for proc in self.runs.values() {
            let assignment = &proc.launch.assignment;
            for slice in assignment.placement.slices() {
                for slot in slice.slots.iter() {
                    let sum = used.entry((slice.node.0, slot)).or_default();
                    *sum += assignment.share.0;
                    assert!(*sum <= 1000, "GPU {slot} of n{} is given twice", slice.node);
                }
            }
        }
    }

    pub(crate) fn started(&mut self, job: u32) -> Sign {
        let proc = self.runs.get_mut(&job).expect("it runs");
        proc.started = true;
        let resumed = proc.launch.resume != Resume::No;
        let generation = proc.launch.generation;
        Sign::Started { job: JobId(job), generation, took_ms: 1, resumed }
    }

    pub(crate) fn ended(&mut self, job: u32, ending: Ending) -> Sign {
        let proc = self.runs.remove(&job).expect("it runs");
        Sign::Ended { job: JobId(job), generation: proc.launch.generation, ending, ago_ms: 0 }
    }

    pub(crate) fn stopped(&mut self, job: u32, way: Way) -> Sign {
        let proc = self.runs.remove(&job).expect("it runs");
        let generation = proc.launch.generation;
        if matches!(way, Way::Checkpointed | Way::Frozen) {
            self.sleeps.insert(job, generation);
        }
        Sign::Stopped { job: JobId(job), generation, way, took_ms: 1 }
    }
}

/// A control plane with its world and all that was taken up.
pub(crate) struct Plane {
    pub(crate) live: Live,
    pub(crate) world: World,
    pub(crate) records: Vec<Record>,
    pub(crate) at: Time,
    pub(crate) wake: Option<Time>,
    pub(crate) fault: Option<String>,
}

pub(crate) fn inventory(nodes: u32, gpus: u32) -> Inventory {
    let cluster = Cluster::uniform(nodes, gpus);
    Inventory { cluster, emulated: true, checkpoints: true, notes: Vec::new() }
}

pub(crate) fn person(user: &str, role: Role, tenants: &[&str]) -> Who {
    let tenants = tenants.iter().map(|tenant| (*tenant).into()).collect();
    Who { user: user.into(), uid: Some(1000), gid: Some(1000), role, tenants }
}

pub(crate) fn admin() -> Who {
    person("root", Role::Admin, &[])
}

pub(crate) fn gpus(count: u32) -> Submission {
    Submission {
        name: format!("job-{count}"),
        command: vec!["train".into()],
        gpus: Gpus { count, ..Gpus::default() },
        requeue: true,
        ..Submission::default()
    }
}

impl Plane {
    pub(crate) fn new(nodes: u32, gpus: u32, recipe: &str) -> Plane {
        let live = Live::open(EPOCH, inventory(nodes, gpus), recipe, 7).expect("a recipe");
        let (world, at) = (World::default(), Time::ZERO);
        Plane { live, world, records: Vec::new(), at, wake: None, fault: None }
    }

    pub(crate) fn pass(&mut self, seconds: f64) {
        self.at = Time::from_secs_f64(self.at.secs_f64() + seconds);
    }

    /// Take up inputs, decide, and let the world do it.
    pub(crate) fn take(
        &mut self,
        inputs: Vec<Input>,
    ) -> (Vec<Result<Done, heeler_api::Problem>>, Decision) {
        let record = Record { at: self.at, inputs, digest: self.live.digest() };
        let answers = self.live.apply(&record);
        let decision = self.live.decide(self.at);
        for order in &decision.orders {
            self.world.carry_out(order);
        }
        self.records.push(record);
        self.wake = decision.wake;
        self.fault.clone_from(&decision.fault);
        (answers, decision)
    }

    pub(crate) fn ask(&mut self, who: &Who, ask: Ask) -> Result<Done, heeler_api::Problem> {
        let ask = self.live.check(who, ask, self.at)?;
        let (mut answers, _) = self.take(vec![Input::Asked { who: who.clone(), ask }]);
        answers.remove(0)
    }

    pub(crate) fn submit(&mut self, who: &Who, submission: Submission) -> u32 {
        match self.ask(who, Ask::Submit(vec![submission])) {
            Ok(Done::Submitted(jobs)) => jobs[0].job,
            other => panic!("not taken: {other:?}"),
        }
    }

    pub(crate) fn act(
        &mut self,
        who: &Who,
        jobs: &str,
        act: Act,
    ) -> Result<Vec<u32>, heeler_api::Problem> {
        let jobs = jobs.parse().expect("a selection");
        match self.ask(who, Ask::Act { jobs, act })? {
            Done::Acted { jobs, .. } => Ok(jobs),
            other => panic!("another answer: {other:?}"),
        }
    }

    pub(crate) fn sign(&mut self, sign: Sign) -> Decision {
        self.take(vec![Input::Sign(sign)]).1
    }

    pub(crate) fn started(&mut self, job: u32) {
        let sign = self.world.started(job);
        self.sign(sign);
    }

    pub(crate) fn exits(&mut self, job: u32, code: i32) {
        let sign = self.world.ended(job, Ending::Exited { code });
        self.sign(sign);
    }

    pub(crate) fn stopped(&mut self, job: u32, way: Way) {
        let sign = self.world.stopped(job, way);
        self.sign(sign);
    }

    pub(crate) fn tick(&mut self) {
        self.take(vec![Input::Tick]);
    }

    pub(crate) fn state(&self, job: u32) -> heeler_api::JobState {
        self.live.job(&admin(), job).expect("a job").state
    }

    pub(crate) fn reason(&self, job: u32) -> String {
        self.live.job(&admin(), job).expect("a job").reason.expect("a reason").name
    }

    pub(crate) fn running(&self) -> Vec<u32> {
        self.world.runs.keys().copied().collect()
    }
}
