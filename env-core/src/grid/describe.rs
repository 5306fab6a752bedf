//! A grid in words, as an agent sees it.

use alloc::string::String;
use core::fmt::Write as _;

use super::kind::EMPTY;
use super::state::{Direction, State};
use super::tables::Tables;

/// Appends what a seat sees.
pub(super) fn describe<X>(tables: &Tables, state: &State<X>, seat: usize, out: &mut String) {
    // Writing into a String cannot fail.
    let _ = tell(tables, state, seat, out);
}

/// Appends how many steps are left.
pub(super) fn rest(steps: u32, out: &mut String) {
    let _ = writeln!(out, "Steps left: {steps}.");
}

fn tell<X>(tables: &Tables, state: &State<X>, seat: usize, out: &mut String) -> core::fmt::Result {
    let own = state.agents[seat];
    let words = |kind: u8| {
        tables
            .kind(kind)
            .map_or("nothing", |kind| kind.words.as_str())
    };
    let front = tables.front(own.cell, own.facing);
    let (row, col) = tables.place(own.cell);
    let ahead = match state.kind(front) {
        EMPTY => "free floor",
        kind => words(kind),
    };
    writeln!(
        out,
        "You are at row {}, column {}, facing {} towards {ahead}, holding {}.",
        row + 1,
        col + 1,
        direction(own.facing),
        words(own.held)
    )
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Right => "right",
        Direction::Down => "down",
        Direction::Left => "left",
        Direction::Up => "up",
    }
}
