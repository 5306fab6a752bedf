//! A feature, and which code writes it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::Look;
use super::agent::{self, Closest, Items};
use super::map;
use super::masks::Masks;
use super::pots::Pots;
use super::scene::Facts;
use super::sources::{self, Source};
use super::view::View;
use crate::grid::GridWorld;
use crate::grid::kind::KindSet;
use crate::grid::state::Direction;
use crate::grid::tables::Tables;
use crate::value::Value;

/// The name of the view.
pub(super) const LOCAL_VIEW: &str = "local_view";

/// A feature with its tables.
#[derive(Clone, Debug)]
pub(super) enum Feature {
    Direction,
    Position,
    /// Flags for such kinds beside the agent.
    Beside(KindSet),
    Inventory,
    Items(Items),
    PotsBeside(Pots),
    Pots(Pots),
    Distances,
    Closest(Box<Closest>),
    /// A feature of the world's own.
    World(String),
    View(Box<View>),
    Masks(Box<Masks>),
    /// 1 at an index.
    OneOf(u8),
    Map,
}

/// The owner of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Every agent has one.
    Each,
    /// Only the agent that sees has one.
    Own,
    /// There is one for the whole grid.
    Grid,
}

/// A feature of an observation.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) feature: Feature,
    pub(super) reach: Reach,
    pub(super) shape: Vec<u32>,
    pub(super) len: usize,
    /// Its start among the features of the same reach.
    pub(super) start: usize,
    /// True if every value is a whole number that a byte holds.
    pub(super) compact: bool,
    /// The least and the greatest value; `None` if the world does not say them.
    pub(super) range: Option<[f32; 2]>,
}

impl Feature {
    /// Writes what never changes: the rest is written by [`Self::write`].
    pub(super) fn fix<V: Value>(&self, out: &mut [V]) {
        match self {
            Self::OneOf(index) => {
                out.fill(V::ZERO);
                out[usize::from(*index)] = V::ONE;
            }
            Self::Masks(masks) => masks.fix(out),
            _ => {}
        }
    }

    /// Writes over zeros what depends only on the agent's cell and direction.
    pub(super) fn lay(&self, facts: &Facts, cell: u16, facing: Direction, out: &mut [i8]) {
        match self {
            Self::Direction => out[facing as usize] = 1,
            Self::Position => out.copy_from_slice(&facts.place(cell).map(|at| at as i8)),
            Self::Beside(kinds) => {
                for (out, cell) in out.iter_mut().zip(facts.cells_around(cell)) {
                    let kind = facts.ground.get(usize::from(cell));
                    *out = i8::from(kind.is_some_and(|&kind| kinds.has(kind)));
                }
            }
            Self::Pots(pots) => pots.lay(facts, cell, out),
            _ => {}
        }
    }

    /// Checks whether [`Self::lay`] writes everything.
    pub(super) fn is_laid(&self, facts: &Facts) -> bool {
        match self {
            Self::Direction | Self::Position | Self::OneOf(_) => true,
            Self::Beside(kinds) => kinds.0 & !facts.lasting.0 == 0,
            _ => false,
        }
    }

    /// Finds the sources of what [`Self::write`] writes, over those of the laid or fixed values; `None` if there is one
    /// of another kind.
    pub(super) fn find_sources(
        &self,
        tables: &Tables,
        facts: &Facts,
        out: &mut [Source],
    ) -> Option<()> {
        match self {
            Self::Direction | Self::Position | Self::OneOf(_) => Some(()),
            Self::Beside(kinds) => sources::find_clear(tables, facts, *kinds, out),
            Self::Inventory => {
                out[0] = Source::HeldNumber;
                Some(())
            }
            Self::Items(items) => {
                items.find_sources(out);
                Some(())
            }
            Self::PotsBeside(pots) => pots.find_beside(facts, out),
            Self::Pots(pots) => pots.find_ordered(facts, out),
            Self::Distances => {
                agent::find_distances(out);
                Some(())
            }
            Self::Masks(masks) => {
                masks.find_sources(facts, out);
                Some(())
            }
            Self::Closest(_) | Self::World(_) | Self::View(_) | Self::Map => None,
        }
    }

    /// All values that [`Self::write`] writes, if they are the same for every seat and it is quicker to copy them.
    pub(super) fn shared(&self) -> Option<&[Range<usize>]> {
        match self {
            Self::Masks(masks) => masks.shared(),
            _ => None,
        }
    }

    /// Writes the rest, as seen from a seat. The values of one of several agents are written over the laid values.
    #[inline]
    pub(super) fn write<W: GridWorld, V: Value>(
        &self,
        look: &Look<'_, W>,
        seat: usize,
        out: &mut [V],
    ) {
        let scene = &look.scene;
        match self {
            Self::Beside(kinds) if scene.littered => agent::beside(scene, seat, *kinds, out),
            Self::Direction | Self::Position | Self::Beside(_) | Self::OneOf(_) => {}
            Self::Inventory => agent::inventory(scene, seat, out),
            Self::Items(items) => items.write(scene, seat, out),
            Self::PotsBeside(pots) => pots.beside(scene, seat, out),
            Self::Pots(pots) => pots.ordered(scene, seat, out),
            Self::Distances => agent::distances(scene, seat, out),
            Self::Closest(closest) => closest.write(scene, seat, out),
            Self::World(name) => V::floats(out, |out| {
                look.world
                    .observe(scene.tables, look.state, name, seat, out);
            }),
            Self::View(view) if view.has_own_channels() => V::floats(out, |out| {
                view.write(scene, seat, out);
                look.world
                    .observe(scene.tables, look.state, LOCAL_VIEW, seat, out);
            }),
            Self::View(view) => view.write(scene, seat, out),
            Self::Masks(masks) => masks.write(scene, out),
            Self::Map if scene.tables.is_cogrid() => map::write_cogrid(scene, out),
            Self::Map => map::write(scene, out),
        }
    }
}
