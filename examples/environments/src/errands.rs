//! Errands: directives, on the bare contract.
//!
//! One station is wanted; who reaches it first earns a point, and another is wanted. An agent walks cell by cell, or takes
//! a directive such as `go_b`: it then walks to that station by itself, until it is there or another action comes. The
//! directive is part of the state, so it is saved, rolled back and replayed like everything else.

use env_core::contract::{ActionSpec, FieldSpec, ParamError};
use env_core::draw::{DrawList, Shape, Sprite};
use env_core::rng::Rng;
use env_core::{Action, Environment, Spec, StepEvent, StepOutcome};
use serde::{Deserialize, Serialize};

/// The most seats.
const MOST: usize = 4;
/// Rows and columns of the floor.
const ROWS: i8 = 5;
const COLS: i8 = 9;
/// The stations: row, column, letter.
const STATIONS: [([i8; 2], &str); 3] = [([0, 1], "A"), ([0, 7], "B"), ([4, 4], "C")];
/// Walking by hand: the way, in rows and columns, the name and the key.
const WALKS: [([i8; 2], &str, &str); 4] = [
    ([-1, 0], "move_up", "ArrowUp"),
    ([1, 0], "move_down", "ArrowDown"),
    ([0, -1], "move_left", "ArrowLeft"),
    ([0, 1], "move_right", "ArrowRight"),
];
/// The first action that is a directive: those before do nothing, or walk one cell.
const GO: usize = 1 + WALKS.len();

const FLOOR: u32 = 0xf2e8_d8ff;
const INK: u32 = 0x1d25_2cff;
const WANTED: u32 = 0xf6c8_5fff;
const STATION: u32 = 0xffff_ffff;
const AGENTS: [u32; MOST] = [0xd55e_00ff, 0x0072_b2ff, 0x009e_73ff, 0xcc79_a7ff];

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of agents.
    pub seats: u8,
    /// Steps of an episode.
    pub horizon: u32,
}

impl Default for Params {
    fn default() -> Self {
        let (seats, horizon) = (2, 300);
        Self { seats, horizon }
    }
}

/// The environment: what its parameters fix.
#[derive(Debug)]
pub struct Errands {
    params: Params,
}

/// The state: plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    random: Rng,
    steps: u32,
    /// Row and column of each agent.
    places: [[i8; 2]; MOST],
    /// The station to which each agent walks by a directive.
    bound_for: [Option<u8>; MOST],
    /// The wanted station.
    wanted: u8,
    /// Points of each seat.
    points: [u32; MOST],
}

impl Errands {
    fn seats(&self) -> usize {
        self.params.seats.into()
    }

    fn over(&self, state: &State) -> bool {
        state.steps >= self.params.horizon
    }

    /// The next cell of an agent, by its action or by its directive.
    fn next(state: &mut State, seat: usize, action: Action) -> [i8; 2] {
        let [row, col] = state.places[seat];
        let action = usize::from(action);
        match action.checked_sub(GO) {
            Some(station) if station < STATIONS.len() => {
                state.bound_for[seat] = Some(station as u8);
            }
            None if action > 0 => {
                state.bound_for[seat] = None;
                let ([down, right], ..) = WALKS[action - 1];
                return [row + down, col + right];
            }
            _ => {}
        }
        let Some(station) = state.bound_for[seat] else {
            return [row, col];
        };
        // Along the row first, then along the column.
        let ([to_row, to_col], _) = STATIONS[usize::from(station)];
        match (to_col - col).signum() {
            0 => [row + (to_row - row).signum(), col],
            right => [row, col + right],
        }
    }
}

fn is_floor([row, col]: [i8; 2]) -> bool {
    (0..ROWS).contains(&row) && (0..COLS).contains(&col)
}

impl Environment for Errands {
    const ID: &'static str = "errands";
    const VERSION: &'static str = "1.0.0";
    type Params = Params;
    type State = State;

    fn new(params: Params) -> Result<Self, ParamError> {
        let refuse = |field: &str, reason: &str| {
            let (field, reason) = (field.into(), reason.into());
            Err(ParamError { field, reason })
        };
        if !(1..=MOST as u8).contains(&params.seats) {
            return refuse("seats", "must be 1 to 4");
        }
        if !(1..=100_000).contains(&params.horizon) {
            return refuse("horizon", "must be 1 to 100000");
        }
        Ok(Self { params })
    }

    fn params_schema() -> &'static str {
        r#"{"type":"object","properties":{"seats":{"type":"integer"},"horizon":{"type":"integer"}}}"#
    }

    fn sprites() -> &'static [Sprite] {
        &[]
    }

    fn spec(&self) -> Spec {
        let action = |name: &str, momentary: bool, key: &str| ActionSpec {
            name: name.into(),
            momentary,
            keys: if key.is_empty() {
                Vec::new()
            } else {
                vec![key.into()]
            },
            ..ActionSpec::default()
        };
        let walks = WALKS.iter().map(|(_, name, key)| action(name, false, key));
        let directives = STATIONS
            .iter()
            .zip(1..)
            .map(|((_, letter), digit)| ActionSpec {
                directive: true,
                ..action(
                    &format!("go_{}", letter.to_lowercase()),
                    true,
                    &format!("Digit{digit}"),
                )
            });
        let field = |name: &str, len: usize, most: f32| FieldSpec {
            name: name.into(),
            shape: vec![len as u32],
            range: Some([0.0, most]),
        };
        Spec {
            id: Self::ID.into(),
            version: Self::VERSION.into(),
            title: "Errands".into(),
            seats: self.params.seats,
            actions: std::iter::once(action("stay", false, ""))
                .chain(walks)
                .chain(directives)
                .collect(),
            noop: 0,
            observation: vec![
                field("places", 2 * self.seats(), f32::from(COLS - 1)),
                field("wanted", STATIONS.len(), 1.0),
                field("bound_for", STATIONS.len(), 1.0),
            ],
            tick_hz: 8,
            horizon: self.params.horizon,
            events: vec!["errand".into()],
            reward_range: Some([0.0, 1.0]),
            pointer: true,
            ..Spec::default()
        }
    }

    fn reset(&self, seed: u64) -> State {
        let mut random = Rng::new(seed);
        let wanted = random.below(STATIONS.len() as u32) as u8;
        State {
            random,
            steps: 0,
            places: [[2, 1], [2, 7], [2, 3], [2, 5]],
            bound_for: [None; MOST],
            wanted,
            points: [0; MOST],
        }
    }

    fn step(&self, state: &mut State, actions: &[Action], outcome: &mut StepOutcome) {
        outcome.clear();
        if !self.over(state) {
            for seat in 0..self.seats() {
                let action = actions.get(seat).copied().unwrap_or(0);
                let next = Self::next(state, seat, action);
                let taken = state.places[..self.seats()].contains(&next);
                if is_floor(next) && !taken {
                    state.places[seat] = next;
                }
                let is_there = |station: u8| state.places[seat] == STATIONS[usize::from(station)].0;
                // A directive is done when its agent has arrived.
                state.bound_for[seat] = state.bound_for[seat].filter(|&station| !is_there(station));
                if is_there(state.wanted) {
                    state.points[seat] += 1;
                    outcome.rewards[seat] = 1.0;
                    outcome.events.push(StepEvent {
                        kind: 0,
                        seat: seat as u8,
                        to: None,
                        value: f32::from(state.wanted),
                    });
                    let further = 1 + state.random.below(STATIONS.len() as u32 - 1) as u8;
                    state.wanted = (state.wanted + further) % STATIONS.len() as u8;
                }
            }
            state.steps += 1;
            if self.over(state) {
                outcome.truncated = (1 << self.seats()) - 1;
            }
        }
        outcome.over = self.over(state);
    }

    fn observe(&self, state: &State, seat: usize, out: &mut [f32]) {
        // One's own place first.
        let others = (0..self.seats()).filter(|&other| other != seat);
        let places = std::iter::once(seat).chain(others);
        let places = places.flat_map(|seat| state.places[seat].map(f32::from));
        let is = |station: Option<u8>| {
            (0..STATIONS.len() as u8).map(move |other| f32::from(u8::from(station == Some(other))))
        };
        let values = places
            .chain(is(Some(state.wanted)))
            .chain(is(state.bound_for[seat]));
        out.iter_mut()
            .zip(values)
            .for_each(|(out, value)| *out = value);
    }

    fn score(&self, state: &State) -> i64 {
        state.points.iter().map(|&points| i64::from(points)).sum()
    }

    fn seat_score(&self, state: &State, seat: usize) -> i64 {
        state.points[seat].into()
    }

    /// A station means the way to it.
    fn point(&self, _state: &State, _seat: usize, [x, y]: [f32; 2]) -> Option<Action> {
        let at = [y.floor() as i8, x.floor() as i8];
        let station = STATIONS.iter().position(|&(place, _)| place == at)?;
        Some((GO + station) as Action)
    }

    fn draw(&self, state: &State, _seat: Option<usize>, out: &mut DrawList) {
        out.begin(COLS.into(), ROWS.into(), FLOOR);
        for (number, &([row, col], letter)) in (0..).zip(&STATIONS) {
            let (x, y) = (f32::from(col), f32::from(row));
            let color = if state.wanted == number {
                WANTED
            } else {
                STATION
            };
            let radius = 0.12;
            out.push(
                0,
                [x + 0.05, y + 0.05, 0.9, 0.9],
                Shape::Rect { radius, color },
            );
            let (text, color) = (letter.into(), INK);
            out.push(0, [x, y + 0.1, 1.0, 0.3], Shape::Text { text, color });
        }
        for (seat, color) in AGENTS.into_iter().enumerate().take(self.seats()) {
            let [y, x] = state.places[seat].map(f32::from);
            let id = 1 + seat as u32;
            out.push(id, [x + 0.2, y + 0.25, 0.6, 0.6], Shape::Ellipse { color });
            let bound_for = state.bound_for[seat].map(|station| STATIONS[usize::from(station)].1);
            let (text, color) = (bound_for.unwrap_or_default().into(), STATION);
            out.push(
                id + MOST as u32,
                [x, y + 0.4, 1.0, 0.3],
                Shape::Text { text, color },
            );
        }
    }

    fn describe(&self, state: &State, seat: usize, out: &mut String) {
        let at = |seat: usize| {
            let [row, col] = state.places[seat];
            let way = state.bound_for[seat].map(|station| STATIONS[usize::from(station)].1);
            let way = way.map_or(String::new(), |letter| {
                format!(", on the way to station {letter}")
            });
            format!("at row {}, column {}{way}", row + 1, col + 1)
        };
        let wanted = STATIONS[usize::from(state.wanted)].1;
        *out += &format!("Station {wanted} is wanted. You are {}.\n", at(seat));
        for other in (0..self.seats()).filter(|&other| other != seat) {
            *out += &format!("Agent {} is {}.\n", other + 1, at(other));
        }
        for ([row, col], letter) in STATIONS {
            *out += &format!("Station {letter}: row {}, column {}.\n", row + 1, col + 1);
        }
        *out += &format!(
            "Your points: {}. Points of all: {}.\n",
            state.points[seat],
            self.score(state)
        );
    }

    fn valid(&self, state: &State) -> bool {
        let count = STATIONS.len() as u8;
        state.steps <= self.params.horizon
            && state.wanted < count
            && state.places.iter().all(|&place| is_floor(place))
            && state
                .bound_for
                .iter()
                .flatten()
                .all(|&station| station < count)
            && state
                .points
                .iter()
                .all(|&points| points <= self.params.horizon)
    }
}
