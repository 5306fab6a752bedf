//! The parameters of the original, with its names.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::contract::ParamError;
use crate::grid::{Appearance, Chart};

/// The longest episode, in steps.
const LONGEST_HORIZON: u32 = 1 << 24;

/// The parameters; each has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The kitchen: a name, the text of a layout, or its rows.
    pub layout: Chart,
    /// The recipes, three numbers of ingredients each; `None` for those of the named layout, or for every recipe that
    /// the kitchen's ingredients allow.
    pub recipes: Option<Vec<[u8; 3]>>,
    /// True if the first seat has the last start, and the last seat the first.
    pub swap_agents: bool,
    /// Cells that a cook sees in each direction; `None` for the whole kitchen.
    pub view_radius: Option<u8>,
    /// True if a pot cooks once a cook reaches to it with empty hands, whatever it has; otherwise three ingredients start it.
    pub start_cooking_interaction: bool,
    /// True if a wrong soup costs as much as the wanted one pays.
    pub negative_rewards: bool,
    /// True if another recipe is drawn after each delivery of the wanted soup.
    pub sample_recipe_on_delivery: bool,
    /// True if the observation says, at the goals, whether the wanted soup was just delivered.
    pub indicate_successful_delivery: bool,
    /// True if cooks start anywhere in their part of the kitchen, in any direction.
    pub random_agent_positions: bool,
    /// True if, in addition, hands, pots and counters start with something at random.
    pub random_reset: bool,
    /// The part of the shaped reward that is paid; 0 leaves the reward of the original alone.
    pub shaping: f32,
    /// Steps after which the episode ends.
    pub horizon: u32,
    /// Steps per second; 0 for turns.
    pub tick_hz: u16,
    /// The looks and the names of the cooks; changes no rule, state or observation.
    pub appearance: Appearance,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            layout: Chart::named("cramped_room"),
            recipes: None,
            swap_agents: false,
            view_radius: None,
            start_cooking_interaction: false,
            negative_rewards: false,
            sample_recipe_on_delivery: false,
            indicate_successful_delivery: false,
            random_agent_positions: false,
            random_reset: false,
            shaping: 0.0,
            horizon: 400,
            tick_hz: 6,
            appearance: Appearance::default(),
        }
    }
}

/// Refuses parameters.
pub(super) fn refuse<T>(field: &str, reason: impl Into<String>) -> Result<T, ParamError> {
    let (field, reason) = (field.to_string(), reason.into());
    Err(ParamError { field, reason })
}

impl Params {
    /// Checks what does not depend on the kitchen.
    ///
    /// # Errors
    /// [`ParamError`] with the field that is wrong.
    pub(super) fn check(&self) -> Result<(), ParamError> {
        if !(1..=LONGEST_HORIZON).contains(&self.horizon) {
            return refuse("horizon", format!("must be 1 to {LONGEST_HORIZON}"));
        }
        if self.tick_hz > 60 {
            return refuse("tick_hz", "must be 0 to 60");
        }
        if !(-1e6..=1e6).contains(&self.shaping) {
            return refuse("shaping", "must be a number from -1000000 to 1000000");
        }
        if self
            .view_radius
            .is_some_and(|radius| !(1..=64).contains(&radius))
        {
            return refuse(
                "view_radius",
                "must be 1 to 64; leave it out for the whole kitchen",
            );
        }
        if !self.appearance.kinds.is_empty() {
            return refuse(
                "appearance.kinds",
                "must be empty: these things have one look",
            );
        }
        Ok(())
    }
}
