//! Observations: features by name, composed as CoGrid composes them.
//!
//! The features of the seat itself in order, then `local_view`, then the features of every other seat in the order
//! of seats, then those of the whole grid. What never changes is kept in a template: an observation is a copy of it
//! with the rest written over, and bringing one up to date is only the rest.
//!
//! Source: CoGrid 0.3.2, `core/features.py:160`.

mod agent;
mod feature;
pub mod kitchen;
mod map;
mod masks;
mod pots;
mod scene;
mod value;
mod view;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::GridWorld;
use super::kind::KindId;
use super::state::State;
use super::tables::{Plan, Tables, refuse};
use crate::contract::{FieldSpec, ParamError};
use feature::{Builder, Part, Reach};
use kitchen::Now;
use scene::{Facts, Scene};
pub use value::Value;

/// What a seat observes.
#[derive(Clone, Debug)]
pub struct Observer {
    /// Features of each agent.
    each: Vec<Part>,
    /// Features of the seat alone.
    own: Vec<Part>,
    /// Features of the whole grid.
    grid: Vec<Part>,
    seats: usize,
    len: usize,
    facts: Facts,
    /// Whether a feature looks at what a kitchen has besides its grid.
    asks: bool,
    template: Vec<f32>,
    compact_template: Vec<i8>,
}

impl Observer {
    /// Composes the features of a plan.
    ///
    /// # Errors
    /// [`ParamError`] for a feature that does not exist, that the world has no use for, or that is there twice.
    pub fn new<W: GridWorld>(world: &W, tables: &Tables, plan: &Plan) -> Result<Self, ParamError> {
        let facts = Facts::new(tables, W::CHANGES_GROUND);
        let builder = Builder::new(world, tables, plan, &facts);
        let mut names = BTreeSet::new();
        let (mut each, mut own, mut grid) = (Vec::new(), Vec::new(), Vec::new());
        for (index, name) in plan.features.iter().enumerate() {
            let field = format!("features[{index}]");
            if !names.insert(name) {
                return refuse(&field, format!("`{name}` is there twice: take one out"));
            }
            let part = builder.part(name).map_err(|error| match &*error.field {
                "features" => ParamError { field, ..error },
                _ => error,
            })?;
            match part.reach {
                Reach::Each => each.push(part),
                Reach::Own => own.push(part),
                Reach::Grid => grid.push(part),
            }
        }
        if plan.view_radius.is_some() && own.is_empty() && !tables.is_cogrid() {
            return refuse(
                "view_radius",
                "is of no use without the feature `local_view`: add it to the features, or leave the radius out".into(),
            );
        }
        let len = |parts: &[Part]| parts.iter().map(|part| part.len).sum::<usize>();
        let mut observer = Self {
            len: len(&each) * tables.seats + len(&own) + len(&grid),
            asks: own.iter().chain(&grid).any(|part| part.feature.asks()),
            each,
            own,
            grid,
            seats: tables.seats,
            facts,
            template: Vec::new(),
            compact_template: Vec::new(),
        };
        observer.template = observer.fixed();
        observer.compact_template = observer.fixed();
        Ok(observer)
    }

    /// The parts of an observation in order, with the number of the other agent that each is about, from 1.
    fn parts(&self) -> impl Iterator<Item = (usize, &Part)> {
        let own = self.each.iter().chain(&self.own).map(|part| (0, part));
        let others =
            (1..self.seats).flat_map(|other| self.each.iter().map(move |part| (other, part)));
        own.chain(others)
            .chain(self.grid.iter().map(|part| (0, part)))
    }

    /// What never changes, over zeros.
    fn fixed<V: Value>(&self) -> Vec<V> {
        let mut out = vec![V::ZERO; self.len];
        let mut start = 0;
        for (_, part) in self.parts() {
            part.feature.fix(&mut out[start..start + part.len]);
            start += part.len;
        }
        out
    }

    /// The fields of an observation, in order: those of the other agents begin with `other.`, `other2.` and so on.
    pub fn fields(&self) -> Vec<FieldSpec> {
        let fields = self.parts().map(|(other, part)| FieldSpec {
            name: match other {
                0 => part.name.clone(),
                1 => format!("other.{}", part.name),
                _ => format!("other{other}.{}", part.name),
            },
            shape: part.shape.clone(),
        });
        fields.collect()
    }

    /// Whether every value is a whole number from -128 to 127.
    pub fn is_compact(&self) -> bool {
        self.parts().all(|(_, part)| part.compact)
    }

    /// Writes the observation of a seat; a seat that does not exist sees nothing.
    pub fn observe<W: GridWorld, V: Value>(
        &self,
        world: &W,
        tables: &Tables,
        state: &State<W::Extra>,
        seat: usize,
        out: &mut [V],
    ) {
        if seat < self.seats && out.len() >= self.len {
            out[..self.len].copy_from_slice(V::choose(&self.template, &self.compact_template));
            self.refresh(world, tables, state, seat, out);
        } else {
            out.fill(V::ZERO);
        }
    }

    /// Brings an earlier observation of the same seat up to date.
    pub fn refresh<W: GridWorld, V: Value>(
        &self,
        world: &W,
        tables: &Tables,
        state: &State<W::Extra>,
        seat: usize,
        out: &mut [V],
    ) {
        if seat >= self.seats || out.len() < self.len {
            return;
        }
        let look = Look {
            world,
            state,
            scene: Scene::new(tables, &self.facts, state),
            now: if self.asks {
                world.kitchen_now(state)
            } else {
                Now::default()
            },
        };
        let mut rest = look.write(&self.each, seat, out);
        rest = look.write(&self.own, seat, rest);
        for other in (0..self.seats).filter(|&other| other != seat) {
            rest = look.write(&self.each, other, rest);
        }
        look.write(&self.grid, seat, rest);
    }
}

/// One look at a state.
struct Look<'a, W: GridWorld> {
    world: &'a W,
    state: &'a State<W::Extra>,
    scene: Scene<'a>,
    now: Now,
}

impl<W: GridWorld> Look<'_, W> {
    /// Writes features as seen from a seat, and gives what comes after them.
    #[inline]
    fn write<'o, V: Value>(&self, parts: &[Part], seat: usize, out: &'o mut [V]) -> &'o mut [V] {
        let mut rest = out;
        for part in parts {
            let (here, after) = rest.split_at_mut(part.len);
            part.feature.write(self, seat, here);
            rest = after;
        }
        rest
    }
}

/// What containers take, in the order of the kinds.
fn ingredients(tables: &Tables) -> Vec<KindId> {
    let taken = |kind: &KindId| {
        let mut containers = tables.containers.iter();
        containers.any(|container| container.accepts.has(*kind))
    };
    scene::kinds(tables).filter(taken).collect()
}

#[cfg(test)]
mod tests;
