//! Options taken one by one, each checked where it stands.

use super::depend::{self, Wait};
use super::{Given, Origin, Takes, Wrong, array, size, time};
use crate::{Array, Class, Early, Pause, Ranks};
use jiff::Zoned;

/// A kind of GPU, if one is named, and how many.
pub(super) type Counted = (Option<String>, u32);

/// What options say, each as it was said last.
#[derive(Clone, Debug, Default)]
pub(super) struct Wish {
    pub(super) name: Option<String>,
    pub(super) account: Option<String>,
    pub(super) partition: Option<String>,
    pub(super) gpus: Option<Counted>,
    pub(super) per_node: Option<Counted>,
    pub(super) per_task: Option<Counted>,
    pub(super) kinds: Vec<String>,
    pub(super) min_gpus: Option<u32>,
    pub(super) max_gpus: Option<u32>,
    pub(super) share_milli: Option<u32>,
    pub(super) gpu_memory_mb: Option<u32>,
    pub(super) nodes: Option<u32>,
    pub(super) tasks: Option<u32>,
    pub(super) tasks_per_node: Option<u32>,
    pub(super) ranks: Option<Ranks>,
    pub(super) cpus: Option<u32>,
    pub(super) cpus_per_task: Option<u32>,
    pub(super) cpus_per_gpu: Option<u32>,
    pub(super) mem: Option<u32>,
    pub(super) mem_per_cpu: Option<u32>,
    pub(super) mem_per_gpu: Option<u32>,
    pub(super) time_limit_s: Option<u64>,
    pub(super) expected_s: Option<u64>,
    pub(super) array: Option<Array>,
    pub(super) waits: Vec<Wait>,
    pub(super) begin: Option<u64>,
    pub(super) deadline: Option<u64>,
    pub(super) hold: bool,
    pub(super) priority: i32,
    pub(super) class: Class,
    pub(super) no_requeue: bool,
    pub(super) retries: Option<u32>,
    pub(super) backoff_s: Option<u64>,
    pub(super) early: Option<Early>,
    pub(super) grace_s: Option<u64>,
    pub(super) pause: Pause,
    pub(super) dir: Option<String>,
    pub(super) output: Option<String>,
    pub(super) error: Option<String>,
    /// Where the tenant was named, if in a file.
    pub(super) account_at: Option<String>,
    pub(super) partition_at: Option<String>,
    pub(super) export: Option<String>,
    pub(super) model: Option<String>,
    pub(super) once: Option<String>,
}

impl Wish {
    /// What these say. Those on the command line put away those of a file that say the same thing
    /// in another way, such as `--gpus` against `--gpus-per-node`.
    pub(super) fn of(given: &[Given], now: &Zoned) -> Result<Wish, Wrong> {
        let mut wish = Wish::default();
        let mut typed = [false; 4];
        for one in given {
            if let (Origin::Typed, Some(group)) = (&one.origin, group(one.flag.long))
                && !std::mem::replace(&mut typed[group], true)
            {
                wish.put_away(group);
            }
            wish.take(one, now).map_err(|wrong| at(one, wrong))?;
            match one.flag.long {
                "account" => wish.account_at = place(one),
                "partition" => wish.partition_at = place(one),
                _ => {}
            }
        }
        Ok(wish)
    }

    fn put_away(&mut self, group: usize) {
        match group {
            0 => (self.gpus, self.per_node, self.per_task) = (None, None, None),
            1 => (self.tasks, self.tasks_per_node) = (None, None),
            2 => (self.cpus, self.cpus_per_task, self.cpus_per_gpu) = (None, None, None),
            _ => (self.mem, self.mem_per_cpu, self.mem_per_gpu) = (None, None, None),
        }
    }

    fn take(&mut self, given: &Given, now: &Zoned) -> Result<(), Wrong> {
        let value = given.value.as_deref().unwrap_or("");
        if given.value.is_some() && given.flag.takes == Takes::Nothing {
            return Err(Wrong::new("takes no value"));
        }
        if value.trim().is_empty() && given.flag.takes != Takes::Nothing {
            return Err(Wrong::new("has no value"));
        }
        let name = given.flag.long;
        let taken = self.take_need(name, value)? || self.take_time(name, value, now)?;
        if !taken {
            self.take_rest(name, value)?;
        }
        Ok(())
    }

    fn take_need(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "gpus" => self.gpus = Some(size::gpus(value)?),
            "gpus-per-node" => self.per_node = Some(size::gpus(value)?),
            "gpus-per-task" => self.per_task = Some(size::gpus(value)?),
            "gres" => self.per_node = Some(size::generic(value)?),
            "gpu-kinds" => self.kinds = kinds(value)?,
            "min-gpus" => self.min_gpus = Some(size::number(value, 1)?),
            "max-gpus" => self.max_gpus = Some(size::number(value, 1)?),
            "gpu-share" => self.share_milli = Some(size::share_milli(value)?),
            "gpu-memory" => self.gpu_memory_mb = Some(size::memory_mb(value)?),
            "nodes" => self.nodes = Some(nodes(value)?),
            "ntasks" => self.tasks = Some(size::number(value, 1)?),
            "ntasks-per-node" => self.tasks_per_node = Some(size::number(value, 1)?),
            "ranks" => self.ranks = Some(one_of(value, &RANKS)?),
            "cpus" => self.cpus = Some(size::number(value, 1)?),
            "cpus-per-task" => self.cpus_per_task = Some(size::number(value, 1)?),
            "cpus-per-gpu" => self.cpus_per_gpu = Some(size::number(value, 1)?),
            "mem" => self.mem = Some(size::memory_mb(value)?),
            "mem-per-cpu" => self.mem_per_cpu = Some(size::memory_mb(value)?),
            "mem-per-gpu" => self.mem_per_gpu = Some(size::memory_mb(value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_time(&mut self, name: &str, value: &str, now: &Zoned) -> Result<bool, String> {
        match name {
            "time" => self.time_limit_s = time::read(value)?,
            "expected" => self.expected_s = time::read(value)?,
            "backoff" => self.backoff_s = Some(time::ending(value)?),
            "grace" => self.grace_s = Some(time::ending(value)?),
            "begin" => self.begin = Some(time::instant(value, now)?),
            "deadline" => {
                let at = time::instant(value, now)?;
                if i64::try_from(at).is_ok_and(|at| at <= now.timestamp().as_second()) {
                    return Err(format!("`{value}` is past already"));
                }
                self.deadline = Some(at);
            }
            "array" => self.array = Some(array::read(value)?),
            "dependency" => self.waits = depend::read(value)?,
            "signal" => self.early = Some(size::early(value)?),
            "hold" => self.hold = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_rest(&mut self, name: &str, value: &str) -> Result<(), Wrong> {
        match name {
            "priority" => {
                let wrong = |_| Wrong::new(format!("expected a whole number, found `{value}`"));
                self.priority = value.trim().parse().map_err(wrong)?;
            }
            "qos" => self.class = one_of(value, &CLASSES)?,
            "best-effort" => self.class = Class::BestEffort,
            "requeue" => self.no_requeue = false,
            "no-requeue" => self.no_requeue = true,
            "retries" => self.retries = Some(size::number(value, 0)?),
            "pause" => self.pause = one_of(value, &PAUSES)?,
            "job-name" => self.name = Some(job_name(value)?),
            "account" => self.account = Some(value.into()),
            "partition" => self.partition = Some(value.into()),
            "chdir" => self.dir = Some(value.into()),
            "output" => self.output = Some(value.into()),
            "error" => self.error = Some(value.into()),
            "export" => self.export = Some(value.into()),
            "model" => self.model = Some(value.into()),
            "once" => self.once = Some(value.into()),
            _ => return Err(Wrong::new("is not known here")),
        }
        Ok(())
    }
}

const RANKS: [(&str, Ranks); 3] =
    [("one", Ranks::One), ("per-node", Ranks::PerNode), ("per-gpu", Ranks::PerGpu)];

const CLASSES: [(&str, Class); 5] = [
    ("guaranteed", Class::Guaranteed),
    ("best-effort", Class::BestEffort),
    ("normal", Class::Guaranteed),
    ("preemptible", Class::BestEffort),
    ("scavenger", Class::BestEffort),
];

const PAUSES: [(&str, Pause); 6] = [
    ("auto", Pause::Auto),
    ("save", Pause::Save),
    ("checkpoint", Pause::Checkpoint),
    ("freeze", Pause::Freeze),
    ("requeue", Pause::Requeue),
    ("never", Pause::Never),
];

fn one_of<T: Copy>(value: &str, known: &[(&str, T)]) -> Result<T, String> {
    let value = value.trim();
    let found = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(value));
    found.map(|(_, meant)| *meant).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        format!("expected {}, found `{value}`", names.join(", "))
    })
}

fn kinds(value: &str) -> Result<Vec<String>, String> {
    let kinds: Vec<String> =
        value.split([',', '|', '+']).map(|kind| kind.trim().to_string()).collect();
    match kinds.iter().all(|kind| size::is_name(kind)) {
        true => Ok(kinds),
        false => Err(format!("expected kinds such as a100,h100, found `{value}`")),
    }
}

fn nodes(value: &str) -> Result<u32, String> {
    if value.contains('-') {
        return Err(format!("a range of nodes (`{value}`) is not supported; see --min-gpus"));
    }
    size::number(value, 1)
}

fn job_name(value: &str) -> Result<String, String> {
    let letter = |c: char| c.is_ascii_alphanumeric() || "-_.+:@".contains(c);
    let is_fine = value.len() <= 128 && value.chars().all(letter);
    match is_fine && !value.starts_with(['.', '-']) {
        true => Ok(value.into()),
        false => Err(format!(
            "expected up to 128 letters, digits and -_.+:@, not beginning with a dot or a dash, \
             found `{value}`"
        )),
    }
}

/// Options of which those on the command line put away all others.
fn group(name: &str) -> Option<usize> {
    match name {
        "gpus" | "gpus-per-node" | "gpus-per-task" | "gres" => Some(0),
        "ntasks" | "ntasks-per-node" => Some(1),
        "cpus" | "cpus-per-task" | "cpus-per-gpu" => Some(2),
        "mem" | "mem-per-cpu" | "mem-per-gpu" => Some(3),
        _ => None,
    }
}

/// Where an option of a file stands: `job.sh:3: --partition gpu`.
fn place(given: &Given) -> Option<String> {
    let Origin::File { file, line } = &given.origin else { return None };
    let value = given.value.as_deref().unwrap_or("");
    Some(format!("{file}:{line}: `--{} {value}`", given.flag.long))
}

/// A mistake, with the option and where it was written.
fn at(given: &Given, wrong: Wrong) -> Wrong {
    let field = match &given.value {
        Some(value) => format!("--{} {value}", given.flag.long),
        None => format!("--{}", given.flag.long),
    };
    wrong.about(field).within(&given.origin)
}
