//! The parameters of a kitchen.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::grid::{ActionSet, Appearance, Chart, RuleSet};

/// Orders: soups that are asked for, each for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderParams {
    /// The most orders at a time, 1 to 8.
    pub max_active: u8,
    /// Steps until an order expires, 1 to 10000.
    pub time_limit: u16,
    /// The probability that a free place gets an order in a step.
    pub spawn: Spawn,
}

/// The probability that a free place gets an order in a step, by soup; together 1 at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spawn {
    /// An order of onion soup.
    pub onion_soup: f32,
    /// An order of tomato soup.
    pub tomato_soup: f32,
}

/// The occasion of a reward.
///
/// Source: CoGrid 0.3.2, `envs/overcooked/rewards.py`; each says which class it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Earning {
    /// A soup is delivered: `DeliveryReward`.
    Delivery,
    /// Onion soup is delivered: `OnionSoupDeliveryReward`.
    OnionSoupDelivery,
    /// A soup is delivered that an order asks for: `OrderDeliveryReward`.
    OrderDelivery,
    /// The soup that is wanted is delivered: `TargetRecipeDeliveryReward`.
    TargetDelivery,
    /// An onion goes into a pot: `OnionInPotReward`.
    OnionInPot,
    /// An ingredient goes into a pot for a soup that an order asks for: `OrderGatedIngredientInPotReward`.
    OrderIngredientInPot,
    /// An ingredient of the soup that is wanted goes into a pot: `TargetRecipeIngredientInPotReward`.
    /// Any other costs as much.
    TargetIngredientInPot,
    /// A soup is taken with a plate: `SoupInDishReward`.
    SoupInDish,
    /// A soup is taken that an order asks for: `OrderGatedSoupInDishReward`.
    OrderSoupInDish,
    /// The soup that is wanted is taken: `TargetRecipeSoupInDishReward`. Any other costs as much.
    TargetSoupInDish,
    /// An order expires, for everyone: `ExpiredOrderPenalty`.
    ExpiredOrder,
    /// A button is pressed: `ButtonActivationCost`.
    Button,
}

/// A reward; the rewards of a step are summed in the order of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KitchenReward {
    /// The occasion; also the name of its events.
    pub kind: Earning,
    /// The amount.
    pub worth: f32,
    /// True if everyone gets it, false if only the earner.
    #[serde(default = "yes")]
    pub common: bool,
    /// For `order_delivery` and `target_delivery`: whether any other soup costs as much, or nothing.
    #[serde(default)]
    pub penalize_incorrect: bool,
    /// For `order_delivery`: the additional pay for an order that is delivered immediately; it falls as the order's
    /// time runs out.
    #[serde(default)]
    pub tip: f32,
}

fn yes() -> bool {
    true
}

impl KitchenReward {
    /// A reward for everyone.
    pub fn new(kind: Earning, worth: f32) -> Self {
        Self {
            kind,
            worth,
            common: true,
            penalize_incorrect: false,
            tip: 0.0,
        }
    }

    /// Lets any other soup cost as much.
    pub fn penalized(mut self) -> Self {
        self.penalize_incorrect = true;
        self
    }
}

/// Which environment the kitchens are of.
pub trait Variant: Clone + PartialEq + Debug + Send + Sync + 'static {
    /// True for Overcooked V2.
    const V2: bool;
}

/// The kitchens of Overcooked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First;

/// The kitchens of Overcooked V2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Second;

impl Variant for First {
    const V2: bool = false;
}

impl Variant for Second {
    const V2: bool = true;
}

/// Parameters of a kitchen; each has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, bound = "")]
pub struct Params<V: Variant> {
    /// The kitchen.
    pub layout: Chart,
    /// The rules.
    pub rules: RuleSet,
    /// The number of cooks, 1 to 16.
    pub seats: u8,
    /// How they move.
    pub actions: ActionSet,
    /// Steps after which the episode ends.
    pub horizon: u32,
    /// Steps per second; 0 for turns.
    pub tick_hz: u16,
    /// The observation: names of features, in order.
    pub features: Vec<String>,
    /// How far `local_view` sees; `None` for the whole kitchen.
    pub view_radius: Option<u8>,
    /// Kinds that `overcooked_inventory` distinguishes, in order; empty for onion, onion soup, plate, tomato and tomato
    /// soup.
    pub inventory_items: Vec<String>,
    /// Steps that a full pot cooks, 1 to 255; `None` for CoGrid's: 30, and 20 in an open pot.
    pub cook_time: Option<u8>,
    /// Orders, if there are any.
    pub orders: Option<OrderParams>,
    /// Soups of which one is wanted at a time; empty if every soup is welcome.
    pub targets: Vec<String>,
    /// True if a delivery draws another wanted soup.
    pub resample_on_delivery: bool,
    /// The rewards, in the order in which they are summed.
    pub rewards: Vec<KitchenReward>,
    /// Its look and its names; changes no rule, state or observation.
    pub appearance: Appearance,
    /// Which environment it is for.
    #[serde(skip)]
    pub variant: PhantomData<V>,
}

impl<V: Variant> Default for Params<V> {
    fn default() -> Self {
        let features: &[&str] = if V::V2 { &["local_view"] } else { &FEATURES };
        let targets: &[&str] = if V::V2 {
            &["onion_soup", "tomato_soup"]
        } else {
            &[]
        };
        Self {
            layout: Chart::from(if V::V2 {
                "grounded_coord_simple"
            } else {
                "cramped_room"
            }),
            rules: RuleSet::default(),
            seats: 2,
            actions: ActionSet::default(),
            horizon: if V::V2 { 400 } else { 1000 },
            tick_hz: 10,
            features: features.iter().map(|&name| name.into()).collect(),
            view_radius: V::V2.then_some(2),
            inventory_items: Vec::new(),
            cook_time: None,
            orders: None,
            targets: targets.iter().map(|&name| name.into()).collect(),
            resample_on_delivery: V::V2,
            rewards: if V::V2 { wanted() } else { any() },
            appearance: Appearance::default(),
            variant: PhantomData,
        }
    }
}

/// The features of CoGrid's kitchens.
///
/// Source: CoGrid 0.3.2, `envs/__init__.py`.
pub const FEATURES: [&str; 9] = [
    "agent_dir",
    "overcooked_inventory",
    "next_to_counter",
    "next_to_pot",
    "object_type_masks",
    "ordered_pot_features",
    "dist_to_other_players",
    "agent_position",
    "can_move_direction",
];

fn any() -> Vec<KitchenReward> {
    [
        KitchenReward::new(Earning::Delivery, 20.0),
        KitchenReward::new(Earning::OnionInPot, 3.0),
        KitchenReward::new(Earning::SoupInDish, 5.0),
    ]
    .into()
}

fn wanted() -> Vec<KitchenReward> {
    [
        KitchenReward::new(Earning::TargetDelivery, 20.0).penalized(),
        KitchenReward::new(Earning::Button, -5.0),
        KitchenReward::new(Earning::TargetIngredientInPot, 3.0),
        KitchenReward::new(Earning::TargetSoupInDish, 5.0),
    ]
    .into()
}

impl Earning {
    /// The name, as in the parameters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delivery => "delivery",
            Self::OnionSoupDelivery => "onion_soup_delivery",
            Self::OrderDelivery => "order_delivery",
            Self::TargetDelivery => "target_delivery",
            Self::OnionInPot => "onion_in_pot",
            Self::OrderIngredientInPot => "order_ingredient_in_pot",
            Self::TargetIngredientInPot => "target_ingredient_in_pot",
            Self::SoupInDish => "soup_in_dish",
            Self::OrderSoupInDish => "order_soup_in_dish",
            Self::TargetSoupInDish => "target_soup_in_dish",
            Self::ExpiredOrder => "expired_order",
            Self::Button => "button",
        }
    }
}
