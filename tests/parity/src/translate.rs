//! From the header of a recording to an environment of ours with its parameters.
//!
//! What is not ours is said by name: nothing is left out in silence.

use anyhow::{Context, Result};
use env_core::Environment;
use env_core::envs::goal_finding::{self, GoalFinding};
use env_core::envs::kitchen::Kitchens;
use env_core::envs::kitchen::layouts;
use env_core::envs::kitchen::params::{
    Earning, First, KitchenReward, OrderParams, Params, Second, Spawn, Variant,
};
use env_core::envs::search_rescue::{self, SearchRescue};
use env_core::grid::{ActionSet, Chart, RuleSet};
use serde::de::DeserializeOwned;

use crate::recording::{Header, Reward};

/// Something in a recording that no environment of ours has.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

fn unsupported<T>(what: impl Into<String>) -> Result<T> {
    Err(Unsupported(what.into()).into())
}

/// An environment with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its id.
    pub id: &'static str,
    /// Its parameters, JSON.
    pub params: String,
    /// Flags by reward: true if it goes to every agent.
    pub common: Vec<bool>,
}

impl Target {
    fn new<E: Environment>(params: &E::Params, common: Vec<bool>) -> Result<Self> {
        Ok(Self {
            id: E::ID,
            params: serde_json::to_string(params)?,
            common,
        })
    }

    fn kitchen<V: Variant>(header: &Header) -> Result<Self> {
        let params = kitchen(header)?;
        let common = params.rewards.iter().map(|paid| paid.common).collect();
        Self::new::<Kitchens<V>>(&params, common)
    }
}

/// The environment that plays a recording.
///
/// # Errors
/// [`Unsupported`] names what we do not have.
pub fn target(header: &Header) -> Result<Target> {
    let mut features = header.features.iter();
    if let Some(feature) = features.find(|feature| feature.starts_with("closest_")) {
        // CoGrid sorts by distance and leaves it to NumPy, and so to the processor, which of equals comes first.
        return unsupported(format!(
            "the feature `{feature}`, whose order of equals is nowhere fixed"
        ));
    }
    match header.scope.as_str() {
        "overcooked" if header.types.iter().any(|name| name == "open_pot") => {
            Target::kitchen::<Second>(header)
        }
        "overcooked" => Target::kitchen::<First>(header),
        "search_rescue" => Target::new::<SearchRescue>(&rescue(header)?, Vec::new()),
        "global" if header.types.iter().any(|name| name == "goal") => {
            let params = goal(header)?;
            let common = vec![params.rewards.common; header.rewards.len()];
            Target::new::<GoalFinding>(&params, common)
        }
        "global" => unsupported("the scope `global` without the object `goal`"),
        scope => unsupported(format!("the scope `{scope}`")),
    }
}

const CARDINAL: [&str; 7] = [
    "move_up",
    "move_down",
    "move_left",
    "move_right",
    "pick_up_or_drop",
    "toggle",
    "no-op",
];
const ROTATION: [&str; 6] = [
    "move_forward",
    "pick_up_or_drop",
    "toggle",
    "no-op",
    "rotate_left",
    "rotate_right",
];

fn actions(header: &Header) -> Result<ActionSet> {
    if header.actions == CARDINAL {
        Ok(ActionSet::Cardinal)
    } else if header.actions == ROTATION {
        Ok(ActionSet::Rotation)
    } else {
        unsupported(format!("the actions {:?}", header.actions))
    }
}

/// A field of the configuration.
fn config<T: DeserializeOwned>(header: &Header, name: &str) -> Result<Option<T>> {
    let value = header.config.get(name).filter(|value| !value.is_null());
    value
        .map(|value| serde_json::from_value(value.clone()))
        .transpose()
        .with_context(|| format!("line {}: field `config.{name}`", header.line))
}

/// Refuses what is configured and unknown; what repeats the size of the world must say the same.
fn check_config(header: &Header, known: &[&str]) -> Result<()> {
    let sizes = [
        ("n_agents", header.agents),
        ("num_agents", header.agents),
        ("grid_height", header.rows),
        ("grid_width", header.cols),
    ];
    for (name, value) in &header.config {
        if let Some((_, size)) = sizes.iter().find(|(known, _)| known == name) {
            if value.as_u64() != Some(*size as u64) {
                return unsupported(format!(
                    "`config.{name}` of {value} in a world that has {size}"
                ));
            }
        } else if !known.contains(&name.as_str()) && !value.is_null() {
            return unsupported(format!("`config.{name}`"));
        }
    }
    Ok(())
}

fn goal(header: &Header) -> Result<goal_finding::Params> {
    check_config(header, &["local_view_radius", "pickupable_types"])?;
    // CoGrid pays the first reward only if there is one.
    let mut rewards = goal_finding::Rewards {
        goal: 0.0,
        ..goal_finding::Rewards::default()
    };
    if let Some(reward) = header.rewards.first() {
        if reward.class != "GoalReward" || header.rewards.len() > 1 {
            let classes: Vec<&str> = header
                .rewards
                .iter()
                .map(|reward| reward.class.as_str())
                .collect();
            return unsupported(format!("the rewards {classes:?} of goal finding"));
        }
        (rewards.goal, rewards.common) =
            (reward.coefficient, reward.common_reward.unwrap_or(false));
    }
    // The tutorial that counts goals is the one whose goal moves.
    let moves = header.reset.x.contains_key("goals_collected");
    Ok(goal_finding::Params {
        rules: RuleSet::Cogrid,
        layout: Chart::Rows(header.layout.clone()),
        seats: header.agents as u8,
        actions: actions(header)?,
        horizon: header.max_steps,
        goal_moves_every: if moves { 10 } else { 0 },
        rewards,
        features: header.features.clone(),
        view_radius: config(header, "local_view_radius")?,
        ..goal_finding::Params::default()
    })
}

fn rescue(header: &Header) -> Result<search_rescue::Params> {
    check_config(
        header,
        &["local_view_radius", "pickupable_types", "common_reward"],
    )?;
    if let Some(reward) = header.rewards.first() {
        return unsupported(format!(
            "the reward `{}` of search and rescue",
            reward.class
        ));
    }
    Ok(search_rescue::Params {
        rules: RuleSet::Cogrid,
        layout: Chart::Rows(header.layout.clone()),
        seats: header.agents as u8,
        actions: actions(header)?,
        horizon: header.max_steps,
        features: header.features.clone(),
        view_radius: config(header, "local_view_radius")?,
        ..search_rescue::Params::default()
    })
}

fn kitchen<V: Variant>(header: &Header) -> Result<Params<V>> {
    check_config(
        header,
        &[
            "orders",
            "target_recipes",
            "resample_on_delivery",
            "local_view_radius",
            "pickupable_types",
        ],
    )?;
    let targets: Vec<String> = config(header, "target_recipes")?.unwrap_or_default();
    let rewards = header
        .rewards
        .iter()
        .map(|reward| payment(reward, &targets));
    Ok(Params {
        layout: layout::<V>(header)?,
        rules: RuleSet::Cogrid,
        seats: header.agents as u8,
        actions: actions(header)?,
        horizon: header.max_steps,
        features: header.features.clone(),
        view_radius: config(header, "local_view_radius")?,
        inventory_items: items(header)?,
        orders: orders(header)?,
        resample_on_delivery: config(header, "resample_on_delivery")?.unwrap_or(false),
        rewards: rewards.collect::<Result<_>>()?,
        targets,
        ..Params::default()
    })
}

/// Names of layouts to which CoGrid gives numbers other than 0, in their order from 0.
///
/// Source: CoGrid 0.3.2, `envs/overcooked/features.py:1118`.
const NUMBERED: [&str; 6] = [
    "cramped_room",
    "asymmetric_advantages",
    "coordination_ring",
    "forced_coordination",
    "counter_circuit",
    "order_delivery",
];

/// The layout: by its name where that has a number, else by its rows.
fn layout<V: Variant>(header: &Header) -> Result<Chart> {
    let name = header.layout_id.strip_prefix("overcooked_");
    let name = name
        .and_then(|name| name.strip_suffix("_v0"))
        .unwrap_or_default();
    let ours = layouts::of(V::V2).iter().find(|(known, _)| *known == name);
    let numbered = NUMBERED.iter().position(|&known| known == name);
    match (numbered, ours) {
        (Some(_), Some((name, rows))) if header.layout == *rows => Ok(Chart::from(*name)),
        (Some(1..), _) if header.features.iter().any(|feature| feature == "layout_id") => {
            unsupported(format!(
                "`layout_id` of `{}` with these rows",
                header.layout_id
            ))
        }
        _ => Ok(Chart::Rows(header.layout.clone())),
    }
}

/// The names that `overcooked_inventory` tells apart; CoGrid sorts them.
fn items(header: &Header) -> Result<Vec<String>> {
    let mut items: Vec<String> = config(header, "pickupable_types")?.unwrap_or_default();
    items.sort_unstable();
    Ok(items)
}

/// Source: CoGrid 0.3.2, `envs/overcooked/config.py`, for what is not said.
fn orders(header: &Header) -> Result<Option<OrderParams>> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Recorded {
        spawn_probs: Spawn,
        #[serde(default = "three")]
        max_active: u8,
        #[serde(default = "two_hundred")]
        time_limit: u16,
    }
    fn three() -> u8 {
        3
    }
    fn two_hundred() -> u16 {
        200
    }
    let recorded: Option<Recorded> = config(header, "orders")?;
    Ok(recorded.map(|orders| OrderParams {
        max_active: orders.max_active,
        time_limit: orders.time_limit,
        spawn: orders.spawn_probs,
    }))
}

/// Source: CoGrid 0.3.2, `envs/overcooked/rewards.py`, for what is not said.
fn payment(reward: &Reward, targets: &[String]) -> Result<KitchenReward> {
    let (kind, common, penalize) = match reward.class.as_str() {
        "DeliveryReward" => (Earning::Delivery, true, None),
        "OnionSoupDeliveryReward" => (Earning::OnionSoupDelivery, false, None),
        "OrderDeliveryReward" => (Earning::OrderDelivery, true, Some(false)),
        "TargetRecipeDeliveryReward" => (Earning::TargetDelivery, true, Some(true)),
        "OnionInPotReward" => (Earning::OnionInPot, false, None),
        "OrderGatedIngredientInPotReward" => (Earning::OrderIngredientInPot, false, None),
        "TargetRecipeIngredientInPotReward" => (Earning::TargetIngredientInPot, false, None),
        "SoupInDishReward" => (Earning::SoupInDish, false, None),
        "OrderGatedSoupInDishReward" => (Earning::OrderSoupInDish, false, None),
        "TargetRecipeSoupInDishReward" => (Earning::TargetSoupInDish, false, None),
        "ExpiredOrderPenalty" => (Earning::ExpiredOrder, true, None),
        "ButtonActivationCost" => (Earning::Button, true, None),
        class => return unsupported(format!("the reward `{class}`")),
    };
    if reward
        .target_recipes
        .as_ref()
        .is_some_and(|own| own != targets)
    {
        return unsupported(format!(
            "the reward `{}` with `target_recipes` of its own",
            reward.class
        ));
    }
    // These two go to everyone, whatever is said.
    let shared = matches!(kind, Earning::ExpiredOrder | Earning::Button);
    Ok(KitchenReward {
        common: shared || reward.common_reward.unwrap_or(common),
        penalize_incorrect: penalize
            .is_some_and(|default| reward.penalize_incorrect.unwrap_or(default)),
        ..KitchenReward::new(kind, reward.coefficient)
    })
}

/// Names of the object types of a world, by id, as a recording lists them.
pub(crate) fn types<'a>(kinds: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    std::iter::once("")
        .chain(kinds)
        .chain(["agent_^", "agent_>", "agent_v", "agent_<"])
        .collect()
}

/// Refuses a recording whose object types have other numbers than ours.
pub(crate) fn check_types(header: &Header, ours: &[&str]) -> Result<()> {
    let other = header
        .types
        .iter()
        .find(|name| !ours.contains(&name.as_str()));
    match other {
        Some(name) => unsupported(format!("the object type `{name}`")),
        None if header.types != ours => unsupported(format!("the object types {:?}", header.types)),
        None => Ok(()),
    }
}

/// Says what an environment refuses as what it does not support.
pub(crate) fn supported<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<T> {
    result.map_err(|error| Unsupported(error.to_string()).into())
}
