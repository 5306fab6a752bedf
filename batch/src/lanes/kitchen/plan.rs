//! The tables of a kitchen, as lanes read them.

use env_core::envs::overcooked_ai::ground::Tile;
use env_core::envs::overcooked_ai::recipes::Recipes;
use env_core::envs::overcooked_ai::{
    Dialect, OvercookedAi, RECIPE_NUMBERS, Recipe, number_recipe, recipe_of,
};

use crate::lanes::MOST_SEATS;

/// The longest time of a soup: a pot counts up to one step more, in a byte.
const LONGEST: u16 = 250;
/// Greater rewards are added up one by one.
const MOST_POINTS: f32 = 1e9;

/// The cooks who are paid for taking a dish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DishPay {
    /// Nobody.
    Never,
    /// As the pots were before anyone acted.
    Before,
    /// As the pots are.
    Now,
}

/// Everything that a step of a block reads. Recipes have the numbers of [`number_recipe`].
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(super) seats: usize,
    pub(super) horizon: u32,
    pub(super) cols: u8,
    pub(super) floor: Vec<u8>,
    pub(super) counters: Vec<u8>,
    pub(super) onions: Vec<u8>,
    pub(super) tomatoes: Vec<u8>,
    pub(super) dishes: Vec<u8>,
    pub(super) serving: Vec<u8>,
    pub(super) pots: Vec<u8>,
    /// Ingredients that fill a pot.
    pub(super) full: u8,
    /// The time of every recipe, or of each that can be cooked.
    pub(super) time: Result<u8, Vec<(u8, u8)>>,
    pub(super) points: [f32; RECIPE_NUMBERS],
    /// True if an interact with an empty hand starts a pot.
    pub(super) starts_by_hand: bool,
    /// True if the last ingredient starts a pot at once.
    pub(super) starts_full: bool,
    /// True if a pot with three ingredients starts at the end of a step.
    pub(super) starts_late: bool,
    /// True if a pot takes only one kind of ingredient.
    pub(super) is_pure: bool,
    pub(super) dish_pay: DishPay,
    /// Amounts for an ingredient in a pot, by the contents before and the ingredient (onion, tomato).
    pub(super) placement: [[f32; 2]; RECIPE_NUMBERS],
    pub(super) dish: f32,
    pub(super) soup: f32,
}

impl Plan {
    /// Makes the plan of a kitchen; `None` if lanes cannot play it.
    ///
    /// Lanes play one to four cooks on one ground of at most 255 cells.
    pub(super) fn new(env: &OvercookedAi) -> Option<Self> {
        let (kitchen, params) = (env.kitchen(), env.params());
        let (ground, recipes, rules) = (&kitchen.ground, &kitchen.recipes, params.rules);
        let seats = kitchen.start.cooks.len();
        let numbers = 0..RECIPE_NUMBERS as u8;
        let mut points = [0.0; RECIPE_NUMBERS];
        for number in numbers.clone() {
            points[usize::from(number)] = recipes.points(recipe_of(number));
        }
        let amounts = [
            kitchen.shaped.placement,
            kitchen.shaped.dish,
            kitchen.shaped.soup,
        ]
        .map(|amount| amount * params.shaping);
        let is_small = |amount: &f32| amount.abs() <= MOST_POINTS;
        if kitchen.generated
            || !(1..=MOST_SEATS).contains(&seats)
            || ground.cells() > 255
            || recipes.longest_cook() > LONGEST
            || !points.iter().chain(&amounts).all(is_small)
        {
            return None;
        }
        let cells = |tile| {
            ground
                .cells_of(tile)
                .map(|cell| cell as u8)
                .collect::<Vec<_>>()
        };
        let can_be = |&number: &u8| (1..=recipes.full).contains(&recipe_of(number).count());
        let times = numbers
            .filter(can_be)
            .map(|number| (number, recipes.time(recipe_of(number)) as u8));
        let times: Vec<_> = times.collect();
        let first = times.first().map_or(0, |&(_, time)| time);
        Some(Self {
            seats,
            horizon: params.horizon,
            cols: ground.cols as u8,
            floor: cells(Tile::Floor),
            counters: cells(Tile::Counter),
            onions: cells(Tile::Onions),
            tomatoes: cells(Tile::Tomatoes),
            dishes: cells(Tile::Dishes),
            serving: cells(Tile::Serving),
            pots: cells(Tile::Pot),
            full: recipes.full,
            time: match times.iter().all(|&(_, time)| time == first) {
                true => Ok(first),
                false => Err(times),
            },
            points,
            starts_by_hand: rules.starts_by_interact(),
            starts_full: rules.is_onions_only() || rules == Dialect::Neurips2019,
            starts_late: rules == Dialect::Old,
            is_pure: rules == Dialect::Neurips2019,
            dish_pay: match rules {
                Dialect::New | Dialect::Old | Dialect::Zsc if seats == 2 => DishPay::Before,
                Dialect::New | Dialect::Old | Dialect::Zsc | Dialect::Cec => DishPay::Never,
                Dialect::Neurips2019 => DishPay::Before,
                Dialect::Jaxmarl => DishPay::Now,
            },
            placement: find_placement(recipes, rules, amounts[0]),
            dish: amounts[1],
            soup: amounts[2],
        })
    }

    /// Checks whether a recipe is one that lanes can hold.
    pub(super) fn has_recipe(&self, recipe: Recipe) -> bool {
        recipe_of(number_recipe(recipe)) == recipe && recipe.count() <= self.full
    }
}

/// Finds what an ingredient in a pot is paid, by the contents before and the ingredient (onion, tomato).
fn find_placement(recipes: &Recipes, rules: Dialect, amount: f32) -> [[f32; 2]; RECIPE_NUMBERS] {
    let pays = |from: Recipe, to: Recipe| match rules {
        Dialect::Zsc => {
            recipes.best_value(from) == recipes.best_value(to) || recipes.best_value(to) > 0.0
        }
        _ => true,
    };
    std::array::from_fn(|number| {
        let from = recipe_of(number as u8);
        [[1, 0], [0, 1]].map(|[onions, tomatoes]| {
            let to = Recipe {
                onions: from.onions + onions,
                tomatoes: from.tomatoes + tomatoes,
            };
            match from.count() < recipes.full && pays(from, to) {
                true => amount,
                false => 0.0,
            }
        })
    })
}
