//! The models of AI partners, as `coplay lint` reports them: which part of the observation each of them takes.

use std::fmt;

use env_core::{Spec, World};
use policy::{Network, sha256_of};
use serde::Serialize;
use serde_json::Value;
use study::{EnvFactsByStage, Problem, StageKind, Study};

use crate::agent::{Certificate, Tally};
use crate::open_world;

/// A model that plays in a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartnerModelOutline {
    /// The name of its file.
    pub model: String,
    /// The ids of the stages that call it.
    pub stages: Vec<String>,
    /// The fields of the observation that it takes, with their shapes.
    pub observation: Vec<String>,
    /// True if it chooses by the action mask.
    pub is_masked: bool,
    /// The result that its certificate states; `None` without a certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateOutline>,
}

/// The result that a certificate states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CertificateOutline {
    /// The environment and its version.
    pub env: String,
    /// The rules that were played, if the environment has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// Observations that were compared; none without a replay.
    pub observations: Tally,
    /// Actions that were compared.
    pub actions: Tally,
    /// True if all of them were equal.
    pub is_fine: bool,
}

impl CertificateOutline {
    fn of(bytes: &[u8]) -> Option<Self> {
        let read: Certificate = serde_json::from_slice(bytes).ok()?;
        Some(Self {
            is_fine: read.is_fine(),
            rules: (read.params.get("rules").and_then(Value::as_str)).map(str::to_owned),
            env: read.env,
            observations: read.observations,
            actions: read.actions,
        })
    }
}

impl fmt::Display for CertificateOutline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tally = |tally: Tally| format!("{} of {}", tally.equal, tally.compared);
        match self.observations.compared {
            0 => write!(f, "{} actions", tally(self.actions))?,
            _ => write!(
                f,
                "{} observations and {} actions",
                tally(self.observations),
                tally(self.actions)
            )?,
        }
        match &self.rules {
            Some(rules) => write!(f, " were equal in {} by the rules {rules}", self.env),
            None => write!(f, " were equal in {}", self.env),
        }
    }
}

/// Outlines every model of a study, in the order in which its stages call them, with the observation of the first
/// kitchen or level of a stage. One model that takes different parts of it in different stages comes several times.
pub(crate) fn outline_models(
    study: &Study,
    playable: &EnvFactsByStage,
) -> Vec<PartnerModelOutline> {
    let mut outlined: Vec<PartnerModelOutline> = Vec::new();
    for (index, stage) in study.timeline.iter().enumerate() {
        let called = stage.kind.ai_partners().into_iter();
        let called = called.map(|partner| (partner, None));
        let clips = study.partner_episodes().filter(|(of, _)| *of == index);
        let in_clips = clips.flat_map(|(_, episode)| {
            let players = episode.players.iter();
            players.map(move |partner| (partner, Some(episode)))
        });
        for (partner, episode) in called.chain(in_clips) {
            let found = sha256_of(&partner.policy).zip(partner.policy.rsplit_once('@'));
            let Some((sha256, (name, _))) = found else {
                continue;
            };
            let compiled = study.models.iter().find(|model| model.sha256 == sha256);
            let Some((compiled, network)) =
                compiled.and_then(|it| Some((it, Network::decode(&it.bytes).ok()?)))
            else {
                continue;
            };
            // One that participants do not learn of plays under another name.
            let origin = partner.origin.as_ref().map(|origin| origin.policy.as_str());
            let outline = PartnerModelOutline {
                model: origin.unwrap_or(name).to_owned(),
                stages: vec![stage.id.clone()],
                observation: match episode {
                    Some(episode) => list_played(&network, open_world(&episode.env()).ok()),
                    None => list_played(&network, open_stage(study, playable, index)),
                },
                is_masked: network.wants_mask(),
                certificate: compiled
                    .certificate
                    .as_deref()
                    .and_then(CertificateOutline::of),
            };
            add(&mut outlined, outline);
        }
    }
    outlined
}

/// Warns about models whose certificates state differences.
pub(crate) fn warn_of_certificates(study: &Study, models: &[PartnerModelOutline]) -> Vec<Problem> {
    let warn = |model: &PartnerModelOutline| {
        let certificate = model.certificate.as_ref().filter(|it| !it.is_fine)?;
        let stage = study
            .timeline
            .iter()
            .position(|stage| model.stages.contains(&stage.id))?;
        let message = format!(
            "`{}` does not play here as it did where it was trained: by its certificate, {certificate}; find the cause \
             with `coplay agent check` (docs/agents.md), or leave it so if the study is about it",
            model.model
        );
        Some(study.stage_problem(stage as u16, &message))
    };
    models.iter().filter_map(warn).collect()
}

fn add(outlined: &mut Vec<PartnerModelOutline>, outline: PartnerModelOutline) {
    let is_same = |known: &&mut PartnerModelOutline| {
        known.model == outline.model && known.observation == outline.observation
    };
    match outlined.iter_mut().find(is_same) {
        Some(known) => {
            let mut stages = outline.stages;
            stages.retain(|stage| !known.stages.contains(stage));
            known.stages.append(&mut stages);
        }
        None => outlined.push(outline),
    }
}

/// The world of the first env stage from a stage on.
fn open_stage(study: &Study, playable: &EnvFactsByStage, stage: usize) -> Option<Box<dyn World>> {
    let mut stages = (0_u16..).zip(&study.timeline).skip(stage);
    let (index, env) = stages.find_map(|(index, stage)| match &stage.kind {
        StageKind::Env(env) => Some((index, env)),
        _ => None,
    })?;
    let (_, params) = playable.keys().find(|(of, _)| *of == index)?;
    let mut env = env.clone();
    env.config = serde_json::from_str(params).ok()?;
    open_world(&env).ok()
}

/// The fields that a network takes in a world; without the world, their names.
fn list_played(network: &Network, world: Option<Box<dyn World>>) -> Vec<String> {
    match world {
        Some(world) => list_taken(network, world.spec()),
        None => network
            .fields
            .iter()
            .map(|field| field.name.clone())
            .collect(),
    }
}

/// The fields of an observation that a network takes, with their shapes.
pub(crate) fn list_taken(network: &Network, spec: &Spec) -> Vec<String> {
    let is_taken = |name: &str| {
        network.fields.is_empty() || network.fields.iter().any(|field| field.name == name)
    };
    let fields = spec
        .observation
        .iter()
        .filter(|field| is_taken(&field.name));
    fields
        .map(|field| format!("{} {:?}", field.name, field.shape))
        .collect()
}
