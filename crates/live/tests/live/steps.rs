//! Random things that people and worlds do, and how they are done to a plane.

use crate::world::{Plane, admin, gpus, person};
use heeler_api::{
    Array, Class, Condition, Dependency, Pause, RecipeChange, Role, Submission, TenantChange, Who,
};
use heeler_backend::{Ending, Said, Sign, Way};
use heeler_live::{Act, Ask, Input};
use heeler_model::{Generation, JobId, NodeId};
use proptest::prelude::*;

/// Something that happens.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Somebody hands in jobs.
    Submit { user: u8, submissions: Vec<Submission> },
    /// Somebody acts on a job.
    Act { user: u8, job: u8, act: Act },
    /// A process of the world does something: which, and what.
    Process { which: u8, does: Does },
    /// A sign of nothing that is there.
    Noise(Sign),
    /// Time passes.
    Pass { millis: u32 },
    /// An operator does something.
    Operate(Ask),
}

/// What a process does.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    Start,
    Exit(i32),
    Die,
    GetLost,
    Stop(Way),
    Perish,
    Report(u64, u64),
}

fn submissions() -> impl Strategy<Value = Vec<Submission>> {
    let one = (
        (0u32..4, 0u32..3, prop::bool::weighted(0.2), 0u32..3),
        prop::option::weighted(0.15, (1u32..5, prop::option::of(1u32..3))),
        prop::option::weighted(0.2, (0u8..4, 1u32..8)),
        (prop::option::weighted(0.3, 1u64..20), prop::bool::weighted(0.7), 0u32..2),
        (0usize..6, prop::bool::weighted(0.1), -3i32..4, prop::option::weighted(0.1, 0u8..3)),
    );
    let one = one.prop_map(|(sizes, array, after, times, rest)| {
        let (count, extra, best_effort, share) = sizes;
        let mut job = gpus(count.max(u32::from(share == 1)));
        if count > 0 && extra > 0 && share == 0 {
            job.gpus.min = Some(1);
            job.gpus.max = Some(count + extra);
        }
        if share == 1 {
            job.gpus.share = Some(500);
        }
        if best_effort {
            job.class = Class::BestEffort;
        }
        job.array = array.map(|(tasks, most)| Array { indices: (0..tasks).collect(), most });
        let when = [Condition::After, Condition::Ok, Condition::NotOk, Condition::Any];
        job.after = after
            .map(|(kind, job)| Dependency { when: when[usize::from(kind)], job })
            .into_iter()
            .collect();
        (job.time_limit_s, job.requeue, job.retries) = times;
        job.backoff_s = 2;
        let (pause, hold, priority, once) = rest;
        let pauses = [
            Pause::Auto,
            Pause::Save,
            Pause::Checkpoint,
            Pause::Freeze,
            Pause::Requeue,
            Pause::Never,
        ];
        (job.pause, job.hold, job.priority) = (pauses[pause], hold, priority);
        job.once = once.map(|key| key.to_string());
        job
    });
    prop::collection::vec(one, 1..4)
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        Just(Act::Cancel),
        Just(Act::Hold),
        Just(Act::Release),
        Just(Act::Suspend),
        Just(Act::Resume),
        Just(Act::Requeue),
        Just(Act::Signal(10)),
        (-5i32..5).prop_map(Act::Priority),
        prop::option::of(1u64..30).prop_map(Act::TimeLimit),
    ]
}

fn ways() -> impl Strategy<Value = Way> {
    prop_oneof![Just(Way::Saved), Just(Way::Checkpointed), Just(Way::Frozen), Just(Way::Requeued)]
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        5 => Just(Does::Start),
        3 => (0i32..2).prop_map(Does::Exit),
        1 => Just(Does::Die),
        1 => Just(Does::GetLost),
        5 => ways().prop_map(Does::Stop),
        1 => Just(Does::Perish),
        2 => (0u64..5, 0u64..50).prop_map(|(seq, step)| Does::Report(seq, step)),
    ]
}

fn noise() -> impl Strategy<Value = Sign> {
    (0u32..30, 0u32..9, ways()).prop_map(|(job, generation, way)| {
        let (job, generation) = (JobId(job), Generation(generation + 1000));
        match generation.0 % 4 {
            0 => Sign::Stopped { job, generation, way, took_ms: 3 },
            1 => Sign::Ended { job, generation, ending: Ending::Lost, ago_ms: 0 },
            2 => Sign::Started { job, generation, took_ms: 3, resumed: true },
            _ => Sign::NodeUp { node: NodeId(generation.0) },
        }
    })
}

pub(crate) const RECIPES: [&str; 15] = [
    "fifo",
    "fifo-easy",
    "priority",
    "capacity",
    "las",
    "tiresias",
    "smallest",
    "gandiva",
    "hived",
    "elastic",
    "gavel",
    "srtf",
    "synergy",
    "shockwave",
    "chronus",
];

fn operations() -> impl Strategy<Value = Ask> {
    let node = (0u32..3).prop_map(|node| format!("n{node}"));
    prop_oneof![
        node.clone().prop_map(|node| Ask::Drain { node, note: None }),
        node.clone().prop_map(|node| Ask::Undrain { node }),
        node.clone().prop_map(|node| Ask::Undrain { node }),
        node.prop_map(|node| Ask::Lose { node }),
        (0..RECIPES.len()).prop_map(|recipe| {
            let name = Some(RECIPES[recipe].into());
            Ask::Recipe(RecipeChange { name, ..RecipeChange::default() })
        }),
        (0u8..3, prop::option::of(0u32..6), prop::option::of(3u32..8)).prop_map(
            |(name, quota, limit)| Ask::Tenant {
                name: format!("t{name}"),
                change: TenantChange {
                    quota: Some(quota),
                    limit: Some(limit),
                    add_users: vec![format!("user{name}")],
                    ..TenantChange::default()
                },
            }
        ),
    ]
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0u8..3, submissions())
            .prop_map(|(user, submissions)| Step::Submit { user, submissions }),
        4 => (0u8..4, 0u8..30, acts()).prop_map(|(user, job, act)| Step::Act { user, job, act }),
        20 => (any::<u8>(), does()).prop_map(|(which, does)| Step::Process { which, does }),
        1 => noise().prop_map(Step::Noise),
        5 => (1u32..20_000).prop_map(|millis| Step::Pass { millis }),
        2 => operations().prop_map(Step::Operate),
    ];
    prop::collection::vec(step, 1..60)
}

fn user(plane: &Plane, user: u8) -> Who {
    match user {
        3 => admin(),
        user => {
            let who = plane.live.who_is(&format!("user{user}"), 1000 + u32::from(user), 1, 0);
            person(
                &who.user,
                Role::User,
                &who.tenants.iter().map(String::as_str).collect::<Vec<_>>(),
            )
        }
    }
}

impl Step {
    /// What is taken up when this happens; nothing, if it makes no sense now.
    pub(crate) fn inputs(&self, plane: &mut Plane) -> Vec<Input> {
        match self {
            Step::Submit { user: who, submissions } => {
                let who = user(plane, *who);
                asked(plane, who, Ask::Submit(submissions.clone()))
            }
            Step::Act { user: who, job, act } => {
                let who = user(plane, *who);
                let jobs = job.to_string().parse().expect("a number");
                asked(plane, who, Ask::Act { jobs, act: act.clone() })
            }
            Step::Operate(ask) => {
                let mut inputs = asked(plane, admin(), ask.clone());
                // What the world lost last time it says now.
                for job in std::mem::take(&mut plane.world.lost) {
                    if plane.world.runs.contains_key(&job) {
                        inputs.push(Input::Sign(plane.world.ended(job, Ending::Lost)));
                    }
                }
                inputs
            }
            Step::Noise(sign) => vec![Input::Sign(sign.clone())],
            Step::Pass { millis } => {
                plane.pass(f64::from(*millis) / 1000.0);
                vec![Input::Tick]
            }
            Step::Process { which, does } => does.inputs(plane, *which),
        }
    }
}

fn asked(plane: &Plane, who: Who, ask: Ask) -> Vec<Input> {
    match plane.live.check(&who, ask, plane.at) {
        Ok(ask) => vec![Input::Asked { who, ask }],
        Err(_) => Vec::new(),
    }
}

impl Does {
    fn inputs(&self, plane: &mut Plane, which: u8) -> Vec<Input> {
        let world = &mut plane.world;
        if let Does::Perish = self {
            let sleeper = world.sleeps.keys().next().copied();
            let Some(job) = sleeper else { return Vec::new() };
            world.sleeps.remove(&job);
            return vec![Input::Sign(Sign::Perished { job: JobId(job) })];
        }
        let jobs: Vec<u32> = world.runs.keys().copied().collect();
        if jobs.is_empty() {
            return Vec::new();
        }
        let job = jobs[usize::from(which) % jobs.len()];
        let proc = &world.runs[&job];
        let (ways, stopping) = (proc.launch.ways.clone(), proc.stopping);
        let (generation, started) = (proc.launch.generation, proc.started);
        let sign = match self {
            Does::Start if !started => world.started(job),
            Does::Exit(code) => world.ended(job, Ending::Exited { code: *code }),
            Does::Die => world.ended(job, Ending::Killed { signal: 9, out_of_memory: false }),
            Does::GetLost => world.ended(job, Ending::Lost),
            Does::Stop(way) if stopping && ways.contains(way) => world.stopped(job, *way),
            Does::Report(seq, step) => {
                let report = serde_json::json!({
                    "seq": seq, "step": step, "saved-step": step / 2, "saves": step % 2 == 0,
                    "loss": 1.5, "total-steps": 60,
                });
                Sign::Reported { job: JobId(job), generation, said: Said { report } }
            }
            _ => return Vec::new(),
        };
        vec![Input::Sign(sign)]
    }
}
