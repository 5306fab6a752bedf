//! Dual Destination: two agents must stand on two green goals at the same time.
//!
//! Source: crossEnvCooperation 71ed348, `toy_coop`: equal targets fail for both, swaps pass, three points while each
//! stands on its own green goal, one point less for every step.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::art::{self, AgentArt};
use crate::contract::{
    Action, ActionSpec, Environment, FieldSpec, ParamError, Spec, StepEvent, StepOutcome,
};
use crate::draw::{DrawList, Shape, Sprite};
use crate::grid::Appearance;
use crate::observer::BatchObserver;
use crate::rng::Rng;
use crate::value::Value;

/// Cells of each side.
const SIDE: u8 = 5;
/// Agents, and goals of each colour.
const SEATS: usize = 2;
/// The action that does nothing.
const STAY: Action = 4;
/// Points while both stand on green goals, and for every step.
const BOTH: f32 = 3.0;
const STEP: f32 = -1.0;
const LONGEST_HORIZON: u32 = 1 << 24;

const SPRITES: &[Sprite] = crate::art!["floor_light", "floor_dark", "robot_*", "torso_*", "hat_*"];
const ROBOTS: AgentArt = AgentArt::new(SPRITES, art::FigureKind::Robot);
const GREEN: u32 = 0x2e9e_58ff;
const PINK: u32 = 0xe377_b6ff;

/// A cell: column and row.
pub type Square = [u8; 2];

/// The parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// True if agents and goals are in other cells in each episode.
    pub random_reset: bool,
    /// Where the agents begin, `[column, row]` from 0.
    pub agents: [Square; SEATS],
    /// The green goals.
    pub green: [Square; SEATS],
    /// The pink goals, which pay nothing.
    pub pink: [Square; SEATS],
    /// Steps after which the episode ends.
    pub horizon: u32,
    /// Steps per second; 0 for turns.
    pub tick_hz: u16,
    /// The looks and the names of the agents; changes no rule, state or observation.
    pub appearance: Appearance,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            random_reset: false,
            agents: [[0, 2], [4, 2]],
            green: [[2, 0], [2, 4]],
            pink: [[2, 1], [2, 3]],
            horizon: 100,
            tick_hz: 4,
            appearance: Appearance::default(),
        }
    }
}

/// The state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Where the agents are.
    pub agents: [Square; SEATS],
    /// The green goals.
    pub green: [Square; SEATS],
    /// The pink goals.
    pub pink: [Square; SEATS],
    /// Which way the agents went last (0 right, 1 down, 2 left, 3 up), for the picture.
    pub facing: [u8; SEATS],
    /// Steps so far.
    pub steps: u32,
    /// Points so far.
    pub score: i64,
}

/// The environment.
#[derive(Clone, Debug)]
pub struct DualDestination {
    params: Params,
}

fn refuse<T>(field: &str, reason: &str) -> Result<T, ParamError> {
    Err(ParamError {
        field: field.into(),
        reason: reason.into(),
    })
}

impl DualDestination {
    fn over(&self, state: &State) -> bool {
        state.steps >= self.params.horizon
    }
}

/// The cell in the direction of an action; at the border the same.
fn beside([x, y]: Square, action: Action) -> Square {
    match action {
        0 => [(x + 1).min(SIDE - 1), y],
        1 => [x, (y + 1).min(SIDE - 1)],
        2 => [x.saturating_sub(1), y],
        3 => [x, y.saturating_sub(1)],
        _ => [x, y],
    }
}

impl Environment for DualDestination {
    const ID: &'static str = "dual_destination";
    const VERSION: &'static str = "1.0.0";

    type Params = Params;
    type State = State;

    fn new(params: Params) -> Result<Self, ParamError> {
        if !(1..=LONGEST_HORIZON).contains(&params.horizon) {
            return refuse("horizon", "must be 1 to 16777216");
        }
        if params.tick_hz > 60 {
            return refuse("tick_hz", "must be 0 to 60");
        }
        for (field, places) in [
            ("agents", &params.agents),
            ("green", &params.green),
            ("pink", &params.pink),
        ] {
            if places.as_flattened().iter().any(|&at| at >= SIDE) {
                return refuse(field, "columns and rows are 0 to 4");
            }
        }
        if params.agents[0] == params.agents[1] {
            return refuse("agents", "two agents cannot begin in one cell");
        }
        params.appearance.check(SEATS)?;
        Ok(Self { params })
    }

    fn params_schema() -> &'static str {
        include_str!("params.schema.json")
    }

    fn sprites() -> &'static [Sprite] {
        SPRITES
    }

    fn spec(&self) -> Spec {
        let action = |name: &str, keys: &[&str]| ActionSpec {
            name: name.into(),
            momentary: false,
            keys: keys.iter().map(|&key| key.into()).collect(),
            directive: false,
        };
        Spec {
            id: Self::ID.into(),
            version: Self::VERSION.into(),
            title: "Dual Destination".into(),
            seats: SEATS as u8,
            actions: [
                action("move_right", &["ArrowRight", "KeyD"]),
                action("move_down", &["ArrowDown", "KeyS"]),
                action("move_left", &["ArrowLeft", "KeyA"]),
                action("move_up", &["ArrowUp", "KeyW"]),
                action("noop", &[]),
            ]
            .into(),
            noop: STAY,
            observation: [FieldSpec {
                name: "map".into(),
                shape: [u32::from(SIDE), u32::from(SIDE), 4].into(),
                range: Some([0.0, 1.0]),
            }]
            .into(),
            tick_hz: self.params.tick_hz,
            horizon: self.params.horizon,
            events: ["both_on_green".into()].into(),
            compact: true,
            reward_range: Some([STEP, BOTH + STEP]),
            components: ["both_on_green".into(), "step".into()].into(),
            ..Spec::default()
        }
    }

    fn reset(&self, seed: u64) -> State {
        let Params {
            agents,
            green,
            pink,
            random_reset,
            ..
        } = self.params;
        let mut state = State {
            agents,
            green,
            pink,
            facing: [0, 2],
            steps: 0,
            score: 0,
        };
        if random_reset {
            let mut cells: Vec<Square> =
                (0..SIDE * SIDE).map(|at| [at % SIDE, at / SIDE]).collect();
            Rng::new(seed).shuffle(&mut cells);
            state.agents = [cells[0], cells[1]];
            state.green = [cells[2], cells[3]];
            state.pink = [cells[4], cells[5]];
        }
        state
    }

    fn step(&self, state: &mut State, actions: &[Action], outcome: &mut StepOutcome) {
        outcome.clear();
        if !self.over(state) {
            let action = |seat: usize| actions.get(seat).copied().unwrap_or(STAY);
            let targets = [0, 1].map(|seat| beside(state.agents[seat], action(seat)));
            for seat in 0..SEATS {
                if action(seat) < STAY {
                    state.facing[seat] = action(seat) as u8;
                }
            }
            if targets[0] != targets[1] {
                state.agents = targets;
            }
            let on_green = |agent: &Square| state.green.contains(agent);
            let both = state.agents.iter().all(on_green);
            let points = if both { BOTH } else { 0.0 };
            for seat in 0..SEATS {
                outcome.components.extend([points, STEP]);
                outcome.rewards[seat] = points + STEP;
            }
            if both {
                outcome.events.push(StepEvent {
                    kind: 0,
                    seat: 0,
                    to: Some(1),
                    value: BOTH,
                });
            }
            state.score = state.score.saturating_add((points + STEP) as i64);
            state.steps += 1;
            if self.over(state) {
                outcome.truncated = (1 << SEATS) - 1;
            }
        }
        outcome.over = self.over(state);
    }

    fn observe(&self, state: &State, seat: usize, out: &mut [f32]) {
        look(state, seat, out);
    }

    fn score(&self, state: &State) -> i64 {
        state.score
    }

    fn draw(&self, state: &State, _seat: Option<usize>, out: &mut DrawList) {
        out.begin(SIDE.into(), SIDE.into(), 0x5c76_86ff);
        let corner = |[x, y]: Square| [f32::from(x), f32::from(y)];
        for at in 0..SIDE * SIDE {
            let (x, y) = (at % SIDE, at / SIDE);
            let floor = ["floor_dark", "floor_light"][usize::from((x + y) % 2)];
            let place = [f32::from(x), f32::from(y), 1.0, 1.0];
            out.push(0, place, Shape::Sprite(art::index(SPRITES, floor)));
        }
        for (places, color, radius) in [(&state.green, GREEN, 0.1), (&state.pink, PINK, 0.4)] {
            for [x, y] in places.iter().copied().map(corner) {
                let place = [x + 0.1, y + 0.1, 0.8, 0.8];
                out.push(0, place, Shape::Rect { radius, color });
            }
        }
        let looks = &self.params.appearance;
        for seat in 0..SEATS {
            let way = usize::from(state.facing[seat]);
            ROBOTS.draw_as(
                out,
                seat,
                looks.look_of(seat),
                way,
                corner(state.agents[seat]),
            );
        }
        for seat in 0..SEATS {
            if let Some(name) = looks.name(seat) {
                crate::grid::draw::draw_label(seat, name, corner(state.agents[seat]), out);
            }
        }
    }

    fn describe(&self, state: &State, seat: usize, out: &mut String) {
        let seat = seat.min(SEATS - 1);
        let at = |[x, y]: Square| format!("row {}, column {}", y + 1, x + 1);
        let left = self.params.horizon.saturating_sub(state.steps);
        // Writing into a String cannot fail.
        let _ = writeln!(
            out,
            "You are at {}. Your partner is at {}.\nThe green goals: {}; {}. The pink goals: {}; {}.\n\
             Points: {}. Steps left: {left}.",
            at(state.agents[seat]),
            at(state.agents[1 - seat]),
            at(state.green[0]),
            at(state.green[1]),
            at(state.pink[0]),
            at(state.pink[1]),
            state.score,
        );
    }

    fn valid(&self, state: &State) -> bool {
        let places = [state.agents, state.green, state.pink];
        let inside = |place: &Square| place.iter().all(|&at| at < SIDE);
        places.as_flattened().iter().all(inside)
            && state.agents[0] != state.agents[1]
            && state.facing.iter().all(|&way| way < 4)
    }
}

impl BatchObserver for DualDestination {
    fn observe_compact(&self, state: &State, seat: usize, out: &mut [i8]) {
        look(state, seat, out);
    }
}

/// Writes the map that a seat sees.
fn look<V: Value>(state: &State, seat: usize, out: &mut [V]) {
    out.fill(V::ZERO);
    let seat = seat.min(SEATS - 1);
    let mut put = |[x, y]: Square, channel: usize| {
        let at = (usize::from(y) * usize::from(SIDE) + usize::from(x)) * 4 + channel;
        if let Some(value) = out.get_mut(at) {
            *value = V::ONE;
        }
    };
    put(state.agents[seat], 0);
    put(state.agents[1 - seat], 1);
    for seat in 0..SEATS {
        put(state.green[seat], 2);
        put(state.pink[seat], 3);
    }
}
