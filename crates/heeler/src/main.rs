//! The `heeler` command.

mod bench;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "heeler", about = "Schedules deep-learning jobs on GPU clusters.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure how fast this build is.
    Bench(bench::BenchArgs),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Bench(args) => bench::run(&args),
    }
}
