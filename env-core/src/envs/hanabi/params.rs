//! The parameters of Hanabi, and the numbers that follow from them.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::contract::ParamError;
use crate::rng::Rng;

/// Letters of the colors, in the order of their numbers.
///
/// Source: JaxMARL 0.2.0, the default colors of `HanabiEnv`.
pub const COLORS: [char; 6] = ['R', 'Y', 'G', 'W', 'B', 'M'];

/// Parameters; each has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of players, 2 to 5.
    pub seats: u8,
    /// Number of colors, 1 to 6.
    pub colors: u8,
    /// Copies of each card of a color, from rank 1 on; 1 to 5 ranks.
    pub copies: Vec<u8>,
    /// Cards of a hand, 1 to 5; `None` for 5 with up to three players, and 4 with more.
    pub hand_size: Option<u8>,
    /// Hints at the start, which are also the most there can be, 1 to 20.
    pub hints: u8,
    /// Lives, 1 to 10.
    pub lives: u8,
    /// Steps after which an episode is truncated; only players who do nothing get there.
    pub horizon: u32,
    /// The order of the deck, such as `["R1", "B5", …]`: the hand of seat 0, of seat 1 and so on, then the cards to
    /// draw. `None` for an order that is drawn from the seed.
    pub deck: Option<Vec<String>>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            seats: 2,
            colors: 5,
            copies: [3, 2, 2, 2, 1].into(),
            hand_size: None,
            hints: 8,
            lives: 3,
            horizon: 200,
            deck: None,
        }
    }
}

/// The numbers of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Number of players.
    pub seats: usize,
    /// Cards of a full hand.
    pub hand: usize,
    /// Number of colors.
    pub colors: usize,
    /// Number of ranks.
    pub ranks: usize,
    /// Copies of each card of a color, by rank.
    pub copies: Vec<u8>,
    /// The most hints.
    pub hints: u8,
    /// The most lives.
    pub lives: u8,
}

impl Sizes {
    /// Number of different cards; a card is `color * ranks + rank`.
    pub fn cards(&self) -> usize {
        self.colors * self.ranks
    }

    /// Number of cards in the whole deck.
    pub fn deck(&self) -> usize {
        let copies: usize = self.copies.iter().map(|&copies| usize::from(copies)).sum();
        self.colors * copies
    }

    /// Number of cards that are dealt at the start.
    pub fn dealt(&self) -> usize {
        self.seats * self.hand
    }

    /// Copies of a card in the whole deck.
    pub fn copies_of(&self, card: u8) -> u8 {
        self.copies[usize::from(card) % self.ranks]
    }

    /// Color and rank of a card, from 0.
    pub fn face_of(&self, card: u8) -> (usize, usize) {
        (
            usize::from(card) / self.ranks,
            usize::from(card) % self.ranks,
        )
    }

    /// A card as people write it, such as `R1`.
    pub fn name(&self, card: u8) -> String {
        let (color, rank) = self.face_of(card);
        format!("{}{}", COLORS[color], rank + 1)
    }

    /// Every card as often as the deck has it, by number.
    pub fn sorted_deck(&self) -> Vec<u8> {
        let copies = |card: u8| core::iter::repeat_n(card, self.copies_of(card).into());
        (0..self.cards() as u8).flat_map(copies).collect()
    }

    /// A deck in an order drawn from a seed.
    pub fn shuffled_deck(&self, seed: u64) -> Vec<u8> {
        let mut deck = self.sorted_deck();
        Rng::new(seed).shuffle(&mut deck);
        deck
    }

    /// Checks whether these are the cards of a whole deck, in any order.
    pub fn is_whole(&self, cards: &[u8]) -> bool {
        let mut cards = cards.to_vec();
        cards.sort_unstable();
        cards == self.sorted_deck()
    }
}

fn refuse<T>(field: &str, reason: impl Into<String>) -> Result<T, ParamError> {
    let (field, reason) = (field.to_string(), reason.into());
    Err(ParamError { field, reason })
}

impl Params {
    /// Checks the parameters.
    ///
    /// # Errors
    /// [`ParamError`] with the field that is wrong.
    pub fn sizes(&self) -> Result<Sizes, ParamError> {
        self.check_ranges()?;
        let hand = self.hand_size.unwrap_or(if self.seats < 4 { 5 } else { 4 });
        let sizes = Sizes {
            seats: self.seats.into(),
            hand: hand.into(),
            colors: self.colors.into(),
            ranks: self.copies.len(),
            copies: self.copies.clone(),
            hints: self.hints,
            lives: self.lives,
        };
        if sizes.deck() <= sizes.dealt() {
            let (deck, dealt) = (sizes.deck(), sizes.dealt());
            return refuse(
                "copies",
                format!(
                    "a deck of {deck} cards is too small for {dealt} dealt cards and one to draw: \
                     take more copies or colors, fewer seats, or a smaller hand_size"
                ),
            );
        }
        Ok(sizes)
    }

    fn check_ranges(&self) -> Result<(), ParamError> {
        if !(2..=5).contains(&self.seats) {
            return refuse("seats", "must be 2 to 5");
        }
        if !(1..=COLORS.len()).contains(&self.colors.into()) {
            return refuse("colors", "must be 1 to 6");
        }
        if !(1..=5).contains(&self.copies.len()) {
            return refuse("copies", "needs a number for each of 1 to 5 ranks");
        }
        for (rank, copies) in self.copies.iter().enumerate() {
            if !(1..=9).contains(copies) {
                return refuse(&format!("copies[{rank}]"), "must be 1 to 9");
            }
        }
        if self.hand_size.is_some_and(|hand| !(1..=5).contains(&hand)) {
            return refuse("hand_size", "must be 1 to 5");
        }
        if !(1..=20).contains(&self.hints) {
            return refuse("hints", "must be 1 to 20");
        }
        if !(1..=10).contains(&self.lives) {
            return refuse("lives", "must be 1 to 10");
        }
        if !(1..=100_000).contains(&self.horizon) {
            return refuse("horizon", "must be 1 to 100000");
        }
        Ok(())
    }

    /// Reads the order of the deck, if there is one.
    ///
    /// # Errors
    /// [`ParamError`] with the card that is wrong.
    pub fn read_deck(&self, sizes: &Sizes) -> Result<Option<Vec<u8>>, ParamError> {
        let Some(names) = &self.deck else {
            return Ok(None);
        };
        let mut deck = Vec::with_capacity(names.len());
        for (place, name) in names.iter().enumerate() {
            match (0..sizes.cards() as u8).find(|&card| sizes.name(card) == *name) {
                Some(card) => deck.push(card),
                None => {
                    let last = sizes.name(sizes.cards() as u8 - 1);
                    return refuse(
                        &format!("deck[{place}]"),
                        format!("there is no card `{name}`; the cards are R1 to {last}"),
                    );
                }
            }
        }
        for card in 0..sizes.cards() as u8 {
            let count = deck.iter().filter(|&&other| other == card).count();
            let (name, copies) = (sizes.name(card), sizes.copies_of(card));
            if count != usize::from(copies) {
                return refuse(
                    "deck",
                    format!("has {name} {count} times and needs it {copies} times"),
                );
            }
        }
        Ok(Some(deck))
    }
}
