//! What a cluster of cells is described by: types of cell, the physical cells there are, and the
//! virtual clusters that own numbers of them. Vocabulary of HiveD (Zhao et al., OSDI 2020, §3).

use std::fmt;

/// A type of cell that has parts. A name that is only somebody's child is a leaf: one GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellType {
    /// Its name.
    pub name: String,
    /// What it is made of …
    pub child: String,
    /// … and of how many of those.
    pub count: u32,
    /// Whether it is one node.
    pub is_node: bool,
}

/// A physical cell. Parts that are not spelt out are numbered from zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhysicalCell {
    /// The name of a node, or the number of a GPU on its node.
    pub address: Option<String>,
    /// What it is pinned as, if one virtual cluster owns exactly this cell.
    pub pinned: Option<String>,
    /// Its parts.
    pub children: Vec<PhysicalCell>,
}

/// So many cells of a type, cut out of cells of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualCells {
    /// The type of the chain's highest cells.
    pub chain: String,
    /// The type of the cells owned.
    pub cell: String,
    /// How many of them.
    pub number: u32,
}

/// What a tenant owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VirtualCluster {
    /// The tenant.
    pub name: String,
    /// Its cells.
    pub cells: Vec<VirtualCells>,
    /// Physical cells that are its own, by the name they are pinned as.
    pub pinned: Vec<String>,
}

/// A cluster of cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Types of cell.
    pub types: Vec<CellType>,
    /// The highest cells, each with its type. The types are the chains, and where several have one
    /// type of leaf, they are tried in the order in which they are first named here.
    pub physical: Vec<(String, PhysicalCell)>,
    /// Who owns what.
    pub clusters: Vec<VirtualCluster>,
}

/// What is wrong with a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutFault {
    /// A type is named that there is not, or whose children go round in a circle.
    NoSuchType(String),
    /// A chain has no level that is a node.
    NoNode(String),
    /// A cell that is spelt out has another number of parts than its type.
    WrongParts(String),
    /// A node has no name, or a GPU no number.
    NoAddress(String),
    /// A virtual cluster wants a pinned cell that there is not.
    NoSuchPin(String),
    /// The virtual clusters together own more than there is.
    NotEnough {
        /// Of which chain.
        chain: String,
        /// At which type of cell.
        cell: String,
        /// So many are owned,
        owned: u32,
        /// and so many are left by what is owned of larger cells.
        left: u32,
    },
}

impl fmt::Display for LayoutFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutFault::NoSuchType(name) => write!(f, "there is no type of cell `{name}`"),
            LayoutFault::NoNode(name) => write!(f, "no level of chain `{name}` is a node"),
            LayoutFault::WrongParts(name) => write!(f, "a cell `{name}` has not all its parts"),
            LayoutFault::NoAddress(name) => write!(f, "a cell `{name}` has no address"),
            LayoutFault::NoSuchPin(name) => write!(f, "no cell is pinned as `{name}`"),
            LayoutFault::NotEnough { chain, cell, owned, left } => {
                write!(f, "{owned} cells `{cell}` of `{chain}` are owned, but {left} can be")
            }
        }
    }
}

impl std::error::Error for LayoutFault {}
