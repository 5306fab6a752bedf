//! The art: small SVG documents that any environment may draw with.
//!
//! An environment names the pictures that it uses with [`art!`](crate::art!), and its module contains no others.
//! One style: seen from above and a little from the front, the light from the upper left, a box of 64 by 64.
//! Things that differ in colour also differ in shape.
//!
//! [`AgentArt`] draws agents in layers, so that sixteen seats in four directions are not 64 pictures.

use serde::{Deserialize, Serialize};

use crate::MAX_SEATS;
use crate::draw::{DrawList, Shape, Sprite};

macro_rules! all {
    ($($name:literal)+) => {
        /// All pictures. A constant, so that a program contains only the pictures that it picks.
        const ALL: &[Sprite] =
            &[$(Sprite { name: $name, svg: include_str!(concat!("art/", $name, ".svg")) }),+];
    };
}

all! {
    "block" "broccoli" "broccoli_crate" "broccoli_piece" "button" "button_lit" "chest"
    "chef_ember_down" "chef_ember_left" "chef_ember_right" "chef_ember_up" "chef_tide_down"
    "chef_tide_left" "chef_tide_right" "chef_tide_up" "coin" "cook_down" "cook_left" "cook_right"
    "cook_up" "counter" "counter_front" "delivery" "delivery_open" "door_closed" "door_locked"
    "door_open" "floor_dark" "floor_light" "goal" "hat_0" "hat_1" "hat_2" "hat_3" "hat_4" "hat_5"
    "hat_6" "hat_7" "hat_8" "hat_9" "hat_10" "hat_11" "hat_12" "hat_13" "hat_14" "hat_15" "key"
    "medkit" "mine" "mixed_broth" "mixed_soup" "mushroom" "mushroom_crate" "mushroom_piece" "onion"
    "onion_broth" "onion_crate" "onion_piece" "onion_soup" "onion_soup_crate" "open_pot"
    "order_card" "pickaxe" "plate" "plate_rack" "pot" "ready" "recipe_indicator" "robot_down"
    "robot_left" "robot_right" "robot_up" "rubble" "shade_left" "shade_top" "steam" "token" "tomato"
    "tomato_broth" "tomato_crate" "tomato_piece" "tomato_soup" "tomato_soup_crate" "torso_0"
    "torso_1" "torso_2" "torso_3" "torso_4" "torso_5" "torso_6" "torso_7" "torso_8" "torso_9"
    "torso_10" "torso_11" "torso_12" "torso_13" "torso_14" "torso_15" "victim_green" "victim_purple"
    "victim_red" "victim_yellow" "wall"
}

/// Picks pictures by name, as a `&'static [Sprite]`: `art!["floor_light", "pot", "hat_*"]`.
///
/// A name that ends in `*` picks all that begin so, in the order of [`names`]: seats by their number.
/// A name that does not exist stops the compiler.
#[macro_export]
macro_rules! art {
    ($($name:literal),+ $(,)?) => {{
        const NAMES: &[&str] = &[$($name),+];
        static PICKED: [$crate::draw::Sprite; $crate::art::count(NAMES)] = $crate::art::pick_sprites(NAMES);
        &PICKED as &'static [$crate::draw::Sprite]
    }};
}

/// The name of every picture.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|sprite| sprite.name)
}

/// Checks whether a picture shows a thing, and no part of the ground or of an agent.
pub fn is_of_thing(name: &str) -> bool {
    let parts = [
        "chef_", "cook_", "floor_", "hat_", "robot_", "shade_", "torso_",
    ];
    let is_part = parts.iter().any(|part| name.starts_with(part));
    !is_part && name != "steam" && !name.ends_with("_front")
}

/// Counts the pictures that these names pick.
pub const fn count(names: &[&str]) -> usize {
    let (mut count, mut k) = (0, 0);
    while k < names.len() {
        count += matches(names[k]);
        k += 1;
    }
    count
}

/// The pictures that these names pick, in order; `N` is their [`count`].
pub const fn pick_sprites<const N: usize>(names: &[&str]) -> [Sprite; N] {
    let mut picked = [Sprite { name: "", svg: "" }; N];
    let (mut at, mut k) = (0, 0);
    while k < names.len() {
        let mut sprite = 0;
        while sprite < ALL.len() {
            if fits(names[k], ALL[sprite].name) {
                picked[at] = ALL[sprite];
                at += 1;
            }
            sprite += 1;
        }
        k += 1;
    }
    picked
}

/// Returns the index of a picture in a list; as a constant, it costs nothing, and a wrong name stops the compiler.
///
/// # Panics
/// If the list has no picture of this name.
pub const fn index(sprites: &[Sprite], name: &str) -> u16 {
    match find(sprites, name) {
        Some(index) => index,
        None => panic!("{}", name),
    }
}

/// Returns the index of a picture in a list, if it is there.
pub const fn find(sprites: &[Sprite], name: &str) -> Option<u16> {
    let mut k = 0;
    while k < sprites.len() {
        if fits(name, sprites[k].name) {
            return Some(k as u16);
        }
        k += 1;
    }
    None
}

const fn matches(name: &str) -> usize {
    let (mut count, mut k) = (0, 0);
    while k < ALL.len() {
        count += fits(name, ALL[k].name) as usize;
        k += 1;
    }
    // The name in the message is the only way in which a constant can report what is wrong.
    if count == 0 {
        panic!("{}", name);
    }
    count
}

const fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let mut k = 0;
    while k < pattern.len() {
        if pattern[k] == b'*' {
            return k + 1 == pattern.len();
        }
        if k >= name.len() || pattern[k] != name[k] {
            return false;
        }
        k += 1;
    }
    k == name.len()
}

/// The look of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// Cooks: `cook_*`; with `chef_*`, seats 0 and 1 are drawn in one piece.
    Cook,
    /// Robots, for worlds without kitchens: `robot_*`.
    Robot,
}

/// Agents: the look of every seat in every direction (0 right, 1 down, 2 left, 3 up).
///
/// Three layers: a torso in the seat's colour and pattern, head and arms by direction, the seat's hat.
/// The list of pictures has `torso_*` and `hat_*`, and those of the kind.
#[derive(Clone, Copy, Debug)]
pub struct AgentArt {
    torso: u16,
    heads: [u16; 4],
    hat: u16,
    /// Seats that have their own pictures.
    whole: Option<[[u16; 4]; 2]>,
}

impl AgentArt {
    /// Figures of a kind; best as a constant.
    ///
    /// # Panics
    /// If the list lacks a layer.
    pub const fn new(sprites: &[Sprite], kind: FigureKind) -> Self {
        let (right, down, left, up) = match kind {
            FigureKind::Cook => ("cook_right", "cook_down", "cook_left", "cook_up"),
            FigureKind::Robot => ("robot_right", "robot_down", "robot_left", "robot_up"),
        };
        let whole = match (kind, find(sprites, "chef_*")) {
            (FigureKind::Cook, Some(_)) => Some([
                [
                    index(sprites, "chef_ember_right"),
                    index(sprites, "chef_ember_down"),
                    index(sprites, "chef_ember_left"),
                    index(sprites, "chef_ember_up"),
                ],
                [
                    index(sprites, "chef_tide_right"),
                    index(sprites, "chef_tide_down"),
                    index(sprites, "chef_tide_left"),
                    index(sprites, "chef_tide_up"),
                ],
            ]),
            _ => None,
        };
        Self {
            torso: index(sprites, "torso_0"),
            heads: [
                index(sprites, right),
                index(sprites, down),
                index(sprites, left),
                index(sprites, up),
            ],
            hat: index(sprites, "hat_0"),
            whole,
        }
    }

    /// Draws the agent of a seat in the cell whose corner is at `x`, `y`; its head rises above the cell.
    ///
    /// Its lowest layer has the identity `seat + 1`, by which a view points the seat out.
    pub fn draw(&self, out: &mut DrawList, seat: usize, direction: usize, at: [f32; 2]) {
        self.draw_as(out, seat, seat, direction, at);
    }

    /// The same with another seat's look: its colour, pattern and hat.
    pub fn draw_as(
        &self,
        out: &mut DrawList,
        seat: usize,
        look: usize,
        direction: usize,
        [x, y]: [f32; 2],
    ) {
        let (number, direction) = (look % MAX_SEATS, direction % 4);
        let mut layer = |layer: usize, sprite: u16| {
            let id = 1 + seat + layer * MAX_SEATS;
            let place = [x - 0.08, y - 0.28, 1.16, 1.16];
            out.push(id as u32, place, Shape::Sprite(sprite));
        };
        if let Some(whole) = self.whole.and_then(|whole| whole.get(number).copied()) {
            layer(0, whole[direction]);
        } else {
            layer(0, self.torso + number as u16);
            layer(HEAD, self.heads[direction]);
            layer(HAT, self.hat + number as u16);
        }
    }

    /// Draws what the agent holds, after the agent: in front of the body,
    /// or out to the side where the agent is seen from behind.
    pub fn hold(out: &mut DrawList, seat: usize, direction: usize, [x, y]: [f32; 2], held: Shape) {
        let [dx, dy] = [[0.24, 0.2], [0.0, 0.22], [-0.24, 0.2], [0.3, 0.02]][direction % 4];
        let place = [x + dx + 0.23, y + dy + 0.15, 0.54, 0.54];
        let id = 1 + seat + HELD * MAX_SEATS;
        out.push(id as u32, place, held);
    }
}

/// Layers beyond the lowest, as multiples of [`MAX_SEATS`] in an identity.
const HELD: usize = 1;
const HEAD: usize = 2;
const HAT: usize = 3;

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn names_and_families_are_picked_in_order() {
        let picked: &'static [Sprite] = art!["pot", "hat_*", "onion"];
        assert_eq!(picked.len(), 2 + MAX_SEATS);
        assert_eq!(index(picked, "pot"), 0);
        assert_eq!(find(picked, "onion"), Some(17));
        assert_eq!(find(picked, "onion_soup"), None);
        for seat in 0..MAX_SEATS {
            assert_eq!(picked[1 + seat].name, alloc::format!("hat_{seat}"));
        }
    }

    #[test]
    fn every_picture_is_a_small_document_of_its_own() {
        assert_eq!(names().collect::<BTreeSet<_>>().len(), ALL.len());
        for Sprite { name, svg } in ALL {
            assert!(
                svg.starts_with("<svg ") && svg.contains("viewBox=\"0 0 64 64\""),
                "{name}"
            );
            assert!(svg.len() < 1_750, "{name} has {} bytes", svg.len());
            assert!(
                !svg.contains("<image") && !svg.contains("url(http"),
                "{name}"
            );
        }
    }

    #[test]
    fn the_layers_of_all_agents_have_identities_of_their_own() {
        const FIGURES: AgentArt = AgentArt::new(PICTURES, FigureKind::Cook);
        static PICTURES: &[Sprite] = art!["torso_*", "hat_*", "cook_*", "chef_*", "onion"];
        let mut list = DrawList::default();
        for seat in 0..MAX_SEATS {
            FIGURES.draw(&mut list, seat, seat, [seat as f32, 1.0]);
            AgentArt::hold(&mut list, seat, seat, [seat as f32, 1.0], Shape::Sprite(0));
        }
        let ids: Vec<u32> = list.items.iter().map(|item| item.id).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        for seat in 0..MAX_SEATS as u32 {
            assert!(ids.contains(&(seat + 1)));
        }
        assert_eq!(ids.len(), 2 * 2 + 14 * 4);
    }
}
