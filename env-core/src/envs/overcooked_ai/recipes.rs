//! Recipes: the worth of a soup, its cooking time, and the soups that a pot can still become.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};

use super::params::Dialect;
use super::state::Recipe;

/// The most ingredients of a soup.
pub const MOST_INGREDIENTS: u8 = 3;
/// Side of the tables: each ingredient from 0 to the most.
const SIDE: usize = MOST_INGREDIENTS as usize + 1;
/// The longest time that a soup may cook, steps.
pub const LONGEST_TIME: u16 = 10_000;
/// Points and steps of a soup if the layout says nothing.
const PLAIN: f64 = 20.0;

/// A fault of a layout: the key, and a sentence.
pub(super) type Fault = (String, String);

fn fault<T>(key: &str, what: impl Into<String>) -> Result<T, Fault> {
    Err((key.into(), what.into()))
}

/// The points and the times of all recipes.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipes {
    points: [f32; SIDE * SIDE],
    times: [u16; SIDE * SIDE],
    best: [f32; SIDE * SIDE],
    /// The number of ingredients that fill a pot.
    pub full: u8,
}

fn at(recipe: Recipe) -> usize {
    let [onions, tomatoes] = [recipe.onions, recipe.tomatoes].map(|n| n.min(MOST_INGREDIENTS));
    usize::from(onions) * SIDE + usize::from(tomatoes)
}

/// The recipes of at most this many ingredients.
pub(super) fn all_recipes(full: u8) -> impl Iterator<Item = Recipe> {
    let pairs = (0..=full).flat_map(move |onions| (0..=full - onions).map(move |t| (onions, t)));
    let recipes = pairs.map(|(onions, tomatoes)| Recipe { onions, tomatoes });
    recipes.filter(|recipe| recipe.count() > 0)
}

impl Recipes {
    /// Points for the delivery of a soup.
    pub fn points(&self, recipe: Recipe) -> f32 {
        self.points[at(recipe)]
    }

    /// The least and the most points for a delivery.
    pub fn points_range(&self) -> [f32; 2] {
        self.points.iter().fold([0.0; 2], |[least, most], &points| {
            [
                if points < least { points } else { least },
                if points > most { points } else { most },
            ]
        })
    }

    /// Steps that a soup cooks.
    pub fn time(&self, recipe: Recipe) -> u16 {
        self.times[at(recipe)]
    }

    /// Points for the best soup that can still be made of these ingredients.
    pub fn best_value(&self, recipe: Recipe) -> f32 {
        self.best[at(recipe)]
    }

    /// The longest time that any soup cooks.
    pub fn longest_cook(&self) -> u16 {
        all_recipes(self.full)
            .map(|recipe| self.time(recipe))
            .max()
            .unwrap_or(0)
    }

    /// Three onions in twenty steps for twenty points, and nothing else.
    ///
    /// Source: JaxMARL 0.2.0, `overcooked.py`.
    pub fn onions_only() -> Self {
        let soup = Recipe {
            onions: MOST_INGREDIENTS,
            tomatoes: 0,
        };
        let worth = |recipe| if recipe == soup { 20.0 } else { 0.0 };
        Self::of(MOST_INGREDIENTS, 0.0, worth, |_| 20)
    }

    /// The recipes of 2019: `num_items_for_soup` of one kind.
    ///
    /// Source: overcooked_ai at the tag `neurips2019`, `overcooked_mdp.py`.
    pub(super) fn of_2019(layout: &Map<String, Value>) -> Result<Self, Fault> {
        if layout
            .get("start_order_list")
            .is_some_and(|list| !list.is_null())
        {
            return fault(
                "start_order_list",
                "must be None: orders that are used up are not played",
            );
        }
        let full =
            read_number(layout, "num_items_for_soup")?.unwrap_or(f64::from(MOST_INGREDIENTS));
        if ![1.0, 2.0, 3.0].contains(&full) {
            return fault(
                "num_items_for_soup",
                format!("must be 1 to {MOST_INGREDIENTS}"),
            );
        }
        let worth = read_number(layout, "delivery_reward")?.unwrap_or(PLAIN) as f32;
        let time = whole_time(
            "cook_time",
            read_number(layout, "cook_time")?.unwrap_or(PLAIN),
        )?;
        let full = full as u8;
        let is_soup = |r: Recipe| r.count() == full && (r.onions == 0 || r.tomatoes == 0);
        let points = |recipe| if is_soup(recipe) { worth } else { 0.0 };
        Ok(Self::of(full, 0.0, points, |_| time))
    }

    /// The recipes of a layout with orders.
    ///
    /// Source: `overcooked-ai` 1.1.0, `Recipe` and `get_recipe_value`.
    pub(super) fn of_orders(
        rules: Dialect,
        layout: &Map<String, Value>,
        start: Option<&Value>,
    ) -> Result<Self, Fault> {
        check_keys(layout)?;
        let full =
            read_number(layout, "max_num_ingredients")?.unwrap_or(f64::from(MOST_INGREDIENTS));
        if ![1.0, 2.0, 3.0].contains(&full) {
            return fault(
                "max_num_ingredients",
                format!("must be 1 to {MOST_INGREDIENTS}"),
            );
        }
        let full = full as u8;
        let listed = orders(layout.get("start_all_orders"), "start_all_orders", full)?;
        let in_force = |key: &str, list: &str| match start {
            Some(start) => orders(start.get(key), list, full),
            None => orders(layout.get(list), list, full),
        };
        let mut ordered = in_force("all_orders", "start_all_orders")?;
        let bonus = in_force("bonus_orders", "start_bonus_orders")?;
        if ordered.is_empty() {
            ordered = all_recipes(full).collect();
        }
        if let Some(extra) = bonus.iter().find(|bonus| !ordered.contains(bonus)) {
            let what = format!("{extra:?} is not among start_all_orders");
            return fault("start_bonus_orders", what);
        }
        let demanded = if listed.is_empty() { &ordered } else { &listed };
        if rules == Dialect::Old && demanded.iter().any(|order| order.count() != 3) {
            return fault(
                "start_all_orders",
                "the rules `overcooked-ai-old` allow orders of three ingredients only",
            );
        }
        let factor = read_number(layout, "order_bonus")?.unwrap_or(2.0);
        let worth = Valued::read(
            layout,
            &listed,
            [
                "delivery_reward",
                "recipe_values",
                "onion_value",
                "tomato_value",
            ],
        )?;
        let time = Valued::read(
            layout,
            &listed,
            ["cook_time", "recipe_times", "onion_time", "tomato_time"],
        )?;
        for recipe in all_recipes(full) {
            whole_time("cook_time", time.of(recipe))?;
        }
        let points = |recipe: Recipe| {
            if !ordered.contains(&recipe) {
                return rules.unordered();
            }
            let bonus = if bonus.contains(&recipe) { factor } else { 1.0 };
            // A reward has to be finite.
            (bonus * worth.of(recipe)).clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
        };
        Ok(Self::of(full, rules.unordered(), points, |recipe| {
            time.of(recipe) as u16
        }))
    }

    fn of(
        full: u8,
        none: f32,
        points: impl Fn(Recipe) -> f32,
        time: impl Fn(Recipe) -> u16,
    ) -> Self {
        let mut recipes = Self {
            points: [0.0; SIDE * SIDE],
            times: [0; SIDE * SIDE],
            best: [none; SIDE * SIDE],
            full,
        };
        for recipe in all_recipes(full) {
            recipes.points[at(recipe)] = points(recipe);
            recipes.times[at(recipe)] = time(recipe);
        }
        for from in all_recipes(full).chain([Recipe::default()]) {
            let mut best = 0.0;
            for to in all_recipes(full) {
                let reaches = to.onions >= from.onions && to.tomatoes >= from.tomatoes;
                if reaches && recipes.points(to) > best {
                    best = recipes.points(to);
                }
            }
            let own = match from.count() {
                0 => none,
                _ => recipes.points(from),
            };
            recipes.best[at(from)] = if best > 0.0 { best } else { own };
        }
        recipes
    }
}

/// Points or steps by recipe, as a layout says them: for all, by list, or by ingredient.
struct Valued {
    all: Option<f64>,
    listed: Vec<(Recipe, f64)>,
    single: Option<[f64; 2]>,
}

impl Valued {
    fn read(
        layout: &Map<String, Value>,
        orders: &[Recipe],
        [all, list, onion, tomato]: [&str; 4],
    ) -> Result<Self, Fault> {
        let mut listed = Vec::new();
        if let Some(values) = layout.get(list) {
            let values = values.as_array().map_or(&[][..], Vec::as_slice);
            if orders.is_empty() || values.len() != orders.len() {
                return fault(
                    list,
                    "must have one number for each of start_all_orders, which must not be empty",
                );
            }
            for (&order, value) in orders.iter().zip(values) {
                match value.as_f64() {
                    Some(value) => listed.push((order, value)),
                    None => return fault(list, "must have numbers only"),
                }
            }
        }
        let [onions, tomatoes] = [read_number(layout, onion)?, read_number(layout, tomato)?];
        Ok(Self {
            // The originals read 0 as unset.
            all: read_number(layout, all)?.filter(|&value| value != 0.0),
            listed,
            single: onions
                .zip(tomatoes)
                .map(|(onion, tomato)| [onion, tomato])
                .filter(|single| !single.contains(&0.0)),
        })
    }

    fn of(&self, recipe: Recipe) -> f64 {
        let listed = || self.listed.iter().find(|(order, _)| *order == recipe);
        if let Some(value) = self.all.or_else(|| Some(listed()?.1)) {
            return value;
        }
        self.single.map_or(PLAIN, |[onion, tomato]| {
            onion * f64::from(recipe.onions) + tomato * f64::from(recipe.tomatoes)
        })
    }
}

/// Pairs of keys of which a layout may have one only, and pairs of which it must have both.
fn check_keys(layout: &Map<String, Value>) -> Result<(), Fault> {
    let has = |key: &str| layout.contains_key(key);
    for (one, other) in [
        ("tomato_time", "onion_time"),
        ("tomato_value", "onion_value"),
    ] {
        if has(one) != has(other) {
            return fault(one, format!("`{one}` and `{other}` belong together"));
        }
    }
    for (one, other) in [
        ("tomato_value", "delivery_reward"),
        ("tomato_value", "recipe_values"),
        ("recipe_values", "delivery_reward"),
        ("tomato_time", "cook_time"),
        ("tomato_time", "recipe_times"),
        ("recipe_times", "cook_time"),
    ] {
        if has(one) && has(other) {
            return fault(
                other,
                format!("`{one}` and `{other}` exclude each other: leave one out"),
            );
        }
    }
    Ok(())
}

/// A number of a layout; `None` if it is absent or None.
pub(super) fn read_number(layout: &Map<String, Value>, key: &str) -> Result<Option<f64>, Fault> {
    match layout.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_f64() {
            Some(number) => Ok(Some(number)),
            None => fault(key, "must be a number"),
        },
    }
}

fn whole_time(key: &str, time: f64) -> Result<u16, Fault> {
    let whole = time as u16;
    if f64::from(whole) != time || whole > LONGEST_TIME {
        return fault(
            key,
            format!("every soup must cook a whole number of steps, 0 to {LONGEST_TIME}"),
        );
    }
    Ok(whole)
}

/// Counts ingredients by name.
pub(super) fn count<'a>(names: impl Iterator<Item = &'a str>) -> Option<Recipe> {
    let mut recipe = Recipe::default();
    for name in names {
        match name {
            "onion" => recipe.onions += 1,
            "tomato" => recipe.tomatoes += 1,
            _ => return None,
        }
    }
    Some(recipe)
}

fn orders(list: Option<&Value>, key: &str, full: u8) -> Result<Vec<Recipe>, Fault> {
    let mut orders = Vec::new();
    let list = match list {
        None | Some(Value::Null) => return Ok(orders),
        Some(Value::Array(list)) => list,
        Some(_) => return fault(key, "must be a list"),
    };
    for order in list {
        let names = order.get("ingredients").and_then(Value::as_array);
        let recipe = names
            .filter(|names| names.len() <= usize::from(MOST_INGREDIENTS))
            .and_then(|names| count(names.iter().map(|name| name.as_str().unwrap_or_default())))
            .filter(|recipe| (1..=full).contains(&recipe.count()));
        let Some(recipe) = recipe else {
            let what = format!(
                "`{}` is no order: write {{\"ingredients\": […]}} with 1 to {full} of `onion` and `tomato`",
                order
            );
            return fault(key, what);
        };
        if orders.contains(&recipe) {
            return fault(key, "has the same order twice");
        }
        orders.push(recipe);
    }
    Ok(orders)
}
