//! A desk on which a round is laid out: who runs where with how much beside its GPUs. Where a job
//! does not fit with its proportional share, those who have more than theirs give it back.

use super::measure::{Give, Measure};
use heeler_engine::{Draft, Grip, Job, Place, View, Want};
use heeler_model::{
    Assignment, JobId, NodeId, Placement, Plan, Portion, Reason, Run, Scope, TenantId, Wait,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Nodes, with how many GPUs of each a job would take.
type Site = Vec<(NodeId, u32)>;

/// A round that is being laid out.
pub(super) struct Desk<'a> {
    view: &'a View<'a>,
    draft: Draft<'a>,
    measure: &'a Measure,
    place: &'a dyn Place,
    used: BTreeMap<TenantId, i64>,
    runs: BTreeMap<JobId, Assignment>,
    /// Who is where, in the order in which they came.
    here: BTreeMap<NodeId, Vec<JobId>>,
    waits: Vec<Wait>,
}

/// What to look for on behalf of a job that gets so much beside its GPUs.
fn with(job: &Job, portion: Portion) -> Want {
    let mut want = Want::as_asked(job);
    (want.demand.cpu_milli, want.demand.memory_mb) = (portion.cpu_milli, portion.memory_mb);
    want
}

impl<'a> Desk<'a> {
    /// Everything is free that jobs have or are promised.
    pub(super) fn new(view: &'a View<'a>, measure: &'a Measure, place: &'a dyn Place) -> Desk<'a> {
        let mut draft = view.draft();
        for job in view.jobs().iter() {
            if let Some(on) = &job.assignment {
                draft.release(&on.placement, Grip::of(&job.spec.demand, on));
            }
        }
        let (used, runs, here) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Desk { view, draft, measure, place, used, runs, here, waits: Vec::new() }
    }

    /// Give a job what it should have, or say why it waits.
    pub(super) fn serve(&mut self, job: &Job, give: Give) {
        if let Err(reason) = self.try_serving(job, give) {
            self.waits.push(Wait { job: job.id, reason });
        }
    }

    /// Let a job go on with what it has; if it cannot stay where it is, it is served like others.
    pub(super) fn keep(&mut self, job: &Job, give: Give) {
        let has = |on: &Assignment| on.portion.unwrap_or(job.spec.demand.portion());
        let kept = job.assignment.as_ref().map(has).filter(|portion| {
            self.stays(job, *portion).is_some() && self.is_within_limits(job).is_ok()
        });
        if kept.is_none_or(|portion| self.put(job, portion).is_err()) {
            self.serve(job, give);
        }
    }

    /// A job has no turn in this round.
    pub(super) fn pass_over(&mut self, job: &Job) {
        let (need, free) = (job.spec.demand.asked(), self.draft.free_of(job.spec.demand.kinds));
        let reason = Reason::NotEnoughFree { need, free: free.min(need.saturating_sub(1)) };
        self.waits.push(Wait { job: job.id, reason });
    }

    fn try_serving(&mut self, job: &Job, give: Give) -> Result<(), Reason> {
        let demand = &job.spec.demand;
        self.is_within_limits(job)?;
        let (need, free) = (demand.asked(), self.draft.free_of(demand.kinds));
        if demand.share.is_whole() && need > free {
            return Err(Reason::NotEnoughFree { need, free });
        }
        let wanted = self.measure.wanted(job, give);
        let Err(reason) = self.put(job, wanted) else { return Ok(()) };
        if give == Give::Enough {
            return Err(reason);
        }
        let share = self.measure.share(job);
        let least = if share.covers(wanted) { wanted } else { share };
        if least != wanted && self.put(job, least).is_ok() {
            return Ok(());
        }
        let sites = self.sites(job);
        let served = sites.iter().any(|site| self.put_at_others_cost(job, least, site));
        if served { Ok(()) } else { Err(reason) }
    }

    fn is_within_limits(&self, job: &Job) -> Result<(), Reason> {
        let used = |tenant| self.used.get(&tenant).copied().unwrap_or(0);
        self.view.tenants().within_limits(job.spec.tenant, Want::as_asked(job).milli(), used)
    }

    /// Where a job is, if it can stay there with so much beside its GPUs.
    fn stays<'j>(&self, job: &'j Job, portion: Portion) -> Option<&'j Placement> {
        let (want, on) = (with(job, portion), job.assignment.as_ref()?);
        let stays = self.view.rules().seats.are_kept()
            && (on.gpus(), on.share) == (want.gpus, want.demand.share)
            && self.draft.has_room_for(&on.placement, Grip::from(&want.demand));
        stays.then_some(&on.placement)
    }

    /// Let a job have so much beside its GPUs, where it is if it can stay there.
    fn put(&mut self, job: &Job, portion: Portion) -> Result<(), Reason> {
        let want = with(job, portion);
        let placement = match self.stays(job, portion) {
            Some(placement) => placement.clone(),
            None => self.place.place(&want, &self.draft, self.view)?,
        };
        self.draft.claim(&placement, Grip::from(&want.demand));
        let other = (portion != job.spec.demand.portion()).then_some(portion);
        let on = Assignment { portion: other, ..want.met_by(placement) };
        for tenant in self.view.tenants().lineage(job.spec.tenant) {
            *self.used.entry(tenant).or_default() += on.milli() as i64;
        }
        for slice in on.placement.slices() {
            self.here.entry(slice.node).or_default().push(job.id);
        }
        self.runs.insert(job.id, on);
        Ok(())
    }

    /// Where a job might go if others gave something back: where it is, or on the node with the
    /// fewest GPUs to spare; one of several GPUs on the first node that has as many.
    fn sites(&self, job: &Job) -> Vec<Site> {
        let mut sites = Vec::new();
        let of = |placement: &Placement| -> Site {
            placement.slices().iter().map(|slice| (slice.node, slice.slots.count())).collect()
        };
        let mut want = Want::as_asked(job);
        (want.demand.cpu_milli, want.demand.memory_mb) = (0, 0);
        let bare = Grip::from(&want.demand);
        let kept = |on: &&Assignment| {
            self.view.rules().seats.are_kept() && self.draft.has_room_for(&on.placement, bare)
        };
        sites.extend(job.assignment.as_ref().filter(kept).map(|on| of(&on.placement)));
        if want.gpus == 0 {
            let nodes = 0..self.draft.cluster().nodes.len() as u32;
            let there = nodes.map(NodeId).filter(|node| self.draft.is_up(*node));
            sites.extend(there.map(|node| vec![(node, 0)]));
            return sites;
        }
        if !want.demand.share.is_whole() {
            let found = self.place.place(&want, &self.draft, self.view);
            sites.extend(found.ok().map(|placement| of(&placement)));
            return sites;
        }
        for kind in want.demand.kinds.iter(self.draft.cluster().kinds.len()) {
            let free = |node: &NodeId| self.draft.room(*node, bare);
            let first = self.draft.nodes_with_any(kind).find(|node| free(node) >= want.gpus);
            if let Some(node) = first.filter(|_| want.gpus > 1) {
                sites.push(vec![(node, want.gpus)]);
                continue;
            }
            let (mut left, mut site) = (want.gpus, Site::new());
            for node in self.draft.nodes_by_least_unused(kind, 1) {
                let take = left.min(free(&node));
                if take > 0 {
                    site.push((node, take));
                    left -= take;
                }
            }
            sites.extend((left == 0).then_some(site));
        }
        sites
    }

    /// Let a job have so much on some nodes, for which others give back what they have beyond their
    /// proportional shares. If that is not enough, everything is as it was.
    fn put_at_others_cost(&mut self, job: &Job, portion: Portion, site: &Site) -> bool {
        let before = self.draft.savepoint();
        let mut cut = Vec::new();
        for (node, gpus) in site {
            let times = i64::from((*gpus).max(1));
            let (cpu_milli, memory_mb) = self.draft.left_beside(*node).amounts();
            let mut need = [
                i64::from(portion.cpu_milli) * times - cpu_milli,
                i64::from(portion.memory_mb) * times - memory_mb,
            ];
            for peer in self.by_plenty(*node) {
                if need.iter().all(|need| *need <= 0) {
                    break;
                }
                let Some(given) = self.cut(peer, *node, &mut cut) else { continue };
                need[0] -= given[0];
                need[1] -= given[1];
            }
        }
        if !cut.is_empty() && self.put(job, portion).is_ok() {
            return true;
        }
        self.draft.back_to(before);
        for (peer, on) in cut {
            self.runs.insert(peer, on);
        }
        false
    }

    /// Those on a node, first those on few nodes that have much beside each GPU.
    fn by_plenty(&mut self, node: NodeId) -> Vec<JobId> {
        let Some(peers) = self.here.get_mut(&node) else { return Vec::new() };
        let runs = &self.runs;
        peers.sort_by_key(|peer| {
            let on = &runs[peer];
            let portion = on.portion.unwrap_or_default();
            (on.placement.nodes(), Reverse(portion.cpu_milli), Reverse(portion.memory_mb))
        });
        peers.clone()
    }

    /// Leave a job its proportional share, if it has more of anything; what a node gets back.
    fn cut(
        &mut self,
        peer: JobId,
        node: NodeId,
        cut: &mut Vec<(JobId, Assignment)>,
    ) -> Option<[i64; 2]> {
        let job = self.view.state().job(peer);
        let on = self.runs.get(&peer)?.clone();
        let (has, share) = (on.portion?, self.measure.share(job));
        // Who has no more than that is asked all the same, and is no faster than with it then.
        let plain = self.measure.plain(job, has);
        if share.covers(has) && plain.is_none() {
            return None;
        }
        let share = plain.filter(|_| share.covers(has)).unwrap_or(share);
        let here = on.placement.slices().iter().find(|slice| slice.node == node)?;
        let times = i64::from(here.slots.count().max(1));
        let demand = &job.spec.demand;
        let with = |portion: Portion| {
            let portion = (portion != demand.portion()).then_some(portion);
            Assignment { portion, ..on.clone() }
        };
        self.draft.release(&on.placement, Grip::of(demand, &on));
        // Where it had less of one thing than its share, there may be no more of it.
        let grip = Grip::of(demand, &with(share));
        let fits = self.draft.has_room_for(&on.placement, grip);
        let left = if fits { share } else { share.at_most(has) };
        let new = with(left);
        self.draft.claim(&on.placement, Grip::of(demand, &new));
        self.runs.insert(peer, new);
        cut.push((peer, on));
        let more = |had: u32, has: u32| (i64::from(had) - i64::from(has)) * times;
        Some([more(has.cpu_milli, left.cpu_milli), more(has.memory_mb, left.memory_mb)])
    }

    /// The round as it is laid out.
    pub(super) fn plan(self) -> Plan {
        let run = |(job, assignment)| Run { job, assignment, lease: None };
        Plan {
            scope: Scope::Whole,
            run: self.runs.into_iter().map(run).collect(),
            wait: self.waits,
            ..Plan::none()
        }
    }
}
