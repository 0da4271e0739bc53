//! Where room may have come since it was last looked for in vain: nodes that have changed, each
//! once, however often it did, and who runs there.

use super::memo::Vain;
use super::queue::Rank;
use super::walk::Walk;
use heeler_model::{JobId, NodeId};
use smallvec::{SmallVec, smallvec};

/// A set of nodes, a bit for each.
pub(super) struct Changed(SmallVec<[u64; 16]>);

impl Changed {
    /// None of so many.
    pub(super) fn none_of(nodes: usize) -> Changed {
        Changed(smallvec![0; nodes.div_ceil(64)])
    }

    /// The nodes, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = NodeId> {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            let rest = std::iter::successors(Some(*bits), |left| Some(left & left.wrapping_sub(1)));
            let ones = rest.take_while(|left| *left != 0);
            ones.map(move |left| NodeId((word * 64) as u32 + left.trailing_zeros()))
        })
    }
}

impl Extend<NodeId> for Changed {
    fn extend<T: IntoIterator<Item = NodeId>>(&mut self, nodes: T) {
        for node in nodes {
            self.0[node.index() / 64] |= 1 << (node.index() % 64);
        }
    }
}

impl Walk<'_> {
    /// Whether anybody runs whom the order puts behind a rank.
    pub(super) fn is_anybody_behind(&self, rank: Rank) -> bool {
        let mut behind = self.behind.borrow_mut();
        behind.last(self.pipe, self.now(), &self.planned).is_some_and(|last| last > rank)
    }

    /// Whether what was in vain stays in vain, which no plan changes.
    pub(super) fn is_settled(&self) -> bool {
        *self.settled.get_or_init(|| self.pipe.is_settled(self.view))
    }

    /// Add nodes that may be freer than when an attempt failed.
    pub(super) fn changed_since(&self, vain: &Vain, nodes: &mut Changed) {
        nodes.extend(self.view.touched().since(vain.touched).unwrap_or_default().iter().copied());
        nodes.extend(self.pipe.memo.reseated_since(vain.reseated).iter().copied());
        // What this plan has done so far is not in the logs.
        for id in self.planned.keys() {
            let before = self.view.job(*id).assignment.iter();
            let slices = before.flat_map(|on| on.placement.slices());
            nodes.extend(slices.map(|slice| slice.node));
        }
    }

    /// Running jobs on some nodes that are behind a rank, last first.
    pub(super) fn only_behind(&self, rank: Rank, nodes: &Changed) -> Vec<Rank> {
        let state = self.view.state();
        let ids = nodes.iter().flat_map(|node| state.on_node(node));
        let rank_of = |id: &JobId| self.pipe.queue.rank_of(state.jobs(), *id, self.now());
        let mut ranks: Vec<Rank> = ids.filter_map(rank_of).filter(|other| *other > rank).collect();
        ranks.sort_unstable_by(|a, b| b.cmp(a));
        // Who is on several nodes is among them as often.
        ranks.dedup();
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_there_once_and_in_order() {
        let mut changed = Changed::none_of(130);
        changed.extend([129, 3, 64, 3, 0].map(NodeId));
        assert!(changed.iter().eq([0, 3, 64, 129].map(NodeId)));
        assert!(Changed::none_of(130).iter().next().is_none());
    }
}
