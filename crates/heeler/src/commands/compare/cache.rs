//! What simulations showed that were run before. A run is known by everything that it hangs on:
//! this program, the jobs, the cluster and the world, the card, the load and the seed.

use super::writable::check_folder;
use crate::arguments::Setting;
use crate::mistake::Mistake;
use anyhow::{Context, Result};
use heeler_recipes::Card;
use heeler_sim::metrics::Summary;
use heeler_sim::workload::replace_file;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// A folder of summaries.
pub(crate) struct Cache {
    folder: PathBuf,
    /// The program and the setting, digested.
    ground: Sha256,
}

impl Cache {
    /// The summaries of a setting in a folder, which is made if it is not there.
    pub(crate) fn open(folder: &Path, setting: &Setting) -> Result<Cache> {
        let wrong = |what: &str, error| {
            Mistake::new(format!("{}: {what}: {error}", folder.display()))
                .hint("--cache names a folder that can be written to")
        };
        std::fs::create_dir_all(folder).map_err(|error| wrong("cannot be made", error))?;
        check_folder(folder).map_err(|error| wrong("cannot be written to", error))?;
        let mut ground = Sha256::new();
        let program = std::env::current_exe().and_then(std::fs::read);
        ground.update(program.context("this program cannot be read")?);
        setting.digest(&mut ground)?;
        Ok(Cache { folder: folder.to_path_buf(), ground })
    }

    /// What a run is known by.
    pub(crate) fn key(&self, card: &Card, load: Option<f64>, seed: u64) -> String {
        let mut all = self.ground.clone();
        all.update(format!("{card:?} {load:?} {seed}"));
        all.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    /// What a run showed, if it was run before. What cannot be read was not.
    pub(crate) fn get(&self, key: &str) -> Option<Summary> {
        let bytes = std::fs::read(self.file(key)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keep what a run showed.
    pub(crate) fn put(&self, key: &str, summary: &Summary) -> Result<()> {
        let (path, text) = (self.file(key), serde_json::to_vec(summary)?);
        replace_file(&path, |out| out.write_all(&text))
            .with_context(|| format!("{} cannot be written", path.display()))
    }
}
