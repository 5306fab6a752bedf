//! Kitchens in which people cook with agents, as far as a template of a study has to know them.

use env_core::Environment as _;
use env_core::envs::overcooked_ai::{self, Encoding, OvercookedAi};
use env_core::envs::overcooked_jaxmarl_v2::{self, OvercookedJaxmarlV2, Tile, items};
use serde_json::{Map, Value};

use crate::agent::find_played;
use crate::env;

/// The facts of a kitchen that a template needs.
#[derive(Clone, Debug)]
pub struct KitchenFacts {
    /// The environment with its version, as a study file names it.
    pub env: String,
    /// Number of cooks.
    pub seats: u8,
    /// The first field of the observation.
    pub observation: String,
    /// True if somebody has to press a key before a full pot cooks.
    pub starts_by_hand: bool,
    /// The soups that are wanted.
    pub soups: Soups,
}

/// The soups that are wanted in a kitchen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Soups {
    /// Three onions.
    Onions,
    /// Others, which a display shows.
    Shown,
    /// Others, which a button shows for a while: a press costs points.
    Pressed,
}

/// Finds the environment that plays the rules of an original, and whether it has them as its parameter `rules`.
///
/// # Errors
/// There are no such rules; the reason lists those that there are.
pub fn find_env(rules: &str) -> anyhow::Result<(String, bool)> {
    let params = Map::from_iter([("rules".to_owned(), Value::from(rules))]);
    let played = find_played("overcooked", params)?;
    let is_parameter = played.params.contains_key("rules");
    Ok((played.env, is_parameter))
}

/// Describes a kitchen by the parameters of its environment, as JSON.
///
/// # Errors
/// There is no such kitchen.
pub fn describe_kitchen(env: &str, params: &str) -> anyhow::Result<KitchenFacts> {
    let spec = env::describe_environment(env, params)?.spec;
    let (mut starts_by_hand, mut soups) = (false, Soups::Onions);
    match spec.id.as_str() {
        OvercookedAi::ID => {
            let params: overcooked_ai::Params = serde_json::from_str(params)?;
            starts_by_hand = params.rules.starts_by_interact();
        }
        OvercookedJaxmarlV2::ID => {
            let params: overcooked_jaxmarl_v2::Params = serde_json::from_str(params)?;
            starts_by_hand = params.start_cooking_interaction;
            soups = find_soups(&params)?;
        }
        _ => {}
    }
    let first = spec.observation.first();
    Ok(KitchenFacts {
        env: format!("{}@{}", spec.id, spec.version),
        seats: spec.seats,
        observation: first.map_or_else(String::new, |field| field.name.clone()),
        starts_by_hand,
        soups,
    })
}

fn find_soups(params: &overcooked_jaxmarl_v2::Params) -> anyhow::Result<Soups> {
    let kitchen = overcooked_jaxmarl_v2::Kitchen::new(params)
        .map_err(|error| anyhow::anyhow!("`{}` {}", error.field, error.reason))?;
    let onions = items::recipe([0; 3]);
    Ok(
        match kitchen.recipes.iter().all(|&recipe| recipe == onions) {
            true => Soups::Onions,
            false if kitchen.tiles.contains(&Tile::Button) => Soups::Pressed,
            false => Soups::Shown,
        },
    )
}

/// The observations of which each may be chosen in the kitchens of published agents.
pub fn encodings_of(env: &str) -> impl Iterator<Item = &'static str> {
    let all = Encoding::ALL.into_iter().map(Encoding::name);
    all.filter(move |_| env == OvercookedAi::ID)
}

/// The named kitchens of an environment that lists them.
pub fn named_kitchens(env: &str) -> impl Iterator<Item = &'static str> {
    let all = overcooked_jaxmarl_v2::LAYOUTS.iter();
    let all = all.filter(move |_| env == OvercookedJaxmarlV2::ID);
    all.map(|layout| layout.name)
}
