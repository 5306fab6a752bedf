//! Observations: features by name, composed as CoGrid composes them.
//!
//! Source: CoGrid 0.3.2, `core/features.py:160`: the seat's own features in order, then those of the seat alone,
//! then the features of every other seat in the order of seats, then those of the whole grid.

pub mod kitchen;

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::state::State;
use super::tables::{Plan, Tables, refuse};
use super::{GridWorld, unknown};
use crate::contract::{FieldSpec, ParamError};

/// A value of an observation: `f32`, or a whole number in a byte.
pub trait Value: Copy + Default {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// A whole number from -128 to 127.
    fn whole(value: i32) -> Self;
    /// Any number; for the compact form its whole part.
    fn number(value: f32) -> Self;
}

impl Value for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    #[inline]
    fn whole(value: i32) -> Self {
        value as f32
    }
    #[inline]
    fn number(value: f32) -> Self {
        value
    }
}

impl Value for i8 {
    const ZERO: Self = 0;
    const ONE: Self = 1;
    #[inline]
    fn whole(value: i32) -> Self {
        value as i8
    }
    #[inline]
    fn number(value: f32) -> Self {
        value as i8
    }
}

/// A feature of one agent that every grid has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feature {
    AgentDir,
    AgentPosition,
    CanMoveDirection,
    Inventory,
}

const NAMES: [(&str, Feature, u32); 4] = [
    ("agent_dir", Feature::AgentDir, 4),
    ("agent_position", Feature::AgentPosition, 2),
    ("can_move_direction", Feature::CanMoveDirection, 4),
    ("inventory", Feature::Inventory, 1),
];

/// What a seat observes.
#[derive(Clone, Debug)]
pub struct Observer {
    features: Vec<(Feature, u32, String)>,
    seats: usize,
}

impl Observer {
    /// Composes the features of a plan.
    ///
    /// # Errors
    /// [`ParamError`] for a feature that does not exist.
    pub fn new<W: GridWorld>(_world: &W, tables: &Tables, plan: &Plan) -> Result<Self, ParamError> {
        let named = |name: &String| match NAMES.iter().find(|(known, ..)| known == name) {
            Some(&(_, feature, len)) => Ok((feature, len, name.clone())),
            None => refuse(
                "features",
                unknown("feature", name, NAMES.iter().map(|&(known, ..)| known)),
            ),
        };
        let features = plan.features.iter().map(named).collect::<Result<_, _>>()?;
        Ok(Self {
            features,
            seats: tables.seats,
        })
    }

    /// The fields of an observation, in order.
    pub fn fields(&self) -> Vec<FieldSpec> {
        let mut fields = Vec::new();
        for seat in 0..self.seats {
            for (_, len, name) in &self.features {
                let name = if seat == 0 {
                    name.clone()
                } else {
                    alloc::format!("other.{name}")
                };
                fields.push(FieldSpec {
                    name,
                    shape: vec![*len],
                });
            }
        }
        fields
    }

    /// Whether every value is a whole number from -128 to 127.
    pub fn is_compact(&self) -> bool {
        true
    }

    /// Writes the observation of a seat.
    pub fn observe<W: GridWorld, V: Value>(
        &self,
        _world: &W,
        tables: &Tables,
        state: &State<W::Extra>,
        seat: usize,
        out: &mut [V],
    ) {
        let mut rest = out;
        for other in core::iter::once(seat).chain((0..self.seats).filter(|&other| other != seat)) {
            for &(feature, len, _) in &self.features {
                let (here, after) = rest.split_at_mut(len as usize);
                write(feature, tables, state, other, here);
                rest = after;
            }
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
        self.observe(world, tables, state, seat, out);
    }
}

fn write<X, V: Value>(
    feature: Feature,
    tables: &Tables,
    state: &State<X>,
    seat: usize,
    out: &mut [V],
) {
    let agent = state.agents[seat];
    match feature {
        Feature::AgentDir => {
            out.fill(V::ZERO);
            out[agent.facing as usize] = V::ONE;
        }
        Feature::AgentPosition => {
            let (row, col) = tables.place(agent.cell);
            out.copy_from_slice(&[V::whole(row as i32), V::whole(col as i32)]);
        }
        Feature::CanMoveDirection => {
            use super::Direction::{Down, Left, Right, Up};
            for (out, direction) in out.iter_mut().zip([Right, Left, Down, Up]) {
                let front = tables.front(agent.cell, direction);
                let free = front != agent.cell && tables.walkable.has(state.kind(front));
                *out = V::whole(i32::from(free));
            }
        }
        Feature::Inventory => {
            let held = i32::from(agent.held);
            out[0] = V::whole(if held == 0 { 0 } else { held + 1 });
        }
    }
}
