//! Action sets, and what each action does.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::rules::RuleSet;
use super::state::Direction;
use crate::contract::ActionSpec;

/// How agents move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionSet {
    /// Up, down, left, right: turn and step together.
    #[default]
    Cardinal,
    /// Forward, and turning in place.
    Rotation,
}

/// The effect of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// Nothing.
    Stay,
    /// Turns, and steps if the way is free.
    Walk(Direction),
    /// Steps to where it looks.
    Forward,
    /// Turns clockwise by this many quarters.
    Turn(u8),
    /// Picks up or drops.
    Reach,
    /// Toggles.
    Toggle,
}

/// The effect of an action, in one byte and without branches: random actions would mislead every prediction.
///
/// Bits 0 and 1: quarters clockwise, added to the part of the direction that bits 2 and 3 keep (0 for none, 3 for
/// all); bit 4: the agent steps; bit 5: it uses its hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move(u8);

/// Actions of the largest action set, and one more for actions out of range.
pub(super) const MOVES: usize = 8;

impl Move {
    pub(super) const STAY: Self = Self(3 << 2);
    const STEPS: u8 = 1 << 4;
    const ACTS: u8 = 1 << 5;

    pub(super) fn of(motion: Motion, rules: RuleSet) -> Self {
        match motion {
            Motion::Stay => Self::STAY,
            Motion::Walk(direction) => Self(direction as u8 | Self::STEPS),
            Motion::Forward => Self(Self::STAY.0 | Self::STEPS),
            // CoGrid: turning does nothing.
            Motion::Turn(_) if rules == RuleSet::Cogrid => Self::STAY,
            Motion::Turn(quarters) => Self(Self::STAY.0 | quarters & 3),
            Motion::Reach | Motion::Toggle => Self(Self::STAY.0 | Self::ACTS),
        }
    }

    /// The direction after it.
    #[inline]
    pub(super) fn turned(self, facing: Direction) -> Direction {
        Direction::of((facing as u8 & self.0 >> 2) + (self.0 & 3))
    }

    /// Checks whether the agent steps.
    #[inline]
    pub(super) fn steps(self) -> bool {
        self.0 & Self::STEPS != 0
    }

    /// Checks whether it uses its hands.
    #[inline]
    pub(super) fn acts(self) -> bool {
        self.0 & Self::ACTS != 0
    }
}

/// The effects of the actions of a set, in order.
///
/// Source: CoGrid 0.3.2, `core/actions.py:77-93`.
pub(super) fn list_motions(set: ActionSet) -> Vec<Motion> {
    use Motion::{Forward, Reach, Stay, Toggle, Turn, Walk};
    match set {
        ActionSet::Cardinal => [
            Direction::Up,
            Direction::Down,
            Direction::Left,
            Direction::Right,
        ]
        .map(Walk)
        .into_iter()
        .chain([Reach, Toggle, Stay])
        .collect(),
        ActionSet::Rotation => [Forward, Reach, Toggle, Stay, Turn(3), Turn(1)].into(),
    }
}

/// An action as people and keys know it.
pub(super) fn describe_action(motion: Motion) -> ActionSpec {
    let (name, momentary, keys): (_, _, &[&str]) = match motion {
        Motion::Walk(Direction::Up) => ("move_up", false, &["ArrowUp", "KeyW", "GamepadUp"]),
        Motion::Walk(Direction::Down) => {
            ("move_down", false, &["ArrowDown", "KeyS", "GamepadDown"])
        }
        Motion::Walk(Direction::Left) => {
            ("move_left", false, &["ArrowLeft", "KeyA", "GamepadLeft"])
        }
        Motion::Walk(Direction::Right) => {
            ("move_right", false, &["ArrowRight", "KeyD", "GamepadRight"])
        }
        Motion::Forward => ("move_forward", false, &["ArrowUp", "KeyW", "GamepadUp"]),
        Motion::Turn(3) => ("rotate_left", true, &["ArrowLeft", "KeyA", "GamepadLeft"]),
        Motion::Turn(_) => (
            "rotate_right",
            true,
            &["ArrowRight", "KeyD", "GamepadRight"],
        ),
        Motion::Reach => ("pick_up_or_drop", true, &["Space", "KeyE", "GamepadSouth"]),
        Motion::Toggle => ("toggle", true, &["KeyQ", "ShiftLeft", "GamepadWest"]),
        Motion::Stay => ("noop", false, &[]),
    };
    ActionSpec {
        name: name.into(),
        momentary,
        keys: keys.iter().map(|&key| key.into()).collect(),
        directive: false,
    }
}
