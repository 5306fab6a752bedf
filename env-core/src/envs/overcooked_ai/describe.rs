//! A kitchen in words.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::{Result, Write as _};

use super::OvercookedAi;
use super::ground::{KitchenGround, Tile};
use super::state::{Cook, Item, Pot, Recipe, State};

/// Appends a description of what a seat sees.
pub(super) fn describe(env: &OvercookedAi, state: &State, seat: usize, out: &mut String) {
    // Writing into a String cannot fail.
    let _ = tell(env, state, seat, out);
}

fn tell(env: &OvercookedAi, state: &State, seat: usize, out: &mut String) -> Result {
    let ground = env.ground(state);
    let margin = env.kitchen().margin;
    let at = |cell: u16| {
        let [x, y] = ground.column_and_row(cell);
        format!("row {}, column {}", y + 1 - margin, x + 1 - margin)
    };
    for (other, cook) in state.cooks.iter().enumerate() {
        let who = match (env.params().appearance.name(other), other == seat) {
            (Some(name), true) => format!("You, {name}, are"),
            (Some(name), false) => format!("{name} is"),
            (None, true) => "You are".to_string(),
            (None, false) => format!("Cook {} is", other + 1),
        };
        let way = ["up", "down", "right", "left"][usize::from(cook.facing) % 4];
        let ahead = ahead(&ground, state, cook);
        let held = words(cook.held);
        writeln!(
            out,
            "{who} at {}, facing {way} towards {ahead}, holding {held}.",
            at(cook.cell)
        )?;
    }
    for (&cell, pot) in ground.pots.iter().zip(&state.pots) {
        writeln!(out, "The pot at {} {}.", at(cell), condition(env, *pot))?;
    }
    for lying in &state.lying {
        writeln!(
            out,
            "On the counter at {} lies {}.",
            at(lying.cell),
            words(lying.item)
        )?;
    }
    for (tile, name) in [
        (Tile::Onions, "onions"),
        (Tile::Tomatoes, "tomatoes"),
        (Tile::Dishes, "dishes"),
        (Tile::Serving, "place to serve"),
    ] {
        let places: Vec<String> = ground.cells_of(tile).map(at).collect();
        if !places.is_empty() {
            writeln!(out, "The {name}: {}.", places.join("; "))?;
        }
    }
    let left = env.params().horizon.saturating_sub(state.steps);
    writeln!(out, "Points: {}. Steps left: {left}.", state.score)
}

/// Tells the thing in front of a cook.
fn ahead(ground: &KitchenGround, state: &State, cook: &Cook) -> String {
    let Some(cell) = ground.cell_beside(cook.cell, cook.facing) else {
        return "the edge".into();
    };
    if let Some(other) = state.cooks.iter().position(|other| other.cell == cell) {
        return format!("cook {}", other + 1);
    }
    match ground.tile(cell) {
        Tile::Floor => "free floor".into(),
        Tile::Counter => match state.item_on(cell) {
            Item::Nothing => "an empty counter".into(),
            item => format!("a counter with {} on it", words(item)),
        },
        Tile::Wall => "a wall".into(),
        Tile::Pot => "a pot".into(),
        Tile::Onions => "the onions".into(),
        Tile::Tomatoes => "the tomatoes".into(),
        Tile::Dishes => "the dishes".into(),
        Tile::Serving => "the place to serve".into(),
    }
}

fn words(item: Item) -> String {
    match item {
        Item::Nothing => "nothing".into(),
        Item::Onion => "an onion".into(),
        Item::Tomato => "a tomato".into(),
        Item::Dish => "a dish".into(),
        Item::Soup(contents) => format!("a soup of {}", ingredients(contents)),
    }
}

fn ingredients(recipe: Recipe) -> String {
    let counted = |count: u8, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {many}")),
    };
    let parts = [
        counted(recipe.onions, "onion", "onions"),
        counted(recipe.tomatoes, "tomato", "tomatoes"),
    ];
    parts
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" and ")
}

/// Describes the condition of a pot.
fn condition(env: &OvercookedAi, pot: Pot) -> String {
    let recipes = &env.kitchen().recipes;
    let made = ingredients(pot.contents);
    match pot.tick() {
        None if pot.contents.count() == 0 => "is empty".into(),
        None => {
            let room = recipes.full.saturating_sub(pot.contents.count());
            format!("has {made}, does not cook, and has room for {room} more")
        }
        Some(tick) => match recipes.time(pot.contents).saturating_sub(tick) {
            0 => format!("has a soup of {made} ready: take it with a dish"),
            left => format!("cooks a soup of {made}: ready in {left} steps"),
        },
    }
}
