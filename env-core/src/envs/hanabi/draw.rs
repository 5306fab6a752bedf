//! The picture: a table as a seat sees it, or with all hands open for no particular seat.
//!
//! Of the seat's own hand, it shows what hints have revealed. Colors have letters, so that nothing is shown only by
//! color.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};

use super::describe::{self, last_move, name_of};
use super::params::{COLORS, Sizes};
use super::rules::{HeldCard, Move, State};
use super::table;
use crate::draw::{DrawList, Shape};

const TABLE: u32 = 0x2b3d_4aff;
const PAPER: u32 = 0xf5ef_e0ff;
const INK: u32 = 0x1d25_2cff;
const LIGHT: u32 = 0xffff_ffff;
const FAINT: u32 = 0xb9c4_ccff;
const TURN: u32 = 0xffd2_57ff;
const LIFE: u32 = 0xe469_5fff;
const HINT: u32 = 0x7cc4_f0ff;
const SPENT: u32 = 0x4a5d_6bff;
const PLAY: u32 = 0x2f7d_4fff;
const DISCARD: u32 = 0x6b56_4aff;
/// Colors of cards and of the ink on them, which differ for every eye.
///
/// Source: Okabe and Ito, "Color Universal Design", 2008.
const FACES: [[u32; 2]; 6] = [
    [0xd55e_00ff, LIGHT],
    [0xf0e4_42ff, INK],
    [0x009e_73ff, LIGHT],
    [0xffff_ffff, INK],
    [0x0072_b2ff, LIGHT],
    [0xcc79_a7ff, INK],
];

/// Draws the table.
pub(super) fn draw(
    sizes: &Sizes,
    state: &State,
    seat: Option<usize>,
    legal: u64,
    out: &mut DrawList,
) {
    out.begin(table::WIDTH, table::table_height(sizes, seat), TABLE);
    counters(sizes, state, out);
    fireworks(sizes, state, out);
    let said = last_move(sizes, state, seat);
    words(
        &said,
        [0.1, table::BOARD - 0.45, table::WIDTH - 0.2, 0.3],
        LIGHT,
        out,
    );
    for (row, owner) in table::order(sizes, seat).into_iter().enumerate() {
        name(sizes, state, seat, row, owner, out);
        for (at, held) in state.hands[owner].iter().enumerate() {
            let place = table::card(sizes, seat, row, at);
            hand_card(sizes, held, seat != Some(owner), place, out);
        }
    }
    if let Some(seat) = seat {
        for button in table::buttons(sizes, seat) {
            press(&button, legal >> button.action & 1 == 1, out);
        }
    }
}

fn rect(place: [f32; 4], color: u32, out: &mut DrawList) {
    out.push(0, place, Shape::Rect { radius: 0.1, color });
}

/// Words in a box, in a smaller size where they would be wider than it.
fn words(text: &str, [x, y, w, h]: [f32; 4], color: u32, out: &mut DrawList) {
    let letters = text.chars().count().max(1) as f32;
    let fit = w / (0.6 * letters);
    let size = if fit < h { fit } else { h };
    let shape = Shape::Text {
        text: text.to_owned(),
        color,
    };
    out.push(0, [x, y + 0.5 * (h - size), w, size], shape);
}

/// Lives and hints as discs, and in numbers the deck and the score.
fn counters(sizes: &Sizes, state: &State, out: &mut DrawList) {
    let mut discs = |left: f32, top: f32, text: &str, count: u8, most: u8, color: u32| {
        words(text, [left, top, 0.9, 0.26], LIGHT, out);
        let room = 2.6 / f32::from(most.max(1));
        let step = if room < 0.3 { room } else { 0.3 };
        for at in 0..most {
            let size = 0.85 * step;
            let place = [
                left + 1.0 + step * f32::from(at),
                top + 0.5 * (0.26 - size),
                size,
                size,
            ];
            let color = if at < count { color } else { SPENT };
            out.push(0, place, Shape::Ellipse { color });
        }
    };
    discs(0.1, 0.12, "Hints", state.hints, sizes.hints, HINT);
    discs(0.1, 0.5, "Lives", state.lives, sizes.lives, LIFE);
    let deck = match (state.deck.len(), describe::moves_left(sizes, state)) {
        (0, 1) => "Last move".to_owned(),
        (0, left) => format!("{left} moves left"),
        (cards, _) => format!("Deck {cards}"),
    };
    words(&deck, [4.0, 0.12, 1.9, 0.3], LIGHT, out);
    let score = format!("Score {}", state.score());
    words(&score, [5.9, 0.12, 2.0, 0.3], TURN, out);
}

/// A pile for each color, and below it the ranks of that color that were discarded.
fn fireworks(sizes: &Sizes, state: &State, out: &mut DrawList) {
    let step = table::WIDTH / sizes.colors as f32;
    let wide = if step - 0.16 < 1.1 { step - 0.16 } else { 1.1 };
    for (color, &height) in state.fireworks.iter().enumerate() {
        let left = step * color as f32;
        let place = [left + 0.5 * (step - wide), 0.95, wide, 1.35];
        let [fill, ink] = FACES[color];
        let (fill, ink) = if height > 0 {
            (fill, ink)
        } else {
            (SPENT, FAINT)
        };
        rect(place, fill, out);
        let [x, y, w, _] = place;
        words(&height.to_string(), [x, y + 0.2, w, 0.7], ink, out);
        words(&COLORS[color].to_string(), [x, y + 0.98, w, 0.3], ink, out);
        let gone = discarded(sizes, state, color);
        words(&gone, [left + 0.08, 2.42, step - 0.16, 0.28], FAINT, out);
    }
}

/// The discarded ranks of a color, in order, such as `1134`.
fn discarded(sizes: &Sizes, state: &State, color: usize) -> String {
    (0..sizes.ranks)
        .flat_map(|rank| {
            let card = (color * sizes.ranks + rank) as u8;
            let gone = state.discards.iter().filter(move |&&other| other == card);
            gone.map(move |_| (rank + 1).to_string())
        })
        .collect()
}

/// The name of a player above their hand; a bright one moves.
fn name(
    sizes: &Sizes,
    state: &State,
    seat: Option<usize>,
    row: usize,
    owner: usize,
    out: &mut DrawList,
) {
    let is_next = usize::from(state.turn) == owner && !sizes.is_over(state);
    let top = table::top(sizes, seat, row);
    let plate = Shape::Rect {
        radius: 0.08,
        color: if is_next { TURN } else { SPENT },
    };
    let place = [0.06, top, table::WIDTH - 0.12, 0.42];
    out.push(1 + owner as u32, place, plate);
    let name = name_of(seat, owner);
    let text = match (is_next, seat == Some(owner)) {
        (true, true) => "Your turn".to_owned(),
        (false, true) => "Your hand".to_owned(),
        (true, false) => format!("{name} moves"),
        (false, false) => name,
    };
    let ink = if is_next { INK } else { LIGHT };
    let [x, y, w, h] = place;
    words(&text, [x, y + 0.06, w, h - 0.12], ink, out);
}

/// Draws a card of a hand: its face or the hints about it, and below it what its owner still thinks possible.
fn hand_card(sizes: &Sizes, held: &HeldCard, is_open: bool, place: [f32; 4], out: &mut DrawList) {
    let (color, rank) = sizes.face_of(held.card);
    let color = (is_open || held.color_told).then_some(color);
    let rank = (is_open || held.rank_told).then_some(rank);
    let [fill, ink] = color.map_or([FAINT, INK], |color| FACES[color]);
    rect(place, fill, out);
    let [x, y, w, _] = place;
    let letter = color.map_or("?".to_owned(), |color| COLORS[color].to_string());
    let number = rank.map_or("?".to_owned(), |rank| (rank + 1).to_string());
    words(
        &format!("{letter}{number}"),
        [x, y + 0.16, w, 0.56],
        ink,
        out,
    );
    let below = [x + 0.06, y + 0.85, w - 0.12, table::CARD - 0.08 - 0.91];
    rect(below, PAPER, out);
    let [x, y, w, h] = below;
    let (colors, ranks) = describe::describe_possibilities(sizes, held);
    words(&colors, [x + 0.04, y + 0.06, w - 0.08, 0.26], INK, out);
    words(&ranks, [x + 0.04, y + h - 0.34, w - 0.08, 0.26], INK, out);
    // A hinted face has a line below it: a hint is worth more than an exclusion.
    if held.color_told {
        rect([x, y - 0.05, 0.5 * w, 0.05], INK, out);
    }
    if held.rank_told {
        rect([x + 0.5 * w, y - 0.05, 0.5 * w, 0.05], INK, out);
    }
}

/// A button; one that cannot be pressed now is faint.
fn press(button: &table::Button, is_legal: bool, out: &mut DrawList) {
    let (text, [fill, ink]) = match button.of {
        Move::Play(_) => ("play".to_owned(), [PLAY, LIGHT]),
        Move::Discard(_) => ("discard".to_owned(), [DISCARD, LIGHT]),
        Move::HintColor(_, color) => (COLORS[color].to_string(), FACES[color]),
        Move::HintRank(_, rank) => ((rank + 1).to_string(), [PAPER, INK]),
        Move::Wait => return,
    };
    let (fill, ink) = if is_legal {
        (fill, ink)
    } else {
        (SPENT, FAINT)
    };
    rect(button.place, fill, out);
    let [x, y, w, h] = button.place;
    let tall = if h < 0.44 { h } else { 0.44 };
    words(
        &text,
        [x + 0.08, y + 0.5 * (h - tall), w - 0.16, tall],
        ink,
        out,
    );
}
