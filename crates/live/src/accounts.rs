//! What is written down about the past: GPU time by tenant and user, who was stopped for whom and
//! what that cost, and who changed what. All of it is bounded.

use crate::job::Attempt;
use crate::live::Live;
use heeler_backend::Way;
use heeler_model::{Generation, Placement, Reason, TenantId, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Entries of the audit trail, and of evictions, that are kept.
const ENTRIES_MAX: usize = 10_000;
/// Letters of an entry of the audit trail.
const DETAIL_MAX: usize = 1_000;

/// GPU time of one user in one tenant, thousandths of a GPU × milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Jobs that ended.
    pub(crate) jobs: u32,
    pub(crate) useful: u64,
    pub(crate) lost: u64,
}

/// Somebody changed something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) at: Time,
    pub(crate) user: String,
    pub(crate) what: String,
    pub(crate) detail: String,
}

/// A job was stopped though it had not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evicted {
    pub(crate) at: Time,
    pub(crate) job: u32,
    pub(crate) generation: Generation,
    pub(crate) reason: Reason,
    /// Where the one it was stopped for then starts.
    pub(crate) starts_on: Option<Placement>,
    pub(crate) way: Option<Way>,
    /// When its GPUs were free.
    pub(crate) cleared: Option<Time>,
    pub(crate) lost: u64,
}

/// All of that.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Accounts {
    #[serde(with = "rows")]
    pub(crate) rows: BTreeMap<(TenantId, String), Row>,
    pub(crate) audit: VecDeque<Entry>,
    pub(crate) evictions: VecDeque<Evicted>,
}

/// Rows as a list: their keys are no strings.
mod rows {
    use super::{BTreeMap, Row, TenantId};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Rows = BTreeMap<(TenantId, String), Row>;

    pub(super) fn serialize<S: Serializer>(rows: &Rows, to: S) -> Result<S::Ok, S::Error> {
        rows.iter().collect::<Vec<_>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Rows, D::Error> {
        Ok(Vec::<((TenantId, String), Row)>::deserialize(from)?.into_iter().collect())
    }
}

impl Accounts {
    pub(crate) fn note(&mut self, at: Time, user: &str, what: &str, mut detail: String) {
        if let Some((cut, _)) = detail.char_indices().nth(DETAIL_MAX) {
            detail.truncate(cut);
        }
        self.audit.push_back(Entry { at, user: user.into(), what: what.into(), detail });
        if self.audit.len() > ENTRIES_MAX {
            self.audit.pop_front();
        }
    }

    pub(crate) fn evicted(&mut self, evicted: Evicted) {
        self.evictions.push_back(evicted);
        if self.evictions.len() > ENTRIES_MAX {
            self.evictions.pop_front();
        }
    }

    /// A job is over.
    pub(crate) fn ended(&mut self, tenant: TenantId, user: String) {
        self.rows.entry((tenant, user)).or_default().jobs += 1;
    }

    /// The latest eviction of a stretch, if it is still known. It is among the latest, since a job
    /// is stopped soon after it was told to.
    fn eviction_of(&mut self, job: u32, generation: Generation) -> Option<&mut Evicted> {
        let mut latest = self.evictions.iter_mut().rev();
        latest.find(|evicted| evicted.job == job && evicted.generation == generation)
    }
}

/// What became of the GPU time of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// All but starting and stopping was of use, as long as the job goes on from there.
    Kept,
    /// All of it was of use, for good.
    Good,
    /// None of it.
    Lost,
    /// Of the whole job's work so much is safe, in thousandths.
    Part(u32),
}

/// GPU time that an attempt has held by a time.
pub(crate) fn held(attempt: &Attempt, until: Time) -> u64 {
    let micros = u128::from(until.since(attempt.since).micros());
    (u128::from(attempt.assignment.milli()) * micros / 1_000) as u64
}

/// GPU time of it that went into starting and stopping.
fn overhead(attempt: &Attempt, until: Time) -> u64 {
    let starting = attempt.started.unwrap_or(until).since(attempt.since);
    let stopping = attempt.leaves.map_or(heeler_model::Span::ZERO, |leaves| {
        until.since(leaves.max(attempt.started.unwrap_or(attempt.since)))
    });
    let micros = u128::from((starting + stopping).micros());
    (u128::from(attempt.assignment.milli()) * micros / 1_000) as u64
}

impl Live {
    /// Book a stretch that has ended, and say what was lost. Useful and lost add up to what it
    /// held.
    pub(crate) fn book(&mut self, id: u32, attempt: &Attempt, worth: Worth) -> u64 {
        let now = attempt.until(self.now);
        let Some(job) = self.jobs.live_mut(id) else { return 0 };
        let held = held(attempt, now);
        let row = self.accounts.rows.entry((job.tenant, job.user.clone())).or_default();
        job.gpu_time += held;
        row.useful += held;
        job.kept += held;
        let gone = match worth {
            Worth::Kept => overhead(attempt, now).min(held),
            Worth::Good => 0,
            Worth::Lost => job.kept,
            Worth::Part(safe) => {
                let safe = u128::from(job.kept) * u128::from(safe.min(1000)) / 1000;
                job.kept - safe as u64
            }
        };
        row.useful -= gone;
        row.lost += gone;
        job.kept -= gone;
        job.lost += gone;
        gone
    }

    /// What a job had done so far is lost: it begins from the beginning.
    pub(crate) fn write_off(&mut self, id: u32) {
        let Some(job) = self.jobs.live_mut(id) else { return };
        let row = self.accounts.rows.entry((job.tenant, job.user.clone())).or_default();
        row.useful -= job.kept;
        row.lost += job.kept;
        job.lost += job.kept;
        job.kept = 0;
    }

    /// A stretch that may have been ended for another has cleared its GPUs.
    pub(crate) fn eviction_over(
        &mut self,
        job: u32,
        attempt: &Attempt,
        way: Option<Way>,
        lost: u64,
    ) {
        let now = self.now;
        // Most were never told to stop, and are not looked for.
        if attempt.leaves.is_none() {
            return;
        }
        if let Some(evicted) = self.accounts.eviction_of(job, attempt.generation) {
            evicted.way = way;
            evicted.cleared = Some(now);
            evicted.lost = lost;
        }
    }
}
