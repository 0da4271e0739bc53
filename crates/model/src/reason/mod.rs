//! Why a job waits, stops or never runs: numbers, made by the code that decided. `render` turns
//! them into sentences.

mod names;

use crate::ids::{JobId, NodeId, TenantId};
use crate::quantity::KindSet;
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// How final a reason is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// It will never run as asked.
    Never,
    /// It may not run now, whatever is free.
    NotAllowed,
    /// It waits its turn.
    Turn,
}

impl Tier {
    /// Its name in kebab case, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Never => "never",
            Tier::NotAllowed => "not-allowed",
            Tier::Turn => "turn",
        }
    }
}

/// A reason with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum Reason {
    /// It asks for more than the cluster has.
    TooLarge {
        /// GPUs it needs together.
        need: u32,
        /// The most that could ever be had together.
        largest: u32,
    },
    /// No node has GPUs of a kind it asks for.
    NoSuchKind {
        /// What it asks for.
        kinds: KindSet,
    },
    /// It needs more memory, CPUs or host memory beside a GPU than any node offers.
    NoSuchNode {
        /// GPU memory for each GPU, MB.
        gpu_memory_mb: u32,
        /// CPU cores for each GPU, thousandths.
        cpu_milli: u32,
        /// Host memory for each GPU, MB.
        memory_mb: u32,
    },
    /// It waits for a job that failed or was cancelled.
    NeededJobFailed {
        /// That job.
        job: JobId,
    },
    /// Its tenant would go beyond its limit.
    OverLimit {
        /// The tenant whose limit it is.
        tenant: TenantId,
        /// GPUs it needs.
        need: u32,
        /// GPUs the tenant has left.
        left: u32,
        /// GPUs the tenant can never go beyond.
        limit: u32,
    },
    /// Jobs it must follow are not done.
    AfterJobs {
        /// How many.
        jobs: u32,
        /// The first of them.
        first: JobId,
    },
    /// It is a replica that its service does not need at present.
    NotNeeded {
        /// How many are needed.
        wanted: u32,
    },
    /// Decisions are taken at the end of a round.
    RoundNotOver {
        /// When that is.
        until: Time,
    },
    /// Enough is free, but the recipe has put it off for a round: it reckons that to be better.
    PutOff {
        /// When it decides again.
        until: Time,
    },
    /// The cluster serves others until a lease ends.
    Protected {
        /// Who holds the lease.
        holder: JobId,
        /// When it ends.
        until: Time,
    },
    /// Its share of the round or of the cluster is used up.
    ShareSpent {
        /// What it should have, thousandths.
        target: u32,
        /// What it has had, thousandths.
        got: u32,
    },
    /// Its score is not among the best at the rung it has reached.
    PausedAtRung {
        /// After how many iterations the rung is.
        rung: u32,
        /// Its place among those who reached it, the best being first.
        rank: u32,
        /// How many reached it.
        of: u32,
        /// How many of them go on.
        keeps: u32,
    },
    /// Trials of its study that were paused and are now among the best go on first.
    AfterTrials {
        /// How many.
        trials: u32,
        /// One of them.
        first: JobId,
    },
    /// As many trials of its study run as may.
    StudyFull {
        /// How many that is.
        workers: u32,
    },
    /// Its score was not among the best at the last rung it reached, and it does not go on.
    StoppedAtRung {
        /// After how many iterations the rung is.
        rung: u32,
        /// Its place among those who reached it, the best being first.
        rank: u32,
        /// How many reached it.
        of: u32,
    },
    /// It has had as many iterations as a trial may have.
    TrialComplete {
        /// How many.
        iterations: u32,
    },
    /// It was tried out for as long as jobs are, and waits for GPUs to go on.
    Profiled {
        /// How long it ran so far.
        ran: Span,
    },
    /// It is kept some of the GPUs it needs, and waits for the rest.
    Gathers {
        /// GPUs it is kept.
        has: u32,
        /// GPUs it needs.
        need: u32,
    },
    /// It takes turns with others on the nodes it has its place on.
    TakesTurns {
        /// How many others.
        others: u32,
        /// How long a turn is.
        turn: Span,
    },
    /// Others come first, and the first of them blocks the queue.
    Behind {
        /// How many.
        ahead: u32,
        /// The one that blocks.
        first: JobId,
    },
    /// Too little is left for it.
    NotEnoughFree {
        /// GPUs it needs.
        need: u32,
        /// GPUs of its kinds that are free, without those that are kept for others.
        free: u32,
    },
    /// Enough is free, but not together.
    Fragmented {
        /// GPUs it needs together.
        need: u32,
        /// GPUs of its kinds that are free.
        free: u32,
        /// The most that is free together.
        largest: u32,
    },
    /// Enough is free together, but without the CPUs and the memory that it needs beside it.
    ShortBeside {
        /// GPUs it needs together.
        need: u32,
        /// CPU cores beside each of them, thousandths.
        cpu_milli: u32,
        /// Host memory beside each of them, MB.
        memory_mb: u32,
        /// The most GPUs that are free together and have that beside them.
        largest: u32,
    },
    /// No kind of cell is ever large enough.
    NoSuchCell {
        /// GPUs it needs in cells of one kind.
        need: u32,
    },
    /// Its tenant's cells that would do are used by jobs it may not displace.
    CellsTaken {
        /// Who owns the cells.
        tenant: TenantId,
        /// GPUs it needs.
        need: u32,
    },
    /// Its tenant has cells that would do, but not on nodes that are up.
    CellsBad {
        /// Who owns the cells.
        tenant: TenantId,
        /// GPUs it needs.
        need: u32,
    },
    /// Starting now would delay a job that has a reservation.
    WouldDelay {
        /// That job.
        job: JobId,
        /// When it is to start.
        starts: Time,
        /// By how much it would overlap.
        by: Span,
    },
    /// Its deadline is promised, and leases are reserved for it from some time on.
    Leased {
        /// When the first of them begins.
        from: Time,
        /// What it is promised to end by.
        by: Time,
    },
    /// Its deadline could not be promised, so it takes what is left over.
    DeadlineNotFeasible {
        /// The last deadline it asked for.
        asked: Time,
        /// The earliest that could have been promised, where one could tell.
        offered: Option<Time>,
    },
    /// GPUs are reserved for it in some of the slots to come, and not in this one.
    Planned {
        /// When the first of them begins.
        from: Time,
        /// When the last of them ends.
        by: Time,
    },
    /// It is refused: what it is worth does not make up for the GPUs it would take from others.
    NotWorthIt {
        /// What it is worth, thousandths.
        worth: u64,
        /// What the cheapest way to run it costs, thousandths; none, if there is no way in time.
        price: Option<u64>,
    },
    /// It cannot end by its deadline any more, so it comes after all others.
    DeadlineLost {
        /// The last deadline it asked for.
        asked: Time,
    },
    /// It is promised GPUs that are being cleared for it.
    Clearing {
        /// The job that is being stopped.
        job: JobId,
    },
    /// Nodes that were switched off to save energy are being switched on.
    SwitchingOn {
        /// The last of them that it needs.
        node: NodeId,
        /// When that is there.
        until: Time,
    },
    /// It is being saved so that another can run.
    BeingSaved,
    /// It was stopped for another job.
    Displaced {
        /// The other.
        by: JobId,
    },
    /// It was stopped to run elsewhere or at another size.
    Rearranged,
    /// Its owner, or somebody with the right to, keeps it from starting.
    HeldBack,
    /// It may not start before some time: as its owner asked, or because it has failed before.
    NotBefore {
        /// That time.
        until: Time,
    },
    /// Somebody took it off its GPUs until it is resumed.
    Suspended,
    /// As many tasks of its array run as may.
    ArrayFull {
        /// How many that is.
        most: u32,
    },
    /// Its owner took it back.
    Withdrawn,
}

impl Reason {
    /// How final it is.
    pub const fn tier(&self) -> Tier {
        match self {
            Reason::TooLarge { .. }
            | Reason::NoSuchKind { .. }
            | Reason::NoSuchNode { .. }
            | Reason::NoSuchCell { .. }
            | Reason::NeededJobFailed { .. }
            | Reason::StoppedAtRung { .. }
            | Reason::TrialComplete { .. }
            | Reason::NotWorthIt { .. }
            | Reason::Withdrawn => Tier::Never,
            Reason::OverLimit { .. }
            | Reason::HeldBack
            | Reason::NotBefore { .. }
            | Reason::Suspended
            | Reason::ArrayFull { .. }
            | Reason::AfterJobs { .. }
            | Reason::NotNeeded { .. }
            | Reason::RoundNotOver { .. }
            | Reason::PausedAtRung { .. }
            | Reason::AfterTrials { .. }
            | Reason::StudyFull { .. }
            | Reason::Protected { .. } => Tier::NotAllowed,
            Reason::ShareSpent { .. }
            | Reason::Profiled { .. }
            | Reason::Gathers { .. }
            | Reason::TakesTurns { .. }
            | Reason::Behind { .. }
            | Reason::NotEnoughFree { .. }
            | Reason::Fragmented { .. }
            | Reason::ShortBeside { .. }
            | Reason::CellsTaken { .. }
            | Reason::CellsBad { .. }
            | Reason::PutOff { .. }
            | Reason::WouldDelay { .. }
            | Reason::Leased { .. }
            | Reason::Planned { .. }
            | Reason::DeadlineNotFeasible { .. }
            | Reason::DeadlineLost { .. }
            | Reason::Clearing { .. }
            | Reason::SwitchingOn { .. }
            | Reason::BeingSaved
            | Reason::Displaced { .. }
            | Reason::Rearranged => Tier::Turn,
        }
    }

    /// Whether a job that is stopped for this reason is stopped for what it has done itself, and
    /// not for the sake of another.
    pub const fn is_own_doing(&self) -> bool {
        matches!(
            self,
            Reason::PausedAtRung { .. }
                | Reason::StoppedAtRung { .. }
                | Reason::TrialComplete { .. }
                | Reason::Profiled { .. }
                | Reason::HeldBack
                | Reason::NotBefore { .. }
                | Reason::Suspended
                | Reason::ArrayFull { .. }
        )
    }

    /// Whether the job waits for its own study alone, so that nobody else has to make room for it.
    pub const fn is_within_study(&self) -> bool {
        matches!(
            self,
            Reason::PausedAtRung { .. } | Reason::AfterTrials { .. } | Reason::StudyFull { .. }
        )
    }
}
