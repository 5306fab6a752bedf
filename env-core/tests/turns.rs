//! Version 2 of the contract, by a small game of turns that uses all of it, and is broken in one way at a time:
//! two players take coins from each other, and each sees only its own.

use env_core::conformance::check;
use env_core::contract::{ActionSpec, FieldSpec, ParamError};
use env_core::draw::{DrawList, Shape, Sprite};
use env_core::{Action, Environment, Instance, Spec, StepEvent, StepOutcome, World as _};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Flaw {
    #[default]
    None,
    OthersTurn,
    OthersAction,
    NobodyActs,
    BeyondRewards,
    BeyondObservation,
    Parts,
    EventToNobody,
    WildPoint,
    SilentPointer,
    NoNoop,
    TwinButtons,
    WildButton,
    BackwardRange,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Params {
    flaw: Flaw,
}

struct Coins(Flaw, Spec);

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct State {
    steps: u32,
    coins: [u8; 2],
}

const WAIT: Action = 0;
const TAKE: Action = 1;
const STEAL: Action = 2;
const HORIZON: u32 = 40;

fn describe(flaw: Flaw) -> Spec {
    let action = |name: &str, button: &str| ActionSpec {
        name: name.into(),
        momentary: true,
        keys: vec![button.into()],
        ..ActionSpec::default()
    };
    let second = if flaw == Flaw::TwinButtons {
        "GamepadSouth"
    } else {
        "GamepadEast"
    };
    let third = if flaw == Flaw::WildButton {
        "GamepadRed"
    } else {
        "GamepadWest"
    };
    let range = if flaw == Flaw::BackwardRange {
        [20.0, 0.0]
    } else {
        [0.0, 20.0]
    };
    Spec {
        id: Coins::ID.into(),
        version: Coins::VERSION.into(),
        title: "Coins".into(),
        seats: 2,
        actions: vec![
            action("wait", "GamepadSouth"),
            action("take", second),
            action("steal", third),
        ],
        seat_actions: match flaw {
            Flaw::NoNoop => vec![vec![TAKE], vec![STEAL]],
            _ => vec![vec![WAIT, TAKE], vec![WAIT, STEAL]],
        },
        observation: vec![FieldSpec {
            name: "coins".into(),
            shape: vec![1],
            range: Some(range),
        }],
        horizon: HORIZON,
        events: vec!["taken".into()],
        reward_range: Some([-1.0, 1.0]),
        components: vec!["won".into(), "lost".into()],
        perfect_information: false,
        pointer: flaw != Flaw::SilentPointer,
        ..Spec::default()
    }
}

impl Environment for Coins {
    const ID: &'static str = "coins";
    const VERSION: &'static str = "1.0.0";
    type Params = Params;
    type State = State;

    fn new(params: Params) -> Result<Self, ParamError> {
        Ok(Self(params.flaw, describe(params.flaw)))
    }

    fn params_schema() -> &'static str {
        "{}"
    }

    fn sprites() -> &'static [Sprite] {
        &[]
    }

    fn spec(&self) -> Spec {
        self.1.clone()
    }

    fn reset(&self, _seed: u64) -> State {
        State {
            steps: 0,
            coins: [10, 10],
        }
    }

    fn step(&self, state: &mut State, actions: &[Action], outcome: &mut StepOutcome) {
        outcome.clear();
        let over = state.steps >= HORIZON;
        for (seat, &action) in actions.iter().enumerate().take(2) {
            let turn = usize::from(state.steps % 2 == 1) == seat || self.0 == Flaw::OthersTurn;
            let may = match self.0 {
                Flaw::OthersAction => action == TAKE || action == STEAL,
                _ => action == [TAKE, STEAL][seat],
            };
            let other = 1 - seat;
            if over || !turn || !may || state.coins[other] == 0 {
                continue;
            }
            state.coins[seat] += 1;
            state.coins[other] -= 1;
            let worth = if self.0 == Flaw::BeyondRewards {
                2.0
            } else {
                1.0
            };
            outcome.earn(&self.1, seat, 0, worth);
            outcome.earn(&self.1, other, 1, -worth);
            if self.0 == Flaw::Parts {
                outcome.components[0] += 3.0;
            }
            outcome.events.push(StepEvent {
                kind: 0,
                seat: seat as u8,
                to: Some(if self.0 == Flaw::EventToNobody {
                    2
                } else {
                    other as u8
                }),
                value: 1.0,
            });
        }
        state.steps += u32::from(!over);
        outcome.over = state.steps >= HORIZON;
    }

    fn observe(&self, state: &State, seat: usize, out: &mut [f32]) {
        let more = if self.0 == Flaw::BeyondObservation {
            15
        } else {
            0
        };
        out[0] = f32::from(state.coins[seat] + more);
    }

    fn acting(&self, state: &State) -> u16 {
        if self.0 == Flaw::NobodyActs {
            return 0;
        }
        1 << (state.steps % 2)
    }

    fn score(&self, state: &State) -> i64 {
        state.coins.iter().map(|&coins| i64::from(coins)).sum()
    }

    fn seat_score(&self, state: &State, seat: usize) -> i64 {
        state.coins[seat].into()
    }

    fn draw(&self, state: &State, seat: Option<usize>, out: &mut DrawList) {
        out.begin(2.0, 1.0, 0);
        for shown in (0..2).filter(|&shown| seat.is_none_or(|seat| seat == shown)) {
            let text = state.coins[shown].to_string();
            out.push(
                0,
                [shown as f32, 0.0, 1.0, 1.0],
                Shape::Text { text, color: 0 },
            );
        }
    }

    fn point(&self, _state: &State, seat: usize, [x, _]: [f32; 2]) -> Option<Action> {
        let other = usize::from(x >= 1.0) != seat;
        match self.0 {
            Flaw::WildPoint => Some(STEAL),
            _ => other.then_some([TAKE, STEAL][seat]),
        }
    }

    fn describe(&self, state: &State, seat: usize, out: &mut String) {
        *out += &format!("You have {} coins.", state.coins[seat]);
    }

    fn valid(&self, state: &State) -> bool {
        state.steps <= HORIZON
            && state
                .coins
                .iter()
                .map(|&coins| u32::from(coins))
                .sum::<u32>()
                == 20
    }
}

#[test]
fn a_game_of_turns_passes() {
    check::<Coins>([Params::default()]).unwrap();
}

#[test]
fn every_flaw_is_found_and_named() {
    let unacting = "of a seat that does not have it or does not act now";
    for (flaw, law) in [
        (Flaw::OthersTurn, unacting),
        (Flaw::OthersAction, unacting),
        (Flaw::NobodyActs, "somebody acts until the end"),
        (Flaw::BeyondRewards, "a reward is in its range"),
        (Flaw::BeyondObservation, "in the range of its field"),
        (Flaw::Parts, "the components add up to the reward"),
        (Flaw::EventToNobody, "an event has a kind, existing seats"),
        (Flaw::WildPoint, "an action that the seat has"),
        (Flaw::SilentPointer, "a point means nothing"),
        (Flaw::NoNoop, "a set of existing actions with the no-op"),
        (Flaw::TwinButtons, "a key has one action"),
        (
            Flaw::WildButton,
            "a button of a gamepad is one that there is",
        ),
        (Flaw::BackwardRange, "a range goes from less to more"),
    ] {
        let found = check::<Coins>([Params { flaw }]).unwrap_err();
        assert!(found.to_string().contains(law), "{flaw:?}: {found}");
    }
}

#[test]
fn each_seat_has_its_own_view_score_and_parts_of_the_reward() {
    let mut world = Instance::new(Coins::new(Params::default()).unwrap());
    assert_eq!(world.acting(), 0b01);
    let outcome = world.step(&[TAKE, STEAL]);
    assert_eq!(outcome.rewards[..2], [1.0, -1.0]);
    assert_eq!(outcome.components, [1.0, 0.0, 0.0, -1.0]);
    assert_eq!(outcome.events[0].to, Some(1));
    assert_eq!(
        (world.seat_score(0), world.seat_score(1), world.score()),
        (11, 9, 20)
    );
    assert_eq!(world.acting(), 0b10);
    let mut texts = |seat| {
        let mut list = DrawList::default();
        world.draw(seat, &mut list);
        let text = |shape| match shape {
            Shape::Text { text, .. } => text,
            _ => String::new(),
        };
        list.items
            .into_iter()
            .map(|item| text(item.shape))
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(Some(0)), ["11"]);
    assert_eq!(texts(Some(1)), ["9"]);
    assert_eq!(texts(None), ["11", "9"]);
    assert_eq!(world.point(0, [1.5, 0.5]), Some(TAKE));
    assert_eq!(world.point(0, [0.5, 0.5]), None);
    assert_eq!(world.spec().action_bits(1), 0b101);
}
