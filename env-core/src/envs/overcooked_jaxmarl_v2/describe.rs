//! A kitchen in words, as far as a seat sees.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{Result, Write as _};

use super::OvercookedJaxmarlV2;
use super::items::{self, COOKED, FULL, PLATE};
use super::kitchen::{Kitchen, Tile};
use super::observe::shows_recipe;
use super::state::{Cell, Cook, State};

/// Names of the ingredients that have one.
const INGREDIENTS: [&str; 4] = ["onion", "tomato", "broccoli", "mushroom"];

fn ingredient(number: u8) -> String {
    let name = INGREDIENTS.get(usize::from(number));
    name.map_or_else(|| format!("ingredient {number}"), |&name| name.to_owned())
}

/// The ingredients of an item, such as `2 onion and 1 tomato`.
fn contents(item: u32) -> String {
    let parts: Vec<String> = (0..10)
        .map(|number| (number, items::count_of(item, number)))
        .filter(|&(_, count)| count > 0)
        .map(|(number, count)| format!("{count} {}", ingredient(number)))
        .collect();
    parts.join(" and ")
}

fn words(item: u32) -> String {
    match item {
        0 => "nothing".to_owned(),
        PLATE => "a plate".to_owned(),
        soup if soup & COOKED != 0 => format!("a soup of {}", contents(soup)),
        other => contents(other),
    }
}

/// Appends a description of what a seat sees.
pub(super) fn describe(
    env: &OvercookedJaxmarlV2,
    state: &State,
    seat: usize,
    out: &mut String,
) -> Result {
    let (kitchen, radius) = (env.kitchen(), env.params().view_radius);
    let own = state.cooks[seat].cell;
    let is_seen = |cell: u16| kitchen.can_see(radius, own, cell);
    for (other, cook) in state.cooks.iter().enumerate() {
        let who = match (env.params().appearance.name(other), other == seat) {
            (Some(name), true) => format!("You, {name}, are"),
            (Some(name), false) => format!("{name} is"),
            (None, true) => "You are".to_owned(),
            (None, false) => format!("Cook {} is", other + 1),
        };
        if !is_seen(cook.cell) {
            writeln!(out, "{who} out of sight.")?;
            continue;
        }
        let way = ["up", "down", "right", "left"][usize::from(cook.facing) % 4];
        let (at, held) = (place(kitchen, cook.cell), words(cook.held));
        let (ahead, stays) = kitchen.reach_cell(cook.cell, cook.facing);
        let ahead = if stays {
            ahead_of(kitchen, state, ahead)
        } else {
            "the edge".to_owned()
        };
        writeln!(
            out,
            "{who} at {at}, facing {way} towards {ahead}, holding {held}."
        )?;
    }
    let mut piles: Vec<(Tile, Vec<String>)> = Vec::new();
    for cell in (0..kitchen.cells() as u16).filter(|&cell| is_seen(cell)) {
        let (tile, at) = (kitchen.tiles[usize::from(cell)], place(kitchen, cell));
        match tile {
            Tile::Floor => {}
            Tile::Counter | Tile::Pot | Tile::Indicator | Tile::Button => {
                tell_cell(state, tile, state.cells[usize::from(cell)], &at, out)?;
            }
            Tile::Goal | Tile::Plates | Tile::Pile(_) => {
                match piles.iter_mut().find(|(known, _)| *known == tile) {
                    Some((_, places)) => places.push(at),
                    None => piles.push((tile, [at].into())),
                }
            }
        }
    }
    for (tile, places) in piles {
        writeln!(out, "{}: {}.", thing(tile), places.join("; "))?;
    }
    let left = env.params().horizon.saturating_sub(state.steps);
    writeln!(out, "Points: {}. Steps left: {left}.", state.score)
}

fn place(kitchen: &Kitchen, cell: u16) -> String {
    let [x, y] = kitchen.column_and_row(cell);
    format!("row {}, column {}", y + 1, x + 1)
}

fn thing(tile: Tile) -> String {
    match tile {
        Tile::Floor => "Free floor".to_owned(),
        Tile::Counter => "A counter".to_owned(),
        Tile::Goal => "The place to serve".to_owned(),
        Tile::Pot => "The pot".to_owned(),
        Tile::Indicator => "The display".to_owned(),
        Tile::Button => "The button".to_owned(),
        Tile::Plates => "The plates".to_owned(),
        Tile::Pile(number) => format!("The pile of {}", ingredient(number)),
    }
}

/// Describes the things on a counter or in a pot, and the shown recipe.
fn tell_cell(state: &State, tile: Tile, cell: Cell, at: &str, out: &mut String) -> Result {
    let what = thing(tile);
    match tile {
        Tile::Counter if cell.items != 0 => {
            writeln!(out, "On the counter at {at}: {}.", words(cell.items))
        }
        Tile::Pot => writeln!(out, "{what} at {at} {}.", condition(cell)),
        Tile::Indicator | Tile::Button if shows_recipe(tile, cell.timer) => {
            writeln!(
                out,
                "{what} at {at} shows the wanted soup: {}.",
                contents(state.recipe)
            )
        }
        Tile::Button => writeln!(
            out,
            "{what} at {at} shows the wanted soup if it is pressed."
        ),
        _ => Ok(()),
    }
}

/// Tells the thing in front of a cook.
fn ahead_of(kitchen: &Kitchen, state: &State, cell: u16) -> String {
    let is_here = |cook: &Cook| cook.cell == cell;
    match kitchen.tiles[usize::from(cell)] {
        Tile::Floor => match state.cooks.iter().position(is_here) {
            Some(other) => format!("cook {}", other + 1),
            None => "free floor".to_owned(),
        },
        Tile::Counter => {
            format!(
                "a counter with {} on it",
                words(state.cells[usize::from(cell)].items)
            )
        }
        tile => thing(tile).to_lowercase(),
    }
}

/// Describes the condition of a pot.
fn condition(cell: Cell) -> String {
    let made = contents(cell.items);
    if cell.items & COOKED != 0 {
        format!("has a soup of {made} ready: take it with a plate")
    } else if cell.timer > 0 {
        format!("cooks a soup of {made}: ready in {} steps", cell.timer)
    } else if cell.items == 0 {
        "is empty".to_owned()
    } else {
        let room = FULL.saturating_sub(items::count(cell.items));
        format!("has {made}, does not cook, and has room for {room} more")
    }
}
