//! The kinds of a kitchen, in the order of CoGrid's numbers.
//!
//! Source: CoGrid 0.3.2, `core/objects/builtins.py`, `envs/overcooked/overcooked_grid_objects.py`, `v2_objects.py`.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::draw::Sprite;
use crate::grid::{Kind, Names, Recipe, RuleSet, Use};

/// Steps that a full pot cooks, and a full open pot.
///
/// Source: CoGrid 0.3.2, the recipes of `Pot` and of `OpenPot`.
pub const COOK_TIMES: [u8; 2] = [30, 20];
/// Ingredients of a soup.
pub const SOUP_SIZE: u8 = 3;
/// Steps that a button stays lit.
///
/// Source: CoGrid 0.3.2, `envs/overcooked/config.py:398-414`.
pub const BUTTON_TIME: u8 = 10;

/// Ingredients in the order of the alphabet.
const INGREDIENTS: [&str; 4] = ["broccoli", "mushroom", "onion", "tomato"];

/// The pictures of the kitchens.
pub fn sprites(v2: bool) -> &'static [Sprite] {
    if v2 {
        crate::art![
            "floor_light",
            "floor_dark",
            "shade_top",
            "shade_left",
            "counter",
            "counter_front",
            "wall",
            "key",
            "door_locked",
            "onion",
            "onion_crate",
            "onion_piece",
            "tomato",
            "tomato_crate",
            "tomato_piece",
            "broccoli",
            "broccoli_crate",
            "broccoli_piece",
            "mushroom",
            "mushroom_crate",
            "mushroom_piece",
            "plate",
            "plate_rack",
            "pot",
            "open_pot",
            "onion_broth",
            "tomato_broth",
            "mixed_broth",
            "steam",
            "ready",
            "onion_soup",
            "tomato_soup",
            "mixed_soup",
            "onion_soup_crate",
            "tomato_soup_crate",
            "delivery",
            "delivery_open",
            "recipe_indicator",
            "button",
            "button_lit",
            "order_card",
            "chef_*",
            "cook_*",
            "torso_*",
            "hat_*",
        ]
    } else {
        crate::art![
            "floor_light",
            "floor_dark",
            "shade_top",
            "shade_left",
            "counter",
            "counter_front",
            "wall",
            "key",
            "door_locked",
            "onion",
            "onion_crate",
            "onion_piece",
            "tomato",
            "tomato_crate",
            "tomato_piece",
            "plate",
            "plate_rack",
            "pot",
            "onion_broth",
            "tomato_broth",
            "steam",
            "ready",
            "onion_soup",
            "tomato_soup",
            "onion_soup_crate",
            "tomato_soup_crate",
            "delivery",
            "order_card",
            "chef_*",
            "cook_*",
            "torso_*",
            "hat_*",
        ]
    }
}

/// The kinds of one of the two environments.
pub fn kinds(v2: bool, rules: RuleSet, cook_time: Option<u8>) -> Vec<Kind> {
    let mut kinds = common(rules, v2, cook_time.unwrap_or(COOK_TIMES[0]));
    if v2 {
        kinds.extend(second(cook_time.unwrap_or(COOK_TIMES[1])));
    }
    // CoGrid numbers what every world has, then the rest by the alphabet.
    kinds.sort_by(|a, b| a.name.cmp(&b.name));
    everywhere().into_iter().chain(kinds).collect()
}

fn everywhere() -> Vec<Kind> {
    [
        Kind::new("free_space").walkable(),
        station("counter", 'C', Use::Surface(Names::Any)).words("a counter"),
        station("door", 'D', Use::Inert).sprite("door_locked"),
        Kind::new("floor").walkable(),
        Kind::new("key").symbol('K').usage(Use::Loose).sprite("key"),
        Kind::new("wall").symbol('#').wall().sprite("wall"),
    ]
    .into()
}

/// A thing that stands on a counter.
fn station(name: &str, symbol: char, usage: Use) -> Kind {
    Kind::new(name).symbol(symbol).usage(usage).on("counter")
}

fn loose(name: &str, symbol: Option<char>) -> Kind {
    let mut kind = Kind::new(name).usage(Use::Loose);
    kind.symbol = symbol;
    kind
}

fn common(rules: RuleSet, v2: bool, cook_time: u8) -> Vec<Kind> {
    // CoGrid: a delivery zone takes the two soups of the pot, whatever else can be cooked.
    let accepts = if v2 && rules == RuleSet::Corrected {
        soups().into_iter().map(|soup| soup.name).collect()
    } else {
        Vec::from(["onion_soup".to_string(), "tomato_soup".to_string()])
    };
    let recipe = |kind: &str| Recipe {
        ingredients: [kind.to_string(), kind.to_string(), kind.to_string()].into(),
        result: format!("{kind}_soup"),
        time: cook_time,
    };
    let mut kinds = Vec::from([
        station("delivery_zone", '@', Use::Sink(Names::Of(accepts)))
            .sprite("delivery")
            .words("the delivery window"),
        station("plate_stack", '=', Use::Source("plate".into()))
            .sprite("plate_rack")
            .words("the plates"),
        station("pot", 'U', pot(["onion", "tomato"].map(recipe).into())).sprite("pot"),
        loose("plate", Some('P')).sprite("plate"),
    ]);
    for (ingredient, symbol, stack, soup, soup_stack) in [
        ("onion", 'o', 'O', 'S', '1'),
        ("tomato", 't', 'T', '!', '2'),
    ] {
        kinds.extend(ingredient_and_stack(ingredient, symbol, stack));
        let name = format!("{ingredient}_soup");
        kinds.push(
            loose(&name, Some(soup))
                .sprite(&name)
                .inside(&format!("{ingredient}_broth"))
                .words(&format!("a plate of {ingredient} soup")),
        );
        let stack = format!("{name}_stack");
        kinds.push(
            station(&stack, soup_stack, Use::Source(name.clone()))
                .sprite(&format!("{name}_crate"))
                .words(&format!("the {ingredient} soups")),
        );
    }
    kinds
}

fn pot(recipes: Vec<Recipe>) -> Use {
    Use::Container {
        capacity: SOUP_SIZE,
        with: Names::of(&["plate"]),
        recipes,
    }
}

fn ingredient_and_stack(name: &str, symbol: char, stack: char) -> [Kind; 2] {
    let (one, plural) = match name {
        "onion" => ("an onion", "the onions"),
        "tomato" => ("a tomato", "the tomatoes"),
        "broccoli" => ("a head of broccoli", "the broccoli"),
        _ => ("a mushroom", "the mushrooms"),
    };
    [
        loose(name, Some(symbol))
            .sprite(name)
            .inside(&format!("{name}_piece"))
            .words(one),
        station(&format!("{name}_stack"), stack, Use::Source(name.into()))
            .sprite(&format!("{name}_crate"))
            .words(plural),
    ]
}

/// The kinds that only Overcooked V2 has.
fn second(cook_time: u8) -> Vec<Kind> {
    let soups = soups();
    let names: Vec<String> = soups.iter().map(|soup| soup.name.clone()).collect();
    let recipes = soups.iter().map(|soup| Recipe {
        ingredients: soup.ingredients.map(Into::into).into(),
        result: soup.name.clone(),
        time: cook_time,
    });
    let mut kinds = Vec::from([
        station("open_pot", 'u', pot(recipes.collect()))
            .sprite("open_pot")
            .words("an open pot"),
        station("open_delivery_zone", 'X', Use::Sink(Names::Of(names)))
            .sprite("delivery_open")
            .words("the delivery window"),
        station("recipe_indicator", 'R', Use::Inert)
            .sprite("recipe_indicator")
            .words("the recipe display"),
        station("button_indicator", 'L', Use::Switch { time: BUTTON_TIME })
            .sprite("button")
            .lit("button_lit")
            .words("the button"),
    ]);
    kinds.extend(ingredient_and_stack("broccoli", 'b', 'B'));
    kinds.extend(ingredient_and_stack("mushroom", 'm', 'M'));
    let mixed = soups.iter().filter(|soup| soup.name.starts_with("soup_"));
    kinds.extend(mixed.map(|soup| {
        let [a, b, c] = soup.ingredients;
        loose(&soup.name, None)
            .sprite("mixed_soup")
            .inside("mixed_broth")
            .words(&format!("a plate of soup of {a}, {b} and {c}"))
    }));
    kinds
}

/// A soup of an open pot.
struct Soup {
    name: String,
    ingredients: [&'static str; 3],
}

/// Every soup of an open pot: any three ingredients.
fn soups() -> Vec<Soup> {
    let mut soups = Vec::new();
    for (a, first) in INGREDIENTS.into_iter().enumerate() {
        for (b, second) in INGREDIENTS.into_iter().enumerate().skip(a) {
            for third in INGREDIENTS.into_iter().skip(b) {
                let name = match (first, second, third) {
                    ("onion", "onion", "onion") => "onion_soup".into(),
                    ("tomato", "tomato", "tomato") => "tomato_soup".into(),
                    _ => format!("soup_{first}_{second}_{third}"),
                };
                let ingredients = [first, second, third];
                soups.push(Soup { name, ingredients });
            }
        }
    }
    soups
}
