//! How long a job takes from the order until its process does something, beside starting the same
//! process bare: medians of one run on this machine. Say where a shepherd's program is, and
//! perhaps what to run; what it is given last is a file to write a line to.

use heeler_backend::{Backend, Launch, Order, Ranks, Resume, Sign};
use heeler_local::{Local, Setup};
use heeler_model::{Assignment, Generation, JobId, NodeId, Placement, Slots};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const COUNT: u32 = 200;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().expect("say where a shepherd's program is");
    let mut command: Vec<String> = arguments.collect();
    if command.is_empty() {
        command = ["sh", "-c", "echo > $0"].map(String::from).to_vec();
    }
    let folder = tempfile::tempdir().expect("a folder");
    let fifo = folder.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("a fifo");
    command.push(fifo.display().to_string());
    let mut setup = Setup::new(folder.path());
    (setup.program, setup.arguments) = (program.into(), Vec::new());
    setup.emulate = Some("8xA100".into());
    let (sender, signs) = channel();
    let sender = Mutex::new(sender);
    let tell = Arc::new(move |sign| {
        let _ = sender.lock().expect("nobody panicked").send(sign);
    });
    let mut local = Local::new(setup, tell).expect("a world");
    local.adopt(Vec::new());
    let [mut bare, mut ours, mut whole] = std::array::from_fn(|_| Vec::new());
    for job in 1..=COUNT {
        // Shepherds get ready meanwhile, as they do between the jobs of people.
        std::thread::sleep(Duration::from_millis(20));
        let begun = Instant::now();
        let child = Command::new(&command[0]).args(&command[1..]).stdin(Stdio::null()).spawn();
        std::fs::read(&fifo).expect("it writes");
        bare.push(begun.elapsed());
        child.expect("it runs").wait().expect("it ends");

        let launch = launch(job, command.clone());
        let begun = Instant::now();
        local.carry_out(Order::Start(Box::new(launch)));
        std::fs::read(&fifo).expect("it writes");
        ours.push(begun.elapsed());
        while !matches!(signs.recv().expect("a sign"), Sign::Ended { .. }) {}
        whole.push(begun.elapsed());
    }
    let [bare, ours, whole] = [bare, ours, whole].map(median);
    println!("bare              {bare:>8.0} us");
    println!("as a job          {ours:>8.0} us, {:.2} times that", ours / bare);
    println!("told that it ended{whole:>8.0} us");
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn launch(job: u32, command: Vec<String>) -> Launch {
    Launch {
        job: JobId(job),
        generation: Generation(1),
        restarts: 0,
        name: "speed".into(),
        user: String::new(),
        tenant: String::new(),
        array: None,
        command,
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
        error: None,
        terminal: false,
        resume: Resume::No,
        ways: Vec::new(),
        grace_s: 10,
    }
}
