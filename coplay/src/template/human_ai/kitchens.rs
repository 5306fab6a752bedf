//! The kitchens of the study: CoGrid's, or those of published agents by their rules.

use std::path::Path;

use anyhow::Context as _;
use serde_json::json;

/// CoGrid's environment, its version, and the kitchens that are looked at if none is named.
const COGRID: (&str, &str) = ("overcooked", "overcooked@2.0.0");
pub(super) const KITCHENS: [&str; 5] = [
    "cramped_room",
    "asymmetric_advantages",
    "coordination_ring",
    "forced_coordination",
    "counter_circuit",
];

/// The same for the rules of published agents, of which each knows some of these kitchens.
const PUBLISHED: (&str, &str) = ("overcooked_ai", "overcooked_ai@1.0.0");
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

/// The observations that published agents take.
const ENCODINGS: [&str; 9] = [
    "lossless",
    "jaxmarl",
    "neurips2019",
    "zsc_eval",
    "cec",
    "lossless_x255",
    "neurips2019_x255",
    "features",
    "neurips2019_features",
];

/// Rules by which somebody has to press a key before a full pot cooks.
const STARTED_BY_HAND: [&str; 2] = ["overcooked-ai-1.1.0", "zsc-eval"];

/// A kitchen for the tutorial, in letters that all of these rules read: somebody stands in the corner.
const QUIET_KITCHEN: &str = r#""WWPWWW\nOA  BW\nW    W\nWX  AW\nWWWWWW""#;

/// The environment of a study, with its rules.
pub(super) struct Kitchens {
    /// The rules of published agents; without any, those of CoGrid.
    rules: Option<String>,
}

impl Kitchens {
    /// Kitchens by these rules.
    ///
    /// # Errors
    /// There are no such rules; the reason lists those that there are.
    pub(super) fn new(rules: Option<&str>) -> anyhow::Result<Self> {
        let kitchens = Self {
            rules: rules.map(str::to_owned),
        };
        if let (Some(rules), true) = (rules, kitchens.usual().is_empty()) {
            let (env, _) = PUBLISHED;
            catalog::agent::check_env(env, &json!({ "rules": rules }).to_string())
                .with_context(|| format!("`--rules {rules}`"))?;
        }
        Ok(kitchens)
    }

    fn env(&self) -> (&'static str, &'static str) {
        match self.rules {
            None => COGRID,
            Some(_) => PUBLISHED,
        }
    }

    /// The environment as a study file names it.
    pub(super) fn with_version(&self) -> &'static str {
        self.env().1
    }

    /// The kitchens that are looked at if none is named.
    pub(super) fn usual(&self) -> Vec<&'static str> {
        let names: &[&str] = match self.rules {
            None => &KITCHENS,
            Some(_) => &PUBLISHED_KITCHENS,
        };
        let is_there = |name: &&&str| self.check(name).is_ok();
        names.iter().filter(is_there).copied().collect()
    }

    fn params(&self, layout: &str, observation: Option<&str>) -> String {
        let mut params = json!({ "layout": layout });
        if let Some(rules) = &self.rules {
            params["rules"] = json!(rules);
        }
        if let Some(observation) = observation {
            params["observation"] = json!([observation]);
        }
        params.to_string()
    }

    /// Checks that there is a kitchen of this name.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn check(&self, layout: &str) -> anyhow::Result<()> {
        let (env, version) = self.env();
        catalog::agent::check_env(env, &self.params(layout, None))
            .with_context(|| format!("`{layout}` is no kitchen of {version}"))
    }

    /// Checks that a script plays a kitchen.
    ///
    /// # Errors
    /// It does not.
    pub(super) fn check_script(&self, script: &str, layout: &str) -> anyhow::Result<()> {
        catalog::agent::check_script(script, self.env().0, &self.params(layout, None))
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
            catalog::agent::describe_agent(model, Some((self.env().0, &params))).map(drop)
        };
        let Err(why) = plays(None) else {
            return Ok(None);
        };
        let encodings: &[&'static str] = match self.rules {
            None => &[],
            Some(_) => &ENCODINGS,
        };
        let mut found = encodings.iter().copied();
        match found.find(|encoding| plays(Some(encoding)).is_ok()) {
            Some(encoding) => Ok(Some(encoding)),
            None if self.rules.is_none() => Err(why.context(
                "it does not play the kitchens of CoGrid; if it was trained with overcooked-ai, JaxMARL or ZSC-Eval, name \
                 the rules, such as `--rules overcooked-ai-1.1.0`",
            )),
            None => Err(why),
        }
    }

    /// The observation of the rules by default.
    pub(super) fn default_encoding(&self, layout: &str) -> anyhow::Result<String> {
        let (env, _) = self.env();
        let shown = catalog::env::describe_environment(env, &self.params(layout, None))?;
        let first = shown.spec.observation.first();
        Ok(first.map_or_else(String::new, |field| field.name.clone()))
    }

    /// The players and the configuration of the tutorial, as lines of the study file.
    pub(super) fn tutorial(&self) -> String {
        match &self.rules {
            None => "    players: [self]\n    config: {layout: [\"CCUCC\", \"O + O\", \"C   C\", \"C=C@C\"], seats: 1, \
                     horizon: 1800, tick_hz: 10}\n"
                .to_owned(),
            Some(rules) => format!(
                "    players: [self, {{policy: idle, disclose: true}}]\n    \
                 config: {{rules: {rules}, layout: {QUIET_KITCHEN}, horizon: 1800, tick_hz: 10}}\n"
            ),
        }
    }

    /// The rules, as they stand before the layout in a configuration.
    pub(super) fn rules_key(&self) -> String {
        let rules = self.rules.as_ref();
        rules.map_or(String::new(), |rules| format!("rules: {rules}, "))
    }

    /// The sentences on cooking, and on the first stage, for participants.
    pub(super) fn words(&self) -> [(&'static str, &'static str); 3] {
        let by_hand = self
            .rules
            .as_ref()
            .is_some_and(|rules| STARTED_BY_HAND.contains(&rules.as_str()));
        [
            (
                "@COOKING@",
                match by_hand {
                    true => {
                        "Three onions make one soup. Then press the space bar in front of the pot once more, and it cooks."
                    }
                    false => "Three onions make one soup, and it cooks by itself.",
                },
            ),
            (
                "@FIRST@",
                match self.rules {
                    None => "First you practise alone, and for half a minute with a partner.",
                    Some(_) => {
                        "First you practise beside somebody who stands still, and for half a minute with a partner."
                    }
                },
            ),
            (
                "@ALONE@",
                match self.rules {
                    None => "alone",
                    Some(_) => "beside somebody who stands still",
                },
            ),
        ]
    }
}
