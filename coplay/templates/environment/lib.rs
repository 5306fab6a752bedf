//! `my_env`: two players collect tokens on a square field; the next token lies where the generator says.

use env_core::contract::{ActionSpec, FieldSpec, ParamError};
use env_core::draw::{DrawList, Shape, Sprite};
use env_core::rng::Rng;
use env_core::{Action, Environment, StepEvent, StepOutcome, Spec};
use serde::{Deserialize, Serialize};

env_core::export_env!(MyEnv);

/// Number of players.
const SEATS: usize = 2;
/// The actions: name, keys, and the way that it leads, in cells to the right and down.
const ACTIONS: [(&str, [&str; 2], (i8, i8)); 5] = [
    ("up", ["ArrowUp", "KeyW"], (0, -1)),
    ("down", ["ArrowDown", "KeyS"], (0, 1)),
    ("left", ["ArrowLeft", "KeyA"], (-1, 0)),
    ("right", ["ArrowRight", "KeyD"], (1, 0)),
    ("stay", ["Period", "KeyQ"], (0, 0)),
];
/// The action that does nothing.
const STAY: Action = 4;
/// Index of the event "collected".
const COLLECTED: u16 = 0;

/// The parameters that a study may set.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Cells along a side of the field, 3 to 20.
    pub size: u8,
    /// Steps after which the episode ends.
    pub horizon: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            size: 7,
            horizon: 300,
        }
    }
}

/// The environment: what its parameters fix.
#[derive(Debug)]
pub struct MyEnv {
    params: Params,
}

/// Column and row of a cell.
type Cell = (u8, u8);

/// Everything that changes, the random generator included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    step: u32,
    players: [Cell; SEATS],
    token: Cell,
    collected: u32,
    rng: Rng,
}

impl MyEnv {
    fn random_cell(&self, rng: &mut Rng) -> Cell {
        let side = u32::from(self.params.size);
        (rng.below(side) as u8, rng.below(side) as u8)
    }

    /// The cell that an action leads to; the edge of the field stops a player.
    fn next_cell(&self, (x, y): Cell, action: Action) -> Cell {
        let (_, _, (dx, dy)) = *ACTIONS
            .get(usize::from(action))
            .unwrap_or(&ACTIONS[usize::from(STAY)]);
        let last = self.params.size - 1;
        let along = |at: u8, by: i8| at.saturating_add_signed(by).min(last);
        (along(x, dx), along(y, dy))
    }
}

impl Environment for MyEnv {
    const ID: &'static str = "my_env";
    // Change it whenever the same actions would lead elsewhere: old recordings name it.
    const VERSION: &'static str = "0.1.0";
    type Params = Params;
    type State = State;

    fn new(params: Params) -> Result<Self, ParamError> {
        let refuse = |field: &str, reason: &str| {
            Err(ParamError {
                field: field.into(),
                reason: reason.into(),
            })
        };
        if !(3..=20).contains(&params.size) {
            return refuse("size", "must be 3 to 20");
        }
        if params.horizon == 0 {
            return refuse("horizon", "must be at least 1");
        }
        Ok(Self { params })
    }

    fn params_schema() -> &'static str {
        r#"{
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "size": {
                    "description": "Cells along a side of the field.",
                    "type": "integer", "minimum": 3, "maximum": 20, "default": 7
                },
                "horizon": {
                    "description": "Steps after which the episode ends.",
                    "type": "integer", "minimum": 1, "maximum": 4294967295, "default": 300
                }
            }
        }"#
    }

    fn sprites() -> &'static [Sprite] {
        &[]
    }

    fn spec(&self) -> Spec {
        let field = |name: &str, shape: &[u32]| FieldSpec {
            name: name.into(),
            shape: shape.into(),
            ..FieldSpec::default()
        };
        Spec {
            id: Self::ID.into(),
            version: Self::VERSION.into(),
            title: "My env".into(),
            seats: SEATS as u8,
            actions: ACTIONS
                .iter()
                .map(|(name, keys, _)| ActionSpec {
                    name: (*name).into(),
                    momentary: *name != "stay",
                    keys: keys.iter().map(|key| (*key).into()).collect(),
                    ..ActionSpec::default()
                })
                .collect(),
            noop: STAY,
            observation: vec![
                field("own_cell", &[2]),
                field("other_cell", &[2]),
                field("token", &[2]),
            ],
            tick_hz: 10,
            horizon: self.params.horizon,
            events: vec!["collected".into()],
            compact: true,
            pointer: true,
            ..Spec::default()
        }
    }

    fn reset(&self, seed: u64) -> State {
        let mut rng = Rng::new(seed);
        State {
            step: 0,
            players: [self.random_cell(&mut rng), self.random_cell(&mut rng)],
            token: self.random_cell(&mut rng),
            collected: 0,
            rng,
        }
    }

    fn step(&self, state: &mut State, actions: &[Action], outcome: &mut StepOutcome) {
        outcome.clear();
        if state.step >= self.params.horizon {
            outcome.over = true;
            return;
        }
        state.step += 1;
        for seat in 0..SEATS {
            let action = actions.get(seat).copied().unwrap_or(STAY);
            state.players[seat] = self.next_cell(state.players[seat], action);
            if state.players[seat] == state.token {
                state.collected += 1;
                state.token = self.random_cell(&mut state.rng);
                outcome.rewards[seat] += 1.0;
                outcome.events.push(StepEvent {
                    kind: COLLECTED,
                    seat: seat as u8,
                    to: None,
                    value: 1.0,
                });
            }
        }
        if state.step == self.params.horizon {
            outcome.over = true;
            outcome.truncated = (1 << SEATS) - 1;
        }
    }

    fn observe(&self, state: &State, seat: usize, out: &mut [f32]) {
        let (own, other) = (state.players[seat], state.players[1 - seat]);
        let cells = [own, other, state.token];
        for (pair, (x, y)) in out.chunks_exact_mut(2).zip(cells) {
            (pair[0], pair[1]) = (x.into(), y.into());
        }
    }

    fn mask(&self, state: &State, seat: usize) -> u64 {
        let own = state.players[seat];
        let moves = (0..STAY).filter(|&action| self.next_cell(own, action) != own);
        // A player that stays may still find the next token under its feet.
        moves.fold(1 << STAY, |mask, action| mask | 1 << action)
    }

    fn score(&self, state: &State) -> i64 {
        state.collected.into()
    }

    fn draw(&self, state: &State, _seat: Option<usize>, out: &mut DrawList) {
        let side = f32::from(self.params.size);
        out.begin(side, side, 0xf4f1_e8ff);
        let in_cell = |(x, y): Cell, gap: f32| {
            let size = 1.0 - 2.0 * gap;
            [f32::from(x) + gap, f32::from(y) + gap, size, size]
        };
        let token = Shape::Rect {
            radius: 0.1,
            color: 0x009e_73ff,
        };
        out.push(0, in_cell(state.token, 0.3), token);
        // Seat `s` has the id `s + 1`, so that the page can point a person's own out.
        for (seat, color) in [0x0072_b2ff, 0xe69f_00ff].into_iter().enumerate() {
            let body = Shape::Ellipse { color };
            out.push(seat as u32 + 1, in_cell(state.players[seat], 0.1), body);
        }
    }

    /// A cell beside the player means the step to it.
    fn point(&self, state: &State, seat: usize, [x, y]: [f32; 2]) -> Option<Action> {
        let cell = (x as u8, y as u8);
        let own = state.players[seat];
        (0..STAY).find(|&action| cell != own && self.next_cell(own, action) == cell)
    }

    fn describe(&self, state: &State, seat: usize, out: &mut String) {
        let words = |(x, y): Cell| format!("column {}, row {}", x + 1, y + 1);
        *out += &format!(
            "You are at {}, the other player at {}, the token at {}. {} collected.",
            words(state.players[seat]),
            words(state.players[1 - seat]),
            words(state.token),
            state.collected,
        );
    }

    fn valid(&self, state: &State) -> bool {
        let inside = |(x, y): &Cell| *x < self.params.size && *y < self.params.size;
        state.step <= self.params.horizon
            && state.collected / 2 <= state.step
            && state.players.iter().chain([&state.token]).all(inside)
    }
}
