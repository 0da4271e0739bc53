//! What transitions cost, by name. A paper's cost rule is a table of these; a live world measures
//! its own.

use heeler_model::{Assignment, NodeId, Span, Transition};
use serde::{Deserialize, Serialize};

/// The cost of a transition, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Cost {
    /// For every job.
    pub fixed_s: f64,
    /// More for each doubling of the GPUs.
    pub per_doubling_s: f64,
    /// More for jobs of more than eight GPUs.
    pub beyond_eight_s: f64,
}

impl Cost {
    /// The same for every job.
    pub const fn fixed(fixed_s: f64) -> Cost {
        Cost { fixed_s, per_doubling_s: 0.0, beyond_eight_s: 0.0 }
    }

    /// What it costs a job of so many GPUs.
    pub fn of(&self, gpus: u32) -> Span {
        let doublings = f64::from(gpus.max(1)).log2();
        let beyond = if gpus > 8 { self.beyond_eight_s } else { 0.0 };
        Span::from_secs_f64(self.fixed_s + self.per_doubling_s * doublings + beyond)
    }
}

/// What transitions cost. GPUs are held all the while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Costs {
    /// Until a job that starts for the first time makes progress.
    pub start: Cost,
    /// Until a job that is stopped has saved its work and frees its GPUs.
    pub save: Cost,
    /// Until a job that was stopped makes progress again.
    pub restore: Cost,
    /// The same where it goes on on the nodes it was stopped on, which still have its state; what
    /// restoring costs, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Cost>,
    /// Until a job makes progress again that has more or less of the same GPUs than before, in
    /// addition to saving; what resizing costs, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reshare: Option<Cost>,
    /// Until a job that was moved makes progress again; in addition to saving.
    pub relocate: Cost,
    /// Until a job that changed its size makes progress again; in addition to saving.
    pub resize: Cost,
    /// Work that a stop undoes, counted in run time.
    pub undo: Cost,
    /// How often a job saves its work while it runs, seconds; never, if not given. What was done
    /// since is lost when a node breaks.
    pub checkpoint_every_s: Option<f64>,
}

impl Costs {
    /// The time until a job makes progress on some GPUs, if it was on others before.
    pub fn until_progress(
        &self,
        transition: Transition,
        on: &Assignment,
        before: Option<&Assignment>,
    ) -> Span {
        let same_gpus = before.is_some_and(|before| before.placement == on.placement);
        let nodes = |on: &Assignment| -> Vec<NodeId> {
            on.placement.slices().iter().map(|slice| slice.node).collect()
        };
        let same_nodes = before.is_some_and(|before| nodes(before) == nodes(on));
        let cost = match transition {
            Transition::Start => self.start,
            Transition::Resume => self.resume.filter(|_| same_nodes).unwrap_or(self.restore),
            Transition::Move => self.resume.filter(|_| same_nodes).unwrap_or(self.relocate),
            Transition::Grow | Transition::Shrink => {
                self.reshare.filter(|_| same_gpus).unwrap_or(self.resize)
            }
        };
        cost.of(on.gpus())
    }

    /// Whether it matters where a job was before.
    pub fn remember(&self) -> bool {
        self.resume.is_some() || self.reshare.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::{Milli, Placement, Slots};

    #[test]
    fn coming_back_is_cheaper_where_the_state_still_is() {
        let (resume, reshare) = (Some(Cost::fixed(0.1)), Some(Cost::fixed(0.0)));
        let (restore, relocate, resize) = (Cost::fixed(2.0), Cost::fixed(3.0), Cost::fixed(4.0));
        let costs = Costs { resume, reshare, restore, relocate, resize, ..Costs::default() };
        let on = |node, slot| Assignment::whole(Placement::on(NodeId(node), Slots::one(slot)));
        let half = Assignment { share: Milli(500), ..on(0, 0) };
        let cost = |transition, to: &Assignment| {
            costs.until_progress(transition, to, Some(&on(0, 0))).secs_f64()
        };
        assert_eq!(cost(Transition::Resume, &on(0, 1)), 0.1);
        assert_eq!(cost(Transition::Resume, &on(1, 0)), 2.0);
        assert_eq!(cost(Transition::Move, &on(1, 0)), 3.0);
        assert_eq!(cost(Transition::Shrink, &half), 0.0);
        assert_eq!(cost(Transition::Grow, &on(0, 1)), 4.0);
        let plain = Costs { restore, ..Costs::default() };
        let span = plain.until_progress(Transition::Resume, &on(0, 0), Some(&on(0, 0)));
        assert_eq!(span.secs_f64(), 2.0, "the same, if nothing else is said");
    }
}
