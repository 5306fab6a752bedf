//! A matrix game, played again and again: people choose at the same time, and a table says what each of them earns.
//!
//! By default it is the prisoner's dilemma of two. More people play it each against each other one, with one choice.
//! Source: Axelrod, "Effective choice in the prisoner's dilemma", 1980.

use env_core::contract::{ActionSpec, FieldSpec, ParamError, range_of_sums};
use env_core::draw::{DrawList, Shape, Sprite};
use env_core::{Action, Environment, Spec, StepEvent, StepOutcome};
use serde::{Deserialize, Serialize};

/// The most players.
const MOST_SEATS: u8 = 8;
/// The most choices of a player.
const MOST: usize = 6;
/// The width of the column with the names of one's own choices, and the height of the row with the partner's, cells.
const MARGIN: f32 = 1.4;

const PAPER: u32 = 0xf2e8_d8ff;
const INK: u32 = 0x1d25_2cff;
const CELL: u32 = 0xffff_ffff;
const CHOSEN: u32 = 0xf6c8_5fff;

/// Parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Players, 2 to 8.
    pub seats: u8,
    /// Names of the choices, the same for all.
    pub choices: Vec<String>,
    /// Earnings of a player against another: for each own choice, a number for each choice of the other.
    pub payoffs: Vec<Vec<f32>>,
    /// The same for the second of two players; empty if the game is the same for both.
    pub payoffs_second: Vec<Vec<f32>>,
    /// Rounds of an episode.
    pub rounds: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            seats: 2,
            choices: vec!["cooperate".into(), "defect".into()],
            payoffs: vec![vec![3.0, 0.0], vec![5.0, 1.0]],
            payoffs_second: Vec::new(),
            rounds: 10,
        }
    }
}

/// The environment: what its parameters fix.
#[derive(Debug)]
pub struct MatrixGame {
    params: Params,
}

/// The state: plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    rounds: u32,
    /// Choice of each player in the last round, from 1; 0 for none.
    chosen: Vec<u16>,
    /// Earnings of each player.
    earned: Vec<f32>,
}

impl MatrixGame {
    fn choices(&self) -> usize {
        self.params.choices.len()
    }

    fn seats(&self) -> usize {
        self.params.seats.into()
    }

    /// The choices of the others in the last round.
    fn others<'a>(&self, state: &'a State, seat: usize) -> impl Iterator<Item = u16> + use<'a> {
        let others = state.chosen.iter().enumerate();
        others.filter_map(move |(other, &chosen)| (other != seat).then_some(chosen))
    }

    fn over(&self, state: &State) -> bool {
        state.rounds >= self.params.rounds
    }

    fn round(&self, state: &State) -> String {
        let rounds = self.params.rounds;
        format!("Round {} of {rounds}", rounds.min(state.rounds + 1))
    }

    /// Earnings of a seat by these choices, from 1; nothing if somebody has made none.
    fn payoff(&self, seat: usize, own: u16, other: u16) -> f32 {
        let second = &self.params.payoffs_second;
        let table = match seat == 1 && !second.is_empty() {
            true => second,
            false => &self.params.payoffs,
        };
        let row = usize::from(own)
            .checked_sub(1)
            .and_then(|row| table.get(row));
        let column = usize::from(other).checked_sub(1);
        let cell = row.and_then(|row| row.get(column?));
        cell.copied().unwrap_or(0.0)
    }
}

fn refuse(field: &str, reason: &str) -> Result<(), ParamError> {
    let (field, reason) = (field.into(), reason.into());
    Err(ParamError { field, reason })
}

/// Checks that there is a number for each pair of choices.
fn check_table(field: &str, table: &[Vec<f32>], choices: usize) -> Result<(), ParamError> {
    if table.len() != choices || table.iter().any(|row| row.len() != choices) {
        return refuse(
            field,
            "must have a row for each choice, with a number for each choice",
        );
    }
    let is_fit = |value: &f32| (-1e3..=1e3).contains(value);
    match table.iter().flatten().all(is_fit) {
        true => Ok(()),
        false => refuse(field, "must have numbers from -1000 to 1000"),
    }
}

impl Environment for MatrixGame {
    const ID: &'static str = "matrix_game";
    const VERSION: &'static str = "2.0.0";
    type Params = Params;
    type State = State;

    fn new(params: Params) -> Result<Self, ParamError> {
        let choices = params.choices.len();
        if !(2..=MOST).contains(&choices) {
            refuse("choices", "must have 2 to 6 names")?;
        }
        let is_name = |name: &String| (1..=20).contains(&name.len()) && name != "abstain";
        if !params.choices.iter().all(is_name) {
            refuse(
                "choices",
                "must be names of 1 to 20 letters, none of them `abstain`",
            )?;
        }
        check_table("payoffs", &params.payoffs, choices)?;
        if !params.payoffs_second.is_empty() {
            check_table("payoffs_second", &params.payoffs_second, choices)?;
        }
        if !(2..=MOST_SEATS).contains(&params.seats) {
            refuse("seats", "must be 2 to 8")?;
        }
        if params.seats > 2 && !params.payoffs_second.is_empty() {
            refuse("payoffs_second", "is for two players: leave it out")?;
        }
        if !(1..=1000).contains(&params.rounds) {
            refuse("rounds", "must be 1 to 1000")?;
        }
        Ok(Self { params })
    }

    fn params_schema() -> &'static str {
        r#"{"type":"object","properties":{"seats":{"type":"integer"},"choices":{"type":"array","items":{"type":"string"}},"payoffs":{"type":"array","items":{"type":"array","items":{"type":"number"}}},"payoffs_second":{"type":"array","items":{"type":"array","items":{"type":"number"}}},"rounds":{"type":"integer"}}}"#
    }

    fn sprites() -> &'static [Sprite] {
        &[]
    }

    fn spec(&self) -> Spec {
        let action = |name: &str, keys: Vec<String>| ActionSpec {
            name: name.into(),
            momentary: true,
            keys,
            ..ActionSpec::default()
        };
        let named = self.params.choices.iter().zip(1..);
        let named = named.map(|(name, digit)| action(name, vec![format!("Digit{digit}")]));
        let field = |name: &str, len: usize, most: Option<f32>| FieldSpec {
            name: name.into(),
            shape: vec![len as u32],
            range: most.map(|most| [0.0, most]),
        };
        // Who chooses nothing earns nothing.
        let cells = [&self.params.payoffs, &self.params.payoffs_second];
        let cells = cells.into_iter().flatten().flatten();
        let [least, most] = cells.fold([0.0_f32; 2], |[least, most], &cell| {
            [least.min(cell), most.max(cell)]
        });
        let others = (1..self.seats()).map(|_| [least, most].map(f64::from));
        Spec {
            id: Self::ID.into(),
            version: Self::VERSION.into(),
            title: "Matrix game".into(),
            seats: self.params.seats,
            actions: core::iter::once(action("abstain", Vec::new()))
                .chain(named)
                .collect(),
            noop: 0,
            observation: vec![
                field("chosen", self.seats(), Some(self.choices() as f32)),
                field("earned", self.seats(), None),
                field("rounds_left", 1, Some(self.params.rounds as f32)),
            ],
            tick_hz: 0,
            horizon: self.params.rounds,
            events: vec!["chose".into()],
            reward_range: Some(range_of_sums(others)),
            pointer: true,
            ..Spec::default()
        }
    }

    fn reset(&self, _seed: u64) -> State {
        State {
            rounds: 0,
            chosen: vec![0; self.seats()],
            earned: vec![0.0; self.seats()],
        }
    }

    fn step(&self, state: &mut State, actions: &[Action], outcome: &mut StepOutcome) {
        outcome.clear();
        if !self.over(state) {
            let choice = |seat: usize| actions.get(seat).copied().unwrap_or(0);
            let is_choice = |choice: &u16| usize::from(*choice) <= self.choices();
            let seats = self.seats();
            let chosen = (0..seats).map(|seat| Some(choice(seat)).filter(is_choice).unwrap_or(0));
            state.chosen = chosen.collect();
            for seat in 0..seats {
                let own = state.chosen[seat];
                let earns = self
                    .others(state, seat)
                    .map(|other| self.payoff(seat, own, other));
                let reward: f32 = earns.sum();
                outcome.rewards[seat] = reward;
                state.earned[seat] += reward;
                outcome.events.push(StepEvent {
                    kind: 0,
                    seat: seat as u8,
                    to: (seats == 2).then_some(1 - seat as u8 % 2),
                    value: f32::from(own),
                });
            }
            state.rounds += 1;
            let all = (1_u16 << seats) - 1;
            outcome.truncated = if self.over(state) { all } else { 0 };
        }
        outcome.over = self.over(state);
    }

    fn observe(&self, state: &State, seat: usize, out: &mut [f32]) {
        // One's own first.
        let others = || (0..self.seats()).filter(|&other| other != seat);
        let order = || core::iter::once(seat).chain(others());
        let chosen = order().map(|of| f32::from(state.chosen[of]));
        let earned = order().map(|of| state.earned[of]);
        let left = (self.params.rounds - state.rounds) as f32;
        let values = chosen.chain(earned).chain([left]);
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

    /// A row of the table is a choice.
    fn point(&self, _state: &State, _seat: usize, [_, y]: [f32; 2]) -> Option<Action> {
        let row = y - MARGIN;
        (row >= 0.0 && row < self.choices() as f32).then_some(row as u16 + 1)
    }

    /// The table, from the side of a seat: its own choices are the rows, and what it earns comes first in a cell. Among more
    /// than two, a cell of the last round says how many of the others made its choice.
    fn draw(&self, state: &State, seat: Option<usize>, out: &mut DrawList) {
        let (own, choices) = (seat.unwrap_or(0), self.choices());
        let size = MARGIN + choices as f32;
        out.begin(size + 0.6, size, PAPER);
        let text = |out: &mut DrawList, place: [f32; 4], text: String| {
            out.push(0, place, Shape::Text { text, color: INK });
        };
        text(out, [0.1, 0.15, size + 0.4, 0.22], self.round(state));
        for (at, name) in self.params.choices.iter().enumerate() {
            let along = MARGIN + at as f32;
            text(out, [0.1, along + 0.4, 1.7, 0.2], name.clone());
            text(out, [along + 0.65, 1.05, 0.9, 0.16], name.clone());
        }
        for row in 0..choices {
            for column in 0..choices {
                let (mine, theirs) = (row as u16 + 1, column as u16 + 1);
                let others = self
                    .others(state, own)
                    .filter(|&other| other == theirs)
                    .count();
                let is_chosen = state.chosen[own] == mine && others > 0;
                let color = if is_chosen { CHOSEN } else { CELL };
                let [x, y] = [MARGIN + 0.6 + column as f32, MARGIN + row as f32];
                let cell = Shape::Rect {
                    radius: 0.06,
                    color,
                };
                out.push(0, [x + 0.04, y + 0.04, 0.92, 0.92], cell);
                let first = self.payoff(own, mine, theirs);
                let second = self.payoff(usize::from(own == 0), theirs, mine);
                let mut words = format!("{first} / {second}");
                if is_chosen && self.seats() > 2 {
                    words += &format!(" × {others}");
                }
                text(out, [x + 0.1, y + 0.4, 0.8, 0.2], words);
            }
        }
    }

    fn describe(&self, state: &State, seat: usize, out: &mut String) {
        let name = |choice: u16| match usize::from(choice).checked_sub(1) {
            Some(at) => self.params.choices[at].as_str(),
            None => "nothing",
        };
        if state.rounds > 0 {
            let own = name(state.chosen[seat]);
            let others: Vec<&str> = self.others(state, seat).map(name).collect();
            let who = if others.len() == 1 {
                "your partner"
            } else {
                "the others"
            };
            *out += &format!("You chose {own}, {who} {}.\n", others.join(", "));
        }
        *out += &format!("You have earned {}.\n", state.earned[seat]);
        for mine in 1..=self.choices() as u16 {
            for theirs in 1..=self.choices() as u16 {
                let earns = self.payoff(seat, mine, theirs);
                *out += &format!(
                    "With {} against {}, you earn {earns}.\n",
                    name(mine),
                    name(theirs)
                );
            }
        }
        *out += &format!("Rounds left: {}.\n", self.params.rounds - state.rounds);
    }

    fn valid(&self, state: &State) -> bool {
        let is_choice = |choice: &u16| usize::from(*choice) <= self.choices();
        let is_sum = |sum: &f32| (-1e7..=1e7).contains(sum);
        state.rounds <= self.params.rounds
            && [state.chosen.len(), state.earned.len()] == [self.seats(); 2]
            && state.chosen.iter().all(is_choice)
            && state.earned.iter().all(is_sum)
    }
}
