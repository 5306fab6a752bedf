//! The state of a kitchen: plain, small, comparable.

use serde::{Deserialize, Serialize};

use super::kitchen::{CELLS, COLS, Kitchen, POTS, ROWS, SEATS};
use crate::rng::{Rng, numpy};

/// Steps that a full pot cooks.
///
/// Source: CoGrid 0.3.2, the recipes of `Pot`.
pub const COOK_STEPS: u8 = 30;
/// Onions that make a soup.
pub const SOUP_ONIONS: u8 = 3;

/// What a hand or a surface holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Item {
    /// Nothing.
    #[default]
    Empty,
    /// A raw onion.
    Onion,
    /// A clean plate.
    Plate,
    /// Onion soup in a plate.
    Soup,
}

/// Where a cook looks. The order is CoGrid's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Direction {
    /// Towards greater columns.
    Right,
    /// Towards greater rows.
    Down,
    /// Towards smaller columns.
    Left,
    /// Towards smaller rows.
    Up,
}

impl Direction {
    /// Every direction, by number.
    pub const ALL: [Self; 4] = [Self::Right, Self::Down, Self::Left, Self::Up];

    /// The neighbour of a cell; a cook on the floor of a closed kitchen never looks out of it.
    #[inline]
    pub fn from(self, cell: u8) -> u8 {
        const STRIDE: [u8; 4] = [
            1,
            COLS as u8,
            1_u8.wrapping_neg(),
            (COLS as u8).wrapping_neg(),
        ];
        cell.wrapping_add(STRIDE[self as usize])
    }
}

/// A cook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chef {
    /// Where the cook stands: `row * COLS + column`.
    pub cell: u8,
    /// Where the cook looks.
    pub facing: Direction,
    /// What the cook holds.
    pub held: Item,
}

impl Chef {
    /// The cell in front of the cook.
    #[inline]
    pub fn front(&self) -> u8 {
        self.facing.from(self.cell)
    }
}

/// A pot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pot {
    /// Onions in it, 0 to 3.
    pub onions: u8,
    /// Steps until the soup is ready; [`COOK_STEPS`] while it is not full.
    pub timer: u8,
    /// What CoGrid shows of it one step late (`object_state_map`); 0 by the corrected rules.
    pub shown: u8,
}

impl Pot {
    /// The empty pot.
    pub const EMPTY: Self = Self {
        onions: 0,
        timer: COOK_STEPS,
        shown: 0,
    };

    /// Whether soup can be taken.
    #[inline]
    pub fn ready(&self) -> bool {
        self.onions == SOUP_ONIONS && self.timer == 0
    }

    /// Whether it is full and not ready.
    #[inline]
    pub fn cooking(&self) -> bool {
        self.onions == SOUP_ONIONS && self.timer > 0
    }
}

/// Where the random draws come from: one generator for each kind of rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Draws {
    /// For the corrected rules.
    Xoshiro(Rng),
    /// For the rules of CoGrid, which draws from NumPy.
    Numpy(numpy::Generator),
}

/// The state of a kitchen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Steps done.
    pub steps: u32,
    /// Soups delivered before the end.
    pub soups: u32,
    /// The cooks, by seat.
    pub chefs: [Chef; SEATS],
    /// The pots, in reading order; those that the kitchen lacks stay empty.
    pub pots: [Pot; POTS],
    /// What lies on each cell, `[row, column]`: on counters, on the floor, and
    /// (by the rules of CoGrid) the first soup on each delivery zone.
    pub items: [[Item; COLS]; ROWS],
    /// The generator.
    pub draws: Draws,
    /// The seat that moves first in the next step, if a recording says so.
    pub injected: Option<u8>,
}

impl State {
    /// What lies on a cell.
    #[inline]
    pub fn item(&self, cell: u8) -> Item {
        self.items.as_flattened()[usize::from(cell)]
    }

    /// What lies on a cell, to change it.
    #[inline]
    pub(super) fn item_mut(&mut self, cell: u8) -> &mut Item {
        &mut self.items.as_flattened_mut()[usize::from(cell)]
    }

    /// The pot in a cell that has one.
    #[inline]
    pub fn pot(&self, kitchen: &Kitchen, cell: u8) -> &Pot {
        &self.pots[usize::from(kitchen.pot_at[usize::from(cell)])]
    }

    /// Whether it is a state that the rules of this kitchen may meet.
    pub(super) fn fits(&self, kitchen: &Kitchen, cogrid: bool) -> bool {
        use super::kitchen::Ground;
        let [a, b] = &self.chefs;
        let chefs = a.cell != b.cell
            && self
                .chefs
                .iter()
                .all(|chef| kitchen.is_floor(chef.cell) && self.item(chef.cell) == Item::Empty);
        let items = (0..CELLS).all(|cell| match (kitchen.ground[cell], self.item(cell as u8)) {
            (_, Item::Empty) | (Ground::Floor | Ground::Counter, _) => true,
            (Ground::DeliveryZone, item) => cogrid && item == Item::Soup,
            _ => false,
        });
        let pots = self.pots.iter().enumerate().all(|(index, pot)| {
            let time = if pot.onions == SOUP_ONIONS {
                pot.timer <= COOK_STEPS
            } else {
                pot.timer == COOK_STEPS
            };
            let here = index < usize::from(kitchen.pots) || *pot == Pot::EMPTY;
            here && pot.onions <= SOUP_ONIONS && time && (cogrid || pot.shown == 0)
        });
        let draws = matches!(self.draws, Draws::Numpy(_)) == cogrid
            && self.injected.is_none_or(|seat| seat < 2);
        chefs && items && pots && draws
    }
}
