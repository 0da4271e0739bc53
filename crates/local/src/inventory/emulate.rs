//! GPUs that are made up: `8xA100`, `2x8xA100`, `4x8xH100,2x4xT4`.

use crate::setup::LocalError;
use std::str::FromStr;

/// Memory of kinds that people know, MB.
const MEMORY_MB: [(&str, u32); 20] = [
    ("A10", 24_576),
    ("A100", 81_920),
    ("A30", 24_576),
    ("A40", 49_152),
    ("A6000", 49_152),
    ("B200", 183_359),
    ("GB200", 189_471),
    ("H100", 81_559),
    ("H20", 97_871),
    ("H200", 143_771),
    ("K80", 12_288),
    ("L4", 23_034),
    ("L40", 46_068),
    ("L40S", 46_068),
    ("M60", 8_192),
    ("P100", 16_384),
    ("RTX3090", 24_576),
    ("RTX4090", 24_564),
    ("T4", 16_384),
    ("V100", 32_768),
];

/// A node's GPUs are numbered by the bits of a word.
const MOST_GPUS: u32 = 64;
const MOST_NODES: u32 = 10_000;
const MOST_KINDS: usize = 64;

/// Memory of a kind, MB; zero, if nobody knows.
pub(super) fn memory_mb(kind: &str) -> u32 {
    MEMORY_MB.iter().find(|(name, _)| *name == kind).map_or(0, |(_, memory_mb)| *memory_mb)
}

/// Equal nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// How many.
    pub nodes: u32,
    /// GPUs of each.
    pub gpus: u32,
    /// Their kind.
    pub kind: String,
}

/// GPUs that are made up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulated(pub Vec<Group>);

impl FromStr for Emulated {
    type Err = LocalError;

    fn from_str(text: &str) -> Result<Emulated, LocalError> {
        let wrong = |message| LocalError::Emulate { text: text.to_owned(), message };
        let groups = text.split(',').map(group).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        if groups.iter().map(|group| group.nodes).sum::<u32>() > MOST_NODES {
            return Err(wrong(format!("there can be {MOST_NODES} nodes at most")));
        }
        if groups.len() > MOST_KINDS {
            return Err(wrong(format!("there can be {MOST_KINDS} groups at most")));
        }
        Ok(Emulated(groups))
    }
}

fn group(text: &str) -> Result<Group, String> {
    let parts: Vec<&str> = text.trim().split('x').collect();
    let (nodes, gpus, kind) = match parts.as_slice() {
        [gpus, kind] => ("1", *gpus, *kind),
        [nodes, gpus, kind] => (*nodes, *gpus, *kind),
        _ => return Err(format!("`{text}` is not GPUs x KIND or NODES x GPUs x KIND")),
    };
    let number = |text: &str, what: &str, most: u32| match text.parse::<u32>() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("`{text}` is no number of {what} from 1 to {most}")),
    };
    let named = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    if kind.is_empty() || kind.len() > 32 || !kind.chars().all(named) {
        return Err(format!("`{kind}` is no kind: up to 32 letters, digits and dashes"));
    }
    Ok(Group {
        nodes: number(nodes, "nodes", MOST_NODES)?,
        gpus: number(gpus, "GPUs of a node", MOST_GPUS)?,
        kind: kind.to_ascii_uppercase(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read() {
        let group = |nodes, gpus, kind: &str| Group { nodes, gpus, kind: kind.into() };
        let read = |text: &str| text.parse::<Emulated>().map(|it| it.0).map_err(|e| e.to_string());
        assert_eq!(read("8xA100"), Ok(vec![group(1, 8, "A100")]));
        assert_eq!(read("4x8xh100,2x4xT4"), Ok(vec![group(4, 8, "H100"), group(2, 4, "T4")]));
        for wrong in ["", "8", "0xA100", "65xA100", "8x", "8xA/100", "ax8xA100", "8xA100,"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read("9x").expect_err("no kind").contains("try 8xA100"));
    }
}
