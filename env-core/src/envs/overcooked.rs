//! Overcooked: cooks, onions, tomatoes, plates, pots and a delivery zone; see [`super::kitchen`].

use crate::contract::Action;

pub use super::kitchen::params::{Earning, Orders, Payment, Spawn};
pub use super::kitchen::{Extra, Order};
pub use crate::grid::Chart;
pub use crate::grid::Rules;

/// Parameters; each has a default.
pub type Params = super::kitchen::params::Params<super::kitchen::params::First>;

/// The environment.
pub type Overcooked = super::kitchen::Kitchens<super::kitchen::params::First>;

/// Turns and steps up; these are the actions of [`crate::grid::ActionSet::Cardinal`], in CoGrid's order.
pub const MOVE_UP: Action = 0;
/// Turns and steps down.
pub const MOVE_DOWN: Action = 1;
/// Turns and steps left.
pub const MOVE_LEFT: Action = 2;
/// Turns and steps right.
pub const MOVE_RIGHT: Action = 3;
/// Takes, puts, cooks, plates, delivers: whatever the cell in front allows.
pub const PICK_UP_OR_DROP: Action = 4;
/// Presses what is a button.
pub const TOGGLE: Action = 5;
/// Does nothing.
pub const NOOP: Action = 6;

/// Event: a soup was delivered; these are the events of the default rewards.
pub const DELIVERY: u16 = 0;
/// Event: an onion went into a pot.
pub const ONION_IN_POT: u16 = 1;
/// Event: a ready soup was taken with a plate.
pub const SOUP_IN_DISH: u16 = 2;
