//! Who ran when the recipe took over: they keep the CPUs and the memory that they have for as long
//! as they stay where they are, because other portions alone are not worth starting anew.

use heeler_engine::{Job, Note, View};
use heeler_model::JobId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Who ran before, and still does.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Inherited {
    jobs: BTreeSet<JobId>,
    /// Whoever is placed now is placed by this recipe.
    #[serde(default)]
    deciding: bool,
}

impl Inherited {
    pub(super) fn is_nobody(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Whether a job keeps what it has.
    pub(super) fn keeps(&self, job: &Job) -> bool {
        self.jobs.contains(&job.id)
    }

    /// Learn who was placed by another recipe, and who no longer has what that gave.
    pub(super) fn observe(&mut self, note: &Note, view: &View) {
        match note {
            Note::Deciding => self.deciding = true,
            Note::Decided => self.deciding = false,
            Note::Placed(id) if !self.deciding && view.job(*id).is_running() => {
                self.jobs.insert(*id);
            }
            Note::Paused(id) | Note::Left(id) => {
                self.jobs.remove(id);
            }
            _ => {}
        }
    }
}
