//! The state of a kitchen.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// Something in a cook's hands or on a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Item {
    /// Nothing.
    #[default]
    Nothing,
    /// An onion.
    Onion,
    /// A tomato.
    Tomato,
    /// A dish.
    Dish,
    /// A soup in a dish.
    Soup(Recipe),
}

/// The numbers of onions and tomatoes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// Onions.
    pub onions: u8,
    /// Tomatoes.
    pub tomatoes: u8,
}

impl Recipe {
    /// The number of ingredients.
    pub fn count(self) -> u8 {
        self.onions.saturating_add(self.tomatoes)
    }
}

/// A cook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cook {
    /// Its cell.
    pub cell: u16,
    /// Its direction: 0 north, 1 south, 2 east, 3 west.
    pub facing: u8,
    /// The thing that it holds.
    pub held: Item,
}

/// A pot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pot {
    /// Its contents.
    pub contents: Recipe,
    /// Steps that it has cooked, plus one; 0 while it does not cook.
    pub clock: u16,
}

impl Pot {
    /// Steps that it has cooked, if it was started.
    pub fn tick(self) -> Option<u16> {
        self.clock.checked_sub(1)
    }
}

/// Something on a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lying {
    /// The counter.
    pub cell: u16,
    /// The thing.
    pub item: Item,
}

/// The state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The cooks, by seat.
    pub cooks: Vec<Cook>,
    /// The pots, in reading order.
    pub pots: Vec<Pot>,
    /// The things on counters, in the order in which they were put down.
    pub lying: Vec<Lying>,
    /// Steps so far.
    pub steps: u32,
    /// Points so far.
    pub score: i64,
    /// The ground of this episode, row-major, if each has its own; see [`super::ground::TILES`].
    pub ground: Vec<u8>,
    /// Cells of a row of it.
    pub cols: u8,
}

impl State {
    /// The thing on a counter.
    pub fn item_on(&self, cell: u16) -> Item {
        let lying = self.lying.iter().find(|lying| lying.cell == cell);
        lying.map_or(Item::Nothing, |lying| lying.item)
    }

    /// Takes the thing from a counter.
    pub fn take(&mut self, cell: u16) -> Item {
        match self.lying.iter().position(|lying| lying.cell == cell) {
            Some(at) => self.lying.remove(at).item,
            None => Item::Nothing,
        }
    }

    /// Everything on counters and in hands, with its cell.
    pub fn items(&self) -> impl Iterator<Item = (u16, Item)> {
        let held = self.cooks.iter().map(|cook| (cook.cell, cook.held));
        let lying = self.lying.iter().map(|lying| (lying.cell, lying.item));
        lying.chain(held).filter(|&(_, item)| item != Item::Nothing)
    }
}
