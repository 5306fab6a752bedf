//! The four directions of a grid.

use serde::{Deserialize, Serialize};

/// Where an agent looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Direction {
    /// To the right: columns grow.
    #[default]
    Right,
    /// Down: rows grow.
    Down,
    /// To the left.
    Left,
    /// Up.
    Up,
}

impl Direction {
    /// Every direction, clockwise from the right.
    pub const ALL: [Self; 4] = [Self::Right, Self::Down, Self::Left, Self::Up];

    /// The direction with a number, modulo 4.
    #[inline]
    pub const fn of(number: u8) -> Self {
        match number & 3 {
            0 => Self::Right,
            1 => Self::Down,
            2 => Self::Left,
            _ => Self::Up,
        }
    }

    /// Change of row and column.
    pub const fn vector(self) -> (i32, i32) {
        match self {
            Self::Right => (0, 1),
            Self::Down => (1, 0),
            Self::Left => (0, -1),
            Self::Up => (-1, 0),
        }
    }
}
