//! The parameters of search and rescue.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::MapParams;
use crate::grid::{ActionSet, Appearance, Chart, RuleSet, WorldPlan};

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Which rules hold.
    pub rules: RuleSet,
    /// Name of a layout, or its rows.
    pub layout: Chart,
    /// The contents of a generated layout.
    pub map: MapParams,
    /// Number of agents.
    pub seats: u8,
    /// The role of each agent, by seat; omitted agents have none.
    pub roles: Vec<Role>,
    /// How agents move.
    pub actions: ActionSet,
    /// Steps after which the episode is truncated.
    pub horizon: u32,
    /// Steps per second; 0 for turns.
    pub tick_hz: u16,
    /// Steps in which a second agent must help to rescue a red victim.
    pub help_time: u8,
    /// The rewards.
    pub rewards: Rewards,
    /// The observation: names of features, in order.
    pub features: Vec<String>,
    /// Cells that `local_view` sees in each direction; `None` for the whole grid.
    pub view_radius: Option<u8>,
    /// Its look and its names; changes no rule, state or observation.
    pub appearance: Appearance,
}

/// The skill of an agent without a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Nothing more than others.
    #[default]
    None,
    /// Rescues yellow victims.
    Medic,
    /// Clears rubble.
    Engineer,
}

/// Rewards for a rescue, and who gets them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rewards {
    /// A green victim, whom anyone can rescue.
    pub green: f32,
    /// A purple victim, whom anyone can rescue.
    pub purple: f32,
    /// A yellow victim, who needs a medkit or a medic.
    pub yellow: f32,
    /// A red victim, who needs two agents.
    pub red: f32,
    /// True if every agent gets it, false if only those that rescued.
    pub common: bool,
}

impl Default for Rewards {
    fn default() -> Self {
        Self {
            green: 1.0,
            purple: 2.0,
            yellow: 3.0,
            red: 5.0,
            common: true,
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        let plan = WorldPlan::default();
        Self {
            rules: RuleSet::default(),
            layout: Chart::named("test"),
            map: MapParams::default(),
            seats: 2,
            roles: Vec::new(),
            actions: ActionSet::default(),
            horizon: plan.horizon,
            tick_hz: plan.tick_hz,
            help_time: 10,
            rewards: Rewards::default(),
            features: plan.features,
            view_radius: None,
            appearance: Appearance::default(),
        }
    }
}
