//! A folder of this process, for readers that want files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A folder that goes when it is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new one.
    pub(crate) fn new() -> Scratch {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("heeler-fuzz-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        Scratch(folder)
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str, data: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, data).expect("a temporary file");
        path
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
