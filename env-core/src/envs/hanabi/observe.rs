//! The observation of a seat.
//!
//! Source: JaxMARL 0.2.0, `HanabiEnv.get_obs`, which follows the encoder of the Hanabi Learning Environment.
//! Unlike that encoder, the knowledge of a card is a share for each card that it may be, and not 0 or 1.

use alloc::vec;
use alloc::vec::Vec;

use super::params::Sizes;
use super::rules::{HeldCard, Move, State};
use crate::contract::FieldSpec;

/// The fields of an observation, in order.
pub(super) fn fields(sizes: &Sizes) -> Vec<FieldSpec> {
    let (seats, cards) = (sizes.seats as u32, sizes.cards() as u32);
    let field = |name: &str, shape: Vec<u32>| FieldSpec {
        name: name.into(),
        shape,
        range: Some([0.0, 1.0]),
    };
    let hand = sizes.hand as u32;
    let told = cards + (sizes.colors + sizes.ranks) as u32;
    vec![
        field("hands_of_others", vec![seats - 1, hand, cards]),
        field("misses_a_card", vec![seats]),
        field("deck", vec![(sizes.deck() - sizes.dealt()) as u32]),
        field("fireworks", vec![sizes.colors as u32, sizes.ranks as u32]),
        field("hints", vec![sizes.hints.into()]),
        field("lives", vec![sizes.lives.into()]),
        field("discards", vec![sizes.deck() as u32]),
        field("last_player", vec![seats]),
        field("last_kind", vec![4]),
        field("last_target", vec![seats]),
        field("last_color", vec![sizes.colors as u32]),
        field("last_rank", vec![sizes.ranks as u32]),
        field("last_touched", vec![hand]),
        field("last_place", vec![hand]),
        field("last_card", vec![cards]),
        field("last_scored", vec![1]),
        field("last_gained_hint", vec![1]),
        field("knowledge", vec![seats, hand, told]),
    ]
}

/// Writes values one field after the other.
struct Writer<'a>(&'a mut [f32]);

impl Writer<'_> {
    /// The next field, emptied.
    fn field(&mut self, len: usize) -> &mut [f32] {
        let (field, rest) = core::mem::take(&mut self.0).split_at_mut(len);
        self.0 = rest;
        field.fill(0.0);
        field
    }

    /// A field with a 1 at a place, if there is one.
    fn one(&mut self, len: usize, place: Option<usize>) {
        let field = self.field(len);
        if let Some(place) = place {
            field[place] = 1.0;
        }
    }

    /// A field that begins with this many ones.
    fn ones(&mut self, len: usize, count: usize) {
        self.field(len)[..count].fill(1.0);
    }
}

/// Writes the observation of a seat.
pub(super) fn observe(sizes: &Sizes, state: &State, seat: usize, out: &mut [f32]) {
    let mut out = Writer(out);
    hands(sizes, state, seat, &mut out);
    board(sizes, state, &mut out);
    last_move(sizes, state, seat, &mut out);
    let left: Vec<u8> = (0..sizes.cards() as u8)
        .map(|card| sizes.left_of(state, card))
        .collect();
    for distance in 0..sizes.seats {
        let hand = &state.hands[sizes.seat_after(seat, distance)];
        for place in 0..sizes.hand {
            knowledge(sizes, &left, hand.get(place), &mut out);
        }
    }
}

fn hands(sizes: &Sizes, state: &State, seat: usize, out: &mut Writer<'_>) {
    for distance in 1..sizes.seats {
        let hand = &state.hands[sizes.seat_after(seat, distance)];
        for place in 0..sizes.hand {
            let card = hand.get(place).map(|held| held.card.into());
            out.one(sizes.cards(), card);
        }
    }
    for (distance, misses) in out.field(sizes.seats).iter_mut().enumerate() {
        let hand = &state.hands[sizes.seat_after(seat, distance)];
        *misses = f32::from(u8::from(hand.len() < sizes.hand));
    }
}

fn board(sizes: &Sizes, state: &State, out: &mut Writer<'_>) {
    out.ones(sizes.deck() - sizes.dealt(), state.deck.len());
    for &height in &state.fireworks {
        out.one(sizes.ranks, usize::from(height).checked_sub(1));
    }
    out.ones(sizes.hints.into(), state.hints.into());
    out.ones(sizes.lives.into(), state.lives.into());
    for card in 0..sizes.cards() as u8 {
        let gone = state.discards.iter().filter(|&&other| other == card);
        out.ones(sizes.copies_of(card).into(), gone.count());
    }
}

fn last_move(sizes: &Sizes, state: &State, seat: usize, out: &mut Writer<'_>) {
    let last = state.last.as_ref();
    let of = last.map_or(Move::Wait, |last| sizes.read_move(last.action));
    let away = |other: usize| (other + sizes.seats - seat) % sizes.seats;
    let (mut kind, mut target, mut color, mut rank, mut place) = (None, None, None, None, None);
    match of {
        Move::Play(at) => (kind, place) = (Some(0), Some(at)),
        Move::Discard(at) => (kind, place) = (Some(1), Some(at)),
        Move::HintColor(distance, named) => {
            (kind, target, color) = (Some(2), Some(distance), Some(named))
        }
        Move::HintRank(distance, named) => {
            (kind, target, rank) = (Some(3), Some(distance), Some(named))
        }
        Move::Wait => {}
    }
    let actor = last.map(|last| usize::from(last.seat));
    let target = target.and_then(|distance| Some(away(sizes.seat_after(actor?, distance))));
    out.one(sizes.seats, actor.map(away));
    out.one(4, kind);
    out.one(sizes.seats, target);
    out.one(sizes.colors, color);
    out.one(sizes.ranks, rank);
    let touched = last.map_or(0, |last| last.touched);
    for (place, value) in out.field(sizes.hand).iter_mut().enumerate() {
        *value = f32::from(touched >> place & 1);
    }
    out.one(sizes.hand, place);
    out.one(
        sizes.cards(),
        last.and_then(|last| last.card).map(usize::from),
    );
    out.one(1, last.filter(|last| last.scored).map(|_| 0));
    out.one(1, last.filter(|last| last.hint_gained).map(|_| 0));
}

/// Writes what the hints and the open cards say about a card: how likely each face is, then the hints.
fn knowledge(sizes: &Sizes, left: &[u8], held: Option<&HeldCard>, out: &mut Writer<'_>) {
    let possible = held.map_or(0, |held| held.possible);
    let count = |card: usize| {
        if possible >> card & 1 == 1 {
            left[card]
        } else {
            0
        }
    };
    let total: u32 = (0..sizes.cards()).map(|card| u32::from(count(card))).sum();
    // Compiled, the original multiplies by the rounded reciprocal of the total, which differs from a quotient.
    let share = if total > 0 { 1.0 / total as f32 } else { 0.0 };
    for (card, value) in out.field(sizes.cards()).iter_mut().enumerate() {
        *value = f32::from(count(card)) * share;
    }
    let faces = held.map(|held| (held, sizes.face_of(held.card)));
    let color = faces
        .filter(|(held, _)| held.color_told)
        .map(|(_, (color, _))| color);
    let rank = faces
        .filter(|(held, _)| held.rank_told)
        .map(|(_, (_, rank))| rank);
    out.one(sizes.colors, color);
    out.one(sizes.ranks, rank);
}
