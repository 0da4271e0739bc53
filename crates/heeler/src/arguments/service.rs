//! Services on the command line: built in, by name, or a file.

use crate::mistake::Mistake;
use anyhow::Result;
use heeler_model::Cluster;
use heeler_sim::services::{self, ServiceSpec};
use heeler_sim::suggest;
use std::collections::BTreeSet;
use std::path::Path;

/// The services of these names or files. Their tenants are added to the cluster.
pub(super) fn find_services(names: &[String], cluster: &mut Cluster) -> Result<Vec<ServiceSpec>> {
    let specs: Vec<ServiceSpec> =
        names.iter().map(|name| find(name, cluster)).collect::<Result<_>>()?;
    let mut seen = BTreeSet::new();
    if let Some(twice) = specs.iter().find(|spec| !seen.insert(&spec.name)) {
        let mistake = Mistake::new(format!("two services are called `{}`", twice.name));
        return Err(mistake.hint("give one of them another `name`").into());
    }
    Ok(specs)
}

fn find(name: &str, cluster: &mut Cluster) -> Result<ServiceSpec> {
    if let Some(text) = services::text(name) {
        return Ok(services::parse(text, name, cluster)?);
    }
    if !name.ends_with(".toml") && !name.contains('/') {
        let hint = suggest::hint(name, services::names());
        return Err(Mistake::new(format!("there is no service `{name}`")).hint(hint).into());
    }
    Ok(services::read(Path::new(name), cluster)?)
}
