//! What the features of a kitchen read of its world besides the grid: orders, the wanted soup, deliveries.

use alloc::vec::Vec;

use super::value::Value;
use crate::grid::kind::{KindId, KindSet};
use crate::grid::luck::MAX_ROLLS;

/// The most orders at a time.
pub const MAX_ORDERS: usize = MAX_ROLLS;

/// What a kitchen is, fixed by its parameters; what it does not have stays at its default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kitchen {
    /// Index of the layout, below `layouts`.
    pub layout: u8,
    /// How many layouts there are to tell apart; CoGrid knows 7.
    pub layouts: u8,
    /// What `overcooked_inventory` tells apart, in order; empty for CoGrid's five.
    pub items: Vec<KindId>,
    /// How many orders there are at most, 0 to [`MAX_ORDERS`]; 0 for a kitchen without orders.
    pub orders: u8,
    /// How many recipes an order chooses from.
    pub recipes: u8,
    /// Steps that a new order has.
    pub time_limit: u16,
    /// The soups of which one is wanted at a time; empty for a kitchen that wants any.
    pub targets: Vec<KindId>,
    /// The kinds that always show which soup is wanted; a switch shows it while it is lit.
    pub indicators: KindSet,
}

/// An order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Index of the recipe, below [`Kitchen::recipes`].
    pub recipe: u8,
    /// Steps left.
    pub left: u16,
}

/// What a kitchen has besides its grid, now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The orders by their places; none in a place that is free.
    pub orders: [Option<Order>; MAX_ORDERS],
    /// Index into [`Kitchen::targets`].
    pub target: u8,
    /// Whether soup was delivered in the last step.
    pub delivered: bool,
}

/// The orders: for each place a value for each recipe, and the share of the time that is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Orders {
    /// Places.
    pub(super) places: usize,
    /// Recipes.
    pub(super) recipes: usize,
    time_limit: f32,
}

/// The orders that CoGrid shows of a kitchen that has none.
const COGRID_ORDERS: [usize; 2] = [3, 2];

impl Orders {
    pub(super) fn new(kitchen: &Kitchen) -> Self {
        let [places, recipes] = if kitchen.orders == 0 {
            COGRID_ORDERS
        } else {
            [kitchen.orders, kitchen.recipes].map(usize::from)
        };
        Self {
            places: places.min(MAX_ORDERS),
            recipes,
            time_limit: f32::from(kitchen.time_limit.max(1)),
        }
    }

    #[inline(never)]
    pub(super) fn write<V: Value>(&self, now: &Now, out: &mut [V]) {
        for (out, order) in out.chunks_exact_mut(self.recipes + 1).zip(&now.orders) {
            out.fill(V::ZERO);
            let Some(order) = order else {
                continue;
            };
            if let Some(recipe) = out[..self.recipes].get_mut(usize::from(order.recipe)) {
                *recipe = V::ONE;
            }
            out[self.recipes] = V::number(f32::from(order.left) / self.time_limit);
        }
    }
}
