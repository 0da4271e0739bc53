//! Clusters as TOML files: kinds of GPU, groups of equal nodes, tenants.

use super::{ClusterError, KINDS_MAX, NODES_MAX, is_name};
use crate::suggest;
use heeler_model::{
    Cluster, GPUS_PER_NODE_MAX, Kind, KindId, Milli, Node, Price, RackId, Tenant, TenantId, Time,
};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use toml::Spanned;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    #[serde(default)]
    kind: Vec<KindTable>,
    nodes: Vec<NodesTable>,
    #[serde(default)]
    tenant: Vec<TenantTable>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct KindTable {
    name: Spanned<String>,
    #[serde(default)]
    memory_mb: u32,
    speed: Option<Spanned<f64>>,
    price: Option<Spanned<PriceTable>>,
    watts: Option<u32>,
}

/// What an hour of a GPU costs: always the same, or from so many hours on.
#[derive(Deserialize)]
#[serde(untagged)]
enum PriceTable {
    Always(f64),
    Changes(Vec<(f64, f64)>),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct NodesTable {
    name: Option<Spanned<String>>,
    count: Option<Spanned<usize>>,
    gpus: Spanned<u32>,
    kind: Option<Spanned<String>>,
    cpus: Option<Spanned<f64>>,
    #[serde(default)]
    memory_mb: u64,
    rack: Option<Spanned<String>>,
    racks_of: Option<Spanned<usize>>,
    link_group: Option<Spanned<u32>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct TenantTable {
    name: Spanned<String>,
    parent: Option<Spanned<String>>,
    weight: Option<Spanned<u32>>,
    quota: Option<u32>,
    limit: Option<Spanned<u32>>,
}

/// The text that is being read, for errors that say where.
#[derive(Clone, Copy)]
struct Text<'a> {
    file: &'a str,
    text: &'a str,
}

impl Text<'_> {
    fn wrong<T>(self, at: &Spanned<T>, message: impl Into<String>) -> ClusterError {
        ClusterError::at(self.file, self.text, at.span().start, message)
    }
}

pub(super) fn parse(text: &str, file: &str) -> Result<Cluster, ClusterError> {
    let table: File = toml::from_str(text).map_err(|error| misread(&error, text, file))?;
    let text = Text { file, text };
    let mut cluster = Cluster::default();
    add_kinds(&mut cluster, &table.kind, text)?;
    let mut names = BTreeSet::new();
    let mut racks = BTreeMap::new();
    for nodes in &table.nodes {
        add_nodes(&mut cluster, nodes, !table.kind.is_empty(), &mut racks, text)?;
        let repeated = cluster.nodes[names.len()..].iter().find(|n| !names.insert(n.name.clone()));
        if let Some(node) = repeated {
            let message = format!("two nodes are called `{}`", node.name);
            let error = match &nodes.name {
                Some(name) => text.wrong(name, message),
                None => text.wrong(&nodes.gpus, message),
            };
            return Err(error.hint("give each group of nodes a `name` of its own"));
        }
    }
    if cluster.nodes.is_empty() {
        return Err(ClusterError::file(file, "has no nodes").hint("add a [[nodes]] table"));
    }
    add_tenants(&mut cluster, &table.tenant, text)?;
    Ok(cluster)
}

/// What the TOML reader found wrong, with a suggestion for a name that is not known.
fn misread(error: &toml::de::Error, text: &str, file: &str) -> ClusterError {
    let message = error.message().trim().replace('\n', "; ");
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let hint = match &words[..] {
        [unknown, known @ ..] if message.starts_with("unknown field") => {
            suggest::hint(unknown, known.iter().copied())
        }
        _ => "a cluster file has [[nodes]] tables with `gpus`, and may have [[kind]] and \
              [[tenant]] tables"
            .into(),
    };
    let at = error.span().map_or(0, |span| span.start);
    ClusterError::at(file, text, at, message).hint(hint)
}

/// Prices in order of time.
fn prices(table: &Spanned<PriceTable>, text: Text<'_>) -> Result<Vec<Price>, ClusterError> {
    let listed = match table.get_ref() {
        PriceTable::Always(price) => vec![(0.0, *price)],
        PriceTable::Changes(list) => list.clone(),
    };
    let rises = listed.windows(2).all(|two| two[0].0 < two[1].0);
    let fits =
        |(hours, price): &(f64, f64)| (0.0..=1e6).contains(hours) && (0.0..=1e6).contains(price);
    if !rises || !listed.iter().all(fits) {
        let message = "expected a price of an hour, or a list of [hours, price] in order of time";
        return Err(text.wrong(table, message));
    }
    let price = |(hours, price): &(f64, f64)| Price {
        from: Time::from_secs_f64(hours * 3600.0),
        micro: (price * 1e6).round() as u64,
    };
    Ok(listed.iter().map(price).collect())
}

fn add_kinds(
    cluster: &mut Cluster,
    kinds: &[KindTable],
    text: Text<'_>,
) -> Result<(), ClusterError> {
    for kind in kinds {
        let name = kind.name.get_ref();
        if !is_name(name) {
            let message = format!("`{name}` is no name for a kind of GPU");
            return Err(text.wrong(&kind.name, message).hint("use letters, digits, `-`, `_`, `.`"));
        }
        if cluster.kinds.iter().any(|known| known.name == *name) {
            return Err(text.wrong(&kind.name, format!("kind `{name}` is described twice")));
        }
        if cluster.kinds.len() == KINDS_MAX {
            return Err(text.wrong(&kind.name, format!("there are more than {KINDS_MAX} kinds")));
        }
        let speed = match &kind.speed {
            None => Milli::WHOLE,
            Some(speed) => {
                let milli = (speed.get_ref() * 1000.0).round();
                if !(1.0..=1e9).contains(&milli) {
                    let message = "expected a speed of 0.001 to 1000000 times the reference kind's";
                    return Err(text.wrong(speed, message));
                }
                Milli(milli as u32)
            }
        };
        let prices = kind.price.as_ref().map_or(Ok(Vec::new()), |price| prices(price, text))?;
        let (name, memory_mb) = (name.clone(), kind.memory_mb);
        let watts = kind.watts.unwrap_or(0);
        cluster.kinds.push(Kind { name, memory_mb, speed, prices, watts });
    }
    Ok(())
}

fn add_nodes(
    cluster: &mut Cluster,
    nodes: &NodesTable,
    kinds_are_listed: bool,
    racks: &mut BTreeMap<String, RackId>,
    text: Text<'_>,
) -> Result<(), ClusterError> {
    check_nodes(nodes, NODES_MAX - cluster.nodes.len(), text)?;
    let kind = kind_of(cluster, nodes, kinds_are_listed, text)?;
    let count = nodes.count.as_ref().map_or(1, |count| *count.get_ref());
    let cpus = nodes.cpus.as_ref().map_or(0.0, |cpus| *cpus.get_ref());
    let named = nodes.rack.as_ref().map_or("rack", |rack| rack.get_ref());
    for index in 0..count {
        let number = RackId(cluster.racks.len() as u32);
        let rack = match &nodes.racks_of {
            Some(size) if index % size.get_ref() == 0 => {
                let name = format!("rack{number}");
                racks.entry(name.clone()).or_insert(number);
                cluster.racks.push(name);
                number
            }
            Some(_) => RackId(number.0 - 1),
            None => *racks.entry(named.to_string()).or_insert_with(|| {
                cluster.racks.push(named.to_string());
                number
            }),
        };
        let name = match &nodes.name {
            Some(name) if count == 1 => name.get_ref().clone(),
            Some(name) => format!("{}{index}", name.get_ref()),
            None => format!("n{}", cluster.nodes.len()),
        };
        cluster.nodes.push(Node {
            name,
            kind,
            gpus: *nodes.gpus.get_ref(),
            rack,
            link_group: nodes.link_group.as_ref().map_or(0, |group| *group.get_ref()),
            cpu_milli: (cpus * 1000.0).round() as u64,
            memory_mb: nodes.memory_mb,
        });
    }
    Ok(())
}

fn check_nodes(nodes: &NodesTable, most: usize, text: Text<'_>) -> Result<(), ClusterError> {
    let gpus = *nodes.gpus.get_ref();
    if gpus > GPUS_PER_NODE_MAX {
        let message = format!("a node has at most {GPUS_PER_NODE_MAX} GPUs, found {gpus}");
        return Err(text.wrong(&nodes.gpus, message));
    }
    if let Some(count) = &nodes.count
        && !(1..=most).contains(count.get_ref())
    {
        let message = format!("expected 1 to {most} nodes, found {}", count.get_ref());
        return Err(text.wrong(count, message));
    }
    if let Some(group) = &nodes.link_group
        && *group.get_ref() > gpus
    {
        return Err(text.wrong(group, format!("is larger than the node's {gpus} GPUs")));
    }
    if let Some(cpus) = &nodes.cpus
        && !(0.0..=1e9).contains(cpus.get_ref())
    {
        return Err(text.wrong(cpus, "expected a number of CPU cores from 0 on"));
    }
    if let (Some(_), Some(of)) = (&nodes.rack, &nodes.racks_of) {
        return Err(text.wrong(of, "`rack` and `racks-of` exclude each other"));
    }
    if let Some(of) = &nodes.racks_of
        && *of.get_ref() == 0
    {
        return Err(text.wrong(of, "expected at least one node in a rack"));
    }
    Ok(())
}

/// The kind of a group of nodes. Where the file lists kinds, it must be one of them.
fn kind_of(
    cluster: &mut Cluster,
    nodes: &NodesTable,
    kinds_are_listed: bool,
    text: Text<'_>,
) -> Result<KindId, ClusterError> {
    let Some(kind) = &nodes.kind else {
        return match (*nodes.gpus.get_ref(), kinds_are_listed, cluster.kinds.len()) {
            (0, ..) => Ok(cluster.kind_named("cpu")),
            (_, false, _) => Ok(cluster.kind_named("gpu")),
            (_, true, 1) => Ok(KindId(0)),
            _ => Err(text.wrong(&nodes.gpus, "say of which `kind` these nodes' GPUs are")),
        };
    };
    let name = kind.get_ref();
    let known = cluster.kinds.iter().map(|known| known.name.as_str());
    if kinds_are_listed && !known.clone().any(|known| known == name) {
        let hint = suggest::hint(name, known);
        return Err(text.wrong(kind, format!("there is no [[kind]] called `{name}`")).hint(hint));
    }
    if !is_name(name) || cluster.kinds.len() == KINDS_MAX {
        let message = format!("`{name}` is no name for a kind, or one of more than {KINDS_MAX}");
        return Err(text.wrong(kind, message).hint("use letters, digits, `-`, `_`, `.`"));
    }
    Ok(cluster.kind_named(name))
}

/// Jobs that name no tenant belong to `default`, which comes first.
fn add_tenants(
    cluster: &mut Cluster,
    tenants: &[TenantTable],
    text: Text<'_>,
) -> Result<(), ClusterError> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    cluster.tenants = vec![Tenant::named("default")];
    for tenant in tenants {
        let name = tenant.name.get_ref().as_str();
        let number = if name == "default" { 0 } else { cluster.tenants.len() };
        if numbers.insert(name, number).is_some() {
            return Err(text.wrong(&tenant.name, format!("tenant `{name}` is described twice")));
        }
        if name.trim().is_empty() || number > usize::from(u16::MAX) {
            return Err(
                text.wrong(&tenant.name, "a tenant has a name, and there are at most 65535")
            );
        }
        let weight = tenant.weight.as_ref().map_or(1, |weight| *weight.get_ref());
        if let (0, Some(at)) = (weight, &tenant.weight) {
            return Err(text.wrong(at, "expected a weight above 0"));
        }
        let limit = tenant.limit.as_ref().map(|limit| *limit.get_ref());
        if let (Some(quota), Some(at)) = (tenant.quota, &tenant.limit)
            && *at.get_ref() < quota
        {
            return Err(text.wrong(at, format!("is below the quota of {quota} GPUs")));
        }
        let described = Tenant { weight, quota: tenant.quota, limit, ..Tenant::named(name) };
        match cluster.tenants.get_mut(number) {
            Some(known) => *known = described,
            None => cluster.tenants.push(described),
        }
    }
    for tenant in tenants {
        let Some(parent) = &tenant.parent else { continue };
        let Some(number) = numbers.get(parent.get_ref().as_str()) else {
            let name = parent.get_ref();
            let hint = suggest::hint(name, numbers.keys().copied());
            return Err(text.wrong(parent, format!("there is no tenant `{name}`")).hint(hint));
        };
        let own = numbers[tenant.name.get_ref().as_str()];
        cluster.tenants[own].parent = Some(TenantId(*number as u16));
        let above = |at: &usize| cluster.tenants[*at].parent.map(TenantId::index);
        if std::iter::successors(Some(*number), above).any(|at| at == own) {
            return Err(text.wrong(parent, "a tenant cannot be below itself"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
