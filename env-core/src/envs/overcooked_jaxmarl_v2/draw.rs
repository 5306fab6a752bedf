//! The picture of a kitchen, with the art of the other kitchens. A seat sees as far as its observation does.

use alloc::format;
use alloc::vec::Vec;

use super::OvercookedJaxmarlV2;
use super::items::{self, COOKED, PLATE};
use super::kitchen::{Kitchen, Tile};
use super::observe::shows_recipe;
use super::state::{Cell, Cook, State};
use super::step::COOK_TIME;
use crate::art::{self, AgentArt};
use crate::draw::{DrawList, Shape, Sprite};
use crate::grid::draw::{draw_label, draw_ring};

const BACKGROUND: u32 = 0x5c76_86ff;
const FOG: u32 = 0x3c49_53ff;
const INK: u32 = 0x1d25_2cff;
/// Colors of the ingredients that have a number instead of a picture.
///
/// Source: Okabe and Ito, "Color Universal Design", 2008.
const NUMBERED: [u32; 6] = [
    0xe69f_00ff,
    0x56b4_e9ff,
    0x009e_73ff,
    0xf0e4_42ff,
    0xcc79_a7ff,
    0xd55e_00ff,
];

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
    "broccoli",
    "broccoli_crate",
    "broccoli_piece",
    "mushroom",
    "mushroom_crate",
    "mushroom_piece",
    "plate",
    "plate_rack",
    "open_pot",
    "onion_broth",
    "tomato_broth",
    "mixed_broth",
    "steam",
    "ready",
    "onion_soup",
    "tomato_soup",
    "mixed_soup",
    "delivery",
    "recipe_indicator",
    "button",
    "button_lit",
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

/// The pictures of an ingredient: alone, in a crate, and in a pot.
fn ingredient_looks(ingredient: u8) -> Option<[Shape; 3]> {
    Some(match ingredient {
        0 => [
            sprite("onion"),
            sprite("onion_crate"),
            sprite("onion_piece"),
        ],
        1 => [
            sprite("tomato"),
            sprite("tomato_crate"),
            sprite("tomato_piece"),
        ],
        2 => [
            sprite("broccoli"),
            sprite("broccoli_crate"),
            sprite("broccoli_piece"),
        ],
        3 => [
            sprite("mushroom"),
            sprite("mushroom_crate"),
            sprite("mushroom_piece"),
        ],
        _ => return None,
    })
}

/// An ingredient, by its picture (0 alone, 1 in a crate, 2 in a pot) or by its number.
fn ingredient(number: u8, look: usize, place: [f32; 4], out: &mut DrawList) {
    if let Some(looks) = ingredient_looks(number) {
        let [alone, crate_, piece] = looks;
        out.push(0, place, [alone, crate_, piece][look.min(2)].clone());
        return;
    }
    let [x, y, w, h] = place;
    let color = NUMBERED[usize::from(number) % NUMBERED.len()];
    let disc = [x + 0.15 * w, y + 0.1 * h, 0.7 * w, 0.7 * h];
    out.push(0, disc, Shape::Ellipse { color });
    let text = format!("{number}");
    out.push(
        0,
        [x, y + 0.25 * h, w, 0.4 * h],
        Shape::Text { text, color: INK },
    );
}

/// The ingredients of an item, in order.
fn contents(item: u32) -> impl Iterator<Item = u8> {
    (0..10_u8).flat_map(move |number| {
        core::iter::repeat_n(number, items::count_of(item, number) as usize)
    })
}

/// The look of a soup or of a broth.
fn soup(item: u32, [first, second, mixed]: [Shape; 3]) -> Shape {
    let total = items::count(item);
    if items::count_of(item, 0) == total {
        first
    } else if items::count_of(item, 1) == total {
        second
    } else {
        mixed
    }
}

/// A plate of soup with its ingredients beside, since mixed soups look alike.
fn plated_soup(item: u32, place: [f32; 4], out: &mut DrawList) {
    let looks = [
        sprite("onion_soup"),
        sprite("tomato_soup"),
        sprite("mixed_soup"),
    ];
    let mixed = looks[2].clone();
    let look = soup(item, looks);
    let is_mixed = look == mixed;
    out.push(0, place, look);
    let [x, y, w, h] = place;
    for (at, number) in contents(item).enumerate().filter(|_| is_mixed) {
        let left = x - 0.04 + 0.36 * w * at as f32;
        ingredient(number, 0, [left, y + 0.6 * h, 0.42 * w, 0.42 * h], out);
    }
}

/// An item that lies somewhere.
fn item(item: u32, place: [f32; 4], out: &mut DrawList) {
    match item {
        0 => {}
        PLATE => out.push(0, place, sprite("plate")),
        soup if soup & COOKED != 0 => plated_soup(soup, place, out),
        other => contents(other).for_each(|number| ingredient(number, 0, place, out)),
    }
}

/// Draws a state as a seat sees it, or all of it.
pub(super) fn draw(
    env: &OvercookedJaxmarlV2,
    state: &State,
    seat: Option<usize>,
    out: &mut DrawList,
) {
    let (kitchen, radius) = (env.kitchen(), env.params().view_radius);
    let corner = |cell: u16| kitchen.column_and_row(cell).map(|at| at as f32);
    let is_seen =
        |cell: u16| seat.is_none_or(|seat| kitchen.can_see(radius, state.cooks[seat].cell, cell));
    out.begin(kitchen.cols as f32, kitchen.rows as f32, BACKGROUND);
    for cell in 0..kitchen.cells() as u16 {
        let [x, y] = corner(cell);
        if is_seen(cell) {
            ground(kitchen, cell, [x, y], out);
            thing(kitchen, state, cell, [x, y], out);
        } else {
            let (radius, color) = (0.0, FOG);
            out.push(0, [x, y, 1.0, 1.0], Shape::Rect { radius, color });
        }
    }
    let appearance = &env.params().appearance;
    let mut seats: Vec<usize> = (0..state.cooks.len()).collect();
    seats.retain(|&seat| is_seen(state.cooks[seat].cell));
    seats.sort_by_key(|&seat| state.cooks[seat].cell);
    for &seat in &seats {
        let Cook { cell, facing, held } = state.cooks[seat];
        // The art counts directions from the right, clockwise.
        let way = [3, 1, 0, 2][usize::from(facing) % 4];
        COOKS.draw_as(out, seat, appearance.look_of(seat), way, corner(cell));
        hold(seat, way, corner(cell), held, out);
    }
    seats.sort_unstable();
    for seat in seats {
        if let Some(name) = appearance.name(seat) {
            draw_label(seat, name, corner(state.cooks[seat].cell), out);
        }
    }
}

/// Draws the thing in a cook's hands: the first of its shapes glides with the cook.
fn hold(seat: usize, way: usize, corner: [f32; 2], held: u32, out: &mut DrawList) {
    let mut drawn = DrawList::default();
    item(held, [0.0, 0.0, 1.0, 1.0], &mut drawn);
    let mut shapes = drawn.items.into_iter();
    let Some(first) = shapes.next() else {
        return;
    };
    AgentArt::hold(out, seat, way, corner, first.shape);
    let Some(place) = out
        .items
        .last()
        .map(|held| [held.x, held.y, held.w, held.h])
    else {
        return;
    };
    let [x, y, w, h] = place;
    for rest in shapes {
        let place = [x + w * rest.x, y + h * rest.y, w * rest.w, h * rest.h];
        out.push(0, place, rest.shape);
    }
}

/// Draws the floor with the shadows that fall on it, or a counter.
fn ground(kitchen: &Kitchen, cell: u16, [x, y]: [f32; 2], out: &mut DrawList) {
    let whole = [x, y, 1.0, 1.0];
    let is_raised = |direction: u8| {
        let next = kitchen.step_from(cell, direction);
        next == cell || kitchen.tiles[usize::from(next)] != Tile::Floor
    };
    if kitchen.tiles[usize::from(cell)] == Tile::Floor {
        let [column, row] = kitchen.column_and_row(cell);
        let is_dark = (row + column) % 2 == 0;
        out.push(
            0,
            whole,
            if is_dark {
                sprite("floor_dark")
            } else {
                sprite("floor_light")
            },
        );
        for (direction, shade) in [(0, sprite("shade_top")), (3, sprite("shade_left"))] {
            if is_raised(direction) {
                out.push(0, whole, shade);
            }
        }
        return;
    }
    out.push(0, whole, sprite("counter"));
    if kitchen.step_from(cell, 1) == cell || !is_raised(1) {
        out.push(0, whole, sprite("counter_front"));
    }
}

/// Draws the thing in a cell, and what it holds or shows.
fn thing(kitchen: &Kitchen, state: &State, at: u16, [x, y]: [f32; 2], out: &mut DrawList) {
    let (tile, cell) = (kitchen.tiles[usize::from(at)], state.cells[usize::from(at)]);
    let whole = [x, y, 1.0, 1.0];
    let look = match tile {
        Tile::Floor => None,
        Tile::Counter => None,
        Tile::Goal => Some(sprite("delivery")),
        Tile::Pot => Some(sprite("open_pot")),
        Tile::Indicator => Some(sprite("recipe_indicator")),
        Tile::Button if cell.timer > 0 => Some(sprite("button_lit")),
        Tile::Button => Some(sprite("button")),
        Tile::Plates => Some(sprite("plate_rack")),
        Tile::Pile(number) => {
            ingredient(number, 1, whole, out);
            None
        }
    };
    if let Some(look) = look {
        out.push(0, whole, look);
    }
    if shows_recipe(tile, cell.timer) {
        plated_soup(state.recipe, [x + 0.27, y + 0.17, 0.46, 0.46], out);
    }
    match tile {
        Tile::Pot => pot(cell, [x, y], out),
        Tile::Counter => item(cell.items, [x + 0.19, y + 0.05, 0.62, 0.62], out),
        _ => {}
    }
}

/// Draws the contents of a pot.
fn pot(cell: Cell, [x, y]: [f32; 2], out: &mut DrawList) {
    let (is_ready, is_cooking) = (cell.items & COOKED != 0, cell.timer > 0);
    if is_ready || is_cooking {
        let looks = [
            sprite("onion_broth"),
            sprite("tomato_broth"),
            sprite("mixed_broth"),
        ];
        out.push(0, [x, y, 1.0, 1.0], soup(cell.items, looks));
    }
    for (number, [dx, dy]) in contents(cell.items).zip(PIECES) {
        ingredient(number, 2, [x + dx - 0.1, y + dy - 0.1, 0.2, 0.2], out);
    }
    if is_ready {
        out.push(0, [x + 0.2, y, 0.6, 0.6], sprite("steam"));
        out.push(0, [x + 0.68, y + 0.02, 0.3, 0.3], sprite("ready"));
    } else if is_cooking {
        draw_ring(
            1.0 - f32::from(cell.timer) / f32::from(COOK_TIME),
            [x, y],
            out,
        );
    }
}
