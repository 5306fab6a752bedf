//! The meaning of each layer of the observation, in words.

use alloc::format;
use alloc::string::{String, ToString as _};

use super::observe::{COOK, FIXED, TILES};

/// A cook's layers before its item.
const PLACE: [&str; COOK] = [
    "place",
    "faces up",
    "faces down",
    "faces right",
    "faces left",
];
/// The tiles with a layer.
const TILE_NAMES: [&str; TILES.len()] = [
    "counters",
    "goals",
    "pots",
    "displays of the wanted recipe",
    "buttons",
    "plate piles",
];

/// Names a layer of an observation with this many layers; `None` beyond the last one.
pub fn name_layer(layers: usize, index: usize) -> Option<String> {
    let ingredients = layers.checked_sub(FIXED)? / 5;
    let item = 2 + ingredients;
    let mut rest = index;
    for who in ["own cook", "another cook"] {
        if let Some(name) = PLACE.get(rest) {
            return Some(format!("{who}: {name}"));
        }
        rest -= COOK;
        if rest < item {
            return Some(format!("{who} holds {}", name_part(rest)));
        }
        rest -= item;
    }
    if let Some(name) = TILE_NAMES.get(rest) {
        return Some((*name).to_string());
    }
    rest -= TILES.len();
    if rest < ingredients {
        return Some(format!("piles of ingredient {rest}"));
    }
    rest -= ingredients;
    for place in ["on a counter or in a pot", "in the wanted recipe"] {
        if rest < item {
            return Some(format!("{} {place}", name_part(rest)));
        }
        rest -= item;
    }
    match rest {
        _ if index >= layers => None,
        0 => Some("clock of a pot".to_string()),
        _ => Some("the wanted soup was just delivered".to_string()),
    }
}

/// A layer of an item.
fn name_part(part: usize) -> String {
    match part {
        0 => "a plate".to_string(),
        1 => "something cooked".to_string(),
        _ => format!("ingredient {}", part - 2),
    }
}
