//! The part of the picture that only kitchens have: the soup that is wanted, and the orders.

use super::params::Variant;
use super::{Cooking, Extra};
use crate::art;
use crate::draw::{DrawList, Shape};
use crate::grid::{KindId, State, Tables};

/// Identity of the first order's card; the identities of the grid end before it.
const CARDS: u32 = 65;
/// Height of the strip of orders below the kitchen, in cells.
const STRIP: f32 = 1.0;
const LATE: u32 = 0xc23b_22ff;
const TIME: u32 = 0x2f7d_4fff;
const TRACK: u32 = 0xd8cd_b4ff;

pub(super) fn draw_kitchen<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    state: &State<Extra>,
    out: &mut DrawList,
) {
    if let Some(target) = cooking.target(&state.extra).filter(|_| V::V2) {
        for cell in 0..tables.cells as u16 {
            let (row, col) = tables.column_and_row(cell);
            let (x, y) = (col as f32, row as f32);
            let kind = state.kind(cell);
            if kind == cooking.ids.indicator {
                soup(
                    cooking,
                    tables,
                    target.soup,
                    0,
                    [x + 0.27, y + 0.16, 0.46, 0.46],
                    out,
                );
            } else if kind == cooking.ids.button && cooking.is_lit(tables, state, cell) {
                soup(
                    cooking,
                    tables,
                    target.soup,
                    0,
                    [x + 0.27, y + 0.2, 0.46, 0.46],
                    out,
                );
            }
        }
    }
    orders(cooking, tables, state, out);
}

fn soup<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    kind: KindId,
    id: u32,
    place: [f32; 4],
    out: &mut DrawList,
) {
    let sprite = tables.kind(kind).and_then(|kind| kind.sprite.as_deref());
    let sprites = super::kinds::sprites(V::V2);
    let Some(index) = sprite.and_then(|name| art::find(sprites, name)) else {
        return;
    };
    out.push(id, place, Shape::Sprite(index));
    // Mixed soups look alike, so their ingredients are beside them.
    let mixed = cooking.targets.iter().find(|target| target.soup == kind);
    let mixed = mixed.filter(|_| !cooking.ids.soups.contains(&kind));
    for (place_of, &ingredient) in (0..).zip(mixed.iter().flat_map(|target| &target.ingredients)) {
        let sprite = tables
            .kind(ingredient)
            .and_then(|kind| kind.sprite.as_deref());
        if let Some(index) = sprite.and_then(|name| art::find(sprites, name)) {
            let [x, y, w, h] = place;
            let shift = w * 0.36 * place_of as f32;
            let small = [x - 0.04 + shift, y + h * 0.6, w * 0.42, h * 0.42];
            out.push(0, small, Shape::Sprite(index));
        }
    }
}

/// The orders, a card each in a strip below the kitchen.
fn orders<V: Variant>(
    cooking: &Cooking<V>,
    tables: &Tables,
    state: &State<Extra>,
    out: &mut DrawList,
) {
    let Some(rules) = &cooking.params.orders else {
        return;
    };
    let top = out.height;
    out.height += STRIP;
    let width = (out.width / f32::from(rules.max_active)).clamp(0.1, 1.0);
    let card = art::find(super::kinds::sprites(V::V2), "order_card");
    for (place, order) in state.extra.orders[..cooking.places()].iter().enumerate() {
        let Some(recipe) = order.soup.checked_sub(1) else {
            continue;
        };
        let (x, id) = (place as f32 * width, CARDS + 3 * place as u32);
        if let Some(index) = card {
            let place = [x + 0.03, top + 0.03, width - 0.06, STRIP - 0.06];
            out.push(id, place, Shape::Sprite(index));
        }
        let kind = cooking.ids.soups[usize::from(recipe) & 1];
        let size = width * 0.62;
        let middle = [x + (width - size) / 2.0, top + 0.14, size, size];
        soup(cooking, tables, kind, id + 1, middle, out);
        let part = f32::from(order.left) / f32::from(rules.time_limit.max(1));
        time(
            part.clamp(0.0, 1.0),
            [x + 0.12 * width, top + 0.78],
            0.76 * width,
            out,
        );
    }
    if state.extra.orders.iter().all(|order| order.soup == 0) {
        let text = alloc::string::String::from("no orders");
        let place = [0.0, top + 0.34, out.width, 0.3];
        out.push(
            0,
            place,
            Shape::Text {
                text,
                color: 0xffff_ffcc,
            },
        );
    }
}

/// Draws the time that an order has left.
fn time(part: f32, [x, y]: [f32; 2], width: f32, out: &mut DrawList) {
    let (radius, height) = (0.04, 0.1);
    let color = TRACK;
    out.push(0, [x, y, width, height], Shape::Rect { radius, color });
    let color = if part < 0.25 { LATE } else { TIME };
    let filled = width * part;
    if filled > 0.0 {
        out.push(0, [x, y, filled, height], Shape::Rect { radius, color });
    }
}
