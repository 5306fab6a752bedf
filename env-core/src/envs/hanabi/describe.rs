//! The table in words, as a seat sees it: without the faces of its own cards.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::{Result, Write as _};

use super::COLOR_NAMES;
use super::params::{COLORS, Sizes};
use super::rules::{HeldCard, LastMove, Move, State};

/// The name of a player, as a seat or a stranger calls them.
pub(super) fn name_of(viewer: Option<usize>, seat: usize) -> String {
    if viewer == Some(seat) {
        "You".to_owned()
    } else {
        format!("Player {}", seat + 1)
    }
}

/// A card in words.
fn card_words(sizes: &Sizes, card: u8) -> String {
    let (color, rank) = sizes.face_of(card);
    format!("{} {}", COLOR_NAMES[color], rank + 1)
}

/// Letters of the colors that a card may have by its hints, and its ranks.
pub(super) fn describe_possibilities(sizes: &Sizes, held: &HeldCard) -> (String, String) {
    let colors = (0..sizes.colors).filter(|&color| held.possible & sizes.of_color(color) != 0);
    let ranks = (0..sizes.ranks).filter(|&rank| held.possible & sizes.of_rank(rank) != 0);
    (
        colors.map(|color| COLORS[color]).collect(),
        ranks.map(|rank| (rank + 1).to_string()).collect(),
    )
}

/// Moves until the game ends, once the deck has run out.
pub(super) fn moves_left(sizes: &Sizes, state: &State) -> usize {
    (sizes.seats + 1).saturating_sub(state.last_round.into())
}

/// The last move in a sentence.
pub(super) fn last_move(sizes: &Sizes, state: &State, viewer: Option<usize>) -> String {
    match &state.last {
        None => "Nobody has moved yet".to_owned(),
        Some(last) => tell_move(sizes, last, viewer),
    }
}

fn tell_move(sizes: &Sizes, last: &LastMove, viewer: Option<usize>) -> String {
    let seat = usize::from(last.seat);
    let (who, of) = (name_of(viewer, seat), sizes.read_move(last.action));
    let card = last
        .card
        .map_or(String::new(), |card| card_words(sizes, card));
    let hint = |what: String| {
        let to = sizes.hint_of(seat, of).map_or(seat, |(to, _)| to);
        let to = if viewer == Some(to) {
            "you".to_owned()
        } else {
            name_of(viewer, to)
        };
        let places: Vec<String> = (0..sizes.hand)
            .filter(|place| last.touched >> place & 1 == 1)
            .map(|place| (place + 1).to_string())
            .collect();
        let cards = if places.len() == 1 { "card" } else { "cards" };
        format!("{who} told {to}: {cards} {} {what}", places.join(", "))
    };
    match of {
        Move::Play(_) if last.scored => format!("{who} played {card}"),
        Move::Play(_) => format!("{who} played {card}, which did not fit"),
        Move::Discard(_) => format!("{who} discarded {card}"),
        Move::HintColor(_, color) => hint(COLOR_NAMES[color].to_owned()),
        Move::HintRank(_, rank) => hint(format!("rank {}", rank + 1)),
        Move::Wait => format!("{who} waited"),
    }
}

/// Appends the table as a seat sees it.
pub(super) fn describe(
    sizes: &Sizes,
    state: &State,
    seat: usize,
    is_over: bool,
    out: &mut String,
) -> Result {
    let turn = usize::from(state.turn);
    write!(out, "You are player {} of {}. ", seat + 1, sizes.seats)?;
    match (is_over, turn == seat) {
        (true, _) => writeln!(out, "The game is over.")?,
        (false, true) => writeln!(out, "It is your turn.")?,
        (false, false) => writeln!(out, "{} moves.", name_of(Some(seat), turn))?,
    }
    let (hints, lives, cards) = (state.hints, state.lives, state.deck.len());
    let (most_hints, most_lives) = (sizes.hints, sizes.lives);
    writeln!(
        out,
        "Hints: {hints} of {most_hints}. Lives: {lives} of {most_lives}. Deck: {cards} cards. Score: {}.",
        state.score()
    )?;
    if state.deck.is_empty() && !is_over {
        writeln!(out, "Moves left: {}.", moves_left(sizes, state))?;
    }
    let heights = state.fireworks.iter().enumerate();
    let heights: Vec<String> = heights
        .map(|(color, height)| format!("{} {height}", COLOR_NAMES[color]))
        .collect();
    writeln!(out, "Fireworks: {}.", heights.join(", "))?;
    let mut gone = state.discards.clone();
    gone.sort_unstable();
    let gone: Vec<String> = gone.iter().map(|&card| card_words(sizes, card)).collect();
    match gone.is_empty() {
        true => writeln!(out, "Nothing was discarded.")?,
        false => writeln!(out, "Discarded: {}.", gone.join(", "))?,
    }
    for distance in 1..sizes.seats {
        let other = sizes.seat_after(seat, distance);
        writeln!(
            out,
            "Hand of {}:",
            name_of(Some(seat), other).to_lowercase()
        )?;
        for (place, held) in state.hands[other].iter().enumerate() {
            let (card, knows) = (card_words(sizes, held.card), knowledge(sizes, held));
            writeln!(out, "  {}: {card}; they know: {knows}", place + 1)?;
        }
    }
    writeln!(out, "Your hand:")?;
    for (place, held) in state.hands[seat].iter().enumerate() {
        writeln!(out, "  {}: you know: {}", place + 1, knowledge(sizes, held))?;
    }
    writeln!(out, "Last move: {}.", last_move(sizes, state, Some(seat)))
}

/// Describes the knowledge of a card: the hints about it, and the remaining possibilities.
fn knowledge(sizes: &Sizes, held: &HeldCard) -> String {
    let (color, rank) = sizes.face_of(held.card);
    let mut told = Vec::new();
    if held.color_told {
        told.push(COLOR_NAMES[color].to_owned());
    }
    if held.rank_told {
        told.push((rank + 1).to_string());
    }
    let told = if told.is_empty() {
        "nothing told".to_owned()
    } else {
        format!("told {}", told.join(" "))
    };
    let names = |count: usize, named: &dyn Fn(usize) -> Option<String>| {
        let left: Vec<String> = (0..count).filter_map(named).collect();
        left.join(" or ")
    };
    let color = |color: usize| {
        (held.possible & sizes.of_color(color) != 0).then(|| COLOR_NAMES[color].to_owned())
    };
    let rank =
        |rank: usize| (held.possible & sizes.of_rank(rank) != 0).then(|| (rank + 1).to_string());
    let (colors, ranks) = (names(sizes.colors, &color), names(sizes.ranks, &rank));
    format!("{told}; {colors}; {ranks}.")
}
