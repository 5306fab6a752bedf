//! Sixty-four instances side by side: each field is an array with an entry a lane.

use env_core::grid::{Agent, Draws, EMPTY, KindSet, State, state::Direction};
use env_core::rng::Rng;

use super::plan::Plan;
use crate::lanes::bytes::{Bytes, LANES};

/// The contents of a container.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contents {
    pub(super) count: Bytes,
    pub(super) timer: Bytes,
    /// The kind of the held thing; [`EMPTY`] while there is none.
    pub(super) kind: Bytes,
}

/// The contents of an array of observations.
#[derive(Clone, Debug)]
pub(super) struct Screen {
    /// 1 where it is known.
    pub(super) known: Bytes,
    /// The thing in each place of the plan.
    pub(super) lying: Vec<Bytes>,
}

/// Instances side by side.
#[derive(Clone, Debug)]
pub(crate) struct Block<const SEATS: usize> {
    pub(super) cell: [Bytes; SEATS],
    /// The number of the direction.
    pub(super) facing: [Bytes; SEATS],
    pub(super) held: [Bytes; SEATS],
    /// The thing in each place of the plan.
    pub(super) lying: Vec<Bytes>,
    /// The contents of each container of the plan.
    pub(super) pots: Vec<Contents>,
    /// Both as they were before somebody tries a hand.
    pub(super) kept_lying: Vec<Bytes>,
    pub(super) kept_pots: Vec<Contents>,
    /// 1 where the episode is over.
    pub(super) over: Bytes,
    pub(super) steps: [u32; LANES],
    pub(super) score: [f32; LANES],
    pub(super) draws: [Rng; LANES],
    /// The arrays of `f32` and of bytes.
    pub(super) screens: [Screen; 2],
}

/// Bytes of a fixture in the memory of a state, see [`env_core::grid::Fixture`].
const TIMER: usize = 4;
const COUNT: usize = 5;
const SLOTS: usize = 6;

impl<const SEATS: usize> Block<SEATS> {
    /// A block of lanes that nobody uses.
    pub(super) fn new(plan: &Plan) -> Self {
        let pot = Contents {
            count: Bytes::ZERO,
            timer: Bytes::ZERO,
            kind: Bytes::ZERO,
        };
        // Lanes that nobody uses are stepped as well, so they stand somewhere.
        let floor = plan.places.first().map_or(0, |place| place.cell);
        Self {
            cell: [Bytes([floor; LANES]); SEATS],
            facing: [Bytes::ZERO; SEATS],
            held: [Bytes::ZERO; SEATS],
            lying: vec![Bytes::ZERO; plan.places.len()],
            pots: vec![pot; plan.pots.len()],
            kept_lying: vec![Bytes::ZERO; plan.places.len()],
            kept_pots: vec![pot; plan.pots.len()],
            over: Bytes::ZERO,
            steps: [0; LANES],
            score: [0.0; LANES],
            draws: std::array::from_fn(|_| Rng::new(0)),
            screens: std::array::from_fn(|_| Screen {
                known: Bytes::ZERO,
                lying: vec![Bytes::ZERO; plan.places.len()],
            }),
        }
    }

    /// Takes up an instance; false if lanes cannot hold its state, and then nothing is changed.
    pub(super) fn insert<X>(
        &mut self,
        plan: &Plan,
        stride: usize,
        lane: usize,
        state: &State<X>,
    ) -> bool {
        let Draws::Xoshiro(draws) = &state.draws else {
            return false;
        };
        if !fits(plan, stride, state) {
            return false;
        }
        for (seat, agent) in state.agents[..SEATS].iter().enumerate() {
            self.cell[seat].0[lane] = agent.cell as u8;
            self.facing[seat].0[lane] = agent.facing as u8;
            self.held[seat].0[lane] = agent.held;
        }
        for (place, lying) in plan.places.iter().zip(&mut self.lying) {
            let at = usize::from(place.cell);
            lying.0[lane] = state.memory[if place.kind == EMPTY {
                at
            } else {
                plan.cells + at
            }];
        }
        let records = state.memory[2 * plan.cells..].chunks_exact(stride);
        for (record, pot) in records.zip(&mut self.pots) {
            pot.count.0[lane] = record[COUNT];
            pot.timer.0[lane] = record[TIMER];
            pot.kind.0[lane] = record[SLOTS];
        }
        (self.steps[lane], self.score[lane]) = (state.steps, state.score);
        self.draws[lane] = draws.clone();
        self.over.0[lane] = u8::from(state.done != 0);
        for screen in &mut self.screens {
            screen.known.0[lane] = 0;
        }
        true
    }

    /// Writes an instance back over its original state.
    pub(super) fn extract<X>(&self, plan: &Plan, stride: usize, lane: usize, state: &mut State<X>) {
        for (seat, agent) in state.agents[..SEATS].iter_mut().enumerate() {
            *agent = Agent {
                cell: u16::from(self.cell[seat].0[lane]),
                facing: Direction::of(self.facing[seat].0[lane]),
                held: self.held[seat].0[lane],
            };
        }
        for (place, lying) in plan.places.iter().zip(&self.lying) {
            let at = usize::from(place.cell);
            state.memory[if place.kind == EMPTY {
                at
            } else {
                plan.cells + at
            }] = lying.0[lane];
        }
        let records = state.memory[2 * plan.cells..].chunks_exact_mut(stride);
        for (record, pot) in records.zip(&self.pots) {
            let count = pot.count.0[lane];
            (record[COUNT], record[TIMER]) = (count, pot.timer.0[lane]);
            record[SLOTS..].fill(EMPTY);
            record[SLOTS..][..usize::from(count)].fill(pot.kind.0[lane]);
        }
        (state.steps, state.score) = (self.steps[lane], self.score[lane]);
        state.draws = Draws::Xoshiro(self.draws[lane].clone());
    }
}

/// Checks whether a state is one that play can reach from a first one: lanes know no others.
fn fits<X>(plan: &Plan, stride: usize, state: &State<X>) -> bool {
    let thing = |kind: u8| kind == EMPTY || plan.things.has(kind);
    let floor = |cell: u16| {
        plan.places[..plan.floors]
            .iter()
            .any(|place| u16::from(place.cell) == cell)
    };
    let agents = state.agents[..plan.seats]
        .iter()
        .all(|agent| floor(agent.cell) && thing(agent.held));
    let (kinds, rest) = state.memory.split_at(plan.cells);
    let (values, records) = rest.split_at(plan.cells);
    let cells = kinds
        .iter()
        .zip(values)
        .enumerate()
        .all(|(cell, (&kind, &value))| {
            let surface = plan.places[plan.floors..]
                .iter()
                .any(|place| usize::from(place.cell) == cell);
            let kind_fits = match plan.ground[cell] {
                EMPTY => thing(kind),
                fixed => kind == fixed,
            };
            kind_fits
                && if surface {
                    thing(value)
                } else {
                    value == EMPTY
                }
        });
    let pots = plan
        .pots
        .iter()
        .zip(records.chunks_exact(stride))
        .all(|(pot, record)| {
            let (count, kind) = (usize::from(record[COUNT]), record[SLOTS]);
            let known = pot
                .dishes
                .iter()
                .fold(KindSet::default(), |set, dish| set.with(dish.ingredient));
            u16::from_le_bytes([record[0], record[1]]) == u16::from(pot.cell)
                && count <= usize::from(pot.capacity)
                && (count == 0 || known.has(kind))
                && record[SLOTS..]
                    .iter()
                    .enumerate()
                    .all(|(slot, &held)| held == if slot < count { kind } else { EMPTY })
        });
    agents
        && cells
        && pots
        && state.injected.is_none()
        && (state.done == 0 || state.done == (1 << plan.seats) - 1)
}
