//! Nodes switched off around any policy (Helios' CES acting): those that are off are out of the
//! policy's sight. Whenever it plans, it is asked, too, what it would do if all nodes were there.
//! If somebody could start then who cannot now, the nodes of that plan are switched on, with some
//! to spare, and are in sight once they have booted; so nobody waits for longer than that because
//! nodes are off. Nothing is switched off while somebody waits for a node to come.

use super::seasonal::KEPT;
use super::{Ces, Habits, SLOT};
use heeler_engine::{Calibration, Note, Policy, Power, View};
use heeler_model::{JobId, NodeId, Placement, Plan, Reason, Span, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A policy whose nodes are switched off while they are not needed.
pub struct Powered {
    inner: Box<dyn Policy>,
    /// When nodes are switched; how many are to spare depends on how many there are.
    habits: Habits,
    /// Nodes to spare, thousandths of all.
    spare_milli: u32,
    switches: Switches,
}

/// What is on and off, and who waits for that.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Switches {
    ces: Ces,
    off: BTreeSet<NodeId>,
    /// When nodes will be there that are being switched on.
    booting: BTreeMap<NodeId, Time>,
    /// Who would start if these nodes were there.
    awaited: BTreeMap<JobId, (NodeId, Time)>,
    /// When the present slot is over.
    look_at: Option<Time>,
    /// The most nodes that were used in it, and how many are since the last decision.
    most_used: u32,
    used: u32,
    woken: u64,
    /// Whether the policy itself wants to decide now.
    asked: bool,
}

impl Powered {
    /// Around a policy, with all nodes on.
    pub fn new(inner: Box<dyn Policy>, habits: Habits, spare_milli: u32) -> Powered {
        Powered { inner, habits, spare_milli, switches: Switches::default() }
    }

    fn habits(&self, all: u32) -> Habits {
        let spare = (u64::from(all) * u64::from(self.spare_milli)).div_ceil(1000);
        Habits { spare: spare as u32, ..self.habits }
    }

    /// Switch on what is needed by whoever could start if it were there.
    fn meet_demand(&mut self, view: &View) {
        let switches = &self.switches;
        if switches.is_all_on() || view.waiting() == 0 {
            return;
        }
        let plan = self.inner.plan(view);
        let now = {
            let _hidden = view.state().hide(switches.hidden());
            self.inner.plan(view)
        };
        let now: BTreeSet<JobId> = now.run.iter().map(|run| run.job).collect();
        let late = plan.run.iter().filter(|run| !view.job(run.job).is_placed());
        let late: Vec<_> = late.filter(|run| !now.contains(&run.job)).collect();
        if late.is_empty() {
            return;
        }
        let of = |placement: &Placement| {
            placement.slices().iter().map(|slice| slice.node).collect::<Vec<_>>()
        };
        let needed: BTreeSet<NodeId> =
            plan.run.iter().flat_map(|run| of(&run.assignment.placement)).collect();
        let (all, busy) = (there(view), busy(view));
        let habits = self.habits(all.len() as u32);
        let switches = &mut self.switches;
        for node in &needed {
            switches.switch_on(*node, view);
        }
        // Booting nodes are needed, too: by somebody who came before.
        let wanted = busy.union(&needed).copied().chain(switches.booting.keys().copied());
        let wanted = wanted.collect::<BTreeSet<_>>().len() as u32 + habits.spare;
        switches.bring_to(wanted, all.len() as u32, view);
        switches.ces.woken(all.len() as u32 - switches.off.len() as u32, &habits);
        let last = switches.booting.iter().map(|(node, until)| (*until, *node)).max();
        for run in late {
            let nodes = of(&run.assignment.placement).into_iter();
            let boots = nodes.filter_map(|node| Some((*switches.booting.get(&node)?, node)));
            if let Some((until, node)) = boots.max().or(last) {
                switches.awaited.insert(run.job, (node, until));
            }
        }
        if self.switches.booting.is_empty() {
            // They are there at once, and what was in vain without them may not be.
            self.inner.observe(&Note::Changed, view);
        }
    }

    /// Slots are over: see how many nodes should be on.
    fn look(&mut self, view: &View, booted: bool) -> bool {
        let now = view.now();
        let slots = |at: Time| now.since(at).micros() / SLOT.micros();
        let next = Time::from_micros((slots(Time::ZERO) + 1) * SLOT.micros());
        let at = *self.switches.look_at.get_or_insert(next);
        if now < at {
            return false;
        }
        let all = there(view).len() as u32;
        let habits = self.habits(all);
        let switches = &mut self.switches;
        let mut on = switches.ces.look(switches.most_used, all, &habits);
        // Slots in which nothing happened.
        for _ in 0..slots(at).min(KEPT as u64) {
            on = switches.ces.look(switches.used, all, &habits);
        }
        switches.look_at = Some(next);
        switches.most_used = switches.used;
        let waited_for = booted || !switches.booting.is_empty() || !switches.awaited.is_empty();
        if !waited_for {
            switches.cut_to(on, view);
        }
        switches.bring_to(on, all, view)
    }

    fn deciding(&mut self, view: &View) {
        let before = self.switches.booting.len();
        self.switches.booting.retain(|_, until| *until > view.now());
        let booted = self.switches.booting.len() < before;
        // In this order, so that what has just come is not sent away.
        if self.look(view, booted) || booted {
            self.inner.observe(&Note::Changed, view);
        }
        self.switches.asked = view.wants_all_verdicts() || self.inner.is_due(view);
        if !self.switches.asked {
            return;
        }
        self.switches.awaited.clear();
        if !self.switches.is_all_on() {
            // What was in vain with nodes out of sight may not be with all of them.
            self.inner.observe(&Note::Changed, view);
        }
        self.inner.observe(&Note::Deciding, view);
        self.meet_demand(view);
    }
}

impl Switches {
    fn is_all_on(&self) -> bool {
        self.off.is_empty() && self.booting.is_empty()
    }

    /// Nodes on which nothing can start now.
    fn hidden(&self) -> impl Iterator<Item = NodeId> {
        self.off.iter().chain(self.booting.keys()).copied()
    }

    fn switch_on(&mut self, node: NodeId, view: &View) {
        if !self.off.remove(&node) {
            return;
        }
        self.woken += 1;
        let boot = Span::from_secs(view.rules().boot_s.into());
        if boot > Span::ZERO {
            self.booting.insert(node, view.now() + boot);
        }
    }

    /// Switch on the first nodes until so many of all are on. Says whether any are there at once.
    fn bring_to(&mut self, on: u32, all: u32, view: &View) -> bool {
        let off = all.saturating_sub(on) as usize;
        let more = self.off.len().saturating_sub(off);
        let nodes: Vec<NodeId> = self.off.iter().copied().take(more).collect();
        nodes.iter().for_each(|node| self.switch_on(*node, view));
        !nodes.is_empty() && self.booting.is_empty()
    }

    /// Switch off the last nodes that nobody uses until only so many are on.
    fn cut_to(&mut self, on: u32, view: &View) {
        let there = there(view);
        let busy = busy(view);
        let is_on = there.iter().filter(|node| !self.off.contains(node));
        let spare = is_on.clone().count().saturating_sub(on as usize);
        let idle = is_on.rev().filter(|node| !busy.contains(node));
        let idle: Vec<NodeId> = idle.take(spare).copied().collect();
        self.off.extend(idle);
    }
}

/// Nodes that are not broken.
fn there(view: &View) -> BTreeSet<NodeId> {
    let fleet = view.fleet();
    let nodes = (0..fleet.cluster().nodes.len()).map(|index| NodeId(index as u32));
    nodes.filter(|node| fleet.is_up(*node)).collect()
}

/// Nodes that jobs are on, are promised, or are being cleared of.
fn busy(view: &View) -> BTreeSet<NodeId> {
    let nodes = (0..view.fleet().cluster().nodes.len()).map(|index| NodeId(index as u32));
    nodes.filter(|node| view.is_used(*node)).collect()
}

impl Policy for Powered {
    fn plan(&self, view: &View) -> Plan {
        if !self.switches.asked && !view.wants_all_verdicts() {
            return Plan { reserve: view.reservations().to_vec(), ..Plan::none() };
        }
        let _hidden = view.state().hide(self.switches.hidden());
        let mut plan = self.inner.plan(view);
        for wait in &mut plan.wait {
            if let Some((node, until)) = self.switches.awaited.get(&wait.job) {
                wait.reason = Reason::SwitchingOn { node: *node, until: *until };
            }
        }
        plan
    }

    fn observe(&mut self, note: &Note, view: &View) {
        match note {
            Note::Deciding => self.deciding(view),
            Note::Decided => {
                if self.switches.asked {
                    self.inner.observe(note, view);
                }
                let switches = &mut self.switches;
                switches.used = view.used_nodes();
                switches.most_used = switches.most_used.max(switches.used);
            }
            Note::Changed => {
                // A node that was broken is on when it comes back.
                let fleet = view.fleet();
                self.switches.off.retain(|node| fleet.is_up(*node));
                self.switches.booting.retain(|node, _| fleet.is_up(*node));
                drop(fleet);
                self.inner.observe(note, view);
            }
            _ => self.inner.observe(note, view),
        }
    }

    fn is_due(&self, view: &View) -> bool {
        let ours = self.switches.next().is_some_and(|at| at <= view.now());
        ours || self.inner.is_due(view)
    }

    fn wake(&self, view: &View) -> Option<Time> {
        [self.switches.next(), self.inner.wake(view)].into_iter().flatten().min()
    }

    fn packs(&self) -> bool {
        self.inner.packs()
    }

    fn leaves_room(&self) -> bool {
        self.inner.leaves_room()
    }

    fn feeds(&self) -> bool {
        self.inner.feeds()
    }

    fn calibrations(&self) -> Vec<Calibration> {
        let mut all = self.inner.calibrations();
        all.push(self.switches.ces.calibration());
        all
    }

    fn power(&self) -> Option<Power> {
        let switches = &self.switches;
        let (off, booting) = (switches.off.len() as u32, switches.booting.len() as u32);
        Some(Power { off, booting, woken: switches.woken })
    }

    fn save(&self) -> Value {
        json!({ "inner": self.inner.save(), "switches": self.switches })
    }

    fn restore(&mut self, saved: &Value, view: &View) -> Result<(), String> {
        self.inner.restore(&saved["inner"], view)?;
        let switches = serde_json::from_value(saved["switches"].clone());
        self.switches = switches.map_err(|error| error.to_string())?;
        Ok(())
    }

    fn fork(&self) -> Box<dyn Policy> {
        Box::new(Powered { inner: self.inner.fork(), switches: self.switches.clone(), ..*self })
    }
}

impl Switches {
    /// When something happens by itself: a node is there, or a slot is over.
    fn next(&self) -> Option<Time> {
        self.booting.values().copied().chain(self.look_at).min()
    }
}
