//! Overcooked V2: kitchens in which only some cooks see which soup is wanted; see [`super::kitchen`].

pub use super::kitchen::params::{Earning, KitchenReward, OrderParams, Spawn};
pub use super::kitchen::{Extra, KitchenOrder};
pub use crate::grid::Chart;

/// Parameters; each has a default.
pub type Params = super::kitchen::params::Params<super::kitchen::params::Second>;

/// The environment.
pub type OvercookedV2 = super::kitchen::Kitchens<super::kitchen::params::Second>;
