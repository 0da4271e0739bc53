//! The one place where reasons become sentences: what holds a job back, and a hint what would
//! help. Everything else passes the data on.

mod room;

use crate::ids::{JobId, NodeId, TenantId};
use crate::quantity::KindSet;
use crate::reason::{Reason, Tier};
use crate::time::Time;

/// Names for the numbers in a reason.
pub trait Naming {
    /// What a person calls the job.
    fn job(&self, job: JobId) -> String;
    /// What a person calls the tenant.
    fn tenant(&self, tenant: TenantId) -> String;
    /// The kinds by name.
    fn kinds(&self, kinds: KindSet) -> String;
    /// What a person calls the node.
    fn node(&self, node: NodeId) -> String {
        node.to_string()
    }
    /// What a person calls the time; how long after the beginning it is, if nobody has a calendar.
    fn time(&self, at: Time) -> String {
        at.to_string()
    }
}

/// A reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// One sentence: what holds the job back.
    pub sentence: String,
    /// What would help, if anything would.
    pub hint: Option<String>,
}

/// Put a reason into words.
pub fn render(reason: &Reason, names: &dyn Naming) -> Words {
    let (sentence, hint) = match reason.tier() {
        Tier::Never => never(reason, names),
        Tier::NotAllowed => not_allowed(reason, names),
        Tier::Turn => turn(reason, names),
    };
    Words { sentence, hint }
}

type Said = (String, Option<String>);

fn never(reason: &Reason, names: &dyn Naming) -> Said {
    match *reason {
        Reason::TooLarge { need, largest } => (
            format!("it needs {need} GPUs together, and the cluster has at most {largest} such"),
            Some(format!("ask for {largest} GPUs or fewer")),
        ),
        Reason::NoSuchKind { kinds } => (
            format!("no node has GPUs of kind {}", names.kinds(kinds)),
            Some("ask for a kind that the cluster has".into()),
        ),
        Reason::NoSuchNode { gpu_memory_mb, cpu_milli, memory_mb } => (
            format!("no node offers {}", amounts(gpu_memory_mb, cpu_milli, memory_mb)),
            Some("ask for less; of a job with GPUs, this is beside each of them".into()),
        ),
        Reason::NoSuchCell { need } => (
            format!("it needs {need} GPUs, and no cells of one kind have as many"),
            Some("ask for fewer GPUs, or describe larger cells".into()),
        ),
        Reason::NeededJobFailed { job } => (
            format!(
                "it must follow job {}, which did not end as it has to for that",
                names.job(job)
            ),
            Some("cancel this job, or submit both again".into()),
        ),
        Reason::StoppedAtRung { rung, rank, of } => (
            format!("it came {} of {of} trials after {}", place(rank), iterations(rung)),
            Some("only the best of a study are trained further".into()),
        ),
        Reason::TrialComplete { iterations: count } => {
            (format!("it has had all of its {}", iterations(count)), None)
        }
        Reason::NotWorthIt { worth, price: Some(price) } => (
            format!(
                "it was refused: ending is worth {}, and the GPUs it would take cost {}",
                thousandths(worth),
                thousandths(price)
            ),
            Some("submit it again later, with a higher priority or a later deadline".into()),
        ),
        Reason::NotWorthIt { price: None, .. } => (
            "it was refused: it cannot end while that is worth anything".into(),
            Some("submit it again with a later deadline or fewer GPUs".into()),
        ),
        _ => ("its owner cancelled it".into(), None),
    }
}

/// What was asked for, and nothing else.
fn amounts(gpu_memory_mb: u32, cpu_milli: u32, memory_mb: u32) -> String {
    let size = |mb: u32| match mb % 1024 {
        0 => format!("{} GB", mb / 1024),
        _ => format!("{mb} MB"),
    };
    let mut asked = Vec::new();
    if gpu_memory_mb > 0 {
        asked.push(format!("GPUs of {}", size(gpu_memory_mb)));
    }
    match (cpu_milli / 1000, cpu_milli % 1000) {
        (0, 0) => {}
        (1, 0) => asked.push("1 CPU core".into()),
        (cores, 0) => asked.push(format!("{cores} CPU cores")),
        (cores, milli) => asked.push(format!("{cores}.{milli:03} CPU cores")),
    }
    if memory_mb > 0 {
        asked.push(format!("{} of memory", size(memory_mb)));
    }
    asked.join(" with ")
}

fn not_allowed(reason: &Reason, names: &dyn Naming) -> Said {
    match *reason {
        Reason::OverLimit { tenant, need, limit, .. } if need > limit => (
            format!(
                "it needs {need} GPUs, and tenant {} may never use more than {limit}",
                names.tenant(tenant)
            ),
            Some(format!("ask for {limit} GPUs or fewer, or raise the limit")),
        ),
        Reason::OverLimit { tenant, need, left, .. } => (
            format!(
                "it needs {need} GPUs, and tenant {} may use {left} more",
                names.tenant(tenant)
            ),
            Some("wait for the tenant's other jobs, or raise its limit".into()),
        ),
        Reason::AfterJobs { jobs, first } => {
            let jobs = if jobs == 1 { "one job".into() } else { format!("{jobs} jobs") };
            (format!("it must follow {jobs}, of which {} is next", names.job(first)), None)
        }
        Reason::Protected { holder, until } => (
            format!(
                "job {} holds a lease on GPUs it could use until {}",
                names.job(holder),
                names.time(until)
            ),
            None,
        ),
        Reason::NotNeeded { wanted } => (
            match wanted {
                1 => "its service has a load that calls for one replica at present".into(),
                wanted => {
                    format!("its service has a load that calls for {wanted} replicas at present")
                }
            },
            Some("it starts by itself when the load grows".into()),
        ),
        Reason::RoundNotOver { until } => {
            let until = names.time(until);
            (format!("decisions are taken at the end of a round, next at {until}"), None)
        }
        _ => kept(reason, names),
    }
}

/// What people, times and arrays keep from starting.
fn kept(reason: &Reason, names: &dyn Naming) -> Said {
    match *reason {
        Reason::HeldBack => (
            "somebody keeps it from starting".into(),
            Some("whoever may act on it can release it".into()),
        ),
        Reason::NotBefore { until } => {
            (format!("it may not start before {}", names.time(until)), None)
        }
        Reason::Suspended => (
            "somebody took it off its GPUs".into(),
            Some("whoever may act on it can resume it".into()),
        ),
        Reason::ArrayFull { most } => (
            match most {
                1 => "one task of its array runs at a time".into(),
                most => format!("{most} tasks of its array run at a time"),
            },
            Some("its turn comes when one of them ends".into()),
        ),
        _ => in_study(reason, names),
    }
}

/// What holds a trial back within its study.
fn in_study(reason: &Reason, names: &dyn Naming) -> Said {
    match *reason {
        Reason::PausedAtRung { rung, rank, of, keeps } => (
            format!(
                "it is {} of {of} trials after {}, of which {} so far",
                place(rank),
                iterations(rung),
                match keeps {
                    0 => "none goes on".into(),
                    1 => "the best goes on".into(),
                    keeps => format!("the best {keeps} go on"),
                }
            ),
            Some(
                "it goes on from there if it is among them once more trials have come so far"
                    .into(),
            ),
        ),
        Reason::AfterTrials { trials: 1, first } => (
            format!("trial {} of its study has done well and goes on first", names.job(first)),
            None,
        ),
        Reason::AfterTrials { trials, first } => (
            format!(
                "{trials} trials of its study have done well and go on first, such as {}",
                names.job(first)
            ),
            None,
        ),
        Reason::StudyFull { workers } => (
            format!(
                "{} of its study at a time",
                if workers == 1 {
                    "one trial runs".into()
                } else {
                    format!("{workers} trials run")
                }
            ),
            Some("raise `workers` to run more of them side by side".into()),
        ),
        _ => ("it may not run now".into(), None),
    }
}

fn turn(reason: &Reason, names: &dyn Naming) -> Said {
    match *reason {
        Reason::ShareSpent { target, got } => (
            format!(
                "its share of the time is {} %, and others have had less of theirs than it ({} %)",
                decimal(target),
                decimal(got)
            ),
            Some("its turn comes again as they catch up".into()),
        ),
        Reason::Gathers { has, need } => (
            format!("it is kept {has} of the {need} GPUs it needs, and waits for the rest"),
            Some("with a priority below zero it could use what others leave over".into()),
        ),
        Reason::TakesTurns { others, turn } => {
            let others =
                if others == 1 { "one other job" } else { &format!("{others} other jobs") };
            let said = format!("it takes turns of {turn} with {others} on its node");
            (said, Some("its turn comes within as many turns as there are others".into()))
        }
        Reason::Behind { ahead, first } => (
            format!(
                "{} ahead of it in the queue; job {} is first and does not fit",
                if ahead == 1 { "one job is".into() } else { format!("{ahead} jobs are") },
                names.job(first)
            ),
            Some("a recipe that backfills would let smaller jobs pass".into()),
        ),
        Reason::PutOff { until } => {
            let until = names.time(until);
            (
                format!("GPUs are free, but the recipe puts it off; it decides again at {until}"),
                None,
            )
        }
        Reason::WouldDelay { job, starts, by } => (
            format!(
                "it would run {by} into the reservation of job {}, which is to start at {starts}",
                names.job(job)
            ),
            Some("declare a shorter run time, if it is shorter".into()),
        ),
        Reason::Clearing { job } => {
            (format!("job {} is being stopped to make room for it", names.job(job)), None)
        }
        Reason::Displaced { by } => {
            (format!("it was stopped so that job {} could run", names.job(by)), None)
        }
        Reason::Rearranged => ("it was stopped to run elsewhere or at another size".into(), None),
        _ => room::said(reason).unwrap_or_else(|| promised(reason, names)),
    }
}

/// Deadlines and cells: what somebody was promised.
fn promised(reason: &Reason, names: &dyn Naming) -> Said {
    match *reason {
        Reason::SwitchingOn { node, until } => {
            let (node, until) = (names.node(node), names.time(until));
            (format!("node {node} is being switched on, and is there at {until}"), None)
        }
        Reason::Profiled { ran } => (
            format!("it was tried out for {ran} and waits for GPUs to go on"),
            Some("what it has done is kept".into()),
        ),
        Reason::CellsTaken { tenant, need } => (
            format!(
                "it needs {need} GPUs, and the cells of tenant {} that would do are in use",
                names.tenant(tenant)
            ),
            Some("with a priority below zero it could use what others leave idle".into()),
        ),
        Reason::CellsBad { tenant, need } => (
            format!(
                "it needs {need} GPUs, and tenant {} has such cells on nodes that are down only",
                names.tenant(tenant)
            ),
            Some("with a priority below zero it could use what others leave idle".into()),
        ),
        Reason::Leased { from, by } => (
            format!(
                "its deadline is promised for {}; leases are reserved for it from {} on",
                names.time(by),
                names.time(from)
            ),
            Some("it may start earlier on GPUs that nobody has reserved".into()),
        ),
        Reason::Planned { from, by } => (
            format!(
                "GPUs are reserved for it from {} on, and it is to end by {}",
                names.time(from),
                names.time(by)
            ),
            None,
        ),
        Reason::DeadlineNotFeasible { asked, offered } => (
            format!(
                "its deadline at {} cannot be promised, and GPUs that are left over go to others",
                names.time(asked)
            ),
            offered.map(|by| format!("the earliest that can be promised is {}", names.time(by))),
        ),
        Reason::DeadlineLost { asked } => (
            format!(
                "it cannot end by its deadline at {} any more, so it comes last",
                names.time(asked)
            ),
            Some("without a deadline it would be served as best effort".into()),
        ),
        _ => ("it is being saved so that another job can run".into(), None),
    }
}

/// A number of thousandths, such as `1.250`.
fn thousandths(amount: u64) -> String {
    format!("{}.{:03}", amount / 1000, amount % 1000)
}

/// A place in a ranking: `1st`, `22nd`, `13th`.
fn place(rank: u32) -> String {
    let ending = match (rank % 100, rank % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{rank}{ending}")
}

fn iterations(count: u32) -> String {
    if count == 1 { "one iteration".into() } else { format!("{count} iterations") }
}

/// Thousandths as percent.
fn decimal(thousandths: u32) -> String {
    format!("{}.{}", thousandths / 10, thousandths % 10)
}
