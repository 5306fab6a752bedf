//! The picture of a kitchen, with the art of the other kitchens.

use super::OvercookedAi;
use super::ground::{KitchenGround, Tile};
use super::state::{Cook, Item, Pot, Recipe, State};
use crate::art::{self, AgentArt};
use crate::draw::{DrawList, Shape, Sprite};
use crate::grid::draw::{draw_label, draw_ring};

const BACKGROUND: u32 = 0x5c76_86ff;

/// The pictures.
pub(super) const SPRITES: &[Sprite] = crate::art![
    "floor_light",
    "floor_dark",
    "shade_top",
    "shade_left",
    "counter",
    "counter_front",
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
    "mixed_broth",
    "steam",
    "ready",
    "onion_soup",
    "tomato_soup",
    "mixed_soup",
    "delivery",
    "chef_*",
    "cook_*",
    "torso_*",
    "hat_*",
];
const COOKS: AgentArt = AgentArt::new(SPRITES, art::FigureKind::Cook);
/// Where things float in a pot: the middle of each, cells from its corner.
const PIECES: [[f32; 2]; 3] = [[0.385, 0.37], [0.615, 0.35], [0.5, 0.44]];

const fn sprite(name: &str) -> Shape {
    Shape::Sprite(art::index(SPRITES, name))
}

/// The picture of a thing.
fn shape(item: Item) -> Option<Shape> {
    Some(match item {
        Item::Nothing => return None,
        Item::Onion => sprite("onion"),
        Item::Tomato => sprite("tomato"),
        Item::Dish => sprite("plate"),
        Item::Soup(Recipe { tomatoes: 0, .. }) => sprite("onion_soup"),
        Item::Soup(Recipe { onions: 0, .. }) => sprite("tomato_soup"),
        Item::Soup(_) => sprite("mixed_soup"),
    })
}

/// Draws a state.
pub(super) fn draw(env: &OvercookedAi, state: &State, out: &mut DrawList) {
    let ground = env.ground(state);
    let margin = env.kitchen().margin as f32;
    let corner = |cell: u16| ground.column_and_row(cell).map(|at| at as f32 - margin);
    let side = |cells: usize| cells as f32 - 2.0 * margin;
    out.begin(side(ground.cols), side(ground.rows), BACKGROUND);
    let [width, height] = [out.width, out.height];
    for cell in 0..ground.cells() as u16 {
        let [x, y] = corner(cell);
        if (0.0..width).contains(&x) && (0.0..height).contains(&y) {
            tile(&ground, cell, [x, y], out);
        }
    }
    for (&cell, pot) in ground.pots.iter().zip(&state.pots) {
        contents(env, *pot, corner(cell), out);
    }
    for lying in &state.lying {
        if let Some(shape) = shape(lying.item) {
            let [x, y] = corner(lying.cell);
            out.push(0, [x + 0.19, y + 0.05, 0.62, 0.62], shape);
        }
    }
    let appearance = &env.params().appearance;
    let mut seats: alloc::vec::Vec<usize> = (0..state.cooks.len()).collect();
    seats.sort_by_key(|&seat| state.cooks[seat].cell);
    for seat in seats {
        let Cook { cell, facing, held } = state.cooks[seat];
        // The art counts directions from the right, clockwise.
        let way = [3, 1, 0, 2][usize::from(facing) % 4];
        COOKS.draw_as(out, seat, appearance.look_of(seat), way, corner(cell));
        if let Some(shape) = shape(held) {
            AgentArt::hold(out, seat, way, corner(cell), shape);
        }
    }
    for (seat, cook) in state.cooks.iter().enumerate() {
        if let Some(name) = appearance.name(seat) {
            draw_label(seat, name, corner(cook.cell), out);
        }
    }
}

/// Draws the thing in a cell.
fn tile(ground: &KitchenGround, cell: u16, [x, y]: [f32; 2], out: &mut DrawList) {
    let whole = [x, y, 1.0, 1.0];
    let is_raised = |way: u8| {
        let beside = ground.cell_beside(cell, way);
        beside.is_none_or(|cell| ground.tile(cell) != Tile::Floor)
    };
    if ground.tile(cell) == Tile::Floor {
        let [column, row] = ground.column_and_row(cell);
        let floor = [sprite("floor_dark"), sprite("floor_light")];
        let [dark, light] = floor;
        out.push(0, whole, if (row + column) % 2 == 0 { dark } else { light });
        for (way, shade) in [(0, sprite("shade_top")), (3, sprite("shade_left"))] {
            if is_raised(way) {
                out.push(0, whole, shade);
            }
        }
        return;
    }
    out.push(0, whole, sprite("counter"));
    if ground.cell_beside(cell, 1).is_none() || !is_raised(1) {
        out.push(0, whole, sprite("counter_front"));
    }
    let thing = match ground.tile(cell) {
        Tile::Floor | Tile::Counter | Tile::Wall => return,
        Tile::Pot => "pot",
        Tile::Onions => "onion_crate",
        Tile::Tomatoes => "tomato_crate",
        Tile::Dishes => "plate_rack",
        Tile::Serving => "delivery",
    };
    out.push(0, whole, sprite(thing));
}

/// Draws the contents of a pot.
fn contents(env: &OvercookedAi, pot: Pot, [x, y]: [f32; 2], out: &mut DrawList) {
    let Recipe { onions, tomatoes } = pot.contents;
    let time = env.kitchen().recipes.time(pot.contents);
    if pot.clock > 0 {
        let broth = match (onions, tomatoes) {
            (_, 0) => "onion_broth",
            (0, _) => "tomato_broth",
            _ => "mixed_broth",
        };
        out.push(0, [x, y, 1.0, 1.0], sprite(broth));
    }
    let onions = core::iter::repeat_n("onion_piece", usize::from(onions));
    let pieces = onions.chain(core::iter::repeat_n("tomato_piece", usize::from(tomatoes)));
    for (piece, [dx, dy]) in pieces.zip(PIECES) {
        out.push(0, [x + dx - 0.1, y + dy - 0.1, 0.2, 0.2], sprite(piece));
    }
    match pot.tick() {
        Some(tick) if tick >= time => {
            out.push(0, [x + 0.2, y, 0.6, 0.6], sprite("steam"));
            out.push(0, [x + 0.68, y + 0.02, 0.3, 0.3], sprite("ready"));
        }
        Some(tick) => draw_ring(f32::from(tick) / f32::from(time.max(1)), [x, y], out),
        None => {}
    }
}
