//! A world in made-up time, by the rules of the contract: orders are carried out at most once, what
//! happened is said again after a restart, processes outlive the server. Its processes take their
//! time, refuse to start, die, hang, ignore signals, leave children behind and save slowly. It
//! checks what only a world can: nobody runs twice at once, and no GPU is given twice.

use crate::chance::Chance;
use crate::fate::Fate;
use heeler_backend::{Ending, Expected, Launch, Order, Resume, Said, Sign, Way};
use heeler_model::{Generation, JobId, NodeId};
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000;

/// Where an attempt is.
#[derive(Clone, Debug, PartialEq)]
enum Stage {
    /// Handed over; nobody has claimed it.
    Waiting,
    Starting,
    Running,
    /// Being cleared off its GPUs.
    Stopping,
    /// Being ended.
    Ending,
    /// Its processes stand still, off the GPUs.
    Sleeping,
    /// Nothing of it is left.
    Over,
}

#[derive(Clone, Debug)]
struct Attempt {
    launch: Launch,
    stage: Stage,
    fate: Fate,
    resumed: bool,
    /// What it last said that a server has to know.
    sign: Option<Sign>,
    /// Things to come of an older version are void.
    version: u32,
    reports: u64,
}

/// Something to come.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Next {
    Claim,
    Started,
    Exit,
    /// Its main process is gone, and its last child now, too.
    Gone,
    Cleared,
    Killed,
    Report,
    Perish,
    NodeUp(NodeId),
}

type Key = (JobId, Generation);

/// See above.
pub(crate) struct World {
    chance: Chance,
    now: u64,
    attempts: BTreeMap<Key, Attempt>,
    queue: BTreeMap<(u64, u64), (Key, u32, Next)>,
    counter: u64,
    endings: BTreeMap<Key, Ending>,
    down: Vec<NodeId>,
    /// What nodes said while nobody listened.
    untold: BTreeMap<NodeId, Sign>,
    pub(crate) listens: bool,
    pub(crate) signs: Vec<Sign>,
    /// Nobody does anything odd any more.
    pub(crate) calm: bool,
    pub(crate) started: u64,
}

impl World {
    pub(crate) fn new(seed: u64) -> World {
        World {
            chance: Chance::new(seed ^ 0x0077_0071),
            now: 0,
            attempts: BTreeMap::new(),
            queue: BTreeMap::new(),
            counter: 0,
            endings: BTreeMap::new(),
            down: Vec::new(),
            untold: BTreeMap::new(),
            listens: true,
            signs: Vec::new(),
            calm: false,
            started: 0,
        }
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> Option<u64> {
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }

    /// How many attempts have processes, standing still or not.
    pub(crate) fn alive(&self) -> Vec<Key> {
        let alive = self.attempts.iter().filter(|(_, attempt)| attempt.stage != Stage::Over);
        alive.map(|(key, _)| *key).collect()
    }

    /// Let time pass.
    pub(crate) fn advance(&mut self, to: u64) {
        while let Some(((at, _), _)) = self.queue.first_key_value() {
            if *at > to {
                break;
            }
            let ((at, _), (key, version, next)) = self.queue.pop_first().expect("there is one");
            self.now = at;
            if let Next::NodeUp(node) = next {
                self.node_up(node);
            } else if self.attempts.get(&key).is_some_and(|it| it.version == version) {
                self.happen(key, next);
            }
        }
        self.now = to;
    }

    fn plan(&mut self, key: Key, after: u64, next: Next) {
        let version = self.attempts.get(&key).map_or(0, |it| it.version);
        self.counter += 1;
        self.queue.insert((self.now + after, self.counter), (key, version, next));
    }

    fn tell(&mut self, sign: Sign) {
        if self.listens {
            self.signs.push(sign);
        }
    }

    /// Say it, and remember it for whoever asks again.
    fn settle(&mut self, key: Key, stage: Stage, sign: Sign) {
        let attempt = self.attempts.get_mut(&key).expect("it is there");
        attempt.version += 1;
        attempt.stage = stage;
        attempt.sign = Some(sign.clone());
        self.tell(sign);
    }

    fn end(&mut self, key: Key, ending: Ending) {
        let (job, generation) = key;
        self.settle(key, Stage::Over, Sign::Ended { job, generation, ending, ago_ms: 0 });
    }

    fn happen(&mut self, key: Key, next: Next) {
        let attempt = self.attempts.get_mut(&key).expect("it is there");
        let fate = attempt.fate.clone();
        match next {
            Next::Claim => {
                attempt.stage = Stage::Starting;
                self.plan(key, fate.start, Next::Started);
            }
            Next::Started if fate.refuses && !attempt.resumed => {
                let message = "no such program".into();
                self.end(key, Ending::NotStarted { message });
            }
            Next::Started => {
                let resumed = attempt.resumed;
                let (job, generation) = key;
                let took_ms = fate.start / 1000;
                let sign = Sign::Started { job, generation, took_ms, resumed };
                self.settle(key, Stage::Running, sign);
                self.started += 1;
                if let Some(runs) = fate.runs {
                    self.plan(key, runs, Next::Exit);
                }
                if fate.reports > 0 {
                    self.plan(key, fate.reports, Next::Report);
                }
            }
            Next::Exit => self.exit(key, fate.ending.clone()),
            Next::Gone => {
                let ending = self.endings.remove(&key).unwrap_or(Ending::Lost);
                self.end(key, ending);
            }
            Next::Cleared => self.cleared(key),
            Next::Killed => self.end(key, Ending::Killed { signal: 9, out_of_memory: false }),
            Next::Report => self.report(key),
            Next::Perish => {
                let (job, _) = key;
                self.settle(key, Stage::Over, Sign::Perished { job });
            }
            Next::NodeUp(_) => {}
        }
    }

    /// Its main process is gone; what it left behind holds its GPUs until it is gone, too.
    fn exit(&mut self, key: Key, ending: Ending) {
        let attempt = self.attempts.get_mut(&key).expect("it is there");
        attempt.version += 1;
        attempt.stage = Stage::Ending;
        let children = attempt.fate.children;
        self.endings.insert(key, ending);
        self.plan(key, children, Next::Gone);
    }

    fn cleared(&mut self, key: Key) {
        let (job, generation) = key;
        let attempt = &self.attempts[&key];
        let saves = attempt.fate.saves;
        let works = |way: &&Way| match way {
            Way::Saved => saves,
            Way::Checkpointed | Way::Frozen | Way::Requeued => true,
        };
        let way = attempt.launch.ways.iter().find(works).copied().unwrap_or(Way::Requeued);
        let sleeps = matches!(way, Way::Checkpointed | Way::Frozen);
        let (stage, perishes) = (
            if sleeps { Stage::Sleeping } else { Stage::Over },
            attempt.fate.perishes.filter(|_| sleeps),
        );
        let took_ms = attempt.fate.save / 1000;
        self.settle(key, stage, Sign::Stopped { job, generation, way, took_ms });
        if let Some(after) = perishes {
            self.plan(key, after, Next::Perish);
        }
    }

    fn report(&mut self, key: Key) {
        let (job, generation) = key;
        let attempt = self.attempts.get_mut(&key).expect("it is there");
        attempt.reports += 1;
        let (seq, every, saves) = (attempt.reports, attempt.fate.reports, attempt.fate.saves);
        let report = match seq % 7 {
            6 => serde_json::json!({ "step": "many" }),
            _ => serde_json::json!({
                "seq": seq, "step": seq * 10, "total-steps": 1000, "saves": saves,
                "saved-step": saves.then_some(seq * 10 - 5), "step-s": 0.5,
            }),
        };
        self.tell(Sign::Reported { job, generation, said: Said { report } });
        self.plan(key, every, Next::Report);
    }

    fn uses_gpus(attempt: &Attempt) -> bool {
        !matches!(attempt.stage, Stage::Sleeping | Stage::Over)
    }

    /// Do something, or say again what came of it.
    pub(crate) fn carry_out(&mut self, order: Order) {
        match order {
            Order::Start(launch) => self.start(*launch),
            Order::Stop { job, generation } => self.stop((job, generation)),
            Order::End { job, generation, now } => self.finish((job, generation), now),
            Order::Signal { job, generation, signal } => self.signal((job, generation), signal),
            Order::Forget { job } => self.forget(job),
            Order::Lose { node } => self.lose(node),
        }
    }

    fn start(&mut self, launch: Launch) {
        let key = (launch.job, launch.generation);
        if let Some(known) = self.attempts.get(&key) {
            if let Some(sign) = known.sign.clone() {
                self.tell(sign);
            }
            return;
        }
        let own = (launch.job, Generation(0))..=(launch.job, Generation(u32::MAX));
        let mut sleeping = None;
        for ((job, generation), attempt) in self.attempts.range(own) {
            assert!(*generation < key.1, "{job} was started as {generation}, now as {}", key.1);
            assert!(!World::uses_gpus(attempt), "{job} runs twice: {generation} and {}", key.1);
            if attempt.stage == Stage::Sleeping {
                sleeping = Some((*job, *generation));
            }
        }
        self.check_room(&launch);
        let goes_on = launch.resume == Resume::Processes && sleeping.is_some();
        if let Some(older) = sleeping {
            assert!(goes_on, "{} sleeps, and is started anew beside that", launch.job);
            let attempt = self.attempts.get_mut(&older).expect("it is there");
            attempt.version += 1;
            attempt.stage = Stage::Over;
        }
        let fate = Fate::draw(&mut self.chance, self.calm);
        let claim = fate.claim;
        let attempt = Attempt {
            launch,
            stage: Stage::Waiting,
            fate,
            resumed: goes_on,
            sign: None,
            version: 0,
            reports: 0,
        };
        self.attempts.insert(key, attempt);
        self.plan(key, claim, Next::Claim);
    }

    fn check_room(&self, launch: &Launch) {
        let mut used: BTreeMap<(NodeId, u32), u32> = BTreeMap::new();
        let others = self.attempts.values().filter(|it| World::uses_gpus(it));
        let assignments = others.map(|it| &it.launch.assignment).chain([&launch.assignment]);
        for assignment in assignments {
            for slice in assignment.placement.slices() {
                for slot in slice.slots.iter() {
                    *used.entry((slice.node, slot)).or_default() += assignment.share.0;
                }
            }
        }
        let over = used.iter().find(|(_, share)| **share > 1000);
        assert!(over.is_none(), "{} was given a GPU that others have: {over:?}", launch.job);
    }

    fn stop(&mut self, key: Key) {
        let Some(attempt) = self.attempts.get_mut(&key) else {
            panic!("{key:?} is to stop and was never started");
        };
        match attempt.stage {
            Stage::Waiting | Stage::Starting | Stage::Running => {
                attempt.version += 1;
                attempt.stage = Stage::Stopping;
                let (save, dies) = (attempt.fate.save, attempt.fate.dies_saving);
                let next = if dies { Next::Killed } else { Next::Cleared };
                self.plan(key, save, next);
            }
            Stage::Stopping | Stage::Ending => {}
            Stage::Sleeping | Stage::Over => self.repeat(key),
        }
    }

    fn finish(&mut self, key: Key, now: bool) {
        let Some(attempt) = self.attempts.get_mut(&key) else {
            panic!("{key:?} is to end and was never started");
        };
        match attempt.stage {
            Stage::Over => self.repeat(key),
            Stage::Ending => {}
            Stage::Sleeping => self.end(key, Ending::Killed { signal: 9, out_of_memory: false }),
            _ => {
                attempt.version += 1;
                attempt.stage = Stage::Ending;
                let obeys = SECOND / 10;
                let patience = attempt.launch.grace_s * SECOND;
                let wait = if now || attempt.fate.obeys { obeys } else { patience };
                let wait = wait + attempt.fate.children;
                let next = if now || !attempt.fate.obeys { Next::Killed } else { Next::Gone };
                self.endings.insert(key, Ending::Exited { code: 143 });
                self.plan(key, wait, next);
            }
        }
    }

    fn signal(&mut self, key: Key, signal: i32) {
        let Some(attempt) = self.attempts.get(&key) else { return };
        let ends = signal == 9 || attempt.fate.obeys && signal == 15;
        if attempt.stage == Stage::Running && ends {
            self.exit(key, Ending::Killed { signal, out_of_memory: false });
        }
    }

    /// The job is over: nothing of it may run, and what stands still goes.
    fn forget(&mut self, job: JobId) {
        let own = (job, Generation(0))..=(job, Generation(u32::MAX));
        for (key, attempt) in self.attempts.range_mut(own) {
            assert!(!World::uses_gpus(attempt), "{key:?} is forgotten and still runs");
            attempt.stage = Stage::Over;
            attempt.version += 1;
        }
    }

    fn lose(&mut self, node: NodeId) {
        let there = |it: &Attempt| {
            World::uses_gpus(it) && {
                let mut slices = it.launch.assignment.placement.slices().iter();
                slices.any(|slice| slice.node == node)
            }
        };
        let lost: Vec<Key> =
            self.attempts.iter().filter(|(_, it)| there(it)).map(|(key, _)| *key).collect();
        for key in lost {
            self.end(key, Ending::Lost);
        }
    }

    /// A node goes away with all that runs there, and comes back.
    pub(crate) fn node_down(&mut self, node: NodeId) {
        if self.down.contains(&node) {
            return;
        }
        self.down.push(node);
        self.say_of(node, Sign::NodeDown { node, message: "no answer".into() });
        self.lose(node);
        let back = self.chance.between(10, 400) * SECOND;
        self.plan((JobId(0), Generation(0)), back, Next::NodeUp(node));
    }

    fn node_up(&mut self, node: NodeId) {
        self.down.retain(|it| *it != node);
        self.say_of(node, Sign::NodeUp { node });
    }

    fn say_of(&mut self, node: NodeId, sign: Sign) {
        if self.listens {
            self.signs.push(sign);
        } else {
            self.untold.insert(node, sign);
        }
    }

    /// The server is gone, and what it was about to be told with it.
    pub(crate) fn abandoned(&mut self) {
        self.listens = false;
        for sign in std::mem::take(&mut self.signs) {
            if let Sign::NodeDown { node, .. } | Sign::NodeUp { node } = &sign {
                self.untold.insert(*node, sign);
            }
        }
    }

    /// The power went: nothing runs any more. How the unfinished ended, nobody knows.
    pub(crate) fn power_loss(&mut self) {
        for (key, attempt) in &mut self.attempts {
            if attempt.stage != Stage::Over {
                let sleeps = attempt.stage == Stage::Sleeping;
                attempt.stage = Stage::Over;
                attempt.version += 1;
                let (job, generation) = *key;
                attempt.sign = Some(match sleeps {
                    true => Sign::Perished { job },
                    false => Sign::Ended { job, generation, ending: Ending::Lost, ago_ms: 0 },
                });
            }
        }
    }

    /// A server is there again, and says what it expects.
    pub(crate) fn adopt(&mut self, expected: Vec<Expected>) {
        self.listens = true;
        for sign in std::mem::take(&mut self.untold).into_values() {
            self.signs.push(sign);
        }
        let mut wanted: BTreeMap<JobId, &Expected> = BTreeMap::new();
        for one in &expected {
            wanted.insert(job_of(one), one);
        }
        for key in self.alive() {
            let fits = wanted.get(&key.0).is_some_and(|one| self.fits(key, one));
            if !fits {
                // Orders leave only when they are safe, so what is not expected stands still.
                let attempt = self.attempts.get_mut(&key).expect("it is there");
                assert!(!World::uses_gpus(attempt), "{key:?} runs, and nobody ordered that");
                attempt.stage = Stage::Over;
                attempt.version += 1;
            }
        }
        for one in expected {
            self.adopt_one(one);
        }
    }

    /// Whether an attempt is what is expected of its job.
    fn fits(&self, key: Key, expected: &Expected) -> bool {
        match expected {
            Expected::Runs(launch) => {
                let wakes = launch.resume == Resume::Processes;
                key.1 == launch.generation || wakes && self.attempts[&key].stage == Stage::Sleeping
            }
            Expected::Stops(launch) | Expected::Ends(launch) => key.1 == launch.generation,
            Expected::Sleeps { generation, .. } => key.1 == *generation,
        }
    }

    fn adopt_one(&mut self, expected: Expected) {
        match expected {
            Expected::Runs(launch) => self.start(*launch),
            Expected::Stops(launch) => {
                let key = (launch.job, launch.generation);
                self.again(key, *launch);
                self.stop(key);
            }
            Expected::Ends(launch) => {
                let key = (launch.job, launch.generation);
                self.again(key, *launch);
                self.finish(key, false);
            }
            Expected::Sleeps { job, generation } => {
                let attempt = self.attempts.get(&(job, generation));
                if attempt.is_none_or(|it| it.stage != Stage::Sleeping) {
                    self.tell(Sign::Perished { job });
                }
            }
        }
    }

    /// Say again how an attempt ended; one that died in its sleep is lost to whoever does not know
    /// that it slept.
    fn repeat(&mut self, key: Key) {
        let (job, generation) = key;
        match self.attempts.get(&key).and_then(|attempt| attempt.sign.clone()) {
            Some(Sign::Perished { .. }) => {
                self.tell(Sign::Ended { job, generation, ending: Ending::Lost, ago_ms: 0 });
            }
            Some(sign) => self.tell(sign),
            None => {}
        }
    }

    /// Say again what is known of an attempt; one that never came to be has ended.
    fn again(&mut self, key: Key, launch: Launch) {
        match self.attempts.get(&key) {
            Some(_) => self.repeat(key),
            None => {
                self.start(launch);
                self.end(key, Ending::NotStarted { message: "it was never started".into() });
            }
        }
    }
}

fn job_of(expected: &Expected) -> JobId {
    match expected {
        Expected::Runs(launch) | Expected::Stops(launch) | Expected::Ends(launch) => launch.job,
        Expected::Sleeps { job, .. } => *job,
    }
}
