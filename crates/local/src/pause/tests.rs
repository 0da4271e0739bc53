//! Suspending real processes. No GPU is needed: what stands still is the same with and without. The
//! driver is made up where its part is tested, and watches what the processes do meanwhile.

use super::*;
use heeler_sys::birth::{Birth, arrange};
use heeler_sys::cuda::{CudaError, State};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;
use tempfile::TempDir;

const GRACE: Duration = Duration::from_secs(20);
const ALL: [Way; 4] = [Way::Saved, Way::Checkpointed, Way::Frozen, Way::Requeued];

/// A job of a shell script, in a folder of its own; ended when the test is over.
struct Job {
    child: Child,
    folder: TempDir,
    scope: Scope,
}

impl Job {
    fn run(script: &str) -> Job {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(&folder).stdin(Stdio::null());
        let birth = Birth { session: true, ..Birth::default() };
        let child = arrange(&mut command, birth).spawn().expect("sh runs");
        let ranks = vec![i32::try_from(child.id()).expect("a small number")];
        Job { child, folder, scope: Scope { ranks, ..Scope::default() } }
    }

    /// Writes ever higher numbers into a file.
    fn counting() -> Job {
        let job = Job::run("i=0; while :; do i=$((i+1)); echo $i > n; done");
        job.wait_until(|job| job.count() > 3);
        job
    }

    fn count(&self) -> u64 {
        let text = std::fs::read_to_string(self.path("n")).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn context(&self) -> Context<'static> {
        Context::of(self.scope.clone())
    }

    fn wait_until(&self, there: impl Fn(&Job) -> bool) {
        let begun = Instant::now();
        while !there(self) {
            assert!(begun.elapsed() < Duration::from_secs(60), "it never came");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn assert_still(&self) {
        let before = self.count();
        for _ in 0..10 {
            let processes = self.scope.processes().expect("a list");
            assert!(!processes.is_empty());
            // A parent whose child was stopped before it ran its program waits for it in `D`.
            let still = |process: &Process| process.is_still() || process.state == 'D';
            assert!(processes.iter().all(still), "{processes:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.count(), before);
    }

    fn assert_counts_on(&self) {
        let before = self.count();
        self.wait_until(|job| job.count() > before);
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = end(&self.scope, nix::sys::signal::Signal::SIGKILL, Duration::ZERO);
        let _ = self.child.wait();
    }
}

#[test]
fn on_emulated_gpus_a_job_is_frozen_and_called_so() {
    let job = Job::counting();
    let outcome = suspend(&job.context(), &ALL, GRACE).expect("it can be frozen");
    assert_eq!(outcome.way, Way::Frozen);
    let tried: Vec<Way> = outcome.tried.iter().map(|tried| tried.way).collect();
    assert_eq!(tried, [Way::Saved, Way::Checkpointed]);
    assert!(outcome.tried[1].why.contains("emulated"), "{:?}", outcome.tried);
    assert_eq!(outcome.steps.last().expect("a step").name, "freeze");
    job.assert_still();

    let mut asleep = outcome.asleep;
    let resumed = resume(&job.context(), &mut asleep, &[]).expect("it goes on");
    assert_eq!(resumed.steps[0].name, "thaw");
    assert_eq!(asleep, Asleep::default());
    job.assert_counts_on();
}

#[test]
fn children_born_during_the_freeze_are_caught() {
    // Forks all the time: children that stay, that go at once, and in groups of their own.
    let script = "while :; do (exec sleep 30) & (sleep 0.01; exec sleep 30) & true & \
                  sh -c 'sleep 20 & sleep 20' & i=$((i+1)); [ $i -gt 30 ] && break; \
                  done; echo 1 > n; while :; do (true); (true) & wait $!; done";
    for _ in 0..2 {
        let job = Job::run(script);
        job.wait_until(|job| job.scope.processes().is_ok_and(|all| all.len() > 20));
        let frozen = freeze(&job.scope, GRACE).expect("it stands still");
        assert!(frozen.count > 5);
        job.assert_still();
        let count = job.scope.processes().expect("a list").len();
        assert_eq!(count, frozen.count);
        thaw(&job.scope, &frozen).expect("it goes on");
        job.wait_until(|job| job.count() == 1);
    }
}

#[test]
fn what_had_stopped_by_itself_stays_stopped() {
    let job = Job::run("sh -c 'echo $$ > stopped; kill -STOP $$; echo woken > n' & wait");
    let parked = |job: &Job| {
        let text = std::fs::read_to_string(job.path("stopped")).unwrap_or_default();
        let pid = text.trim().parse().unwrap_or(0);
        let all = job.scope.processes().expect("a list");
        all.into_iter().find(|process| process.pid == pid && process.is_still())
    };
    job.wait_until(|job| parked(job).is_some());
    let frozen = freeze(&job.scope, GRACE).expect("it stands still");
    let pid = parked(&job).expect("it is there").pid;
    assert!(!frozen.signalled.contains(&pid));
    thaw(&job.scope, &frozen).expect("it goes on");
    assert!(parked(&job).is_some());
}

#[test]
fn a_job_that_saves_itself_is_asked_first() {
    let job = Job::counting();
    let scope = job.scope.clone();
    let save = move |grace: Duration| {
        end(&scope, nix::sys::signal::Signal::SIGTERM, grace).map_err(|error| error.to_string())?;
        Ok(())
    };
    let context = Context { save: Some(&save), ..job.context() };
    let outcome = suspend(&context, &ALL, GRACE).expect("it saves itself");
    assert_eq!((outcome.way, outcome.tried.len()), (Way::Saved, 0));
    assert_eq!(outcome.asleep, Asleep::default());
}

#[test]
fn one_that_does_not_save_in_time_takes_the_next_way() {
    let job = Job::counting();
    let save = |_| Err("no answer within its grace".to_owned());
    let context = Context { save: Some(&save), ..job.context() };
    let outcome = suspend(&context, &ALL, GRACE).expect("it can be frozen");
    assert_eq!(outcome.way, Way::Frozen);
    assert_eq!(outcome.tried[0].why, "no answer within its grace");
}

#[test]
fn a_job_that_ends_while_it_is_asked_is_gone_not_suspended() {
    let job = Job::counting();
    let scope = job.scope.clone();
    let save = move |_| {
        end(&scope, nix::sys::signal::Signal::SIGKILL, Duration::ZERO).expect("it ends");
        Err("it failed".to_owned())
    };
    let context = Context { save: Some(&save), ..job.context() };
    assert_eq!(suspend(&context, &ALL, GRACE), Err(PauseError::Gone));
    assert_eq!(suspend(&job.context(), &ALL, GRACE), Err(PauseError::Gone));
}

#[test]
fn nothing_left_is_not_a_sleep() {
    let mut job = Job::run("exit 0");
    job.child.wait().expect("it ends");
    assert_eq!(freeze(&job.scope, GRACE), Err(PauseError::Gone));
    // One that is over, and waits for somebody to take note.
    let job = Job::run("exit 0");
    job.wait_until(|job| job.scope.processes().expect("a list").is_empty());
    assert_eq!(freeze(&job.scope, GRACE), Err(PauseError::Gone));
}

#[test]
fn nothing_allowed_leaves_it_running_and_says_why() {
    let job = Job::counting();
    let error = suspend(&job.context(), &[Way::Saved, Way::Checkpointed], GRACE).expect_err("no");
    let text = error.to_string();
    assert!(text.contains("saved: it never said") && text.contains("checkpointed:"), "{text}");
    job.assert_counts_on();
}

#[test]
fn who_ignores_being_asked_is_killed() {
    let job = Job::run(
        "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo 1 > n; \
                        while :; do sleep 1; done",
    );
    job.wait_until(|job| job.count() == 1);
    let term = nix::sys::signal::Signal::SIGTERM;
    assert_eq!(end(&job.scope, term, Duration::from_millis(50)), Ok(Ended::Killed));
    assert_eq!(end(&job.scope, term, GRACE), Ok(Ended::Already));

    let job = Job::run("sleep 100 & wait");
    job.wait_until(|job| job.scope.processes().is_ok_and(|all| all.len() == 2));
    let frozen = freeze(&job.scope, GRACE).expect("it stands still");
    assert_eq!(frozen.count, 2);
    assert_eq!(end(&job.scope, term, GRACE), Ok(Ended::Asked));
}

/// A cgroup that is taken away again.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn the_freezer_is_used_where_it_is_permitted() {
    let own = std::fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
    let mount = own.lines().find(|line| line.contains(" - cgroup2 "));
    let Some(mount) = mount.and_then(|line| line.split(' ').nth(4)) else {
        eprintln!("no cgroups of version 2 here; nothing is tested");
        return;
    };
    let group = Group(Path::new(mount).join(format!("heeler-freezer-{}", std::process::id())));
    if std::fs::create_dir(&group.0).is_err() || !group.0.join("cgroup.freeze").exists() {
        eprintln!("no freezer is permitted here; nothing is tested");
        return;
    }
    let mut job = Job::counting();
    job.scope.cgroup = Some(group.0.clone());
    std::fs::write(group.0.join("cgroup.procs"), job.child.id().to_string()).expect("it moves");
    let mut asleep = suspend(&job.context(), &[Way::Frozen], GRACE).expect("it is frozen").asleep;
    assert_eq!(asleep.frozen.as_ref().map(|frozen| frozen.by), Some(By::Cgroup));
    let before = job.count();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(job.count(), before);
    resume(&job.context(), &mut asleep, &[]).expect("it goes on");
    job.assert_counts_on();
    freeze(&job.scope, GRACE).expect("it is frozen");
    drop(job);
}

/// A made-up driver: every process of the job uses a GPU, or only one of them, and some calls fail.
#[derive(Default)]
struct Scripted {
    states: Mutex<BTreeMap<i32, State>>,
    /// Calls, and what the process did at that time.
    calls: Mutex<Vec<(&'static str, i32, char)>>,
    refuses: Mutex<Vec<&'static str>>,
    hangs: Option<&'static str>,
    /// A file that is made when a checkpoint is taken, and one that it waits for: for what
    /// happens meanwhile.
    meanwhile: Option<(PathBuf, PathBuf)>,
}

impl Scripted {
    fn call(&self, name: &'static str, pid: i32, next: State) -> Result<(), CudaError> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        self.calls.lock().expect("no panic").push((name, pid, state.unwrap_or('?')));
        if self.hangs == Some(name) {
            std::thread::sleep(Duration::from_secs(5));
        }
        if self.refuses.lock().expect("no panic").contains(&name) {
            let name = "MADE_UP".to_owned();
            return Err(CudaError::Refused { call: "a call", pid, code: 999, name });
        }
        self.states.lock().expect("no panic").insert(pid, next);
        Ok(())
    }

    fn names(&self) -> Vec<&'static str> {
        self.calls.lock().expect("no panic").iter().map(|call| call.0).collect()
    }
}

impl Driver for Scripted {
    fn state(&self, pid: i32) -> Result<State, CudaError> {
        Ok(self.states.lock().expect("no panic").get(&pid).copied().unwrap_or(State::Running))
    }

    fn lock(&self, pid: i32, _: u32) -> Result<(), CudaError> {
        self.call("lock", pid, State::Locked)
    }

    fn checkpoint(&self, pid: i32) -> Result<(), CudaError> {
        if let Some((tell, wait)) = &self.meanwhile {
            std::fs::write(tell, "").expect("a file");
            while !wait.exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.call("checkpoint", pid, State::Checkpointed)
    }

    fn restore(&self, pid: i32, moves: &[Move]) -> Result<(), CudaError> {
        let name = if moves.is_empty() { "restore" } else { "restore elsewhere" };
        self.call(name, pid, State::Locked)
    }

    fn unlock(&self, pid: i32) -> Result<(), CudaError> {
        self.call("unlock", pid, State::Running)
    }

    fn may_hold(&self, _: i32) -> bool {
        true
    }

    fn memory_mb(&self, _: &[i32]) -> Option<u64> {
        None
    }
}

fn with(job: &Job, driver: &Arc<Scripted>) -> Context<'static> {
    let limits = Limits {
        lock: Duration::from_millis(20),
        answer: Duration::from_millis(500),
        ..Limits::default()
    };
    let driver: Arc<dyn Driver> = Arc::clone(driver) as Arc<dyn Driver>;
    Context { driver: Some(driver), limits, ..job.context() }
}

#[test]
fn the_driver_works_while_processes_run_and_they_are_frozen_last() {
    let job = Job::counting();
    let driver = Arc::new(Scripted::default());
    let context = with(&job, &driver);
    let outcome = suspend(&context, &ALL, GRACE).expect("it is taken off");
    assert_eq!(outcome.way, Way::Checkpointed);
    let names: Vec<&str> = outcome.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["lock", "checkpoint", "freeze"]);
    assert!(!outcome.asleep.checkpointed.is_empty());
    job.assert_still();

    let mut asleep = outcome.asleep;
    let resumed = resume(&context, &mut asleep, &[]).expect("it goes on");
    let names: Vec<&str> = resumed.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["thaw", "restore", "unlock"]);
    assert_eq!(driver.names(), ["lock", "checkpoint", "restore", "unlock"]);
    let calls = driver.calls.lock().expect("no panic").clone();
    assert!(calls.iter().all(|call| !matches!(call.2, 'T' | 't')), "{calls:?}");
    job.assert_counts_on();
}

#[test]
fn a_checkpoint_that_fails_is_undone_and_the_next_way_taken() {
    let job = Job::counting();
    let driver = Arc::new(Scripted::default());
    driver.refuses.lock().expect("no panic").push("checkpoint");
    let outcome = suspend(&with(&job, &driver), &ALL, GRACE).expect("it is frozen");
    assert_eq!(outcome.way, Way::Frozen);
    assert!(outcome.tried[1].why.contains("MADE_UP"), "{:?}", outcome.tried);
    assert_eq!(driver.names(), ["lock", "checkpoint", "unlock"]);
    let states = driver.states.lock().expect("no panic").clone();
    assert!(states.values().all(|state| *state == State::Running), "{states:?}");
    assert!(outcome.steps.iter().any(|step| step.name == "undo"));
    assert!(outcome.asleep.checkpointed.is_empty());
}

#[test]
fn what_cannot_be_undone_is_not_left_standing_but_ended() {
    let job = Job::counting();
    let driver = Arc::new(Scripted::default());
    driver.refuses.lock().expect("no panic").extend(["checkpoint", "unlock"]);
    let outcome = suspend(&with(&job, &driver), &ALL, GRACE).expect("it is ended");
    assert_eq!(outcome.way, Way::Requeued);
    assert!(outcome.tried[1].why.contains("could not be undone"), "{:?}", outcome.tried);
    assert_eq!(job.scope.processes().expect("a list"), []);
}

#[test]
fn a_driver_that_hangs_does_not_hang_who_called() {
    let job = Job::counting();
    let driver = Arc::new(Scripted { hangs: Some("lock"), ..Scripted::default() });
    // Nobody knows when the lock will come: it cannot be left standing, nor running.
    let outcome = suspend(&with(&job, &driver), &ALL, GRACE).expect("it is ended");
    assert_eq!(outcome.way, Way::Requeued);
    assert!(outcome.tried[1].why.contains("did not answer within"), "{:?}", outcome.tried);
}

#[test]
fn a_process_that_begins_to_use_a_gpu_meanwhile_is_taken_too() {
    // Without other children: each that comes and goes would be taken for a user of the GPU, too.
    let job = Job::run(
        "echo 1 > n; while [ ! -e go ]; do :; done; sh -c 'echo > born; exec sleep 50' & wait",
    );
    job.wait_until(|job| job.count() == 1);
    let meanwhile = Some((job.path("go"), job.path("born")));
    let driver = Arc::new(Scripted { meanwhile, ..Scripted::default() });
    let outcome = suspend(&with(&job, &driver), &ALL, GRACE).expect("it is taken off");
    assert_eq!(outcome.way, Way::Checkpointed);
    let there: Vec<i32> =
        job.scope.processes().expect("a list").iter().map(|process| process.pid).collect();
    assert!(there.len() >= 2);
    for pid in there {
        assert_eq!(driver.state(pid), Ok(State::Checkpointed), "{pid}");
    }
    job.assert_still();
}

#[test]
fn a_restore_that_fails_leaves_it_asleep_and_can_be_repeated() {
    let job = Job::counting();
    let driver = Arc::new(Scripted::default());
    let context = with(&job, &driver);
    let mut asleep = suspend(&context, &ALL, GRACE).expect("it is taken off").asleep;
    driver.refuses.lock().expect("no panic").push("restore");
    let error = resume(&context, &mut asleep, &[]).expect_err("it cannot");
    assert!(matches!(error, PauseError::StillAsleep { .. }), "{error}");
    job.assert_still();
    driver.refuses.lock().expect("no panic").clear();
    resume(&context, &mut asleep, &[]).expect("it goes on");
    job.assert_counts_on();
}

#[test]
fn a_job_goes_on_with_other_gpus_only_if_they_are_others() {
    let job = Job::counting();
    let driver = Arc::new(Scripted::default());
    let context = with(&job, &driver);
    let (here, there) = (Uuid([1; 16]), Uuid([2; 16]));
    for new in [here, there] {
        let mut asleep = suspend(&context, &ALL, GRACE).expect("it is taken off").asleep;
        resume(&context, &mut asleep, &[Move { old: here, new }]).expect("it goes on");
    }
    let names = driver.names();
    let restores: Vec<_> = names.iter().filter(|name| name.starts_with("restore")).collect();
    assert_eq!(restores, [&"restore", &"restore elsewhere"]);
}

#[test]
fn too_little_room_on_the_host_and_mps_are_reasons_not_to_try() {
    let job = Job::counting();
    let driver = Arc::new(Scripted::default());
    let context = Context { gpu_memory_mb: Some(u64::MAX), ..with(&job, &driver) };
    let error = suspend(&context, &[Way::Checkpointed], GRACE).expect_err("no room");
    assert!(error.to_string().contains("the host has only"), "{error}");
    let context = Context { packed: true, ..with(&job, &driver) };
    let error = suspend(&context, &[Way::Checkpointed], GRACE).expect_err("packed");
    assert!(error.to_string().contains("mps"), "{error}");
    assert_eq!(driver.names(), Vec::<&str>::new());
}

#[test]
fn the_limit_on_memory_is_lifted_while_the_host_holds_the_gpus_memory() {
    let mut job = Job::counting();
    // A folder stands for the cgroup; it has no freezer, so signals are used.
    let folder = job.path("cgroup");
    std::fs::create_dir(&folder).expect("a folder");
    let limit =
        |folder: &Path| std::fs::read_to_string(folder.join("memory.max")).expect("a limit");
    std::fs::write(folder.join("memory.max"), "1048576\n").expect("a limit");
    job.scope.cgroup = Some(folder.clone());
    let driver = Arc::new(Scripted::default());
    let context = with(&job, &driver);
    let mut asleep = suspend(&context, &ALL, GRACE).expect("it is taken off").asleep;
    assert_eq!(limit(&folder), "max");
    assert_eq!(asleep.frozen.as_ref().map(|frozen| frozen.by), Some(By::Signals));
    resume(&context, &mut asleep, &[]).expect("it goes on");
    assert_eq!(limit(&folder), "1048576");
}
