//! The commands that talk to a server: one file for each family. All of them go through the HTTP
//! API, and so can do nothing that another client could not.

mod accounts;
mod act;
pub(crate) mod alias;
pub(crate) mod asking;
mod charge;
mod down;
mod events;
mod knowing;
mod lock;
mod logs;
mod nodes;
mod queue;
mod records;
mod run;
mod serve;
mod show;
mod terminal;
mod top;
mod up;
pub(crate) mod wait;
mod whatif;
mod words;

pub(crate) use knowing::{forecast_text, why};
pub(crate) use serve::shepherd;

use anyhow::Result;
use clap::Subcommand;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(crate) enum Live {
    /// Start the server of this machine: its GPUs (or emulated ones), a queue, an API
    Up(up::Up),
    /// End the server; its jobs go on, and the next server finds them
    Down(down::Down),
    /// Show how the server is
    Server(charge::Server),
    /// Hand in jobs: scripts, YAML files or commands, with Slurm's options
    Submit(Box<crate::submit::Submit>),
    /// Hand a command in, show what it prints as if it ran here, and end as it does
    Run(Box<run::Run>),
    /// List jobs that wait and run, and why those that wait do
    Queue(queue::Queue),
    /// Show everything about a job
    Show(show::Show),
    /// Show what a job printed, and prints
    Logs(logs::Logs),
    /// Take jobs back
    Cancel(act::Cancel),
    /// Keep waiting jobs from starting
    Hold(act::Jobs),
    /// Let held jobs start
    Release(act::Jobs),
    /// Take running jobs off their GPUs until they are resumed
    Suspend(act::Jobs),
    /// Let suspended jobs go on
    Resume(act::Jobs),
    /// Stop running jobs, and start them from the beginning when it is their turn
    Requeue(act::Jobs),
    /// Send running jobs a signal
    Signal(act::Signal),
    /// Give jobs another priority
    Priority(act::Valued),
    /// Give jobs another time limit
    TimeLimit(act::Valued),
    /// Say when a job will start, and how good such estimates were
    When(knowing::When),
    /// Compare what is coming with another recipe, quota, node count or job
    Whatif(whatif::WhatIfCommand),
    /// Watch GPUs, jobs and tenants on this terminal
    Top(top::Top),
    /// Follow what happens
    Events(events::Events),
    /// List jobs that are over
    History(records::History),
    /// Show GPU-hours by tenant and user, useful and lost
    Usage(records::Asked),
    /// List who was stopped for whom, and what that cost
    Evictions(records::Asked),
    /// List who changed what
    Audit(records::Asked),
    /// List nodes and their GPUs
    Nodes(nodes::Nodes),
    /// Let nothing new start on a node
    Drain(nodes::Drain),
    /// Let jobs start on a node again
    Undrain(nodes::Node),
    /// Take a node for lost, with all that runs there
    Lose(nodes::Node),
    /// Show the recipe that decides, or let another decide
    Recipe(charge::Recipe),
    /// List tenants, make one or change one
    Tenant(accounts::Tenant),
    /// Set how many GPUs a tenant can always get back
    Quota(accounts::Quota),
    /// Make, list and take back tokens for those who come over the network
    Token(accounts::Token),
}

impl Live {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self {
            Live::Submit(command) => return command.run(),
            Live::Run(command) => return command.run(),
            Live::Up(command) => command.run(),
            Live::Down(command) => command.run(),
            Live::Server(command) => command.run(),
            Live::Queue(command) => command.run(),
            Live::Show(command) => command.run(),
            Live::Logs(command) => command.run(),
            Live::Cancel(command) => command.run(),
            Live::Hold(jobs) => jobs.act("hold", "held"),
            Live::Release(jobs) => jobs.act("release", "released"),
            Live::Suspend(jobs) => jobs.act("suspend", "told to leave its GPUs"),
            Live::Resume(jobs) => jobs.act("resume", "may go on"),
            Live::Requeue(jobs) => jobs.act("requeue", "told to start again"),
            Live::Signal(command) => command.run(),
            Live::Priority(command) => command.priority(),
            Live::TimeLimit(command) => command.time_limit(),
            Live::When(command) => command.run(),
            Live::Whatif(command) => command.run(),
            Live::Top(command) => command.run(),
            Live::Events(command) => command.run(),
            Live::History(command) => command.run(),
            Live::Usage(command) => command.usage(),
            Live::Evictions(command) => command.evictions(),
            Live::Audit(command) => command.audit(),
            Live::Nodes(command) => command.run(),
            Live::Drain(command) => command.run(),
            Live::Undrain(node) => node.undrain(),
            Live::Lose(node) => node.lose(),
            Live::Recipe(command) => command.run(),
            Live::Tenant(command) => command.run(),
            Live::Quota(command) => command.run(),
            Live::Token(command) => command.run(),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}
