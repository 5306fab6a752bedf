//! Agents made fit for a study: the policy that each plays every episode with, and the reasons against it.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use catalog::{models, open_world};
use protocol::EnvWay;
use protocol::hash::sha256_hex;
use study::stage::{CompiledModel, Env, Model};
use study::{EnvFactsByStage, Stage, StageKind, Study};

use super::policy_choice::{AgentPolicy, file_name};
use crate::agent::Agent;

/// The agents, and the compiled models that they play with.
type Fitted = (Vec<Arc<Agent>>, Vec<CompiledModel>);

/// Makes agents of policies.
///
/// # Errors
/// Every reason why the study or one of the policies does not fit, a line each.
pub(super) fn fit_all(
    policies: &[AgentPolicy],
    study: &Study,
    facts: &EnvFactsByStage,
) -> anyhow::Result<Fitted> {
    let refused: Vec<String> = study.timeline.iter().filter_map(refuse_stage).collect();
    anyhow::ensure!(refused.is_empty(), refused.join("\n"));
    let (mut agents, mut compiled, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for policy in policies {
        let model = read_model(policy)?;
        let mut names = BTreeMap::new();
        for (env, stage) in list_episodes(study, facts) {
            match find_name(policy, model.as_ref(), &env) {
                Ok((name, found)) => {
                    names.insert((env.env.clone(), env.config.to_string()), name);
                    compiled.extend(found);
                }
                Err(reason) => refusals.push(format!(
                    "the agent `{}` cannot play `{}` in the stage `{stage}`: {reason}",
                    policy.name, env.env
                )),
            }
        }
        agents.push(Arc::new(Agent {
            name: policy.name.clone(),
            policies: names,
        }));
    }
    refusals.dedup();
    anyhow::ensure!(refusals.is_empty(), refusals.join("\n"));
    Ok((agents, compiled))
}

/// Returns why no agent can take part in a stage; `None` if agents can.
fn refuse_stage(stage: &Stage) -> Option<String> {
    let StageKind::Env(env) = &stage.kind else {
        return None;
    };
    (env.env_way() == EnvWay::Host).then(|| {
        format!(
            "the stage `{}` has `run: host`: its pages get a picture and no observation, so no agent can play there; \
             let agents play a copy of the study without this stage",
            stage.id
        )
    })
}

/// Every environment with the parameters of an episode, and the stage that plays it.
fn list_episodes<'a>(
    study: &'a Study,
    facts: &'a EnvFactsByStage,
) -> impl Iterator<Item = (Env, &'a str)> {
    facts.keys().filter_map(|(index, params)| {
        let stage = study.timeline.get(usize::from(*index))?;
        let StageKind::Env(env) = &stage.kind else {
            return None;
        };
        let config = serde_json::from_str(params).ok()?;
        let env = Env {
            config,
            ..env.clone()
        };
        Some((env, stage.id.as_str()))
    })
}

/// The model of a policy that is a file.
fn read_model(policy: &AgentPolicy) -> anyhow::Result<Option<Model>> {
    if !policy.is_model() {
        return Ok(None);
    }
    let bytes = std::fs::read(&policy.policy)
        .with_context(|| format!("cannot read the model {}", policy.policy))?;
    Ok(Some(Model {
        sha256: sha256_hex(&bytes),
        every_ticks: policy.every_ticks,
        temperature: policy.temperature,
        action_mask: policy.action_mask,
        observation: policy.observation.clone(),
        certificate: None,
        bytes: bytes.into(),
    }))
}

/// Finds the name under which a policy plays an environment, and its compiled model if it has one.
///
/// # Errors
/// The reason why it cannot play, and the fix.
fn find_name(
    policy: &AgentPolicy,
    model: Option<&Model>,
    env: &Env,
) -> Result<(String, Option<CompiledModel>), String> {
    let (base, compiled) = match model {
        Some(model) => {
            let lowered = models::lower_model(file_name(&policy.policy), model, env)?;
            let (name, compiled) = lowered.ok_or("the environment does not open")?;
            (name, Some(compiled))
        }
        None => (find_script(&policy.policy, env)?, None),
    };
    Ok((policy.imperfection.join(&base), compiled))
}

/// A policy of this build that can play an environment.
fn find_script(name: &str, env: &Env) -> Result<String, String> {
    let world = open_world(env).map_err(|_| "the environment does not open")?;
    let mut able = policy::NAMES.to_vec();
    able.retain(|name| policy::by_name(name, world.spec()).is_some());
    if able.contains(&name) {
        return Ok(name.to_owned());
    }
    let known = able.join(", ");
    Err(match policy::NAMES.contains(&name) {
        true => {
            format!("this policy is not for it; there are {known}, or the file of an ONNX model")
        }
        false => format!(
            "there is no such policy; there are {known}, or the file of an ONNX model, which ends in .onnx"
        ),
    })
}
