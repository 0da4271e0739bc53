//! The cards that are built in. A tidy test fails when a file in `recipes/` is missing here.

/// A built-in card.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// What the recipe is called.
    pub name: &'static str,
    /// Its card.
    pub text: &'static str,
}

macro_rules! cards {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltIn {
            name: $name,
            text: include_str!(concat!("../../../recipes/", $name, ".toml")),
        }),*]
    };
}

/// In the order in which they are listed.
const CARDS: &[BuiltIn] = cards![
    "heeler",
    "fifo",
    "fifo-skip",
    "fifo-easy",
    "fifo-conservative",
    "priority",
    "sjf",
    "srtf",
    "srsf",
    "qssf",
    "helios-ces",
    "ali-mlaas",
    "lucid",
    "las",
    "tiresias",
    "tiresias-gittins",
    "smallest",
    "capacity",
    "max-min",
    "round-robin",
    "lottery",
    "drf",
    "astraea",
    "gandiva-fair",
    "themis",
    "dorm",
    "elastic",
    "gavel",
    "gavel-fifo",
    "gavel-isolated",
    "gavel-gandiva",
    "allox",
    "pop",
    "asha",
    "clipper",
    "mixed",
    "chronus",
    "genie",
    "oasis",
    "aonline",
    "smd",
    "spin",
    "gadget",
    "cloud-price",
    "gandiva",
    "muri-s",
    "muri-l",
    "antman",
    "synergy",
    "hived",
    "sia",
    "optimus",
    "slaq",
    "jpas",
    "philly",
    "delay",
    "ffdl",
    "e-las",
    "graphene",
    "andreas",
    "shockwave",
];

/// All built-in cards, in the order in which they are listed.
pub fn all() -> &'static [BuiltIn] {
    CARDS
}

/// The built-in card of that name.
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    all().iter().find(|card| card.name == name)
}
