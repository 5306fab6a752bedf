//! The environment that plays the rules of an original, and whether a trace was recorded with the rules asked for.
//!
//! Researchers name the game, `overcooked`, and the original; here, the rules of several originals belong to one
//! environment, and others have their own.

use std::path::Path;

use anyhow::bail;
use env_core::envs;
use serde_json::{Map, Value};

use crate::env;

/// The parameter with the rules.
const RULES: &str = "rules";
/// The name of the game, under which the rules of every original are found.
const GAME: &str = "overcooked";
/// Rules that are an environment by themselves, which has no parameter for them.
const WHOLE: [(&str, &str); 1] = [("jaxmarl-v2", "overcooked_jaxmarl_v2")];

/// The packages whose rules are played, with their versions.
const RECORDED: [(&str, &str); 4] = [
    ("jaxmarl-0.2.0", "jaxmarl 0.2.0"),
    ("jaxmarl-v2", "jaxmarl 0.2.0"),
    ("overcooked-ai-1.1.0", "overcooked-ai 1.1.0"),
    ("overcooked-ai-old", "overcooked 0.2.1"),
];

/// An environment with the parameters that it is opened with.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    /// The environment, as `coplay env show` takes it.
    pub env: String,
    /// Its parameters, with its rules.
    pub params: Map<String, Value>,
}

/// The rules that parameters name.
pub(super) fn rules_of(params: &Map<String, Value>) -> Option<&str> {
    params.get(RULES).and_then(Value::as_str)
}

/// Finds the environment that plays the rules in these parameters. Other environments than those of the game, and those
/// in files, are left as they are.
///
/// # Errors
/// No environment of the game has these rules, or another one than the one asked for.
pub(crate) fn find_played(env: &str, mut params: Map<String, Value>) -> anyhow::Result<Played> {
    let id = env.split('@').next().unwrap_or(env);
    let is_game = id.starts_with(GAME) && envs::IDS.contains(&id);
    if !is_game {
        let env = env.to_owned();
        return Ok(Played { env, params });
    }
    let Some(rules) = rules_of(&params).map(str::to_owned) else {
        if let Some(default) = default_rules(id) {
            params.insert(RULES.into(), default);
        }
        let env = env.to_owned();
        return Ok(Played { env, params });
    };
    let all = list_rules();
    let has = |(_, names): &&(&str, Vec<String>)| names.contains(&rules);
    let own = all.iter().find(|(owner, _)| *owner == id).filter(has);
    let Some((owner, _)) = own.or_else(|| all.iter().find(has)) else {
        let known = all
            .iter()
            .map(|(owner, names)| format!("`{owner}` has {}", names.join(", ")));
        let known = known.collect::<Vec<_>>().join("; ");
        bail!("there are no rules `{rules}`; {known}");
    };
    if *owner != id && id != GAME {
        bail!(
            "`{rules}` are rules of the environment `{owner}`, and not of `{id}`; write --env {owner}"
        );
    }
    if WHOLE.iter().any(|(_, whole)| whole == owner) {
        params.remove(RULES);
    }
    let env = if *owner == id { env } else { *owner }.to_owned();
    Ok(Played { env, params })
}

/// Refuses a trace that was recorded with other rules than those asked for.
pub(super) fn check_recorded(
    trace: &Path,
    recorded: Option<&str>,
    asked: Option<&str>,
) -> anyhow::Result<()> {
    if let (Some(recorded), Some(asked)) = (recorded, asked)
        && recorded != asked
    {
        bail!(
            "{} was recorded with the rules `{recorded}`, as `params` in it says, and the rules `{asked}` were asked for: \
             it cannot be played again by these; leave out `{asked}`, or record a trace by these rules",
            trace.display()
        );
    }
    Ok(())
}

/// Refuses a trace that another version of a package has recorded than the one whose rules are played.
pub(super) fn check_package(
    trace: &Path,
    package: Option<&str>,
    rules: Option<&str>,
) -> anyhow::Result<()> {
    let (Some(package), Some(rules)) = (package, rules) else {
        return Ok(());
    };
    let known = RECORDED.iter().find(|(of, _)| *of == rules);
    if let Some((_, known)) = known.filter(|(_, known)| *known != package) {
        bail!(
            "{} was recorded with the package {package}, and the rules `{rules}` are those of {known}: install {known} and \
             record it there; if both versions play by the same rules, leave `package` out of the trace",
            trace.display()
        );
    }
    Ok(())
}

/// The environments of the game, with the names of their rules.
pub(crate) fn list_rules() -> Vec<(&'static str, Vec<String>)> {
    let named = |id: &&'static str| {
        let whole = WHOLE.iter().filter(|(_, env)| env == id);
        let whole = whole.map(|(rules, _)| (*rules).to_owned());
        let choices = schema_of(id)
            .and_then(|schema| schema.get("enum")?.as_array().cloned())
            .unwrap_or_default();
        let choices = choices
            .iter()
            .filter_map(|it| it.as_str().map(str::to_owned));
        (*id, whole.chain(choices).collect::<Vec<_>>())
    };
    let games = envs::IDS.iter().filter(|id| id.starts_with(GAME));
    let games = games.map(named);
    games.filter(|(_, names)| !names.is_empty()).collect()
}

fn default_rules(id: &str) -> Option<Value> {
    schema_of(id)?.get("default").cloned()
}

/// The schema of the parameter with the rules, if an environment has it.
fn schema_of(id: &str) -> Option<Value> {
    let shown = env::describe_environment(id, "").ok()?;
    shown.params_schema.pointer("/properties/rules").cloned()
}
