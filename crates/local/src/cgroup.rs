//! Control groups (version 2) where the machine permits them: limits, killing and freezing of all
//! that a job started. Where they are not permitted, jobs run without, and a note says so.
//!
//! A shepherd enters the group of its job while it still waits for one, since entering takes the
//! kernel long; what it starts is then born there. It leaves for the herd's group right after.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of all of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    pub(crate) folder: PathBuf,
    /// Whether CPUs and memory can be limited.
    pub(crate) limits: bool,
}

impl Groups {
    /// Make our folder below the group that this process is in, or say why that cannot be.
    pub(crate) fn find() -> Result<Groups, String> {
        let (root, own) = own_group().ok_or("there is no cgroup version 2 file system")?;
        let folder = own.join("heeler");
        let made = fs::create_dir(&folder);
        if let Err(error) = made.or_else(already_there) {
            return Err(format!("{}: {error}", folder.display()));
        }
        let available = fs::read_to_string(own.join("cgroup.controllers")).unwrap_or_default();
        let wanted = ["cpu", "memory"];
        let mut limits =
            wanted.iter().all(|name| available.split_whitespace().any(|it| it == *name));
        if limits {
            limits = pass_down(&own).is_ok() || (own != root && leave_room(&own));
            limits = limits && pass_down(&folder).is_ok();
        }
        let groups = Groups { folder, limits };
        fs::create_dir(groups.herd()).or_else(already_there).map_err(|error| error.to_string())?;
        groups.clear();
        Ok(groups)
    }

    /// Remove groups whose shepherds were killed. One with a process in it cannot be removed.
    fn clear(&self) {
        for number in crate::folder::numbers(&self.folder) {
            let _ = fs::remove_dir(self.folder.join(number.to_string()));
        }
    }

    /// Where shepherds are that have started their jobs.
    fn herd(&self) -> PathBuf {
        self.folder.join("herd")
    }
}

fn already_there(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}

/// Let groups below this one have limits.
fn pass_down(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.subtree_control"), "+cpu +memory")
}

/// A group with processes of its own cannot limit those below: move this process down. If others
/// are there, too, that does not help, and then there are no limits.
fn leave_room(own: &Path) -> bool {
    let below = own.join("heeler-server");
    fs::create_dir(&below).or_else(already_there).is_ok()
        && enter(&below).is_ok()
        && pass_down(own).is_ok()
}

fn enter(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), "0")
}

/// Where the file system is mounted, and the group that this process is in.
fn own_group() -> Option<(PathBuf, PathBuf)> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (path, kind) = (fields.next()?, fields.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(path))
    })?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    // A server that was started again from within our own folders must not nest deeper each time.
    let own = own.split("/heeler").next().unwrap_or(own);
    let path = mount.join(own.trim_start_matches('/'));
    Some((mount, path))
}

/// The group of one job's processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) path: PathBuf,
    herd: PathBuf,
}

impl Group {
    /// Make a group below our folder and enter it, to start processes there.
    pub(crate) fn prepare(folder: &Path) -> io::Result<Group> {
        let groups = Groups { folder: folder.to_owned(), limits: false };
        let path = folder.join(std::process::id().to_string());
        fs::create_dir(&path).or_else(already_there)?;
        enter(&path)?;
        Ok(Group { path, herd: groups.herd() })
    }

    /// Limit it, as far as it can be. Zero is no limit.
    pub(crate) fn limit(&self, cpu_milli: u64, memory_mb: u64) {
        // Where the files are missing there are no limits, which a note has said.
        if cpu_milli > 0 {
            let period_us = 100_000;
            let quota_us = cpu_milli * period_us / 1000;
            let _ = fs::write(self.path.join("cpu.max"), format!("{quota_us} {period_us}"));
        }
        if memory_mb > 0 {
            let _ = fs::write(self.path.join("memory.max"), (memory_mb << 20).to_string());
            let _ = fs::write(self.path.join("memory.oom.group"), "1");
        }
    }

    /// Enter it, to start processes there.
    pub(crate) fn enter(&self) -> io::Result<()> {
        // What was frozen there is gone, and whoever enters must not stand still.
        let _ = fs::write(self.path.join("cgroup.freeze"), "0");
        enter(&self.path)
    }

    /// Leave it, so that this process is not killed or frozen with those in it.
    pub(crate) fn leave(&self) -> io::Result<()> {
        enter(&self.herd)
    }

    /// Whether the kernel killed something in it for want of memory.
    pub(crate) fn out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.path.join("memory.events")).unwrap_or_default();
        let count = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.is_some_and(|count| count.trim() != "0")
    }

    /// Remove it, once nothing is in it.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir(&self.path);
    }
}
