//! The meaning of each value of an observation, in words.

use alloc::format;
use alloc::string::{String, ToString as _};

use super::super::params::Encoding;

/// The 26 channels of overcooked_ai.
const LOSSLESS: [&str; 26] = [
    "place of the own cook",
    "place of the other cooks",
    "own cook faces north",
    "own cook faces south",
    "own cook faces east",
    "own cook faces west",
    "another cook faces north",
    "another cook faces south",
    "another cook faces east",
    "another cook faces west",
    "pots",
    "counters",
    "onion dispensers",
    "tomato dispensers",
    "dish dispensers",
    "serving places",
    "onions in a pot that does not cook",
    "tomatoes in a pot that does not cook",
    "onions of a soup that cooks, is ready or is on a dish",
    "tomatoes of a soup that cooks, is ready or is on a dish",
    "steps until a pot that cooks is ready",
    "soups that are ready or on a dish",
    "dishes",
    "onions",
    "tomatoes",
    "the end of the episode is near",
];
/// The channel of the 26 that ZSC-Eval leaves out: soups that are done.
const DONE: usize = 21;
/// Channels 10 to 19 of 2019; those before are the same.
const LATER_2019: [&str; 10] = [
    "pots",
    "counters",
    "onion dispensers",
    "dish dispensers",
    "serving places",
    "onions in a pot, also while it cooks and when it is ready",
    "steps that a pot has cooked",
    "soups on a dish",
    "dishes",
    "onions",
];
/// The directions, in the order of the values.
const WAYS: [&str; 4] = ["north", "south", "east", "west"];
/// Things that a cook holds in `features`.
const HELD: [&str; 4] = ["an onion", "a soup", "a dish", "a tomato"];
/// The closest things in `features`, before and after the contents of the closest soup.
const CLOSEST: [&str; 4] = ["onion", "tomato", "dish", "soup"];
const CLOSEST_LATER: [&str; 2] = ["serving place", "empty counter"];
/// The values of a pot in `features`.
const POT: [&str; 10] = [
    "exists",
    "is empty",
    "is full",
    "cooks",
    "is ready",
    "onions",
    "tomatoes",
    "steps until it is ready",
    "columns to it",
    "rows to it",
];
/// The closest things in `neurips2019_features`.
const CLOSEST_2019: [&str; 9] = [
    "onion",
    "empty pot",
    "pot with one onion",
    "pot with two onions",
    "pot that cooks",
    "pot that is ready",
    "dish",
    "soup",
    "serving place",
];
/// Values of a cook in `features`, and in `neurips2019_features`.
const COOK: usize = 46;
const COOK_2019: usize = 29;

/// Names a channel of a map, or a value of a list of this many numbers; `None` beyond the last one.
pub fn name_channel(encoding: Encoding, len: usize, index: usize) -> Option<String> {
    let name = match encoding {
        Encoding::Lossless | Encoding::LosslessX255 => LOSSLESS.get(index).copied(),
        Encoding::Jaxmarl | Encoding::Cec => name_of_jaxmarl(index),
        Encoding::Neurips2019 | Encoding::Neurips2019X255 => match index.checked_sub(10) {
            Some(later) => LATER_2019.get(later).copied(),
            None => Some(LOSSLESS[index]),
        },
        Encoding::ZscEval if index < DONE => Some(LOSSLESS[index]),
        Encoding::ZscEval => LOSSLESS.get(index + 1).copied(),
        Encoding::Features => return name_number(len, index, COOK, name_of_cook),
        Encoding::Neurips2019Features => {
            return name_number(len, index, COOK_2019, name_of_cook_2019);
        }
    };
    name.map(str::to_string)
}

/// JaxMARL keeps the channels of tomatoes, and never uses them.
fn name_of_jaxmarl(index: usize) -> Option<&'static str> {
    match index {
        11 => Some("counters with nothing on them"),
        13 | 17 | 19 | 24 => Some("not used, as there are no tomatoes"),
        _ => LOSSLESS.get(index).copied(),
    }
}

/// A value of a list: those of the own cook, of the others, where they are, and the own place.
fn name_number(
    len: usize,
    index: usize,
    each: usize,
    name: fn(usize) -> Option<String>,
) -> Option<String> {
    let cooks = len / (each + 2);
    let (cook, entry) = (index / each, index % each);
    let axis = ["columns", "rows"][index % 2];
    if cook < cooks {
        let name = name(entry)?;
        return Some(match cook {
            0 => format!("own cook: {name}"),
            _ => format!("other cook {cook}: {name}"),
        });
    }
    let rest = index - each * cooks;
    match rest / 2 {
        _ if index >= len => None,
        other if other + 1 < cooks => Some(format!("{axis} to other cook {}", other + 1)),
        _ if each == COOK_2019 => Some(format!("place of cook 0, in {axis}")),
        _ => Some(format!("place of the own cook, in {axis}")),
    }
}

/// Columns or rows to a thing.
fn name_of_way(things: &[&str], entry: usize) -> Option<String> {
    let axis = ["columns", "rows"][entry % 2];
    let thing = things.get(entry / 2)?;
    Some(format!("{axis} to the closest {thing}"))
}

fn name_of_cook(entry: usize) -> Option<String> {
    Some(match entry {
        0..4 => format!("faces {}", WAYS[entry]),
        4..8 => format!("holds {}", HELD[entry - 4]),
        8..16 => return name_of_way(&CLOSEST, entry - 8),
        16 => "onions of the closest soup".to_string(),
        17 => "tomatoes of the closest soup".to_string(),
        18..22 => return name_of_way(&CLOSEST_LATER, entry - 18),
        22..32 => format!("closest pot: {}", POT[entry - 22]),
        32..42 => format!("second closest pot: {}", POT[entry - 32]),
        42..46 => format!("no floor to the {}", WAYS[entry - 42]),
        _ => return None,
    })
}

fn name_of_cook_2019(entry: usize) -> Option<String> {
    Some(match entry {
        0..4 => format!("faces {}", WAYS[entry]),
        4..7 => format!("holds {}", HELD[entry - 4]),
        7..25 => return name_of_way(&CLOSEST_2019, entry - 7),
        25..29 => format!("no floor to the {}", WAYS[entry - 25]),
        _ => return None,
    })
}
