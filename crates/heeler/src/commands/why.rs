//! `heeler why`: ask the server about a job, or a simulated cluster about one at some time.

use super::verdict::{Answer, Names, WhatIf, deadline, said};
use crate::arguments::{DrawArguments, RecipeArguments, SettingArguments, pair, time};
use crate::live::asking::Asking;
use crate::mistake::Mistake;
use crate::show;
use anyhow::Result;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use heeler_engine::{Edit, Verdict};
use heeler_model::{JobId, KindId, KindSet, Reason, Time, render};
use heeler_sim::{Outcome, Record, Simulation, suggest};
use serde::Serialize;

const EXAMPLES: &str = "\
Examples, on the server:
  heeler why 17                                    why it waits, and what would help
  heeler why                                       everybody who waits
Examples, simulated:
  heeler why 9000 --load 0.9                       at its submission
  heeler why 9000 --load 0.9 --at '3 days'         later
  heeler why 9000 --load 0.9 --if gpus=4           if it had asked for 4 GPUs
  heeler why --load 0.9 --at '3 days'              everybody who waits then
  heeler why j17 --trace jobs.csv --recipe fifo-easy --at 3h";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Why {
    /// The job: on the server 17, 17_3 or last; in a simulation as the trace calls it, or by its
    /// number from 0; all that wait, if none is named
    job: Option<String>,
    /// The simulated time to ask at, such as `3h` or `2 days 4 h` [default: when the job is
    /// submitted]
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<Time>,
    /// What if the job had asked for something else: gpus=N, kind=NAME[+NAME], priority=N
    #[arg(long = "if", value_name = "NAME=VALUE", value_parser = pair, value_delimiter = ',')]
    edits: Vec<(String, String)>,
    /// At most so many lines, if no job is named
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    recipe: RecipeArguments,
    #[command(flatten)]
    draw: DrawArguments,
    #[command(flatten)]
    asking: Asking,
    #[command(flatten)]
    setting: SettingArguments,
}

/// Whether a simulation is asked about: if anything is said that only simulations have.
pub(crate) fn is_simulated(matches: &ArgMatches) -> bool {
    const OF_BOTH: [&str; 5] = ["job", "json", "server", "limit", "help"];
    // Groups of arguments are listed, too, and have no source of their own.
    let is_given = |id: &str| {
        matches.try_contains_id(id).is_ok()
            && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let mut ids = matches.ids().map(clap::Id::as_str);
    ids.any(|id| !OF_BOTH.contains(&id) && is_name_of_argument(id) && is_given(id))
}

/// Arguments are written small; groups are named after types.
fn is_name_of_argument(id: &str) -> bool {
    !id.starts_with(char::is_uppercase)
}

impl Why {
    pub(crate) fn run(&self, is_simulated: bool) -> Result<()> {
        if !is_simulated {
            return crate::live::why(&self.asking, self.job.as_deref());
        }
        let choice = self.recipe.choose()?;
        let setting = self.setting.prepare()?;
        let scene = setting.scene(self.draw.load, self.draw.seed)?;
        let mut simulation = scene.simulate(&choice);
        let Some(name) = &self.job else { return self.everybody(&mut simulation) };
        let job = self.go_to(&mut simulation, name)?;
        let answer = self.answer(&simulation, job)?;
        match self.asking.json {
            true => show::print_json("heeler/why/1", &answer),
            false => show::print(&answer.text(&choice.label)),
        }
    }

    /// Go to the time that is asked about.
    fn go_to(&self, simulation: &mut Simulation, name: &str) -> Result<JobId> {
        match self.at {
            Some(at) => simulation.run_until(at),
            None => go_on_until_there(simulation, name),
        }
        if let Some(job) = simulation.find(name) {
            return Ok(job);
        }
        let at = simulation.now();
        go_on_until_there(simulation, name);
        let mistake = match simulation.find(name) {
            Some(job) => {
                let submitted = simulation.records()[job].submitted;
                Mistake::new(format!("job {name} is not there at {at}"))
                    .hint(format!("it is submitted at {submitted}"))
            }
            None => {
                let count = simulation.records().all().len() as u32;
                let first = simulation.name(JobId(0));
                let names: Vec<String> =
                    (0..count.min(50_000)).map(JobId).map(|job| simulation.name(job)).collect();
                let hint = match suggest::closest(name, names.iter().map(String::as_str)) {
                    Some(close) => format!("did you mean `{close}`?"),
                    None => format!("there are {count} jobs; the first is `{first}`"),
                };
                Mistake::new(format!("there is no job `{name}`")).hint(hint)
            }
        };
        Err(mistake.into())
    }

    fn answer(&self, simulation: &Simulation, job: JobId) -> Result<Answer> {
        let record = &simulation.records()[job];
        let (noted, reserved, said) = said(simulation, job, &simulation.engine().why(job));
        let what_if = self.what_if(simulation, job)?;
        let mut ahead = simulation.fork();
        let is_done = |record: &Record| record.ended.is_some();
        while !is_done(&ahead.records()[job]) && ahead.advance(Time::MAX) {}
        let later = &ahead.records()[job];
        let starts = match has_started(simulation, job) {
            true => None,
            false => simulation_start(simulation, job),
        };
        Ok(Answer {
            job: simulation.name(job),
            at_s: simulation.now().secs_f64(),
            gpus: record.gpus,
            tenant: simulation.cluster().tenants[record.tenant.index()].name.clone(),
            submitted_s: record.submitted.secs_f64(),
            said,
            noted,
            reserved,
            deadline: deadline(simulation, job),
            starts_s: starts.map(Time::secs_f64),
            ends_s: later.ended.map(Time::secs_f64),
            would_start_with: smaller(simulation, job),
            what_if,
        })
    }

    fn what_if(&self, simulation: &Simulation, job: JobId) -> Result<Option<WhatIf>> {
        if self.edits.is_empty() {
            return Ok(None);
        }
        let mut edit = Edit::default();
        for (name, value) in &self.edits {
            change(&mut edit, name, value, simulation)?;
        }
        let verdict = simulation.engine().what_if(job, edit);
        let (_, reserved, said) = said(simulation, job, &verdict);
        let words: Vec<String> =
            self.edits.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Ok(Some(WhatIf { edit: words.join(", "), said, reserved }))
    }

    /// Everybody who waits.
    fn everybody(&self, simulation: &mut Simulation) -> Result<()> {
        let Some(at) = self.at else {
            let mistake = Mistake::new("about which job, or at what time?");
            return Err(mistake.hint("name a job, or ask about all with --at TIME").into());
        };
        if !self.edits.is_empty() {
            return Err(Mistake::new("`--if` needs a job").hint("name the job first").into());
        }
        simulation.run_until(at);
        let engine = simulation.engine();
        let plan = engine.full_plan();
        let names = Names(simulation);
        let mut waiting: Vec<Waiting> = plan
            .wait
            .iter()
            .map(|wait| {
                let record = &simulation.records()[wait.job];
                Waiting {
                    job: simulation.name(wait.job),
                    gpus: record.gpus,
                    waits_s: at.since(record.held_since).secs_f64(),
                    reason: wait.reason,
                    sentence: render(&wait.reason, &names).sentence,
                }
            })
            .collect();
        waiting.sort_by(|a, b| b.waits_s.total_cmp(&a.waits_s));
        if self.asking.json {
            return show::print_json(
                "heeler/waiting/1",
                &Everybody { at_s: at.secs_f64(), waiting },
            );
        }
        let mut table = show::Table::prose(&["job", "GPUs>", "waits for>", "why"]);
        for job in waiting.iter().take(self.limit) {
            let waits = show::seconds(job.waits_s);
            table.row([job.job.clone(), job.gpus.to_string(), waits, job.sentence.clone()]);
        }
        let level = simulation.level();
        let (busy, there) = (level.busy_milli as f64 / 1000.0, level.there_milli as f64 / 1000.0);
        let mut text = format!(
            "At {at}: {} jobs run on {} of {} GPUs, {} wait.\n\n{}",
            show::count(level.running),
            show::decimal(busy),
            show::decimal(there),
            show::count(waiting.len() as u64),
            table.text()
        );
        if waiting.len() > self.limit {
            text.push_str(&format!("… and {} more (--limit)\n", waiting.len() - self.limit));
        }
        show::print(&text)
    }
}

#[derive(Serialize)]
struct Everybody {
    at_s: f64,
    waiting: Vec<Waiting>,
}

#[derive(Serialize)]
struct Waiting {
    job: String,
    gpus: u32,
    waits_s: f64,
    reason: Reason,
    sentence: String,
}

/// Go on until a job is submitted. Only new jobs are looked at: there may be millions.
fn go_on_until_there(simulation: &mut Simulation, name: &str) {
    let mut seen = 0;
    loop {
        let count = simulation.records().all().len();
        let mut fresh = (seen..count).map(|index| JobId(index as u32));
        if fresh.any(|job| simulation.name(job) == name || job.to_string() == name) {
            return;
        }
        seen = count;
        if !simulation.advance(Time::MAX) {
            return;
        }
    }
}

/// Whether a job has what it asked for: GPUs, or a place where it needs none.
fn has_started(simulation: &Simulation, job: JobId) -> bool {
    let runs =
        || simulation.engine().state().jobs().get(job).is_some_and(heeler_engine::Job::is_running);
    simulation.records()[job].milli > 0.0 || runs()
}

/// When a job next gets GPUs, if the simulation goes on.
fn simulation_start(simulation: &Simulation, job: JobId) -> Option<Time> {
    if simulation.records()[job].ended.is_some() {
        return None;
    }
    let mut ahead = simulation.fork();
    while !has_started(&ahead, job) && ahead.records()[job].ended.is_none() {
        if !ahead.advance(Time::MAX) {
            return None;
        }
    }
    // A trial may be over, and a service may end, without running again.
    (has_started(&ahead, job) || ahead.records()[job].outcome == Outcome::Finished)
        .then_some(ahead.now())
}

/// The most GPUs with which a waiting job would start now: halved until it does.
fn smaller(simulation: &Simulation, job: JobId) -> Option<u32> {
    let engine = simulation.engine();
    // Between rounds nobody starts, whatever the size.
    match engine.why(job) {
        Verdict::Waits { reason: Reason::RoundNotOver { .. }, .. } => return None,
        Verdict::Waits { .. } => {}
        _ => return None,
    }
    let halves = std::iter::successors(Some(simulation.records()[job].gpus / 2), |n| Some(n / 2));
    let starts = |gpus: &u32| {
        let edit = Edit { gpus: Some(*gpus), ..Edit::default() };
        matches!(engine.what_if(job, edit), Verdict::Starts { .. })
    };
    halves.take_while(|gpus| *gpus > 0).find(starts)
}

fn change(
    edit: &mut Edit,
    name: &str,
    value: &str,
    simulation: &Simulation,
) -> Result<(), Mistake> {
    let number = |what: &str| {
        Mistake::new(format!("`--if {name}={value}`: expected {what}")).hint("such as --if gpus=4")
    };
    match name {
        "gpus" => match value.parse::<u32>() {
            Ok(gpus) if gpus > 0 => edit.gpus = Some(gpus),
            _ => return Err(number("a number of GPUs above 0")),
        },
        "priority" => {
            edit.priority = Some(value.parse().map_err(|_| number("a whole number"))?);
        }
        "kind" => {
            let kinds = &simulation.cluster().kinds;
            let mut set = KindSet::default();
            for word in value.split('+') {
                let found = kinds.iter().position(|kind| kind.name == word);
                let Some(index) = found else {
                    let known = kinds.iter().map(|kind| kind.name.as_str());
                    let mistake = Mistake::new(format!("the cluster has no GPU of kind `{word}`"));
                    return Err(mistake.hint(suggest::hint(word, known)));
                };
                set = set.with(KindId(index as u8));
            }
            edit.kinds = Some(set);
        }
        _ => {
            let mistake =
                Mistake::new(format!("`--if {name}={value}`: nothing is called `{name}`"));
            return Err(mistake.hint(suggest::hint(name, ["gpus", "kind", "priority"])));
        }
    }
    Ok(())
}
