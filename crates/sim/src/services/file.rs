//! Services as TOML files: who asks, what answers, and what the cluster is asked for.

use super::ServiceSpec;
use heeler_model::{Cluster, Demand, KindSet, Span};
use heeler_serve::{Mistake, ModelCard, ServiceCard, TrafficCard};
use serde::Deserialize;
use serde::de::Error as _;
use std::fmt;
use std::path::Path;

/// What is wrong with the description of a service, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ServiceError {
    /// The file.
    pub file: String,
    /// Line, counted from one.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    name: String,
    tenant: Option<String>,
    #[serde(default)]
    priority: i32,
    #[serde(default = "one")]
    gpus: u32,
    #[serde(default)]
    gpu_memory_mb: u32,
    kinds: Option<Vec<String>>,
    replicas: u32,
    #[serde(default, deserialize_with = "length")]
    from: Span,
    #[serde(deserialize_with = "length")]
    until: Span,
    #[serde(default = "ten_seconds", deserialize_with = "length")]
    look: Span,
    #[serde(default)]
    load_s: f64,
    traffic: TrafficCard,
    model: ModelCard,
}

impl File {
    /// Whether what it asks of the cluster can be; otherwise which field, and what was expected.
    fn check(&self) -> Result<(), (&'static str, String)> {
        let named = !self.name.is_empty()
            && self.name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if !named {
            return Err(("name", "letters, digits, `-`, `_` and `.`".into()));
        }
        if self.kinds.as_ref().is_some_and(Vec::is_empty) {
            return Err(("kinds", "at least one kind of GPU".into()));
        }
        if !(0.0..=1e6).contains(&self.load_s) {
            return Err(("load-s", "seconds from 0 to 1000000".into()));
        }
        if self.replicas == 0 || self.replicas > REPLICAS_MAX {
            return Err(("replicas", format!("a number from 1 to {REPLICAS_MAX}")));
        }
        if self.gpus == 0 {
            return Err(("gpus", "at least 1".into()));
        }
        if self.until <= self.from {
            return Err(("until", "a time after `from`".into()));
        }
        if self.look < Span::from_secs(1) || self.look > self.until - self.from {
            return Err(("look", "a time from 1 s to as long as the service lasts".into()));
        }
        Ok(())
    }
}

fn one() -> u32 {
    1
}

fn ten_seconds() -> Span {
    Span::from_secs(10)
}

fn length<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

/// The services that are built in, by name.
const BUILT_IN: &[(&str, &str)] = &[
    ("web", include_str!("../../../../services/web.toml")),
    ("chat", include_str!("../../../../services/chat.toml")),
];

/// Names of the services that are built in.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// The file of a service that is built in.
pub fn text(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Read a service. Its tenant is added to the cluster if it is new.
pub fn read(path: &Path, cluster: &mut Cluster) -> Result<ServiceSpec, ServiceError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| ServiceError {
        file: file.clone(),
        line: None,
        message: format!("cannot be read: {error}"),
        hint: None,
    })?;
    parse(&text, &file, cluster)
}

/// Read a service from a text. `file` is what errors call it.
pub fn parse(text: &str, file: &str, cluster: &mut Cluster) -> Result<ServiceSpec, ServiceError> {
    let table: File = toml::from_str(text).map_err(|error| ServiceError {
        file: file.into(),
        line: error.span().map(|span| line_of(text, span.start)),
        message: error.message().to_string(),
        hint: Some("`heeler services show web` prints one that works".into()),
    })?;
    let wrong = |field: &str, expected: &str| ServiceError {
        file: file.into(),
        line: line_with(text, field),
        message: format!("`{field}`: expected {expected}"),
        hint: None,
    };
    table.check().map_err(|(field, expected)| wrong(field, &expected))?;
    let card = ServiceCard { traffic: table.traffic, model: table.model, load_s: table.load_s };
    card.check().map_err(|Mistake { field, expected }| wrong(&field, expected))?;
    let mut demand = Demand::gpus(table.gpus);
    demand.gpu_memory_mb = table.gpu_memory_mb;
    if let Some(names) = &table.kinds {
        demand.kinds = KindSet::NONE;
        for name in names {
            let Some(at) = cluster.kinds.iter().position(|kind| kind.name == *name) else {
                let known: Vec<&str> = cluster.kinds.iter().map(|kind| &*kind.name).collect();
                let expected = format!("kinds of the cluster ({}), not `{name}`", known.join(", "));
                return Err(wrong("kinds", &expected));
            };
            demand.kinds = demand.kinds.with(heeler_model::KindId(at as u8));
        }
    }
    let tenant = match &table.tenant {
        Some(name) => cluster.tenant_named(name),
        None => heeler_model::TenantId(0),
    };
    Ok(ServiceSpec {
        name: table.name,
        tenant,
        priority: table.priority,
        demand,
        replicas: table.replicas,
        from: heeler_model::Time::ZERO + table.from,
        until: heeler_model::Time::ZERO + table.until,
        look: table.look,
        card,
    })
}

/// More replicas than this are a slip of the pen.
const REPLICAS_MAX: u32 = 10_000;

fn line_of(text: &str, byte: usize) -> usize {
    text.get(..byte).unwrap_or(text).matches('\n').count() + 1
}

/// The line of a dotted field, or of the innermost table around it that has a line of its own.
fn line_with(text: &str, field: &str) -> Option<usize> {
    let line_of = |key: &str| {
        let begins = |line: &str| {
            let line = line.trim_start();
            let heads = line.starts_with('[') && line.contains(key);
            heads || line.strip_prefix(key).is_some_and(starts_value)
        };
        text.lines().position(begins).map(|index| index + 1)
    };
    field.rsplit('.').find_map(line_of)
}

fn starts_value(rest: &str) -> bool {
    rest.trim_start().starts_with('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ServiceSpec, ServiceError> {
        parse(text, "mine.toml", &mut Cluster::uniform(2, 8))
    }

    #[test]
    fn what_is_built_in_can_be_read() {
        for name in names() {
            let mut cluster = Cluster::uniform(2, 8);
            let spec = parse(text(name).expect("built in"), name, &mut cluster).expect("a service");
            assert_eq!(spec.name, name);
            assert_eq!(cluster.tenants[spec.tenant.index()].name, name);
            assert!(spec.until > spec.from && spec.replicas > 0);
        }
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let web = text("web").expect("built in");
        for (from, to, line, told) in [
            ("replicas = 8", "replicas = 0", 6, "`replicas`: expected a number from 1 to 10000"),
            ("replicas = 8", "replicants = 8", 6, "unknown field `replicants`"),
            ("until = \"1 day\"", "until = \"0 s\"", 7, "`until`: expected a time after `from`"),
            ("until = \"1 day\"", "until = \"soon\"", 7, "expected a time"),
            ("gpus = 1", "gpus = 0", 5, "`gpus`: expected at least 1"),
            ("gpus = 1", "kinds = [\"h200\"]", 5, "expected kinds of the cluster (gpu)"),
            ("target-ms = 100", "target-ms = -1", 20, "target-ms"),
        ] {
            assert!(web.contains(from), "{from}");
            let error = read(&web.replace(from, to)).expect_err(to);
            assert_eq!(error.line, Some(line), "{to}: {error}");
            assert!(error.to_string().contains(told), "{error}");
            assert!(error.to_string().starts_with("mine.toml:"), "{error}");
        }
    }
}
