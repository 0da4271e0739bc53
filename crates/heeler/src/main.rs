//! The `heeler` command: one binary that connects engine, recipes and simulator with people.

mod arguments;
mod bench;
mod commands;
mod mistake;
mod show;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

const ABOUT: &str = "One scheduler for deep-learning work on GPU clusters";

const EXAMPLES: &str = "\
Examples:
  heeler demo                                        compare recipes, write a report
  heeler sim --generate philly --recipe tiresias     one recipe on generated jobs
  heeler sim --trace jobs.csv --cluster 16x8         your own trace on 16 nodes of 8 GPUs
  heeler compare fifo srtf tiresias --loads 0.7,0.9  several recipes, loads and seeds
  heeler why 17 --at 3h --if gpus=4                  why does job 17 wait, and would 4 GPUs help?
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
    /// Compare some recipes on a generated cluster: a table, and a report to open in a browser
    Demo(commands::demo::Demo),
    /// Simulate one recipe on a workload
    Sim(commands::sim::Sim),
    /// Simulate recipes × loads × seeds in parallel, with confidence intervals
    Compare(commands::compare::Compare),
    /// Ask why a job waits at some time, when it will start, and what would help
    Why(commands::why::Why),
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
    let done = match CommandLine::parse().command {
        Command::Demo(command) => command.run(),
        Command::Sim(command) => command.run(),
        Command::Compare(command) => command.run(),
        Command::Why(command) => command.run(),
        Command::Report(command) => command.run(),
        Command::Recipes(command) => command.run(),
        Command::Worlds(command) => command.run(),
        Command::Services(command) => command.run(),
        Command::Trace(command) => command.run(),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => mistake::report(&error),
    }
}
