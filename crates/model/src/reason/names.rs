//! What reasons are called in JSON, metrics and documents.

use super::Reason;

impl Reason {
    /// Its name in kebab case, as in JSON, metrics and documents.
    pub const fn name(&self) -> &'static str {
        match self {
            Reason::NoSuchCell { .. } => "no-such-cell",
            Reason::CellsTaken { .. } => "cells-taken",
            Reason::CellsBad { .. } => "cells-bad",
            Reason::TooLarge { .. } => "too-large",
            Reason::NoSuchKind { .. } => "no-such-kind",
            Reason::NoSuchNode { .. } => "no-such-node",
            Reason::NeededJobFailed { .. } => "needed-job-failed",
            Reason::OverLimit { .. } => "over-limit",
            Reason::AfterJobs { .. } => "after-jobs",
            Reason::NotNeeded { .. } => "not-needed",
            Reason::RoundNotOver { .. } => "round-not-over",
            Reason::PutOff { .. } => "put-off",
            Reason::Protected { .. } => "protected",
            Reason::ShareSpent { .. } => "share-spent",
            Reason::PausedAtRung { .. } => "paused-at-rung",
            Reason::AfterTrials { .. } => "after-trials",
            Reason::StudyFull { .. } => "study-full",
            Reason::StoppedAtRung { .. } => "stopped-at-rung",
            Reason::TrialComplete { .. } => "trial-complete",
            Reason::Profiled { .. } => "profiled",
            Reason::Gathers { .. } => "gathers",
            Reason::TakesTurns { .. } => "takes-turns",
            Reason::Behind { .. } => "behind",
            Reason::NotEnoughFree { .. } => "not-enough-free",
            Reason::Fragmented { .. } => "fragmented",
            Reason::ShortBeside { .. } => "short-beside",
            Reason::WouldDelay { .. } => "would-delay",
            Reason::Leased { .. } => "leased",
            Reason::Planned { .. } => "planned",
            Reason::NotWorthIt { .. } => "not-worth-it",
            Reason::DeadlineNotFeasible { .. } => "deadline-not-feasible",
            Reason::DeadlineLost { .. } => "deadline-lost",
            Reason::Clearing { .. } => "clearing",
            Reason::SwitchingOn { .. } => "switching-on",
            Reason::BeingSaved => "being-saved",
            Reason::Displaced { .. } => "displaced",
            Reason::Rearranged => "rearranged",
            Reason::HeldBack => "held-back",
            Reason::NotBefore { .. } => "not-before",
            Reason::Suspended => "suspended",
            Reason::ArrayFull { .. } => "array-full",
            Reason::Withdrawn => "withdrawn",
        }
    }
}
