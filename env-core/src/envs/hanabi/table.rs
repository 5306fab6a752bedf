//! The places on the table: hands, and the buttons that a seat has below them.

use alloc::vec::Vec;

use super::params::Sizes;
use super::rules::Move;
use crate::contract::Action;

/// Width of the table, in cells.
pub(super) const WIDTH: f32 = 8.0;
/// Height of the part above the hands: counters, fireworks, discards, and the last move.
pub(super) const BOARD: f32 = 3.5;
/// Height of the name of a player.
const NAME: f32 = 0.5;
/// Height of a card, with its knowledge.
pub(super) const CARD: f32 = 1.75;
/// Height of the hints below the hand of another player.
const HINTS: f32 = 0.75;
/// Height of the buttons below the own hand.
const OWN: f32 = 1.25;
/// Gap below a hand.
const GAP: f32 = 0.25;

/// A button: its place, its action, and what it does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Button {
    pub place: [f32; 4],
    pub action: Action,
    pub of: Move,
}

/// The players in the order of their hands on a table: the next one first, and the seat itself last.
pub(super) fn order(sizes: &Sizes, seat: Option<usize>) -> Vec<usize> {
    match seat {
        Some(seat) => (1..=sizes.seats)
            .map(|distance| sizes.seat_after(seat, distance))
            .collect(),
        None => (0..sizes.seats).collect(),
    }
}

/// Height of the hand at a place of the order, with its labels.
fn height(sizes: &Sizes, seat: Option<usize>, row: usize) -> f32 {
    let buttons = match seat {
        None => 0.0,
        Some(_) if row + 1 == sizes.seats => OWN,
        Some(_) => HINTS,
    };
    NAME + CARD + buttons + GAP
}

/// The top of the hand at a place of the order.
pub(super) fn top(sizes: &Sizes, seat: Option<usize>, row: usize) -> f32 {
    (0..row).fold(BOARD, |top, row| top + height(sizes, seat, row))
}

/// Height of the whole table.
pub(super) fn table_height(sizes: &Sizes, seat: Option<usize>) -> f32 {
    top(sizes, seat, sizes.seats)
}

/// The place of a card in the hand at a place of the order.
pub(super) fn card(sizes: &Sizes, seat: Option<usize>, row: usize, place: usize) -> [f32; 4] {
    let step = WIDTH / sizes.hand as f32;
    let top = top(sizes, seat, row) + NAME;
    [step * place as f32 + 0.06, top, step - 0.12, CARD - 0.08]
}

/// The buttons of a seat.
pub(super) fn buttons(sizes: &Sizes, seat: usize) -> Vec<Button> {
    let count = (sizes.actions() - 1) as Action;
    let button = |action: Action| {
        let of = sizes.read_move(action);
        let place = place(sizes, seat, of)?;
        Some(Button { place, action, of })
    };
    (0..count).filter_map(button).collect()
}

fn place(sizes: &Sizes, seat: usize, of: Move) -> Option<[f32; 4]> {
    let hint = |distance: usize, at: usize| {
        let step = WIDTH / (sizes.colors + sizes.ranks) as f32;
        let top = top(sizes, Some(seat), distance - 1) + NAME + CARD;
        [step * at as f32 + 0.04, top, step - 0.08, HINTS - 0.1]
    };
    let own = |at: usize, line: f32| {
        let [x, y, w, _] = card(sizes, Some(seat), sizes.seats - 1, at);
        let tall = OWN / 2.0;
        [x, y + CARD + line * tall, w, tall - 0.08]
    };
    match of {
        Move::Play(at) => Some(own(at, 0.0)),
        Move::Discard(at) => Some(own(at, 1.0)),
        Move::HintColor(distance, color) => Some(hint(distance, color)),
        Move::HintRank(distance, rank) => Some(hint(distance, sizes.colors + rank)),
        Move::Wait => None,
    }
}

/// The action of the button at a point.
pub(super) fn button_at(sizes: &Sizes, seat: usize, [x, y]: [f32; 2]) -> Option<Action> {
    let hit = |button: &&Button| {
        let [left, top, w, h] = button.place;
        (left..left + w).contains(&x) && (top..top + h).contains(&y)
    };
    let buttons = buttons(sizes, seat);
    buttons.iter().find(hit).map(|button| button.action)
}
