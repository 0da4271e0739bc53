//! The options a job can be written with, on the command line and in scripts: one table for both.

/// What an option is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// A value, called this in help.
    Value(&'static str),
}

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name after two dashes.
    pub long: &'static str,
    /// Its letter after one dash.
    pub short: Option<char>,
    /// Other names for it.
    pub also: &'static [&'static str],
    /// What it is given.
    pub takes: Takes,
    /// The part of the help it stands in.
    pub section: &'static str,
    /// What it means.
    pub help: &'static str,
}

const NEEDS: &str = "What it needs";
const WHEN: &str = "When it runs";
const ENDS: &str = "If it stops or fails";
const WHERE: &str = "Where and as what";

const fn flag(
    section: &'static str,
    long: &'static str,
    short: &'static str,
    value: &'static str,
    help: &'static str,
) -> Flag {
    let short = match short.as_bytes() {
        [letter, ..] => Some(*letter as char),
        [] => None,
    };
    let takes = if value.is_empty() { Takes::Nothing } else { Takes::Value(value) };
    Flag { long, short, also: &[], takes, section, help }
}

const fn also(flag: Flag, also: &'static [&'static str]) -> Flag {
    Flag { also, ..flag }
}

/// All of them.
#[rustfmt::skip]
pub const FLAGS: &[Flag] = &[
    flag(NEEDS, "gpus", "G", "[KIND:]N", "GPUs in all, such as 4 or a100:4"),
    flag(NEEDS, "gpus-per-node", "", "[KIND:]N", "GPUs on each node"),
    flag(NEEDS, "gpus-per-task", "", "[KIND:]N", "GPUs for each of --ntasks"),
    flag(NEEDS, "gres", "", "gpu:[KIND:]N", "The same as --gpus-per-node, as older scripts say it"),
    flag(NEEDS, "gpu-kinds", "", "KIND,KIND", "Kinds of GPU that will do [default: all]"),
    flag(NEEDS, "min-gpus", "", "N", "The fewest GPUs it can run on"),
    flag(NEEDS, "max-gpus", "", "N", "The most GPUs it can use"),
    flag(NEEDS, "gpu-share", "", "SHARE", "A share of each GPU: 0.5, 50% or 500m"),
    flag(NEEDS, "gpu-memory", "", "SIZE", "Memory on each GPU, such as 16G"),
    flag(NEEDS, "nodes", "N", "N", "Nodes that its GPUs are spread over evenly"),
    flag(NEEDS, "ntasks", "n", "N", "Processes: one, one for each node or one for each GPU"),
    flag(NEEDS, "ntasks-per-node", "", "N", "The same, for each node"),
    flag(NEEDS, "ranks", "", "HOW", "Processes to start: one, per-node or per-gpu"),
    flag(NEEDS, "cpus-per-task", "c", "N", "CPU cores for each of --ntasks"),
    flag(NEEDS, "cpus-per-gpu", "", "N", "CPU cores beside each GPU"),
    flag(NEEDS, "cpus", "", "N", "CPU cores on each node"),
    flag(NEEDS, "mem", "", "SIZE", "Host memory on each node, such as 64G"),
    flag(NEEDS, "mem-per-cpu", "", "SIZE", "Host memory for each CPU core"),
    flag(NEEDS, "mem-per-gpu", "", "SIZE", "Host memory beside each GPU"),
    flag(WHEN, "time", "t", "TIME", "How long it may run: minutes, h:mm:ss, days-hours, 90min"),
    flag(WHEN, "expected", "", "TIME", "How long it will run, if you know better than --time"),
    flag(WHEN, "array", "a", "TASKS", "Run it for each number: 0-15, 1,4,7, 0-20:5, 1-100%4"),
    flag(WHEN, "dependency", "d", "LIST", "Wait for others: afterok:1:2,afterany:3"),
    flag(WHEN, "begin", "b", "WHEN", "Not before: now+1hour, 16:00, tomorrow, 2026-12-24T18:00"),
    flag(WHEN, "deadline", "", "WHEN", "Finish by then"),
    flag(WHEN, "hold", "H", "", "Do not let it start until it is released"),
    flag(WHEN, "priority", "", "N", "Larger runs first, where the recipe looks at it"),
    also(flag(WHEN, "qos", "q", "CLASS", "guaranteed or best-effort"), &["class"]),
    flag(WHEN, "best-effort", "", "", "Take what is left over and give way to everybody"),
    flag(ENDS, "requeue", "", "", "It may be started again after it was stopped or lost [default]"),
    flag(ENDS, "no-requeue", "", "", "It may not"),
    flag(ENDS, "retries", "", "N", "Start it again so often if it fails"),
    flag(ENDS, "backoff", "", "TIME", "Wait so long before the first retry, then twice as long"),
    flag(ENDS, "signal", "", "SIG[@S]", "Send a signal S seconds before the end: TERM@120"),
    flag(ENDS, "grace", "", "TIME", "Time between being asked to stop and being killed"),
    flag(ENDS, "pause", "", "HOW", "How it may be suspended: auto, save, checkpoint, freeze …"),
    flag(WHERE, "job-name", "J", "NAME", "What to call it"),
    also(flag(WHERE, "account", "A", "TENANT", "Whose quota it uses"), &["tenant"]),
    flag(WHERE, "partition", "p", "TENANT", "The same, where --account is not given"),
    also(flag(WHERE, "chdir", "D", "FOLDER", "The folder it runs in [here]"), &["workdir"]),
    flag(WHERE, "output", "o", "FILE", "Where its output goes: %j number, %a task, %x name"),
    flag(WHERE, "error", "e", "FILE", "Where its standard error goes [default: with its output]"),
    flag(WHERE, "export", "", "NAMES", "Variables it gets: ALL [default], NONE or A,B=VALUE"),
    flag(WHERE, "model", "", "NAME", "What it trains, for predictions"),
    flag(WHERE, "once", "", "KEY", "Hand it in once, however often this is repeated"),
];

/// The option of that name.
pub fn find(long: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.long == long || flag.also.contains(&long))
}

/// The option of that letter.
pub(super) fn find_letter(letter: char) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.short == Some(letter))
}

/// A name that a mistyped one may have meant.
pub(super) fn closest(long: &str) -> Option<&'static str> {
    if long.len() > 32 {
        return None;
    }
    let far = |flag: &Flag| (distance(long, flag.long), flag.long);
    let (steps, name) = FLAGS.iter().map(far).min()?;
    (steps <= 1 + long.len() / 5).then_some(name)
}

/// How many letters must be put in, taken out or changed.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, letter) in from.chars().enumerate() {
        let mut corner = row[0];
        row[0] = above + 1;
        for (at, other) in to.iter().enumerate() {
            let changed = corner + usize::from(letter != *other);
            corner = row[at + 1];
            row[at + 1] = changed.min(corner + 1).min(row[at] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_given_once() {
        for (index, flag) in FLAGS.iter().enumerate() {
            for other in &FLAGS[index + 1..] {
                assert_ne!(flag.long, other.long);
                assert!(flag.short.is_none() || flag.short != other.short, "{}", flag.long);
                assert!(!flag.also.contains(&other.long) && !other.also.contains(&flag.long));
            }
        }
        assert_eq!(find("tenant").map(|flag| flag.long), Some("account"));
        assert_eq!(closest("gpu-per-node"), Some("gpus-per-node"));
        assert_eq!(closest("tim"), Some("time"));
        assert_eq!(closest("zzz"), None);
    }
}
