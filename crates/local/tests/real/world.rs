//! A world for tests: a folder of its own, the signs it gave, and jobs that are shell commands.

use heeler_backend::{Backend, Identity, Launch, Order, Ranks, Resume, Sign, Way};
use heeler_local::{Local, Setup};
use heeler_model::{Assignment, Generation, JobId, NodeId, Placement, Slice, Slots};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long something that must happen is waited for; only a broken test waits so long.
const LONG: Duration = Duration::from_secs(60);

/// A world for a test.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) local: Option<Local>,
    signs: Receiver<Sign>,
    change: fn(&mut Setup),
}

impl World {
    pub(crate) fn new() -> World {
        World::with(|_| {})
    }

    pub(crate) fn with(change: fn(&mut Setup)) -> World {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        // Jobs of other users have to get through.
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).expect("it is ours");
        let (_, signs) = channel();
        let mut world = World { folder, local: None, signs, change };
        world.open();
        world.local().adopt(Vec::new());
        world
    }

    /// Start a server, without telling it what to expect.
    pub(crate) fn open(&mut self) {
        let (sender, signs) = channel();
        let mut setup = Setup::new(self.state());
        setup.emulate = Some("2x4xA100".into());
        setup.program = env!("CARGO_BIN_EXE_heeler-shepherd").into();
        setup.arguments = Vec::new();
        setup.ready = 1;
        (self.change)(&mut setup);
        let sender = Mutex::new(sender);
        let tell = Arc::new(move |sign| {
            // The test may be over.
            let _ = sender.lock().expect("nobody panicked").send(sign);
        });
        self.signs = signs;
        self.local = Some(Local::new(setup, tell).expect("a world"));
    }

    /// The server goes away without a word, as if it had been killed.
    pub(crate) fn crash(&mut self) {
        self.local = None;
    }

    pub(crate) fn local(&mut self) -> &mut Local {
        self.local.as_mut().expect("a server runs")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// A path beside the state.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn start(&mut self, launch: &Launch) {
        self.local().carry_out(Order::Start(Box::new(launch.clone())));
    }

    pub(crate) fn end(&mut self, launch: &Launch, now: bool) {
        let (job, generation) = (launch.job, launch.generation);
        self.local().carry_out(Order::End { job, generation, now });
    }

    pub(crate) fn stop(&mut self, launch: &Launch) {
        let (job, generation) = (launch.job, launch.generation);
        self.local().carry_out(Order::Stop { job, generation });
    }

    /// The next sign.
    pub(crate) fn sign(&mut self) -> Sign {
        self.signs.recv_timeout(LONG).expect("a sign")
    }

    /// The next sign that is no report.
    pub(crate) fn next(&mut self) -> Sign {
        loop {
            match self.sign() {
                Sign::Reported { .. } => {}
                sign => return sign,
            }
        }
    }

    /// Wait until a job has started.
    pub(crate) fn started(&mut self, launch: &Launch) -> bool {
        match self.next() {
            Sign::Started { job, generation, resumed, .. } => {
                assert_eq!((job, generation), (launch.job, launch.generation));
                resumed
            }
            other => panic!("not started: {other:?}"),
        }
    }

    /// Wait until a job has ended.
    pub(crate) fn ended(&mut self, launch: &Launch) -> heeler_backend::Ending {
        loop {
            match self.next() {
                Sign::Ended { job, generation, ending, .. } => {
                    assert_eq!((job, generation), (launch.job, launch.generation));
                    return ending;
                }
                Sign::Started { .. } => {}
                other => panic!("not ended: {other:?}"),
            }
        }
    }

    /// Wait until a job has stopped.
    pub(crate) fn stopped(&mut self, launch: &Launch) -> Way {
        match self.next() {
            Sign::Stopped { job, generation, way, .. } => {
                assert_eq!((job, generation), (launch.job, launch.generation));
                way
            }
            other => panic!("not stopped: {other:?}"),
        }
    }

    /// Nothing more is said for a while.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.signs.recv_timeout(Duration::from_millis(300)).is_err()
    }

    /// What a job printed.
    pub(crate) fn output(&mut self, job: u32) -> String {
        let look = self.local().look();
        let mut all = Vec::new();
        loop {
            let piece = look.output(JobId(job), all.len() as u64, 1 << 20);
            let piece = piece.expect("it can be read");
            if piece.bytes.is_empty() {
                return String::from_utf8(all).expect("text");
            }
            all.extend(piece.bytes);
        }
    }
}

impl Drop for World {
    /// End whatever a test left behind.
    fn drop(&mut self) {
        if self.local.is_none() && !std::thread::panicking() {
            self.open();
            self.local().adopt(Vec::new());
        }
        for job in std::fs::read_dir(self.state().join("jobs")).into_iter().flatten().flatten() {
            let job = job.file_name().to_str().and_then(|name| name.parse().ok());
            if let (Some(job), Some(local)) = (job, self.local.as_mut()) {
                local.carry_out(Order::Forget { job: JobId(job) });
            }
        }
        let begun = Instant::now();
        let jobs = self.state().join("jobs");
        while begun.elapsed() < Duration::from_secs(5)
            && std::fs::read_dir(&jobs).is_ok_and(|left| left.count() > 0)
        {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Wait until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A job that runs a shell command on one GPU.
pub(crate) fn shell(job: u32, command: &str) -> Launch {
    Launch {
        job: JobId(job),
        generation: Generation(1),
        restarts: 0,
        name: "test".into(),
        user: "ada".into(),
        tenant: "default".into(),
        array: None,
        command: ["sh", "-c", command].map(String::from).to_vec(),
        script: None,
        dir: "/".into(),
        env: BTreeMap::new(),
        identity: None::<Identity>,
        ranks: Ranks::One,
        assignment: gpus(&[(0, 0b1)]),
        cpu_milli: 0,
        memory_mb: 0,
        gpu_memory_mb: 0,
        output: None,
        error: None,
        terminal: false,
        resume: Resume::No,
        ways: vec![Way::Saved, Way::Checkpointed, Way::Frozen, Way::Requeued],
        grace_s: 10,
    }
}

/// GPUs by node.
pub(crate) fn gpus(slices: &[(u32, u64)]) -> Assignment {
    let slice = |(node, slots): &(u32, u64)| Slice { node: NodeId(*node), slots: Slots(*slots) };
    Assignment::whole(Placement::new(slices.iter().map(slice).collect()))
}

/// Lines of a file, none if it is not there.
pub(crate) fn lines(path: &std::path::Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Whether a process is there and not over.
pub(crate) fn is_there(pid: &str) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    text.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
