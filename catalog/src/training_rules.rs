//! Warnings about AI partners that play other rules than those that they were trained on.

use std::collections::{BTreeMap, BTreeSet};

use env_core::envs;
use serde_json::Value;
use study::stage::Env;
use study::{EnvFactsByStage, Problem, StageKind, Study, TrainedPartner, make_hint};

use crate::agent::list_rules;
use crate::env;

/// The parameter of environments that can play several rules.
const RULES: &str = "rules";

/// Warns about partners whose `rules` are not those of a stage that they play. `playable` are the parameters with which
/// the stages are played.
pub(crate) fn warn_of_training_rules(study: &Study, playable: &EnvFactsByStage) -> Vec<Problem> {
    let mut by_partner: BTreeMap<(&str, &str), (&TrainedPartner, Vec<String>)> = BTreeMap::new();
    for partner in &study.trained_partners {
        let stage = &study.timeline[usize::from(partner.stage)];
        let StageKind::Env(env) = &stage.kind else {
            continue;
        };
        let variants = playable.range((partner.stage, String::new())..);
        let variants = variants.take_while(|((index, _), _)| *index == partner.stage);
        let played: BTreeSet<String> = variants
            .map(|((_, params), _)| find_rules(env, params))
            .collect();
        let others = played
            .into_iter()
            .filter(|rules| !is_trained(partner, env, rules));
        let others = others.map(|rules| format!("`{rules}` in `{}`", stage.id));
        let key = (partner.name.as_str(), partner.rules.as_str());
        let (_, found) = by_partner.entry(key).or_insert((partner, Vec::new()));
        found.extend(others);
    }
    let odd = by_partner
        .into_values()
        .filter(|(_, found)| !found.is_empty());
    let problem = |(partner, found): (&TrainedPartner, Vec<String>)| {
        let (name, rules) = (&partner.name, &partner.rules);
        let plays = found.join(" and ");
        let known = list_known_rules();
        let id = rules.split('@').next().unwrap_or(rules);
        let message = match known.iter().any(|known| known == id) {
            true => format!(
                "`{name}` was trained on the rules `{rules}`, and plays {plays}; write `config: {{rules: {rules}}}` there, or \
                 leave it so if the study is about it"
            ),
            false => format!(
                "`{name}` was trained on the rules `{rules}`, which this version of Coplay does not know, and plays {plays}; \
                 {}; or leave it so if the name is right",
                make_hint(rules, &known.iter().map(String::as_str).collect::<Vec<_>>())
            ),
        };
        study.training_problem(partner, &message)
    };
    odd.map(problem).collect()
}

/// The names of rules: those of environments that can play several, and the environments themselves.
fn list_known_rules() -> Vec<String> {
    let of_games = list_rules().into_iter().flat_map(|(_, rules)| rules);
    let environments = envs::IDS.iter().map(|id| (*id).to_owned());
    of_games.chain(environments).collect()
}

/// Returns true if a partner was trained on these rules of an environment. Those without other rules are named by the
/// environment, with or without its version.
fn is_trained(partner: &TrainedPartner, env: &Env, rules: &str) -> bool {
    let with_version = format!("{}@{}", env.env, env.version);
    partner.rules == rules || (rules == env.env && partner.rules == with_version)
}

/// The rules that an env stage plays with these parameters (JSON): their parameter `rules`, else its default, else the
/// name of the environment.
fn find_rules(env: &Env, params: &str) -> String {
    let params: Value = serde_json::from_str(params).unwrap_or_default();
    let own = params.get(RULES).and_then(Value::as_str);
    let rules = own.map(str::to_owned).or_else(|| find_default(env));
    rules.unwrap_or_else(|| env.env.clone())
}

/// The rules that an environment of this build plays by default; `None` if it has but one set of rules.
fn find_default(env: &Env) -> Option<String> {
    let is_built_in = env.module.is_none() && env.python.is_none();
    let shown = is_built_in
        .then(|| env::describe_environment(&env.env, "").ok())
        .flatten()?;
    let default = shown.params_schema.pointer("/properties/rules/default")?;
    default.as_str().map(str::to_owned)
}
