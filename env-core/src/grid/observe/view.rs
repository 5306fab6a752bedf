//! `local_view`: the cells around an agent, or all of them, with channels for their contents.

use alloc::vec;
use alloc::vec::Vec;

use super::own::ViewWindow;
use super::pots::{count_of, stage};
use super::scene::{Scene, hand_of, kinds};
use crate::grid::kind::{KindId, MAX_KINDS};
use crate::grid::state::Fixture;
use crate::grid::tables::{Hand, Tables};
use crate::value::Value;

/// Divisors of CoGrid: the slots of a pot, and the time of the second kind of pot.
const COGRID_CAPACITY: f32 = 3.0;
const COGRID_TIME: f32 = 20.0;
/// The greatest value by the rules of CoGrid: the longest time that a byte can hold.
pub(super) const COGRID_MOST: f32 = u8::MAX as f32 / COGRID_TIME;

/// The channels of a view: where each begins.
#[derive(Clone, Copy, Debug)]
struct Channels {
    seats: usize,
    /// Values for the composition of a thing: on a plate, cooked, and its ingredients.
    made: usize,
    pots: Option<usize>,
    /// Channels that the world writes, at the end.
    own: usize,
    len: usize,
}

/// A view.
#[derive(Clone, Debug)]
pub(super) struct View {
    window: ViewWindow,
    channels: Channels,
    /// The value of each kind that stands in a cell.
    standing: [f32; MAX_KINDS],
    /// The value of each kind that is held.
    held: [f32; MAX_KINDS],
    /// The composition of each kind, `[kind, made]`.
    made: Vec<f32>,
    /// The ingredients; by the rules of CoGrid one that the world does not have counts the empty slots.
    ingredients: Vec<KindId>,
}

impl View {
    /// Returns the view of a world that does not define its own.
    pub(super) fn plain(tables: &Tables, radius: Option<u8>) -> Self {
        // CoGrid: only a world that says so describes containers.
        let has_pots = !tables.is_cogrid() && !tables.containers.is_empty();
        Self::new(tables, radius, super::ingredients(tables), has_pots, 0)
    }

    /// The view of a world that counts these ingredients and adds this many channels.
    pub(super) fn own(
        tables: &Tables,
        radius: Option<u8>,
        ingredients: Vec<KindId>,
        channels: usize,
    ) -> Self {
        let has_pots = tables.is_cogrid() || !tables.containers.is_empty();
        Self::new(tables, radius, ingredients, has_pots, channels)
    }

    fn new(
        tables: &Tables,
        radius: Option<u8>,
        ingredients: Vec<KindId>,
        has_pots: bool,
        own: usize,
    ) -> Self {
        let cogrid = tables.is_cogrid();
        let row = 2 + ingredients.len();
        // CoGrid: agents count as kinds from the number after the last kind.
        let scale = (tables.kinds.len() + usize::from(cogrid)).max(1) as f32;
        let value = |kind: usize| kind as f32 / scale;
        Self {
            window: ViewWindow::new(tables, radius),
            channels: Channels::new(tables.seats, row, has_pots, own),
            standing: core::array::from_fn(value),
            held: core::array::from_fn(|kind| match kind {
                0 => 0.0,
                _ => value(kind + usize::from(cogrid)),
            }),
            made: made_values(tables, &ingredients),
            ingredients,
        }
    }

    /// Checks whether the world writes its own channels.
    pub(super) fn has_own_channels(&self) -> bool {
        self.channels.own > 0
    }

    /// Rows, columns, channels.
    pub(super) fn shape(&self) -> [usize; 3] {
        let [rows, cols] = self.window.size();
        [rows, cols, self.channels.len]
    }

    /// Returns the start of a cell's channels, if the agent in `center` sees it.
    #[inline]
    fn place(&self, scene: &Scene<'_>, center: u16, cell: u16) -> Option<usize> {
        let place = self
            .window
            .place_of(scene.place(center), scene.place(cell))?;
        Some(place * self.channels.len)
    }

    #[inline(never)]
    pub(super) fn write<V: Value>(&self, scene: &Scene<'_>, seat: usize, out: &mut [V]) {
        out.fill(V::ZERO);
        let center = scene.agents[seat].cell;
        self.write_cells(scene, center, out);
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
                (hand_of(scene.tables, fixture.kind()), self.channels.pots)
            {
                self.write_pot(scene, fixture, &mut out[first..]);
            }
        }
    }

    fn write_cells<V: Value>(&self, scene: &Scene<'_>, center: u16, out: &mut [V]) {
        let scale = if scene.tables.is_cogrid() {
            f32::from(scene.values.iter().copied().max().unwrap_or(0).max(1))
        } else {
            scene.tables.kinds.len().max(1) as f32
        };
        for (cell, &kind) in (0..).zip(scene.kinds) {
            let Some(start) = self.place(scene, center, cell) else {
                continue;
            };
            let out = &mut out[start..][..self.channels.len];
            let lying = scene.kind_lying_on(usize::from(cell));
            out[0] = V::number(self.standing[usize::from(kind) % MAX_KINDS]);
            out[self.channels.lying()] = V::number(f32::from(lying) / scale);
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

    /// Writes whether it works, whether it is ready, how full it is, the time left, the share of each ingredient.
    fn write_pot<V: Value>(&self, scene: &Scene<'_>, pot: Fixture<'_>, out: &mut [V]) {
        let stage = stage(pot);
        let (capacity, time) = match hand_of(scene.tables, pot.kind()) {
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
    /// Places the channels: the kind, three for each agent, the thing that lies there; four for containers and one for
    /// each ingredient, the thing that each agent holds; those of the world.
    fn new(seats: usize, made: usize, pots: bool, own: usize) -> Self {
        let mut len = 2 + 3 * seats;
        let pots = pots.then_some(len);
        if pots.is_some() {
            len += 4 + (made - 2) + seats * made;
        }
        Self {
            seats,
            made,
            pots,
            own,
            len: len + own,
        }
    }

    fn lying(&self) -> usize {
        1 + 3 * self.seats
    }

    /// Returns the start of the channels for the composition of held things.
    fn held(&self) -> usize {
        self.lying() + 1 + 4 + (self.made - 2)
    }
}

fn write<V: Value>(values: &[f32], out: &mut [V]) {
    for (out, &value) in out.iter_mut().zip(values) {
        *out = V::number(value);
    }
}

/// The composition of each kind: whether there is a plate, whether it is cooked, how many of each ingredient
/// (by the corrected rules the share of the container).
pub(crate) fn made_values(tables: &Tables, ingredients: &[KindId]) -> Vec<f32> {
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
