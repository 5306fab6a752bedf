//! The tables of a kitchen, as lanes read them.

use env_core::envs::overcooked_jaxmarl_v2::{OvercookedJaxmarlV2, Tile, items};

use crate::lanes::MOST_SEATS;

/// The most ingredients: an item is a byte.
const MOST_INGREDIENTS: u8 = 3;

/// Everything that a step of a block reads.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(super) seats: usize,
    pub(super) horizon: u32,
    pub(super) cols: u8,
    pub(super) floor: Vec<u8>,
    pub(super) counters: Vec<u8>,
    pub(super) pots: Vec<u8>,
    pub(super) buttons: Vec<u8>,
    pub(super) indicators: Vec<u8>,
    pub(super) goals: Vec<u8>,
    pub(super) plates: Vec<u8>,
    /// The cells of each ingredient, as an item.
    pub(super) piles: Vec<(u8, Vec<u8>)>,
    pub(super) recipes: Vec<u8>,
    /// True if an interact with empty hands starts a pot.
    pub(super) starts_by_hand: bool,
    /// True if a new recipe is drawn after a delivery.
    pub(super) draws: bool,
    /// Points for a wrong soup.
    pub(super) wrong: f32,
    /// The part of the shaped reward that is paid.
    pub(super) shaping: f32,
}

impl Plan {
    /// Makes the plan of a kitchen; `None` if lanes cannot play it.
    ///
    /// Lanes play one to four cooks in a closed kitchen of at most 255 cells with up to three ingredients.
    pub(super) fn new(env: &OvercookedJaxmarlV2) -> Option<Self> {
        let (kitchen, params) = (env.kitchen(), env.params());
        let (rows, cols) = (kitchen.rows, kitchen.cols);
        let cells = |tile: Tile| {
            let cells = kitchen.tiles.iter().enumerate();
            let cells = cells.filter(move |&(_, &other)| other == tile);
            cells.map(|(cell, _)| cell as u8).collect::<Vec<_>>()
        };
        let is_at_edge = |&cell: &u8| {
            let (row, col) = (usize::from(cell) / cols, usize::from(cell) % cols);
            row == 0 || col == 0 || row + 1 == rows || col + 1 == cols
        };
        if rows * cols > 255
            || kitchen.ingredients > MOST_INGREDIENTS
            || !(1..=MOST_SEATS).contains(&kitchen.starts.len())
            || cells(Tile::Floor).iter().any(is_at_edge)
        {
            return None;
        }
        let piles = 0..kitchen.ingredients;
        Some(Self {
            seats: kitchen.starts.len(),
            horizon: params.horizon,
            cols: cols as u8,
            floor: cells(Tile::Floor),
            counters: cells(Tile::Counter),
            pots: cells(Tile::Pot),
            buttons: cells(Tile::Button),
            indicators: cells(Tile::Indicator),
            goals: cells(Tile::Goal),
            plates: cells(Tile::Plates),
            piles: piles
                .map(|number| {
                    (
                        items::ingredient_bits(number) as u8,
                        cells(Tile::Pile(number)),
                    )
                })
                .collect(),
            recipes: kitchen.recipes.iter().map(|&recipe| recipe as u8).collect(),
            starts_by_hand: params.start_cooking_interaction,
            draws: params.sample_recipe_on_delivery,
            wrong: if params.negative_rewards { -20.0 } else { 0.0 },
            shaping: params.shaping,
        })
    }
}
