//! Whether somebody may ask for something, and whether it makes sense. Checking changes nothing: it
//! resolves what was asked into what is journaled.

mod names;
mod signals;
mod submission;

pub use signals::signal_number;

pub(crate) use names::{is_name, with_nearest};

use crate::ask::{Act, Ask};
use crate::live::Live;
use crate::recipe::InCharge;
use crate::tenants::BEST_EFFORT;
use heeler_api::{Code, Problem, Role, Selection, TenantChange, TokenRequest, Who};
use heeler_model::Time;

/// Tenants there can be.
const TENANTS_MAX: usize = 20_000;
/// Users that can be named at a time.
const USERS_MAX: usize = 1_000;
/// Tokens there can be.
const TOKENS_MAX: usize = 10_000;
/// Letters of a note.
const NOTE_MAX: usize = 500;
/// A time limit, seconds: ten years.
pub(crate) const SECONDS_MAX: u64 = 315_360_000;
/// A priority lies between this and its negative.
pub(crate) const PRIORITY_MAX: i32 = 1_000_000;
/// Regimes that a job may go through.
pub(crate) const REGIMES_MAX: usize = 64;
/// More times as fast nothing makes a job.
pub(crate) const PACE_MAX: f64 = 1e6;

fn invalid(field: &str, message: impl Into<String>) -> Problem {
    Problem::new(Code::Invalid, message).at(field)
}

fn need(who: &Who, role: Role, to: &str) -> Result<(), Problem> {
    if who.role >= role {
        return Ok(());
    }
    let name = role.word();
    let problem = Problem::new(Code::Forbidden, format!("you may not {to}"));
    Err(problem.hint(format!("this takes the role {name}")))
}

impl Live {
    /// Whether somebody may ask for something, and the same with selections resolved to numbers and
    /// with defaults filled in. Changes nothing.
    pub fn check(&self, who: &Who, ask: Ask, at: Time) -> Result<Ask, Problem> {
        match ask {
            Ask::Submit(submissions) => {
                need(who, Role::User, "hand in jobs")?;
                self.check_submissions(who, submissions, at.max(self.now)).map(Ask::Submit)
            }
            Ask::Act { jobs, act } => {
                need(who, Role::User, "act on jobs")?;
                check_act(&act)?;
                let numbers = self.select(who, &jobs)?;
                self.check_owner(who, &numbers)?;
                Ok(Ask::Act { jobs: as_ranges(&numbers), act })
            }
            Ask::Tenant { name, change } => {
                need(who, Role::Admin, "change tenants")?;
                self.check_tenant(&name, &change)?;
                Ok(Ask::Tenant { name, change })
            }
            Ask::Token { request, hash } => {
                need(who, Role::Admin, "make tokens")?;
                self.check_token(&request, &hash)?;
                Ok(Ask::Token { request, hash })
            }
            Ask::Revoke { token } => {
                need(who, Role::Admin, "take tokens back")?;
                if !self.people.tokens.contains_key(&token) {
                    let message = format!("there is no token {token}");
                    return Err(Problem::new(Code::NotFound, message));
                }
                Ok(Ask::Revoke { token })
            }
            Ask::Recipe(change) => {
                need(who, Role::Operator, "change the recipe")?;
                InCharge::chosen(&change, at)?.build()?;
                Ok(Ask::Recipe(change))
            }
            Ask::Drain { node, note } => {
                need(who, Role::Operator, "drain nodes")?;
                self.node_named(&node)?;
                if note.as_ref().is_some_and(|note| note.chars().count() > NOTE_MAX) {
                    return Err(invalid("note", format!("a note has at most {NOTE_MAX} letters")));
                }
                Ok(Ask::Drain { node, note })
            }
            Ask::Undrain { node } => {
                need(who, Role::Operator, "open nodes")?;
                self.node_named(&node)?;
                Ok(Ask::Undrain { node })
            }
            Ask::Lose { node } => {
                need(who, Role::Operator, "declare nodes lost")?;
                self.node_named(&node)?;
                Ok(Ask::Lose { node })
            }
        }
    }

    /// Whether all of these jobs are theirs to act on. Those they cannot see were left out before.
    fn check_owner(&self, who: &Who, jobs: &[u32]) -> Result<(), Problem> {
        let others = jobs.iter().filter_map(|job| self.jobs.get(*job));
        let foreign = others.into_iter().find(|job| !self.may_act(who, job));
        match foreign {
            None => Ok(()),
            Some(job) => {
                let message = format!("job {} is {}'s", job.id, job.user);
                let problem = Problem::new(Code::Forbidden, message);
                Err(problem.hint("operators may act on the jobs of others"))
            }
        }
    }

    pub(crate) fn check_tenant(&self, name: &str, change: &TenantChange) -> Result<(), Problem> {
        if !is_name(name, 64) || name == BEST_EFFORT {
            let message = "a tenant's name has up to 64 letters, digits and -_.+:@";
            return Err(invalid("name", message));
        }
        let known = self.people.find(name);
        if known.is_none() && self.people.tenants.len() >= TENANTS_MAX {
            let message = format!("there are {TENANTS_MAX} tenants already");
            return Err(Problem::new(Code::TooLarge, message).at("name"));
        }
        if let Some(parent) = &change.parent {
            let above = self.tenant_named(parent, "parent")?;
            if known.is_some_and(|id| self.people.spec(id).parent != Some(above)) {
                let message = format!("{name} is part of another tenant, or of none");
                let problem = Problem::new(Code::Conflict, message).at("parent");
                return Err(problem.hint("make a tenant of another name"));
            }
        }
        let users = change.add_users.iter().chain(&change.remove_users);
        if users.clone().count() > USERS_MAX {
            return Err(invalid("add-users", format!("at most {USERS_MAX} users at a time")));
        }
        if let Some(user) = users.into_iter().find(|user| !is_name(user, 64)) {
            return Err(invalid("add-users", format!("`{user}` is no user's name")));
        }
        if change.weight.is_some_and(|weight| weight == 0 || weight > 1_000_000) {
            return Err(invalid("weight", "a weight lies between 1 and 1000000"));
        }
        Ok(())
    }

    /// The tenant of a name, or what to say if there is none.
    pub(crate) fn tenant_named(
        &self,
        name: &str,
        field: &str,
    ) -> Result<heeler_model::TenantId, Problem> {
        self.people.find(name).ok_or_else(|| {
            let problem = Problem::new(Code::NotFound, format!("there is no tenant `{name}`"));
            let names = self.people.names.keys().map(String::as_str);
            with_nearest(problem.at(field), name, names.filter(|name| *name != BEST_EFFORT))
        })
    }

    fn check_token(&self, request: &TokenRequest, hash: &str) -> Result<(), Problem> {
        if !is_name(&request.user, 64) {
            return Err(invalid("user", format!("`{}` is no user's name", request.user)));
        }
        for tenant in &request.tenants {
            self.tenant_named(tenant, "tenants")?;
        }
        if request.expires_s.is_some_and(|seconds| seconds == 0 || seconds > SECONDS_MAX) {
            return Err(invalid("expires-s", "a token lasts between a second and ten years"));
        }
        if self.people.tokens.len() >= TOKENS_MAX {
            let problem = Problem::new(Code::TooLarge, format!("there are {TOKENS_MAX} tokens"));
            return Err(problem.hint("take some back"));
        }
        if hash.len() != 64 || !hash.bytes().all(|letter| letter.is_ascii_hexdigit()) {
            return Err(invalid("hash", "a hash has 64 hexadecimal digits"));
        }
        Ok(())
    }
}

fn check_act(act: &Act) -> Result<(), Problem> {
    match act {
        Act::Signal(signal) if !(1..=64).contains(signal) => {
            Err(invalid("value", "signals are numbered from 1 to 64"))
        }
        Act::Priority(priority) if priority.unsigned_abs() > PRIORITY_MAX.unsigned_abs() => {
            Err(invalid("value", format!("a priority is at most {PRIORITY_MAX}")))
        }
        Act::TimeLimit(Some(seconds)) if *seconds == 0 || *seconds > SECONDS_MAX => {
            Err(invalid("value", "a time limit lies between a second and ten years"))
        }
        _ => Ok(()),
    }
}

/// Numbers as ranges of neighbours, which name no job but these.
fn as_ranges(numbers: &[u32]) -> Selection {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let ranges = ranges.into_iter();
    Selection(ranges.map(|(first, last)| heeler_api::Selector::Range(first, last)).collect())
}
