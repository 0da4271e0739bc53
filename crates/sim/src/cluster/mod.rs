//! Clusters as people describe them: a short text such as `16x8`, a TOML file, or an openb list of
//! nodes.

mod error;
mod file;
mod openb;
mod short;

pub use error::ClusterError;
pub use short::parse;

use heeler_model::Cluster;
use std::path::Path;

/// The most nodes a cluster can have: far more than any has, few enough to hold.
const NODES_MAX: usize = 1_000_000;
/// The most kinds of GPU a cluster can have.
const KINDS_MAX: usize = 64;

/// Read a cluster: the path of a `.toml` file, of a `.csv` list of nodes, or else a short text.
pub fn read(text: &str) -> Result<Cluster, ClusterError> {
    let name = text.to_lowercase();
    let path = Path::new(text);
    if name.ends_with(".toml") {
        let content = std::fs::read_to_string(path).map_err(|error| {
            ClusterError::file(text, format!("cannot be read: {error}")).hint("check the path")
        })?;
        return file::parse(&content, text);
    }
    if name.ends_with(".csv") || name.ends_with(".csv.gz") {
        return openb::read(path);
    }
    short::parse(text)
}

/// Read a cluster from the text of a TOML file. `file` is what errors call it.
pub fn from_toml(text: &str, file: &str) -> Result<Cluster, ClusterError> {
    file::parse(text, file)
}

/// Whether jobs and traces can ask for a kind of that name.
fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && name.bytes().all(letter)
}
