//! The kitchen in words, as a cook sees it.

use alloc::string::String;
use core::fmt::Write as _;

use super::Overcooked;
use super::kitchen::{CELLS, COLS, Ground, SEATS};
use super::state::{Direction, Item, State};

/// Appends the description; a seat that does not exist gets none.
pub(super) fn describe(env: &Overcooked, state: &State, seat: usize, out: &mut String) {
    if seat < SEATS {
        // Writing into a String cannot fail.
        let _ = tell(env, state, seat, out);
    }
}

fn tell(env: &Overcooked, state: &State, seat: usize, out: &mut String) -> core::fmt::Result {
    let (own, other) = (&state.chefs[seat], &state.chefs[1 - seat]);
    write!(out, "You are at {}, ", place(own.cell))?;
    write!(out, "facing {} towards ", direction(own.facing))?;
    front(env, state, seat, out)?;
    writeln!(out, ", holding {}.", item(own.held))?;
    write!(
        out,
        "Your partner is at {}, facing {}, ",
        place(other.cell),
        direction(other.facing)
    )?;
    writeln!(out, "holding {}.", item(other.held))?;
    for (index, &cell) in env.kitchen.pot_cells[..usize::from(env.kitchen.pots)]
        .iter()
        .enumerate()
    {
        write!(out, "The pot at {} ", place(cell))?;
        tell_pot(state, index, out)?;
        out.push('\n');
    }
    for cell in 0..CELLS as u8 {
        let ground = env.kitchen.ground[usize::from(cell)];
        if state.item(cell) != Item::Empty && ground != Ground::DeliveryZone {
            let on = if ground == Ground::Floor {
                "floor"
            } else {
                "counter"
            };
            writeln!(
                out,
                "There is {} on the {on} at {}.",
                item(state.item(cell)),
                place(cell)
            )?;
        }
    }
    let left = env.params.horizon.saturating_sub(state.steps);
    writeln!(out, "Soups delivered: {}. Steps left: {left}.", state.soups)
}

fn tell_pot(state: &State, index: usize, out: &mut String) -> core::fmt::Result {
    let pot = &state.pots[index];
    match pot.onions {
        _ if pot.ready() => write!(out, "has soup ready: take it with a plate."),
        _ if pot.cooking() => write!(out, "is cooking: ready in {}.", count(pot.timer, "step")),
        0 => write!(out, "is empty: it needs 3 onions."),
        onions => write!(out, "has {}: it needs 3.", count(onions, "onion")),
    }
}

fn front(env: &Overcooked, state: &State, seat: usize, out: &mut String) -> core::fmt::Result {
    let cell = state.chefs[seat].front();
    let lying = state.item(cell);
    if state.chefs[1 - seat].cell == cell {
        return out.write_str("your partner");
    }
    match env.kitchen.ground[usize::from(cell)] {
        Ground::Floor if lying == Item::Empty => out.write_str("free floor"),
        Ground::Floor => write!(out, "{} on the floor", item(lying)),
        Ground::Counter if lying == Item::Empty => out.write_str("an empty counter"),
        Ground::Counter => write!(out, "a counter with {}", item(lying)),
        Ground::OnionStack => out.write_str("the onions"),
        Ground::PlateStack => out.write_str("the plates"),
        Ground::Pot => out.write_str("a pot"),
        Ground::DeliveryZone => out.write_str("the delivery window"),
        Ground::Void => out.write_str("nothing"),
    }
}

fn place(cell: u8) -> String {
    alloc::format!(
        "row {}, column {}",
        cell / COLS as u8 + 1,
        cell % COLS as u8 + 1
    )
}

fn count(number: u8, noun: &str) -> String {
    alloc::format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn item(item: Item) -> &'static str {
    match item {
        Item::Empty => "nothing",
        Item::Onion => "an onion",
        Item::Plate => "a plate",
        Item::Soup => "a plate of onion soup",
    }
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Right => "right",
        Direction::Down => "down",
        Direction::Left => "left",
        Direction::Up => "up",
    }
}
