//! The machine beside its GPUs: its name, CPUs and memory.

/// Its name, up to the first dot.
pub(super) fn name() -> String {
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    let name = name.unwrap_or_default();
    let short = name.split('.').next().unwrap_or_default();
    if short.is_empty() { "localhost".into() } else { short.into() }
}

/// CPU cores that may be used, thousandths.
pub(super) fn cpu_milli() -> u64 {
    std::thread::available_parallelism().map_or(0, |cores| cores.get() as u64 * 1000)
}

/// Memory, MB; zero, if it cannot be told.
pub(super) fn memory_mb() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let number = total.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    number.map_or(0, |kb| kb / 1024)
}
