//! The kitchens of the study: CoGrid's, or those of published agents by their rules.

use std::path::Path;

use anyhow::{Context as _, ensure};
use catalog::kitchens::{
    KitchenFacts, Soups, describe_kitchen, encodings_of, find_env, named_kitchens,
};
use serde_json::{Map, Value, json};

use super::agents::Agent;

/// CoGrid's environment, and the kitchens that are looked at if none is named.
const COGRID: &str = "overcooked";
pub(super) const KITCHENS: [&str; 5] = [
    "cramped_room",
    "asymmetric_advantages",
    "coordination_ring",
    "forced_coordination",
    "counter_circuit",
];

/// The same for the rules of published agents, of which each knows some of these kitchens.
const PUBLISHED: &str = "overcooked_ai";
const PUBLISHED_KITCHENS: [&str; 18] = [
    "cramped_room",
    "cramped_room_9",
    "simple",
    "asymmetric_advantages",
    "asymm_advantages",
    "asymm_advantages_9",
    "coordination_ring",
    "coord_ring",
    "coord_ring_9",
    "forced_coordination",
    "forced_coord",
    "forced_coord_9",
    "counter_circuit",
    "counter_circuit_9",
    "unident_s",
    "random1",
    "random0",
    "random3",
];

/// A kitchen for the tutorial, in letters that all rules of [`PUBLISHED`] read: somebody stands in the corner.
const QUIET_KITCHEN: &str = r#""WWPWWW\nOA  BW\nW    W\nWX  AW\nWWWWWW""#;

/// Parameters that the study sets itself.
const OWN: [&str; 6] = [
    "rules",
    "layout",
    "observation",
    "seats",
    "horizon",
    "tick_hz",
];

/// The environment of a study, with its rules.
pub(super) struct Kitchens {
    /// The id of the environment.
    env: String,
    /// The parameters of every stage: the rules, unless the environment has one set of them, and what was asked for.
    params: Map<String, Value>,
}

impl Kitchens {
    /// Kitchens by the rules of published agents, or by those of CoGrid, with further parameters as a JSON object.
    ///
    /// # Errors
    /// There are no such rules; the reason lists those that there are. Or the parameters are none.
    pub(super) fn new(rules: Option<&str>, params: Option<&str>) -> anyhow::Result<Self> {
        let mut kitchens = Self {
            env: COGRID.to_owned(),
            params: Map::new(),
        };
        if let Some(rules) = rules {
            let (env, is_parameter) =
                find_env(rules).with_context(|| format!("`--rules {rules}`"))?;
            kitchens.env = env;
            if is_parameter {
                kitchens.params.insert("rules".into(), json!(rules));
            }
        }
        if let Some(params) = params {
            let given: Map<String, Value> = serde_json::from_str(params)
                .context("--params: write a JSON object, such as '{\"view_radius\": 2}'")?;
            for key in given.keys() {
                ensure!(
                    !OWN.contains(&key.as_str()),
                    "--params: the study sets `{key}` itself; leave it out, and change it in the study file"
                );
            }
            kitchens.params.extend(given);
            let layout = kitchens.practice();
            kitchens
                .describe(layout)
                .with_context(|| format!("--params: `{layout}` cannot be played with these"))?;
        }
        Ok(kitchens)
    }

    /// The kitchens that are looked at if none is named, in the order in which they are.
    fn candidates(&self) -> Vec<&'static str> {
        match self.env.as_str() {
            COGRID => KITCHENS.to_vec(),
            PUBLISHED => PUBLISHED_KITCHENS.to_vec(),
            env => named_kitchens(env).collect(),
        }
    }

    /// The kitchens that are looked at if none is named: those of the candidates that the rules have, for two cooks.
    pub(super) fn usual(&self) -> Vec<&'static str> {
        let mut names = self.candidates();
        names.retain(|name| self.check(name).is_ok());
        names
    }

    /// The kitchen of the practice round.
    pub(super) fn practice(&self) -> &'static str {
        let usual = self.usual();
        usual.first().copied().unwrap_or(KITCHENS[0])
    }

    /// The script that is the partner in the practice round: the cook, where it can play and nobody rates it.
    pub(super) fn practice_partner(&self, agents: &[Agent]) -> &'static str {
        let is_rated = |script: &str| agents.iter().any(|agent| agent.policy == script);
        match self.check_script("cook", self.practice()) {
            Ok(()) if !is_rated("cook") => "cook",
            _ if !is_rated("random") => "random",
            _ => "idle",
        }
    }

    fn params(&self, layout: &str, observation: Option<&str>) -> String {
        let mut params = self.params.clone();
        params.insert("layout".into(), json!(layout));
        if let Some(observation) = observation {
            params.insert("observation".into(), json!([observation]));
        }
        Value::Object(params).to_string()
    }

    fn describe(&self, layout: &str) -> anyhow::Result<KitchenFacts> {
        describe_kitchen(&self.env, &self.params(layout, None))
    }

    /// The environment as a study file names it.
    pub(super) fn with_version(&self) -> anyhow::Result<String> {
        Ok(self.describe(self.practice())?.env)
    }

    /// Checks that there is a kitchen of this name, for two.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn check(&self, layout: &str) -> anyhow::Result<()> {
        let kitchen = self
            .describe(layout)
            .with_context(|| format!("`{layout}` is no kitchen of `{}`", self.env))?;
        ensure!(
            kitchen.seats == 2,
            "in `{layout}`, the number of cooks is {}; a participant and a partner need a kitchen for two",
            kitchen.seats
        );
        Ok(())
    }

    /// Checks that a script plays a kitchen.
    ///
    /// # Errors
    /// It does not.
    pub(super) fn check_script(&self, script: &str, layout: &str) -> anyhow::Result<()> {
        catalog::agent::check_script(script, &self.env, &self.params(layout, None))
    }

    /// Finds the observation that a model takes in a kitchen; nothing if it is the one that the rules give by default.
    ///
    /// # Errors
    /// The model plays with none; the reason is that of the default.
    pub(super) fn find_encoding(
        &self,
        model: &Path,
        layout: &str,
    ) -> anyhow::Result<Option<&'static str>> {
        let plays = |observation| {
            let params = self.params(layout, observation);
            catalog::agent::describe_agent(model, Some((&self.env, &params))).map(drop)
        };
        let Err(why) = plays(None) else {
            return Ok(None);
        };
        let mut found = encodings_of(&self.env);
        match found.find(|encoding| plays(Some(encoding)).is_ok()) {
            Some(encoding) => Ok(Some(encoding)),
            None => Err(match self.env.as_str() {
                COGRID => why.context(
                    "it does not play the kitchens of CoGrid; if it was trained with overcooked-ai, JaxMARL or ZSC-Eval, \
                     name the rules, such as `--rules overcooked-ai-1.1.0`",
                ),
                PUBLISHED => why,
                _ => why.context(
                    "it does not play with these parameters; if it was trained with others, such as \
                     `agent_view_size=2`, name them: `--params '{\"view_radius\": 2}'`",
                ),
            }),
        }
    }

    /// Lists the observations that fit a model in a kitchen, those with other scales apart. In a square kitchen, several
    /// have the same shape.
    pub(super) fn list_fitting(&self, model: &Path, layout: &str) -> Vec<&'static str> {
        let is_scaled = |name: &&str| name.ends_with("_x255");
        let plays = |observation: &&str| {
            let params = self.params(layout, Some(observation));
            catalog::agent::describe_agent(model, Some((&self.env, &params))).is_ok()
        };
        let all = encodings_of(&self.env).filter(|it| !is_scaled(it));
        all.filter(plays).collect()
    }

    /// The observation of the rules by default.
    pub(super) fn default_encoding(&self, layout: &str) -> anyhow::Result<String> {
        Ok(self.describe(layout)?.observation)
    }

    /// The players and the configuration of the tutorial, as lines of the study file.
    pub(super) fn tutorial(&self) -> String {
        let params = self.params_key();
        match self.env.as_str() {
            COGRID => format!(
                "    players: [self]\n    config: {{{params}layout: [\"CCUCC\", \"O + O\", \"C   C\", \"C=C@C\"], seats: 1, \
                 horizon: 1800, tick_hz: 10}}\n"
            ),
            PUBLISHED => format!(
                "    players: [self, {{policy: idle, disclose: true}}]\n    \
                 config: {{{params}layout: {QUIET_KITCHEN}, horizon: 1800, tick_hz: 10}}\n"
            ),
            _ => {
                let mut params = self.params.clone();
                params.insert("recipes".into(), json!([[0, 0, 0]]));
                format!(
                    "    players: [self]\n    config: {{{}layout: [WWPWW, \"OA  O\", \"W   W\", WBWXW], \
                     horizon: 1800, tick_hz: 10}}\n",
                    keys(&params)
                )
            }
        }
    }

    /// The rules and further parameters, as they stand before the layout in a configuration.
    pub(super) fn params_key(&self) -> String {
        keys(&self.params)
    }

    /// The sentences on cooking, and on the first stage, for participants of a study with these kitchens.
    pub(super) fn words(&self, layouts: &[String]) -> anyhow::Result<[(&'static str, String); 8]> {
        let kitchens = layouts.iter().map(|layout| self.describe(layout));
        let kitchens = kitchens.collect::<anyhow::Result<Vec<KitchenFacts>>>()?;
        let soups = kitchens.iter().map(|kitchen| kitchen.soups).max();
        let soups = soups.unwrap_or(Soups::Onions);
        let (what, dish, paid) = match soups {
            Soups::Onions => ("onions", "onion soup", "that is served"),
            _ => ("ingredients", "soup", "that is wanted and served"),
        };
        let take = match soups {
            Soups::Onions => "Take an onion and put it into the pot.",
            Soups::Shown => {
                "Look at the display: it shows the soup that is wanted. Take its ingredients and put them into the pot."
            }
            Soups::Pressed => {
                "A display shows the soup that is wanted, if there is one where you are. A button shows it for a moment; a \
                 press costs 5 points. Take its ingredients and put them into the pot."
            }
        };
        let by_hand = kitchens.iter().any(|kitchen| kitchen.starts_by_hand);
        let cooks = match by_hand {
            true => ". Then press the space bar in front of the pot once more, and it cooks.",
            false => ", and it cooks by itself.",
        };
        let beside = match self.env == PUBLISHED {
            true => "beside somebody who stands still",
            false => "alone",
        };
        let fog = match self.params.get("view_radius").and_then(Value::as_u64) {
            Some(1) => "\nYou see the cells next to you, and no others.\n".to_owned(),
            Some(cells) => format!("\nYou see {cells} cells in each direction, and no others.\n"),
            None => String::new(),
        };
        Ok([
            ("@DISH@", dish.to_owned()),
            ("@TAKE@", take.to_owned()),
            ("@COOKING@", format!("Three {what} make one soup{cooks}")),
            ("@PAID@", format!("Every soup {paid} gives 20 points")),
            ("@INGREDIENTS@", what.to_owned()),
            (
                "@FIRST@",
                format!("First you practise {beside}, and for half a minute with a partner."),
            ),
            ("@ALONE@", beside.to_owned()),
            ("@FOG@\n", fog),
        ])
    }
}

/// Parameters as keys of a configuration, each with a comma after it.
fn keys(params: &Map<String, Value>) -> String {
    let key = |(name, value): (&String, &Value)| match value {
        // The names of rules need no quotes.
        Value::String(text) if name == "rules" => format!("{name}: {text}, "),
        _ => format!("{name}: {value}, "),
    };
    params.iter().map(key).collect()
}
