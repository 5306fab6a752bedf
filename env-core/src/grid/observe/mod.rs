//! Observations: features by name, composed as CoGrid composes them.
//!
//! The features of the seat itself in order, then `local_view`, then the features of every other seat in the order
//! of seats, then those of the whole grid. Values that depend only on an agent's cell and direction are computed
//! before, and values that never change are left out when an earlier observation is updated.
//!
//! Source: CoGrid 0.3.2, `core/features.py:160`.

mod agent;
mod build;
mod feature;
mod map;
mod masks;
mod own;
mod pots;
mod scene;
mod sources;
mod view;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::GridWorld;
use super::kind::KindId;
use super::plan::WorldPlan;
use super::refusal::refuse;
use super::state::{Direction, State};
use super::tables::Tables;
use crate::contract::{FieldSpec, ParamError};
use crate::observer::Trail;
use crate::value::{Forms, Value};
use build::Builder;
use feature::{Feature, Part, Reach};
pub use own::{ContainerSet, OwnFeature, ViewWindow};
use scene::{Facts, Scene};
pub use sources::{Source, Sources};
pub(crate) use view::made_values;

/// The observation of a seat.
#[derive(Clone, Debug)]
pub struct Observer {
    /// Features of each agent.
    each: Vec<Part>,
    /// Features of the seat alone.
    own: Vec<Part>,
    /// Features of the whole grid.
    grid: Vec<Part>,
    /// The features of each agent that are not laid.
    moving: Vec<Part>,
    /// The values laid for an agent in each cell and direction: the features that depend on nothing else, over zeros.
    rows: Forms,
    /// Lengths of the features of each agent, of the seat alone, and of a whole observation.
    row: usize,
    own_len: usize,
    len: usize,
    seats: usize,
    facts: Facts,
    /// CoGrid: the place at which the features of the first two seats have two values less than those of the others.
    gap: Option<usize>,
}

/// The length of a gap.
const GAP: usize = 2;

impl Observer {
    /// Composes the features of a plan.
    ///
    /// # Errors
    /// [`ParamError`] for a feature that does not exist, that the world has no use for, or that is there twice.
    pub fn new<W: GridWorld>(
        world: &W,
        tables: &Tables,
        plan: &WorldPlan,
    ) -> Result<Self, ParamError> {
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
        let is_of_use = !own.is_empty() || tables.fog != 0 || tables.is_cogrid();
        if plan.view_radius.is_some() && !is_of_use {
            return refuse(
                "view_radius",
                "is of no use without the feature `local_view`: add it to the features, or leave the radius out".into(),
            );
        }
        let (row, own_len, grid_len) = (place(&mut each), place(&mut own), place(&mut grid));
        let laid = |part: &&Part| !part.feature.is_laid(&facts);
        Ok(Self {
            gap: gap(tables, &each),
            moving: each.iter().filter(laid).cloned().collect(),
            rows: rows(&facts, &each, row, tables.cells),
            each,
            own,
            grid,
            row,
            own_len,
            len: row * tables.seats + own_len + grid_len,
            seats: tables.seats,
            facts,
        })
    }

    /// The parts of an observation in order, with the number of the other agent that each is about, from 1.
    fn parts(&self) -> impl Iterator<Item = (usize, &Part)> {
        let own = self.each.iter().chain(&self.own).map(|part| (0, part));
        let others = 1..self.seats;
        let others = others.flat_map(|other| self.each.iter().map(move |part| (other, part)));
        own.chain(others)
            .chain(self.grid.iter().map(|part| (0, part)))
    }

    /// Returns the fields of an observation, in order: fields of other agents begin with `other.`, `other2.` and so on.
    pub fn fields(&self) -> Vec<FieldSpec> {
        let fields = self.parts().map(|(other, part)| FieldSpec {
            range: part.range,
            name: match other {
                0 => part.name.clone(),
                1 => format!("other.{}", part.name),
                _ => format!("other{other}.{}", part.name),
            },
            // CoGrid: as the first seat sees it.
            shape: match self.gap {
                Some(gap) if other < 2 && part.is_gapped(gap) => vec![1, 2],
                _ => part.shape.clone(),
            },
        });
        fields.collect()
    }

    /// Checks whether every value is a whole number from -128 to 127.
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
        if let Some(gap) = self.gap.filter(|_| out.len() < self.len) {
            let mut wide = vec![V::ZERO; self.len];
            self.observe(world, tables, state, seat, &mut wide);
            return self.close(gap, seat, &wide, out);
        }
        if seat >= self.seats || out.len() < self.len {
            out.fill(V::ZERO);
            return;
        }
        self.fix(out);
        self.refresh(world, tables, state, seat, out);
    }

    /// Writes what never changes.
    fn fix<V: Value>(&self, out: &mut [V]) {
        let grid = &mut out[self.row * self.seats + self.own_len..];
        for part in &self.grid {
            part.feature
                .fix(&mut grid[part.start..part.start + part.len]);
        }
    }

    /// Brings an earlier observation of the same seat up to date.
    #[inline]
    pub fn refresh<W: GridWorld, V: Value>(
        &self,
        world: &W,
        tables: &Tables,
        state: &State<W::Extra>,
        seat: usize,
        out: &mut [V],
    ) {
        if self.gap.is_some() && out.len() < self.len {
            return self.observe(world, tables, state, seat, out);
        }
        if seat >= self.seats || out.len() < self.len {
            return;
        }
        let look = self.look(world, tables, state);
        let (here, rest) = out.split_at_mut(self.row);
        self.write_agent(&look, seat, here);
        let (own, mut rest) = rest.split_at_mut(self.own_len);
        look.write(&self.own, seat, own);
        for other in (0..self.seats).filter(|&other| other != seat) {
            let (here, after) = rest.split_at_mut(self.row);
            self.write_agent(&look, other, here);
            rest = after;
        }
        look.write(&self.grid, seat, rest);
    }

    /// Writes the observations of every seat, `[seat, value]`: the values of each agent are computed once.
    pub fn observe_all<W: GridWorld, V: Value>(
        &self,
        world: &W,
        tables: &Tables,
        state: &State<W::Extra>,
        mut trail: Option<&mut Trail<V>>,
        out: &mut [V],
    ) {
        if self.gap.is_some() {
            for (seat, out) in out.chunks_exact_mut(self.len - 2 * GAP).enumerate() {
                self.observe(world, tables, state, seat, out);
            }
            return;
        }
        if out.len() < self.seats * self.len {
            return;
        }
        let is_laid = match &mut trail {
            Some(trail) => trail.take_back(0, out),
            None => false,
        };
        if !is_laid {
            let seats = out.chunks_exact_mut(self.len.max(1));
            seats.take(self.seats).for_each(|out| self.fix(out));
        }
        let look = self.look(world, tables, state);
        let others = self.row + self.own_len;
        for seat in 0..self.seats {
            let start = seat * self.len;
            let row = start..start + self.row;
            self.write_agent(&look, seat, &mut out[row.clone()]);
            for other in (0..self.seats).filter(|&other| other != seat) {
                let place = seat - usize::from(seat > other);
                let start = other * self.len + others + place * self.row;
                out.copy_within(row.clone(), start);
            }
        }
        for seat in 0..self.seats {
            let own = &mut out[seat * self.len + self.row..][..self.own_len];
            look.write(&self.own, seat, own);
        }
        for part in &self.grid {
            let grid = others + (self.seats - 1) * self.row + part.start;
            if let (Feature::Masks(masks), Some(trail)) = (&part.feature, &mut trail) {
                let starts = (0..self.seats).map(|seat| seat * self.len + grid);
                masks.write_all(&look.scene, starts, trail, out);
                continue;
            }
            let shared = part.feature.shared();
            let writers = if shared.is_some() { 1 } else { self.seats };
            for seat in 0..writers {
                let here = &mut out[seat * self.len + grid..][..part.len];
                part.feature.write(&look, seat, here);
            }
            for range in shared.into_iter().flatten() {
                let (start, end) = (grid + range.start, grid + range.end);
                for seat in 1..self.seats {
                    out.copy_within(start..end, seat * self.len + start);
                }
            }
        }
    }

    /// Copies an observation without the gaps in the features of the first two seats.
    fn close<V: Value>(&self, gap: usize, seat: usize, wide: &[V], out: &mut [V]) {
        let starts = [0, 1].map(|told| match told {
            _ if told == seat => gap,
            // The others follow the seat itself in the order of seats.
            _ => self.own_len + self.row * (1 + told - usize::from(told > seat)) + gap,
        });
        let is_gap = |at: usize| {
            starts
                .iter()
                .any(|&start| (start..start + GAP).contains(&at))
        };
        let kept = wide.iter().enumerate().filter(|&(at, _)| !is_gap(at));
        out.iter_mut()
            .zip(kept)
            .for_each(|(out, (_, value))| *out = *value);
    }

    #[inline]
    fn look<'a, W: GridWorld>(
        &'a self,
        world: &'a W,
        tables: &'a Tables,
        state: &'a State<W::Extra>,
    ) -> Look<'a, W> {
        Look {
            world,
            state,
            scene: Scene::new(tables, &self.facts, state),
        }
    }

    /// Writes the features of one agent.
    #[inline]
    fn write_agent<W: GridWorld, V: Value>(&self, look: &Look<'_, W>, seat: usize, out: &mut [V]) {
        let agent = look.scene.agents[seat];
        let start = (usize::from(agent.cell) * 4 + agent.facing as usize) * self.row;
        out.copy_from_slice(&V::of(&self.rows)[start..start + self.row]);
        look.write(&self.moving, seat, out);
    }
}

impl Observer {
    /// Finds the sources of all values; `None` if one of them has a source of another kind.
    pub fn find_sources(&self, tables: &Tables) -> Option<Sources> {
        let facts = &self.facts;
        if !self.own.is_empty()
            || self.gap.is_some()
            || !self.is_compact()
            || !sources::stays_in_place(tables, facts)
        {
            return None;
        }
        let mut agent: Vec<_> = (0..self.row).map(|value| self.laid(value)).collect();
        for part in &self.moving {
            let here = &mut agent[part.start..][..part.len];
            part.feature.find_sources(tables, facts, here)?;
        }
        let len = self.len - self.row * self.seats;
        let mut fixed = vec![0_i8; len];
        for part in &self.grid {
            part.feature.fix(&mut fixed[part.start..][..part.len]);
        }
        let mut grid: Vec<_> = fixed.into_iter().map(Source::Constant).collect();
        for part in &self.grid {
            let here = &mut grid[part.start..][..part.len];
            part.feature.find_sources(tables, facts, here)?;
        }
        Some(Sources { agent, grid })
    }

    /// The source of a laid value of an agent.
    fn laid(&self, value: usize) -> Source {
        let rows = i8::of(&self.rows).chunks_exact(self.row);
        let values: Vec<_> = rows.map(|row| row[value]).collect();
        let (cells, _) = values.as_chunks::<4>();
        let first = cells.first().copied().unwrap_or_default();
        if cells.iter().all(|cell| *cell == first) {
            return match first {
                [one, rest @ ..] if rest == [one; 3] => Source::Constant(one),
                _ => Source::Facing(first),
            };
        }
        Source::Cell(cells.iter().map(|cell| cell[0]).collect())
    }
}

/// CoGrid: returns where the first two seats' features of others are shorter, if there are more than two seats.
fn gap(tables: &Tables, parts: &[Part]) -> Option<usize> {
    let mut gaps = parts.iter().map(|part| (part, part.start + GAP));
    let found = gaps.find(|(part, gap)| part.is_gapped(*gap));
    found.map(|(_, gap)| gap).filter(|_| tables.is_cogrid())
}

impl Part {
    /// Checks whether a gap is in it.
    fn is_gapped(&self, gap: usize) -> bool {
        matches!(self.feature, Feature::Distances) && self.len > GAP && self.start + GAP == gap
    }
}

/// Sets the start of each feature among the others, and returns the total length.
fn place(parts: &mut [Part]) -> usize {
    parts.iter_mut().fold(0, |start, part| {
        part.start = start;
        start + part.len
    })
}

/// Lays the values of an agent, `[cell, direction, value]`.
fn rows(facts: &Facts, parts: &[Part], len: usize, cells: usize) -> Forms {
    let mut rows = vec![0; cells * 4 * len];
    for cell in 0..cells {
        for facing in Direction::ALL {
            let start = (cell * 4 + facing as usize) * len;
            for part in parts {
                let out = &mut rows[start + part.start..][..part.len];
                part.feature.lay(facts, cell as u16, facing, out);
            }
        }
    }
    Forms::new(rows)
}

/// One look at a state.
struct Look<'a, W: GridWorld> {
    world: &'a W,
    state: &'a State<W::Extra>,
    scene: Scene<'a>,
}

impl<W: GridWorld> Look<'_, W> {
    /// Writes features as seen from a seat.
    #[inline]
    fn write<V: Value>(&self, parts: &[Part], seat: usize, out: &mut [V]) {
        for part in parts {
            let here = &mut out[part.start..part.start + part.len];
            part.feature.write(self, seat, here);
        }
    }
}

/// The ingredients that containers take, in the order of the kinds.
pub(crate) fn ingredients(tables: &Tables) -> Vec<KindId> {
    let taken = |kind: &KindId| {
        let mut containers = tables.containers.iter();
        containers.any(|container| container.accepts.has(*kind))
    };
    scene::kinds(tables).filter(taken).collect()
}

#[cfg(test)]
mod tests;
