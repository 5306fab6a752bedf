//! Compiles the models of a study to the networks that pages and replicas play.

use std::sync::Arc;

use policy::Partners;
use policy::network::ActionChoice;
use protocol::hash::sha256_hex;
use study::Study;
use study::stage::{CompiledModel, Env, Model};

use crate::agent::Certificate;
use crate::open_world;

/// Makes a network of a model, for an environment. Returns the name under which it plays, and its bytes; nothing if the
/// environment cannot be opened.
///
/// # Errors
/// The reason why it cannot play, or why its certificate is not its own, and the fix.
pub fn lower_model(
    file: &str,
    model: &Model,
    env: &Env,
) -> Result<Option<(String, CompiledModel)>, String> {
    let Ok(world) = open_world(env) else {
        return Ok(None);
    };
    if let Some(certificate) = &model.certificate {
        Certificate::read(file, &model.sha256, certificate)?;
    }
    let spec = world.spec();
    let choice = ActionChoice {
        every: model.every_ticks,
        temperature: model.temperature.map(|it| it as f32),
        is_masked: model.action_mask,
    };
    let network = onnx::read_for(&model.bytes, spec, model.observation.as_deref(), choice);
    let network = network.map_err(|error| error.to_string())?;
    let bytes = network.encode().map_err(|error| error.to_string())?;
    let sha256 = sha256_hex(&bytes);
    let name = policy::policy_name(file, &sha256);
    Ok(Some((
        name,
        CompiledModel {
            sha256,
            bytes: Arc::from(bytes),
            certificate: model.certificate.clone(),
        },
    )))
}

/// The AI partners that the episodes of a study can call, for pages that run in this process.
pub fn read_partners(study: &Study) -> Partners {
    let mut partners = Partners::default();
    for network in &study.models {
        let added = partners.add_model(&network.sha256, &network.bytes);
        added.expect("what a study plays with was lowered here");
    }
    partners
}
