//! Moves a process's memory off its GPUs and back by the driver's own calls, and prints what each
//! step took: `checkpoint PID suspend|resume|cycle|state`. For trying the driver by hand.

use heeler_sys::cuda::Cuda;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usage: checkpoint PID suspend|resume|cycle|state";
    let (pid, what) = match arguments.as_slice() {
        [pid, what] => (pid.parse::<i32>().ok(), what.as_str()),
        _ => (None, ""),
    };
    let Some(pid) = pid else {
        eprintln!("{usage}");
        return ExitCode::from(2);
    };
    let done = match what {
        "state" => act(pid, &[]),
        "suspend" => act(pid, &["lock", "checkpoint"]),
        "resume" => act(pid, &["restore", "unlock"]),
        "cycle" => act(pid, &["lock", "checkpoint", "restore", "unlock"]),
        _ => {
            eprintln!("{usage}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("checkpoint: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Take the steps, each printed as one line of JSON.
fn act(pid: i32, steps: &[&str]) -> Result<(), heeler_sys::cuda::CudaError> {
    let begun = Instant::now();
    let cuda = Cuda::load()?;
    let took_ms = begun.elapsed().as_secs_f64() * 1e3;
    println!("{{\"step\":\"load\",\"took_ms\":{took_ms:.1},\"version\":{}}}", cuda.version());
    for step in steps {
        let begun = Instant::now();
        match *step {
            "lock" => cuda.lock(pid, 10_000)?,
            "checkpoint" => cuda.checkpoint(pid)?,
            "restore" => cuda.restore(pid, &[])?,
            _ => cuda.unlock(pid)?,
        }
        let took_ms = begun.elapsed().as_secs_f64() * 1e3;
        println!("{{\"step\":\"{step}\",\"took_ms\":{took_ms:.1}}}");
    }
    println!("{{\"state\":\"{:?}\"}}", cuda.state(pid)?);
    Ok(())
}
