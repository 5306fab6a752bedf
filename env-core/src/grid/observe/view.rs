//! `local_view`: the cells around an agent, or all of them, with channels for what is there.

use alloc::vec;
use alloc::vec::Vec;

use super::kitchen::{Kitchen, Now};
use super::pots::{count_of, stage};
use super::scene::{Scene, hand, kinds, set};
use super::value::Value;
use crate::grid::kind::{KindId, KindSet, MAX_KINDS};
use crate::grid::state::Fixture;
use crate::grid::tables::{Hand, Tables};

/// What CoGrid divides by: the slots of a pot, and the time of the second kind of pot.
const COGRID_CAPACITY: f32 = 3.0;
const COGRID_TIME: f32 = 20.0;
/// The ingredients of CoGrid, in the order of their channels.
const COGRID_INGREDIENTS: [&str; 4] = ["onion", "tomato", "broccoli", "mushroom"];

/// The channels of a view: where each begins.
#[derive(Clone, Copy, Debug)]
struct Channels {
    seats: usize,
    /// Values that tell what a thing is made of: on a plate, cooked, and its ingredients.
    made: usize,
    pots: Option<usize>,
    target: Option<usize>,
    len: usize,
}

/// A view.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// Rows and columns in each direction; none for the whole grid.
    radius: Option<u8>,
    /// Rows and columns of the window.
    window: [usize; 2],
    channels: Channels,
    /// The value of each kind that stands in a cell.
    standing: [f32; MAX_KINDS],
    /// The value of each kind that is held.
    held: [f32; MAX_KINDS],
    /// What each kind is made of, `[kind, made]`.
    made: Vec<f32>,
    /// The ingredients; by the rules of CoGrid one that the world does not have counts the empty slots.
    ingredients: Vec<KindId>,
    /// What each soup that may be wanted is made of, `[target, made]`.
    targets: Vec<f32>,
    indicators: KindSet,
    switches: KindSet,
    sinks: KindSet,
}

impl View {
    pub(super) fn new(tables: &Tables, kitchen: Option<&Kitchen>, radius: Option<u8>) -> Self {
        let cogrid = tables.is_cogrid();
        let ingredients = ingredients(tables);
        let made = made(tables, &ingredients);
        let row = 2 + ingredients.len();
        let targets = kitchen.map_or(&[][..], |kitchen| &kitchen.targets);
        let has_pots = if cogrid {
            kitchen.is_some()
        } else {
            !tables.containers.is_empty()
        };
        let has_target = (cogrid && has_pots) || !targets.is_empty();
        let side = |count| radius.map_or(count, |radius| 2 * usize::from(radius) + 1);
        // CoGrid: agents count as kinds from the number after the last kind.
        let scale = (tables.kinds.len() + usize::from(cogrid)).max(1) as f32;
        let value = |kind: usize| kind as f32 / scale;
        let of = |wanted: fn(&Hand) -> bool| {
            set(kinds(tables).filter(|&kind| wanted(&hand(tables, kind))))
        };
        Self {
            radius,
            window: [side(tables.rows), side(tables.cols)],
            channels: Channels::new(tables.seats, row, has_pots, has_target),
            standing: core::array::from_fn(value),
            held: core::array::from_fn(|kind| match kind {
                0 => 0.0,
                _ => value(kind + usize::from(cogrid)),
            }),
            targets: targets
                .iter()
                .flat_map(|&soup| made[usize::from(soup) * row..][..row].iter().copied())
                .collect(),
            made,
            ingredients,
            indicators: kitchen.map_or(KindSet::default(), |kitchen| kitchen.indicators),
            switches: of(|hand| matches!(hand, Hand::Switch(_))),
            sinks: of(|hand| matches!(hand, Hand::Sink(_))),
        }
    }

    /// Rows, columns, channels.
    pub(super) fn shape(&self) -> [usize; 3] {
        [self.window[0], self.window[1], self.channels.len]
    }

    /// Where the channels of a cell begin, if the agent in `center` sees it.
    #[inline]
    fn place(&self, scene: &Scene<'_>, center: u16, cell: u16) -> Option<usize> {
        let [row, col] = scene.place(cell);
        let [row, col] = match self.radius {
            None => [row, col],
            Some(radius) => {
                let ([center_row, center_col], radius) = (scene.place(center), i32::from(radius));
                [row - center_row + radius, col - center_col + radius]
            }
        };
        let [rows, cols] = self.window;
        let inside = (0..rows as i32).contains(&row) && (0..cols as i32).contains(&col);
        inside.then(|| (row as usize * cols + col as usize) * self.channels.len)
    }

    #[inline(never)]
    pub(super) fn write<V: Value>(&self, scene: &Scene<'_>, now: &Now, seat: usize, out: &mut [V]) {
        out.fill(V::ZERO);
        let center = scene.agents[seat].cell;
        self.write_cells(scene, now, center, out);
        let others = (0..scene.agents.len()).filter(|&other| other != seat);
        for (index, other) in core::iter::once(seat).chain(others).enumerate() {
            if let Some(start) = self.place(scene, center, scene.agents[other].cell) {
                self.write_agent(scene, other, index, &mut out[start..][..self.channels.len]);
            }
        }
        for fixture in scene.fixtures() {
            let Some(start) = self.place(scene, center, fixture.cell()) else {
                continue;
            };
            let out = &mut out[start..][..self.channels.len];
            if let (Hand::Container(_), Some(first)) =
                (hand(scene.tables, fixture.kind()), self.channels.pots)
            {
                self.write_pot(scene, fixture, &mut out[first..]);
            }
            if !scene.tables.is_cogrid() && self.switches.has(fixture.kind()) && fixture.timer() > 0
            {
                self.write_target(now, out);
            }
        }
    }

    fn write_cells<V: Value>(&self, scene: &Scene<'_>, now: &Now, center: u16, out: &mut [V]) {
        let cogrid = scene.tables.is_cogrid();
        let scale = if cogrid {
            f32::from(scene.values.iter().copied().max().unwrap_or(0).max(1))
        } else {
            scene.tables.kinds.len().max(1) as f32
        };
        for (cell, &kind) in (0..).zip(scene.kinds) {
            let Some(start) = self.place(scene, center, cell) else {
                continue;
            };
            let out = &mut out[start..][..self.channels.len];
            let lying = scene.lying(usize::from(cell));
            out[0] = V::number(self.standing[usize::from(kind) % MAX_KINDS]);
            out[self.channels.lying()] = V::number(f32::from(lying) / scale);
            // CoGrid: a switch is lit while its cell shows a number.
            let lit = cogrid && self.switches.has(kind) && lying > 0;
            if self.indicators.has(kind) || lit {
                self.write_target(now, out);
            }
            if let (true, Some(first)) = (self.sinks.has(kind), self.channels.target) {
                out[first + self.channels.made] = V::flag(now.delivered);
            }
        }
    }

    /// What the wanted soup is made of.
    fn write_target<V: Value>(&self, now: &Now, out: &mut [V]) {
        let made = self.channels.made;
        let target = self.targets.chunks_exact(made).nth(usize::from(now.target));
        if let (Some(first), Some(target)) = (self.channels.target, target) {
            write(target, &mut out[first..][..made]);
        }
    }

    /// `index` is the place of the agent among all: the one who sees comes first.
    fn write_agent<V: Value>(&self, scene: &Scene<'_>, seat: usize, index: usize, out: &mut [V]) {
        let (agent, seats) = (scene.agents[seat], self.channels.seats);
        let held = usize::from(agent.held) % MAX_KINDS;
        out[1 + index] = V::ONE;
        out[1 + seats + index] = V::number((agent.facing as u8 + 1) as f32 / 4.0);
        out[1 + 2 * seats + index] = V::number(self.held[held]);
        if self.channels.pots.is_some() {
            let made = self.channels.made;
            let first = self.channels.held() + index * made;
            let parts = self.made.get(held * made..(held + 1) * made);
            write(parts.unwrap_or_default(), &mut out[first..][..made]);
        }
    }

    /// Whether it works, whether it is ready, how full it is, the time left, the share of each ingredient.
    fn write_pot<V: Value>(&self, scene: &Scene<'_>, pot: Fixture<'_>, out: &mut [V]) {
        let stage = stage(pot);
        let (capacity, time) = match hand(scene.tables, pot.kind()) {
            _ if scene.tables.is_cogrid() => {
                (COGRID_CAPACITY, f32::from(pot.timer()) / COGRID_TIME)
            }
            Hand::Container(index) if stage == 2 => {
                let longest = scene.tables.containers[usize::from(index)].idle.max(1);
                let left = f32::from(pot.timer()) / f32::from(longest);
                (f32::from(pot.capacity()), left)
            }
            _ => (f32::from(pot.capacity()), 0.0),
        };
        out[0] = V::flag(stage == 2);
        out[1] = V::flag(stage == 3);
        out[2] = V::number(f32::from(pot.count()) / capacity);
        out[3] = V::number(time);
        let slots = &scene.slots(pot)[..usize::from(pot.capacity())];
        for (out, &kind) in out[4..].iter_mut().zip(&self.ingredients) {
            *out = V::number(count_of(slots, kind) as f32 / capacity);
        }
    }
}

impl Channels {
    /// The kind, three for each agent, what lies there; four for containers and one for each ingredient, what each
    /// agent holds; the wanted soup and a delivery.
    fn new(seats: usize, made: usize, pots: bool, target: bool) -> Self {
        let mut len = 2 + 3 * seats;
        let pots = pots.then_some(len);
        if pots.is_some() {
            len += 4 + (made - 2) + seats * made;
        }
        let target = target.then_some(len);
        if target.is_some() {
            len += made + 1;
        }
        Self {
            seats,
            made,
            pots,
            target,
            len,
        }
    }

    fn lying(&self) -> usize {
        1 + 3 * self.seats
    }

    /// Where it begins what the agents hold is made of.
    fn held(&self) -> usize {
        self.lying() + 1 + 4 + (self.made - 2)
    }
}

fn write<V: Value>(values: &[f32], out: &mut [V]) {
    for (out, &value) in out.iter_mut().zip(values) {
        *out = V::number(value);
    }
}

/// By the rules of CoGrid its four, a missing one as [`crate::grid::EMPTY`]; otherwise all that a container takes.
fn ingredients(tables: &Tables) -> Vec<KindId> {
    if tables.is_cogrid() {
        return COGRID_INGREDIENTS
            .iter()
            .map(|name| tables.id(name).unwrap_or_default())
            .collect();
    }
    super::ingredients(tables)
}

/// What each kind is made of: whether there is a plate, whether it is cooked, how many of each ingredient
/// (by the corrected rules the share of the container).
fn made(tables: &Tables, ingredients: &[KindId]) -> Vec<f32> {
    let row = 2 + ingredients.len();
    let mut made = vec![0.0; MAX_KINDS * row];
    for (slot, &kind) in (2..).zip(ingredients).filter(|&(_, &kind)| kind > 0) {
        made[usize::from(kind) * row + slot] = 1.0;
    }
    for container in &tables.containers {
        for kind in kinds(tables).filter(|&kind| container.with.has(kind)) {
            made[usize::from(kind) * row] = 1.0;
        }
    }
    for container in &tables.containers {
        for dish in &container.dishes {
            let out = &mut made[usize::from(dish.result) * row..][..row];
            let unit = if tables.is_cogrid() {
                1.0
            } else {
                1.0 / f32::from(container.capacity)
            };
            (out[0], out[1]) = (1.0, 1.0);
            for (out, &kind) in out[2..].iter_mut().zip(ingredients) {
                *out = count_of(&dish.ingredients, kind) as f32 * unit;
            }
        }
    }
    made
}
