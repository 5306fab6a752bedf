//! The rules: states, moves, and their effects.
//!
//! Source: Bard et al., "The Hanabi Challenge", 2020, as `HanabiGame` of JaxMARL 0.2.0 plays it.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::params::Sizes;
use crate::contract::Action;

/// A card in a hand, and the hints that its owner got about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldCard {
    /// The card.
    pub card: u8,
    /// The cards that the hints leave possible: bit `c` for card `c`.
    pub possible: u32,
    /// True if a hint named its color.
    pub color_told: bool,
    /// True if a hint named its rank.
    pub rank_told: bool,
}

/// The last move, as everybody saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastMove {
    /// The seat that moved.
    pub seat: u8,
    /// Its action.
    pub action: Action,
    /// The card that was played or discarded.
    pub card: Option<u8>,
    /// The cards of the hand that a hint touched: bit `i` for the card at `i`.
    pub touched: u8,
    /// True if a played card went onto its firework.
    pub scored: bool,
    /// True if a played card completed a firework, and gave a hint back.
    pub hint_gained: bool,
}

/// The state of a game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Steps so far, including those of players who did nothing.
    pub steps: u32,
    /// The seat that moves next.
    pub turn: u8,
    /// The cards to draw; the last of them is drawn first.
    pub deck: Vec<u8>,
    /// The hand of each seat, oldest card first.
    pub hands: Vec<Vec<HeldCard>>,
    /// Discarded and misplayed cards, in order.
    pub discards: Vec<u8>,
    /// Number of cards on the firework of each color.
    pub fireworks: Vec<u8>,
    /// Hints that are left.
    pub hints: u8,
    /// Lives that are left.
    pub lives: u8,
    /// Moves since the deck ran out, the one that drew the last card included.
    pub last_round: u8,
    /// The last move.
    pub last: Option<LastMove>,
}

/// The meaning of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Discards the card at this place of the own hand.
    Discard(usize),
    /// Plays the card at this place.
    Play(usize),
    /// Tells the player this many seats further which cards have a color.
    HintColor(usize, usize),
    /// Tells the player this many seats further which cards have a rank.
    HintRank(usize, usize),
    /// Does nothing.
    Wait,
}

/// The effect of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// The card that was played or discarded.
    pub card: Option<u8>,
    /// True if it went onto its firework.
    pub scored: bool,
    /// True if it cost a life.
    pub misplayed: bool,
}

impl Sizes {
    /// Number of actions.
    pub fn actions(&self) -> usize {
        2 * self.hand + (self.seats - 1) * (self.colors + self.ranks) + 1
    }

    /// The meaning of an action; one out of range does nothing.
    ///
    /// Source: JaxMARL 0.2.0: discards, plays, hints of colors by player, hints of ranks by player, no-op.
    pub fn read_move(&self, action: Action) -> Move {
        let action = usize::from(action);
        let colors = 2 * self.hand;
        let ranks = colors + (self.seats - 1) * self.colors;
        let noop = ranks + (self.seats - 1) * self.ranks;
        if action < self.hand {
            Move::Discard(action)
        } else if action < colors {
            Move::Play(action - self.hand)
        } else if action < ranks {
            let hint = action - colors;
            Move::HintColor(1 + hint / self.colors, hint % self.colors)
        } else if action < noop {
            let hint = action - ranks;
            Move::HintRank(1 + hint / self.ranks, hint % self.ranks)
        } else {
            Move::Wait
        }
    }

    /// Deals a deck; its first card is the first of seat 0.
    pub fn deal_cards(&self, deck: &[u8]) -> State {
        let (dealt, rest) = deck.split_at(self.dealt());
        let fresh = |&card: &u8| self.fresh(card);
        State {
            steps: 0,
            turn: 0,
            deck: rest.iter().rev().copied().collect(),
            hands: dealt
                .chunks(self.hand)
                .map(|hand| hand.iter().map(fresh).collect())
                .collect(),
            discards: Vec::new(),
            fireworks: core::iter::repeat_n(0, self.colors).collect(),
            hints: self.hints,
            lives: self.lives,
            last_round: 0,
            last: None,
        }
    }

    /// A card without hints.
    fn fresh(&self, card: u8) -> HeldCard {
        HeldCard {
            card,
            possible: u32::MAX >> (32 - self.cards()),
            color_told: false,
            rank_told: false,
        }
    }

    /// The cards of a color, a bit each.
    pub fn of_color(&self, color: usize) -> u32 {
        (u32::MAX >> (32 - self.ranks)) << (color * self.ranks)
    }

    /// The cards of a rank, a bit each.
    pub fn of_rank(&self, rank: usize) -> u32 {
        (0..self.colors).fold(0, |bits, color| bits | 1 << (color * self.ranks + rank))
    }

    /// The seat this many places after another.
    pub fn seat_after(&self, seat: usize, distance: usize) -> usize {
        (seat + distance) % self.seats
    }

    /// The cards that a hint names, a bit each, and the seat that gets it; `None` for another move.
    pub fn hint_of(&self, seat: usize, of: Move) -> Option<(usize, u32)> {
        match of {
            Move::HintColor(distance, color) => {
                Some((self.seat_after(seat, distance), self.of_color(color)))
            }
            Move::HintRank(distance, rank) => {
                Some((self.seat_after(seat, distance), self.of_rank(rank)))
            }
            _ => None,
        }
    }

    /// Checks whether a player may make a move when it is their turn.
    pub fn is_legal(&self, state: &State, seat: usize, of: Move) -> bool {
        let held = state.hands[seat].len();
        match of {
            Move::Discard(place) => place < held && state.hints < self.hints,
            Move::Play(place) => place < held,
            Move::Wait => true,
            Move::HintColor(..) | Move::HintRank(..) => {
                let hint = self.hint_of(seat, of);
                state.hints > 0 && hint.is_some_and(|(to, named)| touched(state, to, named) != 0)
            }
        }
    }

    /// Makes a legal move of the player whose turn it is.
    pub fn make_move(&self, state: &mut State, action: Action) -> Effect {
        let (seat, of) = (usize::from(state.turn), self.read_move(action));
        let mut effect = Effect::default();
        let mut last = LastMove {
            seat: state.turn,
            action,
            card: None,
            touched: 0,
            scored: false,
            hint_gained: false,
        };
        match of {
            Move::Wait => return effect,
            Move::Discard(place) => {
                let card = self.take(state, seat, place);
                effect.card = Some(card);
                state.discards.push(card);
                state.hints += 1;
            }
            Move::Play(place) => {
                effect = self.play(state, seat, place, &mut last);
            }
            Move::HintColor(..) | Move::HintRank(..) => {
                if let Some((to, named)) = self.hint_of(seat, of) {
                    last.touched = touched(state, to, named);
                    tell(
                        &mut state.hands[to],
                        named,
                        matches!(of, Move::HintColor(..)),
                    );
                    state.hints -= 1;
                }
            }
        }
        (last.card, last.scored) = (effect.card, effect.scored);
        state.last = Some(last);
        state.last_round += u8::from(state.deck.is_empty());
        state.turn = self.seat_after(seat, 1) as u8;
        effect
    }

    /// Takes a card out of a hand, and draws another one if there is any.
    fn take(&self, state: &mut State, seat: usize, place: usize) -> u8 {
        let card = state.hands[seat].remove(place).card;
        if let Some(drawn) = state.deck.pop() {
            state.hands[seat].push(self.fresh(drawn));
        }
        card
    }

    fn play(&self, state: &mut State, seat: usize, place: usize, last: &mut LastMove) -> Effect {
        let card = self.take(state, seat, place);
        let (color, rank) = self.face_of(card);
        let scored = usize::from(state.fireworks[color]) == rank;
        if scored {
            state.fireworks[color] += 1;
            last.hint_gained = rank + 1 == self.ranks && state.hints < self.hints;
            state.hints += u8::from(last.hint_gained);
        } else {
            state.discards.push(card);
            state.lives -= 1;
        }
        Effect {
            card: Some(card),
            scored,
            misplayed: !scored,
        }
    }

    /// Checks whether the game is over.
    pub fn is_over(&self, state: &State) -> bool {
        state.lives == 0
            || state.height() == self.cards()
            || usize::from(state.last_round) > self.seats
    }

    /// Returns how many copies of a card are neither discarded nor on a firework.
    pub fn left_of(&self, state: &State, card: u8) -> u8 {
        let (color, rank) = self.face_of(card);
        let gone = state.discards.iter().filter(|&&other| other == card);
        let played = u8::from(usize::from(state.fireworks[color]) > rank);
        self.copies_of(card) - gone.count() as u8 - played
    }
}

impl State {
    /// Number of cards on all fireworks.
    pub fn height(&self) -> usize {
        self.fireworks
            .iter()
            .map(|&height| usize::from(height))
            .sum()
    }

    /// The score: the cards on the fireworks, or nothing once the last life is lost.
    ///
    /// Source: JaxMARL 0.2.0, which takes everything back with the last life.
    pub fn score(&self) -> i64 {
        if self.lives == 0 {
            0
        } else {
            self.height() as i64
        }
    }
}

/// The cards of a hand that a hint touches: bit `i` for the card at `i`.
fn touched(state: &State, seat: usize, named: u32) -> u8 {
    let hand = state.hands[seat].iter().enumerate();
    hand.fold(0, |bits, (place, held)| {
        bits | ((named >> held.card & 1) as u8) << place
    })
}

/// Tells a hand which of its cards are among the named.
fn tell(hand: &mut [HeldCard], named: u32, is_color: bool) {
    for held in hand {
        let is_touched = named >> held.card & 1 == 1;
        held.possible &= if is_touched { named } else { !named };
        held.color_told |= is_touched && is_color;
        held.rank_told |= is_touched && !is_color;
    }
}
