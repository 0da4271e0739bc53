//! A job put together: what its file says, what the command line says over it, and where it is
//! handed in from.

use super::depend::Wait;
use super::share::needs;
use super::wish::Wish;
use super::{Draft, Given, Wrong};
use crate::Submission;
use jiff::Zoned;
use std::collections::BTreeMap;
use std::path::Path;

/// Seconds between being asked to stop and being killed, if nothing is said.
const GRACE_S: u64 = 30;

/// Seconds before the first retry, if nothing is said.
const BACKOFF_S: u64 = 10;

/// Where a job is handed in from.
#[derive(Clone, Debug)]
pub struct Context {
    /// What time it is, and where.
    pub now: Zoned,
    /// The folder.
    pub dir: String,
    /// The variables that are set.
    pub env: BTreeMap<String, String>,
    /// What to call it, if it says nothing itself.
    pub name: String,
    /// The command, or the script's arguments.
    pub command: Vec<String>,
}

/// A job put together.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What to hand in. Jobs it waits for are not in it, since only a server knows who is meant.
    pub submission: Submission,
    /// Jobs it waits for.
    pub waits: Vec<Wait>,
    /// What the person should know.
    pub notes: Vec<String>,
    /// Where its tenant was named, if in a file: only a server knows whether there is one.
    pub tenant_at: Option<String>,
}

impl Draft {
    /// Put a job together; what is given besides comes after the file's own, and wins.
    pub fn build(self, more: &[Given], context: &Context) -> Result<Job, Wrong> {
        let all: Vec<Given> = self.given.iter().chain(more).cloned().collect();
        let wish = Wish::of(&all, &context.now)?;
        let needs = needs(&wish, self.script.is_some())?;
        let dir = below(&context.dir, wish.dir.as_deref().unwrap_or(""));
        let mut env = exported(wish.export.as_deref(), &context.env)?;
        env.extend(self.env);
        if self.script.is_none() && context.command.is_empty() {
            let hint = "name a script, or say `-- command arguments`";
            return Err(Wrong::new("there is nothing to run").hint(hint));
        }
        let tenant_at = match wish.account.is_some() {
            true => wish.account_at,
            false => wish.partition_at,
        };
        let submission = Submission {
            name: wish.name.unwrap_or_else(|| tidy_name(&context.name)),
            tenant: wish.account.or(wish.partition),
            command: context.command.clone(),
            script: self.script,
            env,
            gpus: needs.gpus,
            ranks: needs.ranks,
            nodes: needs.nodes,
            cpu_milli: needs.cpu_milli,
            memory_mb: needs.memory_mb,
            time_limit_s: wish.time_limit_s,
            expected_s: wish.expected_s,
            priority: wish.priority,
            class: wish.class,
            array: wish.array,
            after: Vec::new(),
            begin: wish.begin,
            deadline: wish.deadline,
            requeue: !wish.no_requeue,
            retries: wish.retries.unwrap_or(0),
            backoff_s: wish.backoff_s.unwrap_or(BACKOFF_S),
            early: wish.early,
            grace_s: wish.grace_s.unwrap_or(GRACE_S),
            pause: wish.pause,
            output: wish.output.map(|path| below(&dir, &path)),
            error: wish.error.map(|path| below(&dir, &path)),
            dir,
            hold: wish.hold,
            terminal: false,
            model: wish.model,
            regimes: None,
            appetite: Vec::new(),
            once: wish.once,
        };
        Ok(Job { submission, waits: wish.waits, notes: self.notes, tenant_at })
    }
}

/// A path as seen from a folder.
fn below(dir: &str, path: &str) -> String {
    match path.is_empty() {
        true => dir.to_string(),
        false => Path::new(dir).join(path).to_string_lossy().into_owned(),
    }
}

/// The variables that a job gets of those that are set.
fn exported(
    wanted: Option<&str>,
    set: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Wrong> {
    let mut env = BTreeMap::new();
    for word in wanted.unwrap_or("ALL").split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word.split_once('=') {
            Some(("", _)) => {
                let message = format!("expected NAME=VALUE, found `{word}`");
                return Err(Wrong::new(message).about("--export"));
            }
            Some((name, value)) => {
                env.insert(name.to_string(), value.to_string());
            }
            None if word.eq_ignore_ascii_case("all") => {
                let fresh = set.iter().filter(|(name, _)| is_for_jobs(name));
                let fresh: Vec<_> = fresh.filter(|(name, _)| !env.contains_key(*name)).collect();
                env.extend(fresh.into_iter().map(|(name, value)| (name.clone(), value.clone())));
            }
            None if word.eq_ignore_ascii_case("none") => {}
            None => env.extend(set.get(word).map(|value| (word.to_string(), value.clone()))),
        }
    }
    Ok(env)
}

/// Whether a variable goes along with all others. A token is nobody's business but the client's,
/// and what another job was told about itself is wrong for this one.
fn is_for_jobs(name: &str) -> bool {
    let own = ["_", "SHLVL", "OLDPWD", "PWD", "CUDA_VISIBLE_DEVICES", "RANK", "LOCAL_RANK"];
    let lead = ["HEELER_", "SLURM_"].iter().any(|lead| name.starts_with(lead));
    !lead && !own.contains(&name)
}

/// What to call a job after a file or a command.
fn tidy_name(text: &str) -> String {
    let last = text.rsplit('/').next().unwrap_or(text);
    let letter = |c: char| if c.is_ascii_alphanumeric() || "-_.+:@".contains(c) { c } else { '-' };
    let last = last.trim_start_matches(['.', '-']);
    let name: String = last.chars().map(letter).take(128).collect();
    if name.is_empty() { "job".into() } else { name }
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
