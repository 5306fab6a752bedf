//! The values of maps by what is in a cell, for batches that write many maps together.

use alloc::vec;
use alloc::vec::Vec;

use super::super::ground::Tile;
use super::super::kitchen::Kitchen;
use super::super::params::Encoding;
use super::super::state::{Item, Lying, Pot, Recipe, State};
use super::{Observer, URGENT};
use crate::value::Forms;

/// Channels of the cooks; those of tiles and things follow.
pub const COOK_CHANNELS: usize = 10;
/// The numbers of items: nothing, onion, tomato, dish, then the soups.
pub const ITEM_NUMBERS: usize = 4 + RECIPE_NUMBERS;
/// The numbers of recipes.
pub const RECIPE_NUMBERS: usize = 16;
/// The looks of a pot: for each recipe idle, cooking and ready, and one that is left out.
pub const POT_LOOKS: usize = 3 * RECIPE_NUMBERS + 1;

/// The number of a recipe of up to three onions and three tomatoes.
pub fn number_recipe(recipe: Recipe) -> u8 {
    4 * (recipe.onions & 3) + (recipe.tomatoes & 3)
}

/// The recipe with a number.
pub fn recipe_of(number: u8) -> Recipe {
    Recipe {
        onions: (number / 4) & 3,
        tomatoes: number & 3,
    }
}

/// The number of an item.
pub fn number_item(item: Item) -> u8 {
    match item {
        Item::Nothing => 0,
        Item::Onion => 1,
        Item::Tomato => 2,
        Item::Dish => 3,
        Item::Soup(recipe) => 4 + number_recipe(recipe),
    }
}

/// The item with a number.
pub fn item_of(number: u8) -> Item {
    match number {
        0 => Item::Nothing,
        1 => Item::Onion,
        2 => Item::Tomato,
        3 => Item::Dish,
        soup => Item::Soup(recipe_of(soup - 4)),
    }
}

/// The values of the map of a seat. Rows are those of one cell without the channels of the cooks.
#[derive(Clone, Debug)]
pub struct MapTables {
    /// Number of values.
    pub len: usize,
    /// Channels of a cell.
    pub channels: usize,
    /// The place of the first channel of each cell of the ground.
    pub starts: Vec<usize>,
    /// 1, or what stands for it.
    pub factor: i32,
    /// The channel of the number of a pot that cooks.
    pub number_channel: usize,
    /// True if that number is the steps that a pot has cooked, false if it is those that are left.
    pub counts_up: bool,
    /// True if things in hands replace things of their kind that lie around.
    pub hands_replace: bool,
    /// The end is near when fewer steps than these are left.
    pub urgent: u32,
    /// The values before the end is near, and those after.
    pub sides: [MapSide; 2],
}

/// The values before the end is near, or after.
#[derive(Clone, Debug, Default)]
pub struct MapSide {
    /// Those of the ground: the whole map.
    pub ground: Forms,
    /// The row of the floor, by what a cook there holds.
    pub floor: Forms,
    /// The row of a counter, by what lies there.
    pub counter: Forms,
    /// The row of a pot, by its look; the number of steps is 0.
    pub pot: Forms,
}

impl Observer {
    /// Finds the values of maps; `None` if it shows something else, or each episode has its own ground.
    pub(in super::super) fn find_map_tables(
        &self,
        kitchen: &Kitchen,
        horizon: u32,
    ) -> Option<MapTables> {
        let [part] = &self.parts[..] else {
            return None;
        };
        let map = part.map.as_ref()?;
        if kitchen.generated {
            return None;
        }
        let is_2019 = matches!(
            part.encoding,
            Encoding::Neurips2019 | Encoding::Neurips2019X255
        );
        // With more than two cooks, some see nobody else there.
        if is_2019 && kitchen.start.cooks.len() > 2 {
            return None;
        }
        // Whatever steps change has a place in the map.
        let changes = |tile: &Tile| matches!(tile, Tile::Floor | Tile::Counter | Tile::Pot);
        let mut tiles = kitchen.ground.tiles().iter().zip(&map.starts);
        if tiles.any(|(tile, &start)| changes(tile) && start >= map.len()) {
            return None;
        }
        let number_channel = if is_2019 { 16 } else { 20 };
        // A row of what the first cook sees.
        let row = |state: &State, cell: u16| {
            let mut out = vec![0.0; map.len()];
            self.observe(kitchen, &kitchen.ground, state, 0, &mut out);
            let start = map.starts[usize::from(cell)];
            out[start + COOK_CHANNELS..start + map.channels].to_vec()
        };
        let side = |urgent: bool| {
            let bare = bare(kitchen, if urgent { horizon } else { 0 });
            let mut ground = vec![0.0; map.len()];
            map.write_ground(urgent, &mut ground);
            MapSide {
                floor: floor_rows(bare.clone(), row),
                counter: counter_rows(kitchen, bare.clone(), row),
                pot: pot_rows(kitchen, bare, number_channel, row),
                ground: Forms::of_floats(ground),
            }
        };
        Some(MapTables {
            len: map.len(),
            channels: map.channels,
            starts: map.starts.clone(),
            factor: map.factor,
            number_channel,
            counts_up: is_2019,
            hands_replace: is_2019,
            urgent: URGENT,
            sides: [side(false), side(true)],
        })
    }
}

/// The kitchen without things, after some steps.
fn bare(kitchen: &Kitchen, steps: u32) -> State {
    let mut state = kitchen.start.clone();
    state.lying.clear();
    state.pots.fill(Pot::default());
    let cooks = state.cooks.iter_mut();
    cooks.for_each(|cook| cook.held = Item::Nothing);
    State { steps, ..state }
}

fn floor_rows(mut state: State, row: impl Fn(&State, u16) -> Vec<f32>) -> Forms {
    let cell = state.cooks[0].cell;
    let rows = (0..ITEM_NUMBERS as u8).flat_map(|item| {
        state.cooks[0].held = item_of(item);
        row(&state, cell)
    });
    Forms::of_floats(rows.collect())
}

fn counter_rows(
    kitchen: &Kitchen,
    mut state: State,
    row: impl Fn(&State, u16) -> Vec<f32>,
) -> Forms {
    let Some(cell) = kitchen.ground.cells_of(Tile::Counter).next() else {
        return Forms::default();
    };
    let rows = (0..ITEM_NUMBERS as u8).flat_map(|item| {
        let item = item_of(item);
        state.lying.clear();
        if item != Item::Nothing {
            state.lying.push(Lying { cell, item });
        }
        row(&state, cell)
    });
    Forms::of_floats(rows.collect())
}

fn pot_rows(
    kitchen: &Kitchen,
    mut state: State,
    number_channel: usize,
    row: impl Fn(&State, u16) -> Vec<f32>,
) -> Forms {
    let Some(&cell) = kitchen.ground.pots.first() else {
        return Forms::default();
    };
    let mut rows = Vec::new();
    for look in 0..POT_LOOKS - 1 {
        let contents = recipe_of((look % RECIPE_NUMBERS) as u8);
        let time = kitchen.recipes.time(contents);
        let clock = [0, 1, time + 1][look / RECIPE_NUMBERS];
        state.pots[0] = Pot { contents, clock };
        let mut here = row(&state, cell);
        here[number_channel - COOK_CHANNELS] = 0.0;
        rows.append(&mut here);
    }
    // Left out while a soup is in hands.
    state.cooks[0].held = Item::Soup(Recipe::default());
    rows.append(&mut row(&state, cell));
    Forms::of_floats(rows)
}
