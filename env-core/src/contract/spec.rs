//! The description of an environment: its seats, actions, observations and ranges.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// Index into [`Spec::actions`].
pub type Action = u16;

/// The most seats that an environment may have.
pub const MAX_SEATS: usize = 16;

/// One action of the action space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionSpec {
    /// Name in the field's terms, such as `move_up`.
    pub name: String,
    /// True if the action is a press rather than a state that lasts: a press enters one tick only,
    /// and a peer's prediction never repeats it.
    pub momentary: bool,
    /// Default keys, as `KeyboardEvent.code` values, and buttons of a gamepad, as [`crate::gamepad::BUTTONS`].
    /// A study may map others.
    pub keys: Vec<String>,
    /// True if the action is a directive: the environment carries it out over several steps, by rules in its state,
    /// until it is done or another action comes.
    #[serde(default)]
    pub directive: bool,
}

/// One field of an observation, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FieldSpec {
    /// Name of the feature.
    pub name: String,
    /// Shape, row-major; the values are `f32`.
    pub shape: Vec<u32>,
    /// The least and the greatest value, where the environment states them.
    #[serde(default)]
    pub range: Option<[f32; 2]>,
}

/// The facts that the parameters fix. Facts that modules of version 1 do not say have the default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Environment id, such as `overcooked`.
    pub id: String,
    /// Semantic version; changes whenever the same log would replay differently.
    pub version: String,
    /// Name for people.
    pub title: String,
    /// Number of seats, 1 to [`MAX_SEATS`].
    pub seats: u8,
    /// The action space; [`Spec::seat_actions`] may leave a seat only some of it.
    pub actions: Vec<ActionSpec>,
    /// The action that does nothing.
    pub noop: Action,
    /// The observation of one seat, field by field, flattened in this order.
    pub observation: Vec<FieldSpec>,
    /// Ticks per second; 0 for a turn-based environment.
    pub tick_hz: u16,
    /// Steps after which an episode is truncated.
    pub horizon: u32,
    /// Names of the event kinds that [`StepEvent::kind`] indexes.
    pub events: Vec<String>,
    /// True if every value of an observation is a whole number from -128 to 127,
    /// so that a batch may give the same numbers in a quarter of the bytes.
    #[serde(default)]
    pub compact: bool,
    /// The actions that each seat has, if they differ: a set for every seat, the no-op in all of them.
    /// Empty if every seat has every action. An action that a seat does not have is the no-op.
    #[serde(default)]
    pub seat_actions: Vec<Vec<Action>>,
    /// The least and the greatest reward of a seat in one step, where the environment states them.
    #[serde(default)]
    pub reward_range: Option<[f32; 2]>,
    /// Names of the parts whose sum is a seat's reward; see [`StepOutcome::components`].
    #[serde(default)]
    pub components: Vec<String>,
    /// True if every seat sees the whole state, in its picture, its words and its observation.
    #[serde(default = "yes")]
    pub perfect_information: bool,
    /// True if the state holds what no page may know, such as hidden cards.
    /// Such an environment is not played peer to peer: every page would compute it.
    #[serde(default)]
    pub secret: bool,
    /// True if a point on the picture may mean an action; see [`Environment::point`].
    #[serde(default)]
    pub pointer: bool,
    /// Numbers that the parameters fix and no observation shows, by name, for policies that follow rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<(String, f32)>,
}

/// The range of sums of `f32` numbers, each part of which lies between its two bounds. Whole numbers add up exactly;
/// others are rounded at every addition, so their range reaches a hundred-thousandth further.
pub fn range_of_sums(parts: impl IntoIterator<Item = [f64; 2]>) -> [f32; 2] {
    let (mut range, mut is_whole) = ([0.0_f64; 2], true);
    for part in parts {
        for (sum, bound) in range.iter_mut().zip(part) {
            *sum += bound;
            is_whole &= bound % 1.0 == 0.0 && *sum <= WHOLE && *sum >= -WHOLE;
        }
    }
    let [least, greatest] = range;
    let room = if is_whole { 0.0 } else { 1e-5 };
    let size = if -least > greatest { -least } else { greatest };
    [least - room * size, greatest + room * size].map(|bound| {
        let bound = bound as f32;
        if bound.is_finite() {
            bound
        } else {
            f32::MAX * bound.signum()
        }
    })
}

/// Up to here `f32` has every whole number.
const WHOLE: f64 = 16_777_216.0;

fn yes() -> bool {
    true
}

impl Default for Spec {
    /// No environment: without a name, seats and actions.
    fn default() -> Self {
        Self {
            id: String::new(),
            version: String::new(),
            title: String::new(),
            seats: 0,
            actions: Vec::new(),
            noop: 0,
            observation: Vec::new(),
            tick_hz: 0,
            horizon: 0,
            events: Vec::new(),
            compact: false,
            seat_actions: Vec::new(),
            reward_range: None,
            components: Vec::new(),
            perfect_information: true,
            secret: false,
            pointer: false,
            constants: Vec::new(),
        }
    }
}

impl Spec {
    /// One of [`Spec::constants`].
    pub fn constant(&self, name: &str) -> Option<f32> {
        let found = self.constants.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| *value)
    }

    /// Checks whether a seat has an action.
    pub fn has_action(&self, seat: usize, action: Action) -> bool {
        let own = self.seat_actions.get(seat);
        usize::from(action) < self.actions.len() && own.is_none_or(|own| own.contains(&action))
    }

    /// The actions that a seat has: bit `a` for action `a`.
    pub fn action_bits(&self, seat: usize) -> u64 {
        (0..self.actions.len().min(64))
            .filter(|&action| self.has_action(seat, action as Action))
            .fold(0, |bits, action| bits | 1 << action)
    }

    /// Number of `f32` values in the observation of one seat.
    pub fn observation_len(&self) -> usize {
        self.observation
            .iter()
            .map(|f| f.shape.iter().product::<u32>() as usize)
            .sum()
    }

    /// The least and the greatest value that an observation may have.
    pub fn observation_range(&self) -> RangeInclusive<f32> {
        let any = match self.compact {
            true => [f32::from(i8::MIN), f32::from(i8::MAX)],
            false => [f32::NEG_INFINITY, f32::INFINITY],
        };
        let ranges = self.observation.iter().map(|field| field.range);
        let stated = ranges.reduce(|one, two| {
            let ([from, to], [other_from, other_to]) = (one?, two?);
            Some([
                if other_from < from { other_from } else { from },
                if other_to > to { other_to } else { to },
            ])
        });
        let [from, to] = stated.flatten().unwrap_or(any);
        from..=to
    }

    /// The action that a peer predicts after `last`: the same again, or the no-op after a press.
    ///
    /// Source: GGPO, which repeats the last input; presses are exempt because they do not last.
    pub fn predict(&self, last: Action) -> Action {
        match self.actions.get(usize::from(last)) {
            Some(action) if !action.momentary => last,
            _ => self.noop,
        }
    }
}
