//! Items as the original numbers them: bit 0 a plate, bit 1 cooked, then two bits for the count of each ingredient.
//!
//! Source: JaxMARL 0.2.0, `DynamicObject` in `overcooked_v2/common.py`.

/// A plate.
pub const PLATE: u32 = 1;
/// The bit of cooked items.
pub const COOKED: u32 = 2;
/// Ingredients of a full pot.
pub const FULL: u32 = 3;

/// One of an ingredient.
pub fn ingredient_bits(number: u8) -> u32 {
    4 << (2 * number)
}

/// The ingredients of a recipe.
pub fn recipe(ingredients: [u8; 3]) -> u32 {
    ingredients.into_iter().map(ingredient_bits).sum()
}

/// Returns a recipe as it is delivered.
pub fn plated_recipe(recipe: u32) -> u32 {
    recipe | PLATE | COOKED
}

/// Counts one ingredient of an item.
pub fn count_of(item: u32, number: u8) -> u32 {
    item >> (2 + 2 * number) & 3
}

/// Counts the ingredients of an item.
pub fn count(item: u32) -> u32 {
    (0..10).map(|number| count_of(item, number)).sum()
}

/// Checks whether an item is ingredients without a plate.
pub fn is_ingredient(item: u32) -> bool {
    item >> 2 != 0 && item & PLATE == 0
}

/// Checks whether an item can be in hands or on a counter, where there are this many ingredients.
pub fn is_carried(item: u32, ingredients: u8) -> bool {
    let is_known = item >> (2 + 2 * ingredients) == 0;
    is_known
        && match (item & PLATE != 0, item & COOKED != 0) {
            (true, true) => (1..=FULL).contains(&count(item)),
            (true, false) => count(item) == 0,
            (false, false) => count(item) <= 1,
            (false, true) => false,
        }
}

/// Checks whether an item can be in a pot, where there are this many ingredients.
pub fn is_in_pot(item: u32, ingredients: u8) -> bool {
    let is_known = item >> (2 + 2 * ingredients) == 0;
    let least = u32::from(item & COOKED != 0);
    is_known && item & PLATE == 0 && (least..=FULL).contains(&count(item))
}
