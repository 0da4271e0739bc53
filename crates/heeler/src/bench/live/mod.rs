//! The live control plane: how fast jobs are handed in durably, how soon they run, how fast a deep
//! queue of small jobs is got through, and what asking costs. Here the wall clock is measured,
//! since people wait by it; every figure stands beside what the machine can do in the same run.

mod generator;
mod start;
mod submit;
mod why;
mod wire;

use super::Scope;
use super::report::Figure;
use anyhow::{Context, Result};
use heeler_api::{Gpus, Submission};
use heeler_model::Cluster;
use heeler_server::noop::Noop;
use heeler_server::{Server, Settings};
use std::path::Path;
use std::time::Duration;

/// All figures of the live control plane.
pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let mut figures = submit::measure(scope)?;
    figures.extend(start::measure(scope)?);
    figures.extend(generator::measure(scope)?);
    figures.extend(why::measure(scope)?);
    Ok(figures)
}

/// A folder of its own, which is gone when this is.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Scratch> {
        let folder = std::env::temp_dir().join(format!("heeler-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(Scratch(folder))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left behind in the system's own folder for such things harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server without processes, on a cluster, under a recipe.
fn server(folder: &Path, cluster: Cluster, recipe: &str) -> Result<Server> {
    let settings = Settings { recipe: recipe.into(), ..Settings::new(folder) };
    let server = Server::start(&settings, move |tell| {
        Ok(Box::new(Noop::new(cluster, Duration::from_millis(1), tell)))
    });
    Ok(server?)
}

/// A job as people hand it in, on so many GPUs.
fn job(gpus: u32) -> Submission {
    Submission {
        name: "train".into(),
        command: ["python3", "train.py", "--epochs", "10"].map(String::from).into(),
        dir: "/".into(),
        gpus: Gpus { count: gpus, ..Gpus::default() },
        time_limit_s: Some(3_600),
        ..Submission::default()
    }
}
