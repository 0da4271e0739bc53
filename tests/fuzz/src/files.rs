//! Files that operators write: clusters, recipes, services, worlds.

use crate::text;
use heeler_backend::Inventory;
use heeler_live::Live;
use heeler_model::Cluster;
use heeler_recipes::Card;
use heeler_sim::world::WorldCard;
use heeler_sim::{cluster as clusters, services};

/// A cluster as a file, and its first line as a short text.
pub(crate) fn cluster(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(cluster) = clusters::from_toml(text, "cluster.toml") {
        // Whatever was accepted must be something that a control plane can begin with.
        if cluster.nodes.len() <= 1_000 {
            let inventory = Inventory { cluster, ..Inventory::default() };
            let _ = Live::open(0, inventory, "fifo", 1);
        }
    }
    let short = text.lines().next().unwrap_or("");
    let is_path = [".toml", ".csv", ".gz"].iter().any(|end| short.to_lowercase().ends_with(end));
    if !is_path {
        let _ = clusters::read(short);
    }
}

/// A recipe; one that is read can be built.
pub(crate) fn recipe(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(card) = Card::read(text, "recipe.toml") {
        let _ = card.build();
        let _ = (card.parts(), card.knows_the_truth());
        for knob in &card.knob {
            let _ = card.knob_value(knob);
            let given = [(knob.name.clone(), "7".to_string())];
            if let Ok(other) = Card::read_with(text, "recipe.toml", &given) {
                let _ = other.build();
            }
        }
    }
}

/// A served model.
pub(crate) fn service(data: &[u8]) {
    if let Some(text) = text(data) {
        let _ = services::parse(text, "service.toml", &mut Cluster::uniform(4, 8));
    }
}

/// A modelled world.
pub(crate) fn world(data: &[u8]) {
    if let Some(Ok(card)) = text(data).map(|text| WorldCard::read(text, "world.toml")) {
        let _ = card.world();
    }
}
