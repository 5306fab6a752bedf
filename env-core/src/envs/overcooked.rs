//! Overcooked: cooks, onions, tomatoes, plates, pots and a delivery zone; see [`super::kitchen`].

use crate::contract::Action;

pub use super::kitchen::params::{Earning, KitchenReward, OrderParams, Spawn};
pub use super::kitchen::{Extra, KitchenOrder};
pub use crate::grid::Chart;
pub use crate::grid::RuleSet;

/// Parameters; each has a default.
pub type Params = super::kitchen::params::Params<super::kitchen::params::First>;

/// The environment.
pub type Overcooked = super::kitchen::Kitchens<super::kitchen::params::First>;

/// Turns and steps left; these are actions of [`crate::grid::ActionSet::Cardinal`], numbered in CoGrid's order.
pub const MOVE_LEFT: Action = 2;
/// Turns and steps right.
pub const MOVE_RIGHT: Action = 3;
/// Takes, puts, cooks, plates, delivers: whatever the cell in front allows.
pub const PICK_UP_OR_DROP: Action = 4;
/// Presses a button.
pub const TOGGLE: Action = 5;
/// Does nothing.
pub const NOOP: Action = 6;
