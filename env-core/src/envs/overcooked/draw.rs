//! The picture of a kitchen, seen from above and a little from the front, the light from the upper left.
//!
//! Everything lies in layers: ground, stations, what lies on them, then the cooks from back to front.
//! Only cooks and what they hold have an identity, so only they glide.

use super::Overcooked;
use super::kitchen::{CELLS, COLS, Ground, SEATS};
use super::state::{COOK_STEPS, Chef, Direction, Item, Pot, State};
use crate::MAX_SEATS;
use crate::draw::{DrawList, Shape, Sprite};

macro_rules! art {
    ($($art:ident = $file:literal,)+) => {
        /// The pictures, in the order of [`SPRITES`].
        #[derive(Clone, Copy)]
        enum Art { $($art),+ }

        /// The pictures of the kitchen.
        pub(super) const SPRITES: &[Sprite] =
            &[$(Sprite { name: $file, svg: include_str!(concat!("../../art/", $file, ".svg")) }),+];
    };
}

art! {
    FloorLight = "floor_light",
    FloorDark = "floor_dark",
    ShadeTop = "shade_top",
    ShadeLeft = "shade_left",
    Counter = "counter",
    CounterFront = "counter_front",
    OnionCrate = "onion_crate",
    PlateRack = "plate_rack",
    Pot = "pot",
    OnionPiece = "onion_piece",
    OnionBroth = "onion_broth",
    Steam = "steam",
    Ready = "ready",
    Delivery = "delivery",
    Onion = "onion",
    Plate = "plate",
    OnionSoup = "onion_soup",
    EmberRight = "chef_ember_right",
    EmberDown = "chef_ember_down",
    EmberLeft = "chef_ember_left",
    EmberUp = "chef_ember_up",
    TideRight = "chef_tide_right",
    TideDown = "chef_tide_down",
    TideLeft = "chef_tide_left",
    TideUp = "chef_tide_up",
}

/// A cook's pictures by seat and direction.
const CHEFS: [[Art; 4]; SEATS] = [
    [
        Art::EmberRight,
        Art::EmberDown,
        Art::EmberLeft,
        Art::EmberUp,
    ],
    [Art::TideRight, Art::TideDown, Art::TideLeft, Art::TideUp],
];
/// Where onions float in a pot: the middle of each, cells from the corner of the pot.
const PIECES: [[f32; 2]; 3] = [[0.385, 0.37], [0.615, 0.35], [0.5, 0.44]];
/// The colour around the kitchen: that of the joints between counters.
const BACKGROUND: u32 = 0x5c76_86ff;

/// Draws the kitchen.
pub(super) fn draw(env: &Overcooked, state: &State, out: &mut DrawList) {
    let kitchen = env.kitchen();
    out.begin(f32::from(kitchen.cols), f32::from(kitchen.rows), BACKGROUND);
    for cell in (0..CELLS as u8).filter(|&cell| kitchen.ground[usize::from(cell)] != Ground::Void) {
        ground(env, cell, out);
        if kitchen.ground[usize::from(cell)] == Ground::Pot {
            pot(state.pot(kitchen, cell), corner(cell), out);
        }
        if let Some(art) = item(state.item(cell)) {
            let [x, y] = corner(cell);
            sprite(out, 0, [x + 0.19, y + 0.05, 0.62, 0.62], art);
        }
    }
    let [a, b] = [0, 1].map(|seat| (state.chefs[seat].cell, seat));
    for (_, seat) in [a.min(b), a.max(b)] {
        chef(seat, &state.chefs[seat], out);
    }
}

/// A cell as it always is: floor with the shadows that fall on it, or a counter with its station.
fn ground(env: &Overcooked, cell: u8, out: &mut DrawList) {
    let kitchen = env.kitchen();
    let place = whole(corner(cell));
    let is_floor = |cell: Option<u8>| cell.is_some_and(|cell| kitchen.is_floor(cell));
    if kitchen.is_floor(cell) {
        let dark = (cell / COLS as u8 + cell % COLS as u8).is_multiple_of(2);
        sprite(
            out,
            0,
            place,
            if dark {
                Art::FloorDark
            } else {
                Art::FloorLight
            },
        );
        for (neighbour, art) in [
            (cell.checked_sub(COLS as u8), Art::ShadeTop),
            (cell.checked_sub(1), Art::ShadeLeft),
        ] {
            if !is_floor(neighbour) {
                sprite(out, 0, place, art);
            }
        }
        return;
    }
    sprite(out, 0, place, Art::Counter);
    let last_row = cell / COLS as u8 + 1 == kitchen.rows;
    if last_row || is_floor(cell.checked_add(COLS as u8)) {
        sprite(out, 0, place, Art::CounterFront);
    }
    let station = match kitchen.ground[usize::from(cell)] {
        Ground::OnionStack => Art::OnionCrate,
        Ground::PlateStack => Art::PlateRack,
        Ground::Pot => Art::Pot,
        Ground::DeliveryZone => Art::Delivery,
        Ground::Floor | Ground::Counter | Ground::Void => return,
    };
    sprite(out, 0, place, station);
}

/// What is in a pot, and how far it is.
fn pot(pot: &Pot, [x, y]: [f32; 2], out: &mut DrawList) {
    if pot.cooking() || pot.ready() {
        sprite(out, 0, whole([x, y]), Art::OnionBroth);
    }
    for [dx, dy] in PIECES.into_iter().take(usize::from(pot.onions)) {
        sprite(
            out,
            0,
            [x + dx - 0.1, y + dy - 0.1, 0.2, 0.2],
            Art::OnionPiece,
        );
    }
    if pot.cooking() {
        let part = f32::from(COOK_STEPS - pot.timer.min(COOK_STEPS)) / f32::from(COOK_STEPS);
        out.push(
            0,
            [x + 0.64, y, 0.36, 0.36],
            Shape::Ellipse { color: 0x1d25_2cf0 },
        );
        let ring = [x + 0.67, y + 0.03, 0.3, 0.3];
        out.push(
            0,
            ring,
            Shape::Progress {
                part: 1.0,
                color: 0x5663_6eff,
            },
        );
        out.push(
            0,
            ring,
            Shape::Progress {
                part,
                color: 0xffd2_57ff,
            },
        );
    }
    if pot.ready() {
        sprite(out, 0, [x + 0.2, y, 0.6, 0.6], Art::Steam);
        sprite(out, 0, [x + 0.68, y + 0.02, 0.3, 0.3], Art::Ready);
    }
}

/// A cook and what the cook holds. Seat 0 has a tall white hat and red, seat 1 a knotted scarf and blue.
fn chef(seat: usize, chef: &Chef, out: &mut DrawList) {
    let [x, y] = corner(chef.cell);
    let id = 1 + seat as u32;
    sprite(
        out,
        id,
        [x - 0.08, y - 0.28, 1.16, 1.16],
        CHEFS[seat][chef.facing as usize],
    );
    // In front of the body; a cook seen from behind holds it out to the side, where it can be seen.
    let [dx, dy] = match chef.facing {
        Direction::Right => [0.24, 0.2],
        Direction::Down => [0.0, 0.22],
        Direction::Left => [-0.24, 0.2],
        Direction::Up => [0.3, 0.02],
    };
    if let Some(art) = item(chef.held) {
        sprite(
            out,
            id + MAX_SEATS as u32,
            [x + dx + 0.23, y + dy + 0.15, 0.54, 0.54],
            art,
        );
    }
}

fn item(item: Item) -> Option<Art> {
    match item {
        Item::Empty => None,
        Item::Onion => Some(Art::Onion),
        Item::Plate => Some(Art::Plate),
        Item::Soup => Some(Art::OnionSoup),
    }
}

fn corner(cell: u8) -> [f32; 2] {
    [f32::from(cell % COLS as u8), f32::from(cell / COLS as u8)]
}

fn whole([x, y]: [f32; 2]) -> [f32; 4] {
    [x, y, 1.0, 1.0]
}

fn sprite(out: &mut DrawList, id: u32, place: [f32; 4], art: Art) {
    out.push(id, place, Shape::Sprite(art as u16));
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use super::super::kitchen::Layout;
    use super::super::{Params, state::SOUP_ONIONS};
    use super::*;
    use crate::contract::Environment;

    /// A state of each layout for each facing, held item and stage of cooking, with something on every counter.
    fn kitchens() -> Vec<(Overcooked, State)> {
        let items = [Item::Empty, Item::Onion, Item::Plate, Item::Soup];
        let mut kitchens = Vec::new();
        for (layout, step) in Layout::ALL
            .into_iter()
            .flat_map(|layout| (0..16).map(move |step| (layout, step)))
        {
            let env = Overcooked::new(Params {
                layout,
                ..Params::default()
            })
            .unwrap();
            let mut state = env.reset(step);
            let step = step as usize;
            for (seat, chef) in state.chefs.iter_mut().enumerate() {
                (chef.facing, chef.held) = (Direction::ALL[(step + seat) % 4], items[step / 4]);
            }
            for pot in 0..usize::from(env.kitchen().pots) {
                let onions = (step + pot) as u8 % 4;
                let timer = if onions == SOUP_ONIONS {
                    COOK_STEPS * (step as u8 % 2)
                } else {
                    COOK_STEPS
                };
                state.pots[pot] = Pot {
                    onions,
                    timer,
                    ..Pot::EMPTY
                };
            }
            for cell in (0..CELLS).filter(|&cell| env.kitchen().ground[cell] == Ground::Counter) {
                *state.item_mut(cell as u8) = items[(cell + step) % 4];
            }
            assert!(env.valid(&state));
            kitchens.push((env, state));
        }
        kitchens
    }

    fn picture(env: &Overcooked, state: &State) -> DrawList {
        let mut list = DrawList::default();
        env.draw(state, &mut list);
        list
    }

    #[test]
    fn every_kitchen_is_drawn_within_its_bounds() {
        for (env, state) in kitchens() {
            let list = picture(&env, &state);
            assert_eq!(
                [list.width, list.height],
                [env.kitchen().cols, env.kitchen().rows].map(f32::from)
            );
            for item in &list.items {
                let inside = item.x >= 0.0 && item.y >= 0.0 && item.w > 0.0 && item.h > 0.0;
                assert!(
                    inside && item.x + item.w <= list.width && item.y + item.h <= list.height,
                    "{item:?}"
                );
                match item.shape {
                    Shape::Sprite(index) => assert!(usize::from(index) < SPRITES.len(), "{item:?}"),
                    Shape::Progress { part, .. } => {
                        assert!((0.0..=1.0).contains(&part), "{item:?}")
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn cooks_and_what_they_hold_have_identities_of_their_own() {
        for (env, state) in kitchens() {
            let mut expected: BTreeSet<u32> = [1, 2].into();
            let holds = |seat: &usize| state.chefs[*seat].held != Item::Empty;
            expected.extend(
                (0..SEATS)
                    .filter(holds)
                    .map(|seat| (1 + MAX_SEATS + seat) as u32),
            );
            let list = picture(&env, &state);
            let ids: Vec<u32> = list
                .items
                .iter()
                .map(|item| item.id)
                .filter(|&id| id != 0)
                .collect();
            assert_eq!(ids.len(), expected.len());
            assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), expected);
        }
    }

    #[test]
    fn the_cook_in_front_covers_the_one_behind() {
        for (env, state) in kitchens() {
            let list = picture(&env, &state);
            let rows: Vec<f32> = list
                .items
                .iter()
                .filter(|item| (1..=2).contains(&item.id))
                .map(|item| item.y)
                .collect();
            assert!(rows.is_sorted(), "{rows:?}");
        }
    }

    #[test]
    fn every_picture_is_used_and_is_a_small_document() {
        let used: BTreeSet<u16> = kitchens()
            .iter()
            .flat_map(|(env, state)| picture(env, state).items)
            .filter_map(|item| {
                if let Shape::Sprite(index) = item.shape {
                    Some(index)
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(used.len(), SPRITES.len());
        for sprite in SPRITES {
            assert!(
                sprite.svg.starts_with("<svg ") && sprite.svg.contains("viewBox=\"0 0 64 64\""),
                "{}",
                sprite.name
            );
            assert!(
                sprite.svg.len() < 2_000,
                "{} has {} bytes",
                sprite.name,
                sprite.svg.len()
            );
        }
        assert!(SPRITES.iter().map(|sprite| sprite.svg.len()).sum::<usize>() < 40_000);
    }

    #[test]
    fn the_ring_grows_while_the_soup_cooks() {
        let parts = [COOK_STEPS, 20, 1].map(|timer| {
            let mut list = DrawList::default();
            pot(
                &Pot {
                    onions: SOUP_ONIONS,
                    timer,
                    ..Pot::EMPTY
                },
                [0.0, 0.0],
                &mut list,
            );
            let part = |item: &crate::draw::Item| match item.shape {
                Shape::Progress { part, .. } => Some(part),
                _ => None,
            };
            list.items.iter().filter_map(part).next_back()
        });
        assert!(
            parts[0] == Some(0.0) && parts.is_sorted() && parts[2] < Some(1.0),
            "{parts:?}"
        );
    }
}
