//! A public goods game: an environment without a grid, on the bare contract.
//!
//! In each round everybody keeps or gives some of ten coins; what was given is multiplied and shared by all.
//! Source: Isaac and Walker, "Group size effects in public goods provision", 1988.

use env_core::contract::{ActionSpec, FieldSpec, ParamError};
use env_core::draw::{DrawList, Shape, Sprite};
use env_core::{Action, Environment, MAX_SEATS, Spec, StepEvent, StepOutcome};
use serde::{Deserialize, Serialize};

/// Coins that everybody gets in a round.
const COINS: u16 = 10;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of players.
    pub seats: u8,
    /// Rounds of an episode.
    pub rounds: u32,
    /// Factor by which a given coin grows, for all together.
    pub factor: f32,
}

impl Default for Params {
    fn default() -> Self {
        let (seats, rounds, factor) = (4, 10, 1.6);
        Self {
            seats,
            rounds,
            factor,
        }
    }
}

/// The environment: what its parameters fix.
#[derive(Debug)]
pub struct PublicGoods {
    params: Params,
}

/// The state: plain data, so that it can be saved, compared and sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    rounds: u32,
    /// Contribution of each seat in the last round.
    given: [u16; MAX_SEATS],
    /// Earnings of each seat.
    earned: [f32; MAX_SEATS],
}

impl PublicGoods {
    fn seats(&self) -> usize {
        self.params.seats.into()
    }

    /// Earnings of a round: what was kept, and the share of the pot.
    fn parts(&self, given: u16, pot: u16) -> [f32; 2] {
        let share = f32::from(pot) * self.params.factor / f32::from(self.params.seats);
        [f32::from(COINS - given), share]
    }

    fn over(&self, state: &State) -> bool {
        state.rounds >= self.params.rounds
    }
}

impl Environment for PublicGoods {
    const ID: &'static str = "public_goods";
    const VERSION: &'static str = "1.0.0";
    type Params = Params;
    type State = State;

    fn new(params: Params) -> Result<Self, ParamError> {
        let refuse = |field: &str, reason: &str| {
            let (field, reason) = (field.into(), reason.into());
            Err(ParamError { field, reason })
        };
        if !(2..=MAX_SEATS as u8).contains(&params.seats) {
            return refuse("seats", "must be 2 to 16");
        }
        if !(1..=1000).contains(&params.rounds) {
            return refuse("rounds", "must be 1 to 1000");
        }
        if !(0.0..=16.0).contains(&params.factor) {
            return refuse("factor", "must be a number from 0 to 16");
        }
        Ok(Self { params })
    }

    fn params_schema() -> &'static str {
        r#"{"type":"object","properties":{"seats":{"type":"integer"},"rounds":{"type":"integer"},"factor":{"type":"number"}}}"#
    }

    fn sprites() -> &'static [Sprite] {
        &[]
    }

    fn spec(&self) -> Spec {
        let gives = |coins: u16| ActionSpec {
            name: format!("give_{coins}"),
            momentary: true,
            keys: if coins < COINS {
                vec![format!("Digit{coins}")]
            } else {
                vec!["KeyX".into()]
            },
            ..ActionSpec::default()
        };
        let field = |name: &str, len: usize, most: Option<f32>| FieldSpec {
            name: name.into(),
            shape: vec![len as u32],
            range: most.map(|most| [0.0, most]),
        };
        // The others give everything: then it pays most to keep everything, or else to give everything, too.
        let others = COINS * (u16::from(self.params.seats) - 1);
        let most = [0, COINS].map(|given| self.parts(given, others + given).iter().sum::<f32>());
        Spec {
            id: Self::ID.into(),
            version: Self::VERSION.into(),
            title: "Public goods".into(),
            seats: self.params.seats,
            actions: (0..=COINS).map(gives).collect(),
            noop: 0,
            observation: vec![
                field("given", self.seats(), Some(COINS.into())),
                field("earned", 1, None),
                field("rounds_left", 1, Some(self.params.rounds as f32)),
            ],
            tick_hz: 0,
            horizon: self.params.rounds,
            events: vec!["gave".into()],
            reward_range: Some([0.0, most[0].max(most[1])]),
            components: vec!["kept".into(), "share".into()],
            pointer: true,
            ..Spec::default()
        }
    }

    fn reset(&self, _seed: u64) -> State {
        State {
            rounds: 0,
            given: [0; MAX_SEATS],
            earned: [0.0; MAX_SEATS],
        }
    }

    fn step(&self, state: &mut State, actions: &[Action], outcome: &mut StepOutcome) {
        outcome.clear();
        if !self.over(state) {
            let seats = self.seats();
            let coins = |seat: usize| {
                actions
                    .get(seat)
                    .copied()
                    .filter(|&coins| coins <= COINS)
                    .unwrap_or(0)
            };
            state.given = core::array::from_fn(|seat| if seat < seats { coins(seat) } else { 0 });
            let pot: u16 = state.given.iter().sum();
            for (seat, &given) in state.given[..seats].iter().enumerate() {
                let parts = self.parts(given, pot);
                let reward = parts.iter().sum();
                outcome.components.extend(parts);
                outcome.rewards[seat] = reward;
                state.earned[seat] += reward;
                outcome.events.push(StepEvent {
                    kind: 0,
                    seat: seat as u8,
                    to: None,
                    value: f32::from(given),
                });
            }
            state.rounds += 1;
            outcome.truncated = if self.over(state) {
                u16::MAX >> (MAX_SEATS - seats)
            } else {
                0
            };
        }
        outcome.over = self.over(state);
    }

    fn observe(&self, state: &State, seat: usize, out: &mut [f32]) {
        // One's own first, then those of the others.
        let others = (0..self.seats()).filter(|&other| other != seat);
        let given = core::iter::once(seat)
            .chain(others)
            .map(|seat| f32::from(state.given[seat]));
        let left = (self.params.rounds - state.rounds) as f32;
        let values = given.chain([state.earned[seat], left]);
        out.iter_mut()
            .zip(values)
            .for_each(|(out, value)| *out = value);
    }

    fn score(&self, state: &State) -> i64 {
        state.earned.iter().sum::<f32>() as i64
    }

    fn seat_score(&self, state: &State, seat: usize) -> i64 {
        state.earned[seat] as i64
    }

    /// A row of coins below everybody's: the coin that is pointed at, and those to its left, are given.
    fn point(&self, _state: &State, _seat: usize, [x, y]: [f32; 2]) -> Option<Action> {
        let coin = (x / self.seats() as f32 * f32::from(COINS)) as u16;
        (y >= 4.0 && coin < COINS).then_some(coin + 1)
    }

    fn draw(&self, state: &State, _seat: Option<usize>, out: &mut DrawList) {
        out.begin(self.seats() as f32, 5.0, 0xf2e8_d8ff);
        let width = self.seats() as f32 / f32::from(COINS);
        for coin in 0..COINS {
            let size = if width < 0.8 { 0.8 * width } else { 0.64 };
            let left = width * (f32::from(coin) + 0.5) - 0.5 * size;
            let color = 0xe69f_00ff;
            out.push(
                0,
                [left, 4.5 - 0.5 * size, size, size],
                Shape::Ellipse { color },
            );
        }
        for seat in 0..self.seats() {
            let (x, given) = (seat as f32, state.given[seat]);
            let height = 2.4 * f32::from(given) / f32::from(COINS);
            let bar = Shape::Rect {
                radius: 0.08,
                color: 0x0072_b2ff,
            };
            out.push(1 + seat as u32, [x + 0.2, 3.0 - height, 0.6, height], bar);
            let text = format!("{given} given");
            out.push(
                0,
                [x, 3.2, 1.0, 0.18],
                Shape::Text {
                    text,
                    color: 0x1d25_2cff,
                },
            );
        }
    }

    fn describe(&self, state: &State, seat: usize, out: &mut String) {
        *out += &format!("You have earned {:.1} coins.\n", state.earned[seat]);
        for other in 0..self.seats() {
            *out += &format!("Player {} gave {}.\n", other + 1, state.given[other]);
        }
        *out += &format!("Rounds left: {}.\n", self.params.rounds - state.rounds);
    }

    fn valid(&self, state: &State) -> bool {
        let beyond = |seat: usize| state.given[seat] == 0 && state.earned[seat] == 0.0;
        let sound =
            |seat: usize| state.given[seat] <= COINS && (0.0..1e6).contains(&state.earned[seat]);
        state.rounds <= self.params.rounds
            && (0..MAX_SEATS).all(sound)
            && (self.seats()..MAX_SEATS).all(beyond)
    }
}
