//! What a cook observes: the 892 values of CoGrid's Overcooked, in its order.
//!
//! Source: CoGrid 0.3.2, `core/features.py`, `envs/overcooked/features.py`.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::Overcooked;
use super::kitchen::{COLS, Ground, Kitchen, SEATS};
use super::state::{Chef, Item, Pot, SOUP_ONIONS, State};
use crate::contract::FieldSpec;

/// What one cook contributes: name and length of each feature.
const PARTS: [(&str, u32); 8] = [
    ("agent_dir", 4),
    ("overcooked_inventory", 5),
    ("next_to_counter", 4),
    ("next_to_pot", 16),
    ("ordered_pot_features", 24),
    ("dist_to_other_players", 2),
    ("agent_position", 2),
    ("can_move_direction", 4),
];
/// Values of one cook.
const CHEF_LEN: usize = 61;
/// Where the masks begin.
const MASKS: usize = SEATS * CHEF_LEN;
/// Rows, columns and size of a mask.
const MASK: [usize; 3] = [7, 11, 77];
/// CoGrid's type ids of the masks, in order: counter, delivery_zone, onion, onion_soup, onion_stack, plate,
/// plate_stack, tomato, tomato_soup, tomato_stack.
const TYPE_IDS: [u8; 10] = [2, 7, 8, 9, 11, 12, 13, 15, 16, 18];
/// Length of an observation.
const LEN: usize = MASKS + TYPE_IDS.len() * MASK[2];
/// Directions in the order of the features: right, left, down, up, as steps between cells.
const AROUND: [i8; 4] = [1, -1, COLS as i8, -(COLS as i8)];

/// The fields of an observation.
pub(super) fn fields() -> Vec<FieldSpec> {
    let field = |name: String, shape| FieldSpec { name, shape };
    let own = PARTS
        .iter()
        .map(|&(name, len)| field(name.into(), vec![len]));
    let other = PARTS
        .iter()
        .map(|&(name, len)| field(format!("other.{name}"), vec![len]));
    let masks = field(
        "object_type_masks".into(),
        vec![TYPE_IDS.len() as u32, MASK[0] as u32, MASK[1] as u32],
    );
    own.chain(other).chain([masks]).collect()
}

/// Index of a mask and a cell in the observation.
fn mask_index(mask: usize, cell: usize) -> usize {
    MASKS + mask * MASK[2] + cell / COLS * MASK[1] + cell % COLS
}

/// The observation with nothing but the fixed objects of a kitchen.
pub(super) fn fixed(kitchen: &Kitchen) -> Vec<f32> {
    let mut out = vec![0.0; LEN];
    for (cell, ground) in kitchen.ground.iter().enumerate() {
        let mask = match ground {
            Ground::Counter => 0,
            Ground::DeliveryZone => 1,
            Ground::OnionStack => 4,
            Ground::PlateStack => 6,
            Ground::Floor | Ground::Pot | Ground::Void => continue,
        };
        out[mask_index(mask, cell)] = 1.0;
    }
    out
}

/// Writes the observation of a seat; a seat that does not exist sees nothing.
pub(super) fn observe(env: &Overcooked, state: &State, seat: usize, out: &mut [f32]) {
    if seat >= SEATS || out.len() < LEN {
        out.fill(0.0);
        return;
    }
    out[..LEN].copy_from_slice(&env.fixed);
    let (own, rest) = out.split_at_mut(CHEF_LEN);
    write_chef(env, state, seat, own);
    write_chef(env, state, 1 - seat, &mut rest[..CHEF_LEN]);
    write_masks(env, state, out);
}

fn write_masks(env: &Overcooked, state: &State, out: &mut [f32]) {
    for (cell, &item) in state
        .items
        .as_flattened()
        .iter()
        .enumerate()
        .filter(|(_, item)| **item != Item::Empty)
    {
        let mask = match item {
            Item::Onion => 2,
            Item::Soup => 3,
            Item::Plate | Item::Empty => 5,
        };
        out[mask_index(mask, cell)] = 1.0;
    }
    for (pot, &cell) in pots(env, state) {
        // CoGrid: the masks compare the number that it shows of a pot with type ids, so some times look like items.
        if let Some(mask) = TYPE_IDS.iter().position(|&id| id == pot.shown) {
            out[mask_index(mask, usize::from(cell))] = 1.0;
        }
    }
}

/// The pots of the kitchen with their cells.
fn pots<'a>(env: &'a Overcooked, state: &'a State) -> impl Iterator<Item = (&'a Pot, &'a u8)> {
    state
        .pots
        .iter()
        .zip(&env.kitchen.pot_cells)
        .take(usize::from(env.kitchen.pots))
}

/// 0 empty, 1 partly filled, 2 cooking, 3 ready.
fn stage(pot: &Pot) -> usize {
    match pot.onions {
        0 => 0,
        SOUP_ONIONS if pot.timer == 0 => 3,
        SOUP_ONIONS => 2,
        _ => 1,
    }
}

/// Writes the values of one cook over zeros.
fn write_chef(env: &Overcooked, state: &State, seat: usize, out: &mut [f32]) {
    let chef = &state.chefs[seat];
    out[chef.facing as usize] = 1.0;
    match chef.held {
        Item::Empty => {}
        Item::Onion => out[4] = 1.0,
        Item::Soup => out[5] = 1.0,
        Item::Plate => out[6] = 1.0,
    }
    for (side, step) in AROUND.into_iter().enumerate() {
        let cell = chef.cell.wrapping_add_signed(step);
        match env.kitchen.ground[usize::from(cell)] {
            Ground::Counter => out[9 + side] = 1.0,
            Ground::Pot => out[13 + 4 * stage(state.pot(&env.kitchen, cell)) + side] = 1.0,
            Ground::Floor if state.item(cell) == Item::Empty => out[57 + side] = 1.0,
            _ => {}
        }
    }
    for ((pot, &cell), values) in pots(env, state).zip(out[29..53].chunks_exact_mut(12)) {
        values.copy_from_slice(&pot_values(chef, pot, cell));
    }
    let ([row, col], [other_row, other_col]) =
        (place(chef.cell), place(state.chefs[1 - seat].cell));
    out[53..57].copy_from_slice(&[row - other_row, col - other_col, row, col]);
}

/// Row and column of a cell.
fn place(cell: u8) -> [f32; 2] {
    [f32::from(cell / COLS as u8), f32::from(cell % COLS as u8)]
}

/// What a cook knows of a pot: here, ready, empty, cooking, partly filled, onions, tomatoes, steps left or -1,
/// way to it, place of it.
fn pot_values(chef: &Chef, pot: &Pot, cell: u8) -> [f32; 12] {
    let ([row, col], [pot_row, pot_col]) = (place(chef.cell), place(cell));
    let stage = stage(pot);
    let is = |wanted: usize| f32::from(u8::from(stage == wanted));
    let left = if stage == 2 {
        f32::from(pot.timer)
    } else {
        -1.0
    };
    let onions = f32::from(pot.onions);
    [
        1.0,
        is(3),
        is(0),
        is(2),
        is(1),
        onions,
        0.0,
        left,
        row - pot_row,
        col - pot_col,
        pot_row,
        pot_col,
    ]
}

#[cfg(test)]
mod tests {
    use super::super::kitchen::CELLS;
    use super::*;

    #[test]
    fn the_fields_add_up() {
        assert_eq!(
            PARTS.iter().map(|&(_, len)| len as usize).sum::<usize>(),
            CHEF_LEN
        );
        assert_eq!(
            fields()
                .iter()
                .map(|f| f.shape.iter().product::<u32>() as usize)
                .sum::<usize>(),
            LEN
        );
        assert_eq!(LEN, 892);
        assert!(CELLS / COLS <= MASK[0] && COLS <= MASK[1]);
    }
}
