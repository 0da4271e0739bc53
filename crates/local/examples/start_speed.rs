//! How long a job takes from the order until its process runs, beside starting the same process
//! bare: medians of one run on this machine. Say where a shepherd's program is.

use heeler_backend::{Backend, Launch, Order, Ranks, Resume, Sign};
use heeler_local::{Local, Setup};
use heeler_model::{Assignment, Generation, JobId, NodeId, Placement, Slots};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const COUNT: u32 = 200;

fn main() {
    let program = std::env::args().nth(1).expect("say where a shepherd's program is");
    let folder = tempfile::tempdir().expect("a folder");
    let mut setup = Setup::new(folder.path());
    (setup.program, setup.arguments) = (program.into(), Vec::new());
    setup.emulate = Some("8xA100".into());
    setup.cgroups = std::env::args().nth(2).as_deref() != Some("without-cgroups");
    let (sender, signs) = channel();
    let sender = Mutex::new(sender);
    let tell = Arc::new(move |sign| {
        let _ = sender.lock().expect("nobody panicked").send(sign);
    });
    let mut local = Local::new(setup, tell).expect("a world");
    local.adopt(Vec::new());
    let (mut bare, mut ours, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for job in 1..=COUNT {
        // Shepherds get ready meanwhile, as they do between the jobs of people.
        std::thread::sleep(Duration::from_millis(20));
        let begun = Instant::now();
        let mut command = Command::new("/bin/true");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        bare.push(begun.elapsed());
        child.expect("true runs").wait().expect("it ends");

        let begun = Instant::now();
        local.carry_out(Order::Start(Box::new(launch(job))));
        loop {
            match signs.recv().expect("a sign") {
                Sign::Started { .. } => ours.push(begun.elapsed()),
                Sign::Ended { .. } => break,
                _ => {}
            }
        }
        whole.push(begun.elapsed());
    }
    let [bare, ours, whole] = [bare, ours, whole].map(median);
    println!("bare spawn        {bare:>8.0} us");
    println!("order to running  {ours:>8.0} us, {:.2} times that", ours / bare);
    println!("order to ended    {whole:>8.0} us");
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn launch(job: u32) -> Launch {
    Launch {
        job: JobId(job),
        generation: Generation(1),
        restarts: 0,
        name: "speed".into(),
        user: String::new(),
        tenant: String::new(),
        array: None,
        command: vec!["/bin/true".into()],
        script: None,
        dir: "/".into(),
        env: std::collections::BTreeMap::new(),
        identity: None,
        ranks: Ranks::One,
        assignment: Assignment::whole(Placement::on(NodeId(0), Slots(1))),
        cpu_milli: 0,
        memory_mb: 0,
        gpu_memory_mb: 0,
        output: None,
        terminal: false,
        resume: Resume::No,
        ways: Vec::new(),
        grace_s: 10,
    }
}
