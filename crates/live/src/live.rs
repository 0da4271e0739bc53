//! The whole state of the control plane, and its two steps: take up a record, then decide.

use crate::accounts::Accounts;
use crate::ask::{Ask, Done};
use crate::change::Change;
use crate::digest;
use crate::input::{Input, Record};
use crate::job::Alarm;
use crate::nodes::NodeState;
use crate::recipe::InCharge;
use crate::store::Jobs;
use crate::tenants::People;
use heeler_api::{Problem, Who};
use heeler_backend::{Inventory, Order};
use heeler_engine::{Engine, Rules};
use heeler_model::{Event, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Changes that are kept for whoever asks; older ones go.
const CHANGES_MAX: usize = 200_000;
/// After a plan that could not be, the next attempt if nothing happens before, seconds.
const FAULT_RETRY_S: u64 = 10;

/// What came of a decision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// What the world has to do, in this order.
    pub orders: Vec<Order>,
    /// When to come with [`Input::Tick`], if nothing happens before.
    pub wake: Option<Time>,
    /// What was wrong with the recipe's plan, which was then not carried out.
    pub fault: Option<String>,
}

/// The control plane without its world.
///
/// It is saved and loaded between a decision and the next record, never in between.
pub struct Live {
    pub(crate) epoch: u64,
    pub(crate) now: Time,
    /// When somebody looks; decides nothing.
    pub(crate) seen: Time,
    pub(crate) inventory: Inventory,
    pub(crate) engine: Engine,
    /// The engine does not know the newest tenants yet.
    pub(crate) outgrown: bool,
    pub(crate) recipe: InCharge,
    pub(crate) people: People,
    pub(crate) nodes: Vec<NodeState>,
    pub(crate) jobs: Jobs,
    /// Numbers of models, by name; nobody's is zero.
    pub(crate) model_numbers: BTreeMap<String, u16>,
    /// Numbers of users, by name; nobody's is zero.
    pub(crate) user_numbers: BTreeMap<String, u32>,
    pub(crate) alarms: BTreeSet<(Time, u32, Alarm)>,
    pub(crate) accounts: Accounts,
    /// The best steps a second seen alone, by model and number of GPUs.
    pub(crate) paces: BTreeMap<(u16, u32), f64>,
    /// Orders that do not come from the engine.
    pub(crate) outbox: Vec<Order>,
    pub(crate) changes: VecDeque<Change>,
    pub(crate) digest: u64,
    pub(crate) decisions: u64,
}

impl Live {
    /// A control plane with nothing in it, as after a record with `Input::Opened`.
    pub fn open(
        epoch: u64,
        inventory: Inventory,
        recipe: &str,
        seed: u64,
    ) -> Result<Live, Problem> {
        let recipe = InCharge::built_in(recipe, Time::ZERO)?;
        let people = People::first();
        let mut cluster = inventory.cluster.clone();
        cluster.tenants = people.cluster_tenants();
        let engine = Engine::new(Arc::new(cluster), recipe.build()?, Rules::default(), seed);
        Ok(Live {
            epoch,
            now: Time::ZERO,
            seen: Time::ZERO,
            nodes: vec![NodeState::default(); inventory.cluster.nodes.len()],
            inventory,
            engine,
            outgrown: false,
            recipe,
            people,
            jobs: Jobs::default(),
            model_numbers: BTreeMap::new(),
            user_numbers: BTreeMap::new(),
            alarms: BTreeSet::new(),
            accounts: Accounts::default(),
            paces: BTreeMap::new(),
            outbox: Vec::new(),
            changes: VecDeque::new(),
            digest: digest::START,
            decisions: 0,
        })
    }

    /// Take up a record. The answers are to those who asked, in the order they did.
    pub fn apply(&mut self, record: &Record) -> Vec<Result<Done, Problem>> {
        self.now = self.now.max(record.at);
        let mut answers = Vec::new();
        for input in &record.inputs {
            match input {
                Input::Asked { who, ask } => answers.push(self.answer(who, ask)),
                Input::Sign(sign) => self.take_sign(sign),
                Input::Restarted => self.lose_again(),
                Input::Opened { .. } | Input::Tick => {}
            }
        }
        self.ring();
        answers
    }

    fn answer(&mut self, who: &Who, ask: &Ask) -> Result<Done, Problem> {
        match ask {
            Ask::Submit(submissions) => self.submit(who, submissions),
            Ask::Act { jobs, act } => self.act(who, jobs, act),
            Ask::Tenant { name, change } => self.change_tenant(who, name, change),
            Ask::Token { request, hash } => self.make_token(who, request, hash),
            Ask::Revoke { token } => self.revoke(who, *token),
            Ask::Recipe(change) => self.change_recipe(who, change),
            Ask::Drain { node, note } => self.drain(who, node, note.clone()),
            Ask::Undrain { node } => self.undrain(who, node),
            Ask::Lose { node } => self.lose(who, node),
        }
    }

    /// Decide on everything taken up so far. Called once after each record.
    pub fn decide(&mut self, at: Time) -> Decision {
        self.now = self.now.max(at);
        self.grow();
        let mut step = heeler_engine::Step::default();
        let fault = self.engine.decide_into(self.now, &mut step).err();
        let mut orders = std::mem::take(&mut self.outbox);
        self.carry_out(step.actions, &mut orders);
        orders.append(&mut self.outbox);
        self.digest = digest::extend(self.digest, self.now, &orders);
        self.decisions += 1;
        let mut wake = step.wake.filter(|wake| *wake < Time::MAX);
        if fault.is_some() {
            wake = Some(self.now + heeler_model::Span::from_secs(FAULT_RETRY_S));
        }
        if let Some((first, _, _)) = self.alarms.first() {
            wake = Some(wake.map_or(*first, |wake| wake.min(*first)));
        }
        let fault = fault.map(|fault| fault.to_string());
        Decision { orders, wake, fault }
    }

    /// Tell the engine something.
    pub(crate) fn tell(&mut self, event: Event) {
        self.grow();
        self.engine.observe(self.now, event);
    }

    /// Put something into the audit trail.
    pub(crate) fn note(&mut self, who: &Who, what: &str, detail: String) {
        self.accounts.note(self.now, &who.user, what, detail);
    }

    /// A job is doing something else than before.
    pub(crate) fn changed(&mut self, job: u32) {
        let Some(found) = self.jobs.get(job) else { return };
        let change = Change::of(found, self.now, &self.people, &self.inventory.cluster);
        self.changes.push_back(change);
        if self.changes.len() > CHANGES_MAX {
            self.changes.pop_front();
        }
    }

    /// What changed about jobs since this was last asked.
    pub fn changes(&mut self) -> Vec<Change> {
        self.changes.drain(..).collect()
    }

    /// A digest of all decisions since the journal began.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Decisions taken since the journal began.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// The engine, to ask it why and to fork it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Seconds since 1970 at time zero.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Somebody looks at a time. Nothing may have happened since the latest record, and yet jobs
    /// have run on.
    pub fn see(&mut self, at: Time) {
        self.seen = at;
    }

    /// When somebody looks, or the latest record, if that is later.
    pub fn seen(&self) -> Time {
        self.seen.max(self.now)
    }

    /// The stamp of the latest record.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What the world has to offer.
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// A time as people and files have it: seconds since 1970.
    pub fn seconds(&self, at: Time) -> f64 {
        self.epoch as f64 + at.secs_f64()
    }

    /// Seconds since 1970 as a time here; what is before the beginning is the beginning.
    pub(crate) fn time(&self, seconds: u64) -> Time {
        let since = seconds.saturating_sub(self.epoch);
        Time::from_micros(since.saturating_mul(heeler_model::SECOND_US))
    }
}
