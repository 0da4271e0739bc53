//! What is not there for a job: too little, not together, or not with what it needs beside it.

use super::{Said, amounts};
use crate::reason::Reason;

/// In words, if it is a reason of that kind.
pub(super) fn said(reason: &Reason) -> Option<Said> {
    Some(match *reason {
        Reason::NotEnoughFree { need, free } => (
            format!(
                "it needs {} and {} left for it",
                if need == 1 { "one GPU".into() } else { format!("{need} GPUs") },
                match free {
                    0 => "none is".into(),
                    1 => "one is".into(),
                    free => format!("{free} are"),
                }
            ),
            (free > 0).then(|| match free {
                1 => "with one GPU it might start now".into(),
                free => format!("with {free} GPUs or fewer it might start now"),
            }),
        ),
        Reason::Fragmented { need, free, largest } => (
            format!(
                "it needs {need} GPUs together; {} left for it, at most {largest} together",
                if free == 1 { "one is".into() } else { format!("{free} are") }
            ),
            Some(format!("at {largest} GPUs, or spread over more nodes, it might start now")),
        ),
        Reason::ShortBeside { need: 0, cpu_milli, memory_mb, .. } => (
            format!("it needs {}, and no node has that left", amounts(0, cpu_milli, memory_mb)),
            Some("with less it might start now".into()),
        ),
        Reason::ShortBeside { need, cpu_milli, memory_mb, largest } => {
            let beside = amounts(0, cpu_milli, memory_mb);
            let asked = match need {
                1 => format!("one GPU with {beside}"),
                _ => format!("{need} GPUs together, each with {beside}"),
            };
            let free = match largest {
                0 => "no GPU that is free has that beside it".into(),
                1 => "one GPU that is free has that beside it".into(),
                _ => format!("at most {largest} that are free together have that beside them"),
            };
            let hint = "with fewer CPUs or less memory beside its GPUs it might start now";
            (format!("it needs {asked}, and {free}"), Some(hint.into()))
        }
        _ => return None,
    })
}
