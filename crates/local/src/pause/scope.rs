//! Which processes belong to a job: everything in its cgroup, below its shepherd, and in the
//! sessions of its ranks, read from the kernel each time since jobs fork.

use super::PauseError;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where a job's processes are to be found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// A process whose every descendant is the job's, itself not: its shepherd, if that has made
    /// itself the reaper of what its descendants leave behind.
    pub keeper: Option<i32>,
    /// The processes that were started as the job; they and what is below them, or in a session or
    /// a group that they lead.
    pub ranks: Vec<i32>,
    /// The job's folder in the cgroup file system (version 2), if it has one.
    pub cgroup: Option<PathBuf>,
}

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its parent's.
    pub parent: i32,
    /// The group it is in.
    pub group: i32,
    /// The session it is in.
    pub session: i32,
    /// What it does: `R`, `S`, `D`, `T`, `t`, `Z` or `X`.
    pub state: char,
}

impl Process {
    /// Whether it cannot do anything until somebody lets it.
    pub fn is_still(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }

    /// Whether it is over, and waits at most for somebody to take note.
    pub fn is_over(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    fn read(pid: i32) -> Option<Process> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold blanks and brackets; what follows the last bracket does not.
        let mut fields = text.rsplit_once(") ")?.1.split(' ');
        let state = fields.next()?.chars().next()?;
        let mut number = || fields.next()?.parse().ok();
        Some(Process { pid, state, parent: number()?, group: number()?, session: number()? })
    }
}

impl Scope {
    /// The processes of the job's cgroup.
    pub(super) fn members(&self) -> BTreeSet<i32> {
        let mut found = BTreeSet::new();
        if let Some(cgroup) = &self.cgroup {
            members(cgroup, &mut found);
        }
        found
    }

    /// The job's processes that are not over, parents before their children.
    pub fn processes(&self) -> Result<Vec<Process>, PauseError> {
        let all = everything()?;
        let mut ours = self.members();
        let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for process in all.values() {
            children.entry(process.parent).or_default().push(process.pid);
            let leads = |leader| self.ranks.contains(&leader);
            if leads(process.pid) || leads(process.session) || leads(process.group) {
                ours.insert(process.pid);
            }
        }
        let mut open: Vec<i32> = ours.iter().copied().chain(self.keeper).collect();
        while let Some(parent) = open.pop() {
            for child in children.get(&parent).into_iter().flatten() {
                if ours.insert(*child) {
                    open.push(*child);
                }
            }
        }
        if let Some(keeper) = self.keeper {
            ours.remove(&keeper);
        }
        let found = ours.iter().filter_map(|pid| all.get(pid)).filter(|one| !one.is_over());
        let mut found: Vec<Process> = found.copied().collect();
        found.sort_by_key(|process| (depth(process.pid, &all), process.pid));
        Ok(found)
    }
}

fn everything() -> Result<BTreeMap<i32, Process>, PauseError> {
    let failed = |error: std::io::Error| PauseError::Processes {
        what: "reading /proc".to_owned(),
        message: error.to_string(),
    };
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let pid = name.to_str().and_then(|name| name.parse().ok());
        if let Some(process) = pid.and_then(Process::read) {
            all.insert(process.pid, process);
        }
    }
    Ok(all)
}

/// The processes of a cgroup and of those below it.
fn members(cgroup: &Path, ours: &mut BTreeSet<i32>) {
    let text = std::fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    ours.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
    for entry in std::fs::read_dir(cgroup).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            members(&entry.path(), ours);
        }
    }
}

/// How many ancestors a process has.
fn depth(pid: i32, all: &BTreeMap<i32, Process>) -> usize {
    let above = |pid: &i32| all.get(pid).map(|process| process.parent).filter(|up| *up != 0);
    std::iter::successors(Some(pid), above).take(all.len()).count()
}
