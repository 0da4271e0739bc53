//! The `heeler` command: one binary that connects server, engine, recipes and simulator with
//! people.

mod arguments;
mod bench;
mod client;
mod commands;
mod help;
mod live;
mod mistake;
mod show;
mod submit;

use clap::{ArgMatches, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static MEMORY: heeler_sys::memory::BySize = heeler_sys::memory::BySize;

const ABOUT: &str = "One scheduler for deep-learning work on GPU clusters";

const EXAMPLES: &str = "\
Examples:
  heeler up --emulate 8xA100 --background            a server; without --emulate, on real GPUs
  heeler submit --gpus 2 -t 1:00:00 train.sh         hand a job in
  heeler queue                                       what waits and runs, and why
  heeler why 17                                      why does job 17 wait, and what would help?
  heeler demo                                        compare recipes, write a report
  heeler sim --trace jobs.csv --cluster 16x8         your own trace on 16 nodes of 8 GPUs
  heeler compare fifo srtf tiresias --loads 0.7,0.9  several recipes, loads and seeds
  heeler recipes show tiresias                       what a recipe does, claims and can be set

Exit codes: 0 fine, 1 something failed, 2 a mistake in what was asked for.";

#[derive(Parser)]
#[command(name = "heeler", version, about = ABOUT, after_help = EXAMPLES, max_term_width = 100)]
#[command(propagate_version = true, disable_help_subcommand = true, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Live(live::Live),
    /// Ask why a job waits: on the server, or with any option of a simulation, in that
    Why(Box<commands::why::Why>),
    /// Compare some recipes on a generated cluster: a table, and a report to open in a browser
    Demo(commands::demo::Demo),
    /// Go through a server's journal again: check every decision, or try another recipe on it
    Replay(commands::replay::Replay),
    /// Simulate one recipe on a workload
    Sim(commands::sim::Sim),
    /// Simulate recipes × loads × seeds in parallel, with confidence intervals
    Compare(commands::compare::Compare),
    /// Find the recipe and knobs that suit a workload best, and check them on later jobs
    Tune(Box<commands::tune::Tune>),
    /// Write one HTML file that shows one or more recipes on a workload
    Report(commands::report::Report),
    /// List recipes, or show one: parts, knobs, claims, differences from its paper
    Recipes(commands::recipes::Recipes),
    /// List worlds, or show one: costs, failures, and rules of published simulators
    Worlds(commands::worlds::Worlds),
    /// List the served models that come along, or print the file of one
    Services(commands::services::Services),
    /// Describe, convert, generate and cut traces
    Trace(commands::trace::Trace),
    /// Measure how fast this build is, as ratios to a bare loop
    Bench(bench::BenchArgs),
}

fn main() -> ExitCode {
    let words = words();
    // Not for people, and not to be kept waiting by what is made for them.
    if words.get(1).is_some_and(|word| word == "shepherd") {
        return live::shepherd(words.into_iter().skip(2).collect());
    }
    let (words, pointer) = live::alias::rewrite(words);
    let matches = help::grouped::<CommandLine>().get_matches_from(words);
    if let Some(pointer) = pointer {
        eprintln!("note: {pointer}");
    }
    let parsed = CommandLine::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match run(parsed.command, &matches) {
        Ok(code) => code,
        Err(error) => mistake::report(&error),
    }
}

/// The words of the command line. What is no text is shown with marks in its place.
fn words() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn run(command: Command, matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    match command {
        Command::Live(command) => return command.run(),
        Command::Why(command) => {
            let given = matches.subcommand_matches("why");
            command.run(given.is_some_and(commands::why::is_simulated))
        }
        Command::Demo(command) => command.run(),
        Command::Replay(command) => command.run(),
        Command::Sim(command) => command.run(),
        Command::Compare(command) => command.run(),
        Command::Tune(command) => command.run(),
        Command::Report(command) => command.run(),
        Command::Recipes(command) => command.run(),
        Command::Worlds(command) => command.run(),
        Command::Services(command) => command.run(),
        Command::Trace(command) => command.run(),
        Command::Bench(arguments) => bench::run(&arguments),
    }?;
    Ok(ExitCode::SUCCESS)
}
