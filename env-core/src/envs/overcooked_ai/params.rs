//! The parameters.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::grid::Appearance;

/// The rules, by the original whose they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dialect {
    /// The package `overcooked-ai` 1.1.0: an interact starts the cooking.
    #[default]
    #[serde(rename = "overcooked-ai-1.1.0")]
    New,
    /// The repository of overcooked_ai with `old_dynamics`: the third ingredient starts the cooking.
    #[serde(rename = "overcooked-ai-old")]
    Old,
    /// JaxMARL 0.2.0, its first Overcooked.
    #[serde(rename = "jaxmarl-0.2.0")]
    Jaxmarl,
    /// Cross-environment cooperation: JaxMARL's rules, another shaping, kitchens of at most 9 by 9 cells.
    #[serde(rename = "cec")]
    Cec,
    /// overcooked_ai at the tag `neurips2019`.
    #[serde(rename = "neurips2019")]
    Neurips2019,
    /// ZSC-Eval's kitchens with orders.
    #[serde(rename = "zsc-eval")]
    Zsc,
}

impl Dialect {
    /// True if an interact with an empty hand starts the cooking.
    pub fn starts_by_interact(self) -> bool {
        matches!(self, Self::New | Self::Zsc)
    }

    /// True for the rules that know onions only.
    pub fn is_onions_only(self) -> bool {
        matches!(self, Self::Jaxmarl | Self::Cec)
    }

    /// The points for a soup that nobody ordered.
    pub fn unordered(self) -> f32 {
        if self == Self::Zsc { -10.0 } else { 0.0 }
    }
}

/// An observation of a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// The 26 channels of overcooked_ai.
    Lossless,
    /// The 26 channels times 255, which HSP hands out.
    LosslessX255,
    /// The 96 numbers of overcooked_ai.
    Features,
    /// The 26 channels of JaxMARL.
    Jaxmarl,
    /// The 26 channels of JaxMARL in 9 by 9 cells.
    Cec,
    /// The 20 channels of 2019.
    Neurips2019,
    /// The 20 channels times 255, which ZSC-Eval and HSP hand out.
    #[serde(rename = "neurips2019_x255")]
    Neurips2019X255,
    /// The 62 numbers of 2019.
    Neurips2019Features,
    /// The 25 channels of ZSC-Eval, times 255.
    ZscEval,
}

impl Encoding {
    /// Every encoding.
    pub const ALL: [Self; 9] = [
        Self::Lossless,
        Self::LosslessX255,
        Self::Features,
        Self::Jaxmarl,
        Self::Cec,
        Self::Neurips2019,
        Self::Neurips2019X255,
        Self::Neurips2019Features,
        Self::ZscEval,
    ];

    /// True for the maps `[row, column, channel]`; the others are `[column, row, channel]`.
    pub fn is_by_rows(self) -> bool {
        matches!(self, Self::Jaxmarl | Self::Cec)
    }

    /// The name, as in the parameters and in the spec.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lossless => "lossless",
            Self::LosslessX255 => "lossless_x255",
            Self::Features => "features",
            Self::Jaxmarl => "jaxmarl",
            Self::Cec => "cec",
            Self::Neurips2019 => "neurips2019",
            Self::Neurips2019X255 => "neurips2019_x255",
            Self::Neurips2019Features => "neurips2019_features",
            Self::ZscEval => "zsc_eval",
        }
    }

    /// The observation that the original of these rules trains with.
    pub fn of_rules(rules: Dialect) -> Self {
        match rules {
            Dialect::New | Dialect::Old => Self::Lossless,
            Dialect::Jaxmarl => Self::Jaxmarl,
            Dialect::Cec => Self::Cec,
            Dialect::Neurips2019 => Self::Neurips2019,
            Dialect::Zsc => Self::ZscEval,
        }
    }
}

/// The shaped reward: points for steps on the way to a soup.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shaped {
    /// For an ingredient put into a pot.
    pub placement: f32,
    /// For a dish that is needed, taken from the dispenser.
    pub dish: f32,
    /// For a soup taken with a dish.
    pub soup: f32,
}

/// The parameters; each has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The kitchen: a name, or the text of a layout file of the original.
    pub layout: String,
    /// The rules.
    pub rules: Dialect,
    /// The observations of a seat, in order; empty for that of the rules.
    pub observation: Vec<Encoding>,
    /// Steps after which the episode ends.
    pub horizon: u32,
    /// Steps per second; 0 for turns.
    pub tick_hz: u16,
    /// Points for a soup, instead of the layout's.
    pub delivery_reward: Option<f32>,
    /// Steps that a soup cooks, instead of the layout's.
    pub cook_time: Option<u16>,
    /// The part of the shaped reward that is paid; 0 leaves the reward of the original alone.
    pub shaping: f32,
    /// The shaped reward, instead of the layout's and the rules'.
    pub shaped: Option<Shaped>,
    /// The directions at the start (0 north, 1 south, 2 east, 3 west), instead of the rules'.
    pub directions: Option<Vec<u8>>,
    /// True if the numbers `features` include things on counters, and empty counters.
    pub counter_goals: bool,
    /// The looks and the names of the cooks; changes no rule, state or observation.
    pub appearance: Appearance,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            layout: "cramped_room".into(),
            rules: Dialect::default(),
            observation: Vec::new(),
            horizon: 400,
            tick_hz: 6,
            delivery_reward: None,
            cook_time: None,
            shaping: 1.0,
            shaped: None,
            directions: None,
            counter_goals: false,
            appearance: Appearance::default(),
        }
    }
}
