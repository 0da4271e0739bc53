//! On which nodes GPUs came free lately, so that what was tried in vain is tried again only there.

use heeler_model::NodeId;

/// Older changes are forgotten.
const REMEMBERED_MAX: usize = 1 << 14;

/// A log of changes.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// How many entries were forgotten.
    forgotten: u64,
    nodes: Vec<NodeId>,
    released: u64,
}

impl Touched {
    /// GPUs of a node came free.
    pub(crate) fn release(&mut self, node: NodeId, gpus: u32) {
        self.released += u64::from(gpus);
        if self.nodes.len() == REMEMBERED_MAX {
            self.forgotten += self.nodes.len() as u64;
            self.nodes.clear();
        }
        self.nodes.push(node);
    }

    /// Where the log ends now.
    pub fn end(&self) -> u64 {
        self.forgotten + self.nodes.len() as u64
    }

    /// Nodes of which GPUs came free since, or `None` if that is forgotten.
    pub fn since(&self, end: u64) -> Option<&[NodeId]> {
        self.nodes.get(end.checked_sub(self.forgotten)? as usize..)
    }

    /// GPUs that came free in all, ever.
    pub fn released_ever(&self) -> u64 {
        self.released
    }
}
