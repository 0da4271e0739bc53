//! Clusters as short texts. A part is either nodes, `16x8:a100/4` (16 nodes of 8 A100, in racks of
//! 4 nodes), or GPUs, `v100=16/4` (16 V100, in nodes of 4). Kind and grouping may be left out;
//! parts are joined by `+` or `,`.

use super::{ClusterError, KINDS_MAX, NODES_MAX, is_name};
use heeler_model::{Cluster, GPUS_PER_NODE_MAX, RackId, Tenant};

const HINT: &str = "a cluster is described as `16x8` (nodes x GPUs), `8x4:v100+16x8:a100` (with \
                    kinds), `v100=8,k80=24` (GPUs of each kind), or by a .toml or .csv file";

/// Read a cluster from a short text.
pub fn parse(text: &str) -> Result<Cluster, ClusterError> {
    let cluster = Cluster { tenants: vec![Tenant::named("default")], ..Cluster::default() };
    let mut building = Building { cluster, shared: None };
    let mut start = 0;
    for part in text.split(['+', ',']) {
        let piece = Piece { whole: text, start, text: part };
        match part.split_once('=') {
            Some((kind, gpus)) => add_gpus(&mut building, piece, kind, gpus)?,
            None => add_nodes(&mut building, piece)?,
        }
        start += part.len() + 1;
    }
    Ok(building.cluster)
}

/// A piece of the text, and where it begins.
#[derive(Clone, Copy)]
struct Piece<'a> {
    whole: &'a str,
    start: usize,
    text: &'a str,
}

impl<'a> Piece<'a> {
    fn wrong(self, message: impl Into<String>) -> ClusterError {
        let column = self.whole[..self.start.min(self.whole.len())].chars().count() + 1;
        let file = format!("cluster `{}`", self.whole);
        ClusterError { column: Some(column), ..ClusterError::file(&file, message) }.hint(HINT)
    }

    /// The pieces before and after a character.
    fn split(self, at: char) -> (Piece<'a>, Option<Piece<'a>>) {
        match self.text.split_once(at) {
            None => (self, None),
            Some((before, after)) => {
                let start = self.start + before.len() + at.len_utf8();
                (Piece { text: before, ..self }, Some(Piece { text: after, start, ..self }))
            }
        }
    }

    /// A whole number from one to a limit.
    fn number(self, what: &str, most: usize) -> Result<usize, ClusterError> {
        let number = self.text.trim().parse::<usize>().ok();
        number.filter(|number| (1..=most).contains(number)).ok_or_else(|| {
            let text = self.text;
            self.wrong(format!("expected a number of {what} from 1 to {most}, found `{text}`"))
        })
    }

    fn kind(self) -> Result<&'a str, ClusterError> {
        let name = self.text.trim();
        if is_name(name) {
            return Ok(name);
        }
        let message =
            format!("expected a name of letters, digits, `-`, `_` and `.`, found `{name}`");
        Err(self.wrong(message))
    }
}

/// `nodes x gpus [: kind] [/ nodes in a rack]`.
fn add_nodes(building: &mut Building, piece: Piece<'_>) -> Result<(), ClusterError> {
    let (piece, rack) = piece.split('/');
    let (size, kind) = piece.split(':');
    let (nodes, Some(gpus)) = size.split('x') else {
        return Err(size.wrong(format!("expected `nodes x GPUs`, found `{}`", size.text)));
    };
    let nodes = nodes.number("nodes", NODES_MAX)?;
    let gpus = gpus.number("GPUs", GPUS_PER_NODE_MAX as usize)?;
    let kind = kind.map(Piece::kind).transpose()?.unwrap_or("gpu");
    let in_rack = rack.map(|rack| rack.number("nodes in a rack", NODES_MAX)).transpose()?;
    building.add(piece, kind, &vec![gpus as u32; nodes], in_rack)
}

/// `kind = GPUs [/ GPUs in a node]`, one GPU in a node if not said.
fn add_gpus(
    building: &mut Building,
    piece: Piece<'_>,
    kind: &str,
    gpus: &str,
) -> Result<(), ClusterError> {
    let name = Piece { text: kind, ..piece }.kind()?;
    let start = piece.start + kind.len() + 1;
    let (gpus, in_node) = Piece { text: gpus, start, ..piece }.split('/');
    let count = gpus.number("GPUs", NODES_MAX)?;
    let most = GPUS_PER_NODE_MAX as usize;
    let in_node = in_node.map(|piece| piece.number("GPUs in a node", most)).transpose()?;
    let in_node = in_node.unwrap_or(1);
    if !count.is_multiple_of(in_node) {
        let message = format!("{count} GPUs do not fill nodes of {in_node}");
        return Err(gpus.wrong(message));
    }
    building.add(piece, name, &vec![in_node as u32; count / in_node], None)
}

/// A cluster, and the rack of all nodes that name none.
struct Building {
    cluster: Cluster,
    shared: Option<RackId>,
}

impl Building {
    fn add(
        &mut self,
        piece: Piece<'_>,
        kind: &str,
        nodes: &[u32],
        in_rack: Option<usize>,
    ) -> Result<(), ClusterError> {
        if self.cluster.nodes.len() + nodes.len() > NODES_MAX {
            return Err(piece.wrong(format!("has more than {NODES_MAX} nodes")));
        }
        let known = self.cluster.kinds.iter().any(|known| known.name == kind);
        if !known && self.cluster.kinds.len() == KINDS_MAX {
            return Err(piece.wrong(format!("has more than {KINDS_MAX} kinds of GPU")));
        }
        let kind = self.cluster.kind_named(kind);
        for (index, gpus) in nodes.iter().enumerate() {
            let rack = match (in_rack, self.shared) {
                (Some(size), _) if index % size == 0 => self.new_rack(),
                (Some(_), _) => RackId(self.cluster.racks.len() as u32 - 1),
                (None, Some(rack)) => rack,
                (None, None) => {
                    let rack = self.new_rack();
                    *self.shared.insert(rack)
                }
            };
            self.cluster.add_node(kind, *gpus, rack);
        }
        Ok(())
    }

    fn new_rack(&mut self) -> RackId {
        let number = self.cluster.racks.len();
        self.cluster.racks.push(format!("rack{number}"));
        RackId(number as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes as `kind*gpus@rack`.
    fn nodes(text: &str) -> String {
        let cluster = parse(text).expect("a cluster");
        let node = |node: &heeler_model::Node| {
            format!("{}*{}@{}", cluster.kinds[node.kind.index()].name, node.gpus, node.rack)
        };
        cluster.nodes.iter().map(node).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn nodes_and_gpus_can_be_counted() {
        assert_eq!(parse("16x8"), Ok(Cluster::uniform(16, 8)));
        assert_eq!(nodes("2x4:v100+1x8:a100"), "v100*4@0 v100*4@0 a100*8@0");
        assert_eq!(nodes("3x8:h200/2"), "h200*8@0 h200*8@0 h200*8@1");
        assert_eq!(nodes("2x1/1, 1x2 + 1x3/4"), "gpu*1@0 gpu*1@1 gpu*2@2 gpu*3@3");
        assert_eq!(nodes("v100=2,k80=1"), "v100*1@0 v100*1@0 k80*1@0");
        assert_eq!(nodes("v100=8/4"), "v100*4@0 v100*4@0");
    }

    #[test]
    fn mistakes_are_named_with_their_column() {
        for (text, error) in [
            ("", "cluster ``:1: expected `nodes x GPUs`, found ``"),
            ("16xx8", "cluster `16xx8`:4: expected a number of GPUs from 1 to 64, found `x8`"),
            ("16x65", "cluster `16x65`:4: expected a number of GPUs from 1 to 64, found `65`"),
            (
                "2x8+0x4",
                "cluster `2x8+0x4`:5: expected a number of nodes from 1 to 1000000, found `0`",
            ),
            (
                "2x8:a b",
                "cluster `2x8:a b`:5: expected a name of letters, digits, `-`, `_` and `.`, found \
                 `a b`",
            ),
            ("v100=9/4", "cluster `v100=9/4`:6: 9 GPUs do not fill nodes of 4"),
            (
                "2x8/",
                "cluster `2x8/`:5: expected a number of nodes in a rack from 1 to 1000000, found \
                 ``",
            ),
        ] {
            let found = parse(text).expect_err(text);
            assert_eq!(found.to_string(), error);
            assert!(found.hint.is_some());
        }
    }
}
