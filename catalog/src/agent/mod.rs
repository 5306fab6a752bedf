//! `coplay agent`: the description of a model, and whether it plays here as in its own Python.

mod certificate;
mod npz;
mod places;
mod recipes;
mod rules;
mod trace;

use std::fmt;
use std::path::Path;

use anyhow::Context as _;
use env_core::Spec;
use policy::Network;
pub use policy::network::ActionChoice;
use protocol::hash::sha256_hex;
use serde::Serialize;
use serde_json::{Map, Value};

pub use certificate::{Certificate, CheckOrder, Difference, Tally, check, check_beside};
pub use recipes::{PACKAGES, recipe};
pub(crate) use rules::list_rules;

use self::rules::Played;
pub(crate) use self::rules::find_played;
use crate::env::Source;
use crate::partner_models;

/// A model as it would be played.
#[derive(Debug, Serialize)]
pub struct AgentDescription {
    /// The file.
    pub file: String,
    /// SHA-256 of the model.
    pub sha256: String,
    /// Bytes of the model.
    pub bytes: usize,
    /// Names and shapes of its inputs; sizes that are open are 1.
    pub inputs: Vec<(String, Vec<usize>)>,
    /// Names of its outputs.
    pub outputs: Vec<String>,
    /// Its operators, and how many there are of each.
    pub operators: Vec<(String, usize)>,
    /// The compiled model for an environment, if one was named.
    pub compiled: Option<CompiledDescription>,
}

/// A compiled model.
#[derive(Debug, Serialize)]
pub struct CompiledDescription {
    /// The environment.
    pub env: String,
    /// SHA-256 of the compiled model.
    pub sha256: String,
    /// Bytes that a page downloads.
    pub bytes: usize,
    /// The fields of the observation that it takes, with their shapes.
    pub observation: Vec<String>,
    /// Values that it takes of an observation.
    pub observed: usize,
    /// Actions that it chooses among.
    pub actions: usize,
    /// Values that it remembers from decision to decision.
    pub remembered: usize,
    /// Multiplications of a decision.
    pub multiplications: u64,
    /// True if its choices depend on the action mask.
    pub is_masked: bool,
}

/// Reads a model, and compiles it for an environment if one is named.
///
/// # Errors
/// The file is no model, or it does not play the environment.
pub fn describe_agent(file: &Path, env: Option<(&str, &str)>) -> anyhow::Result<AgentDescription> {
    let bytes = read(file)?;
    let name = file.display().to_string();
    let outline = onnx::outline_model(&bytes).with_context(|| name.clone())?;
    let compiled = match env {
        None => None,
        Some((env, params)) => {
            let world = open_game(env, params)?;
            let (network, encoded) =
                compile(&bytes, &*world, false).with_context(|| name.clone())?;
            Some(CompiledDescription {
                env: world.spec().id.clone(),
                observation: partner_models::list_taken(&network, world.spec()),
                sha256: sha256_hex(&encoded),
                bytes: encoded.len(),
                observed: network.inputs(),
                actions: network.actions(),
                remembered: network.memory_len(),
                multiplications: network.work(),
                is_masked: network.wants_mask(),
            })
        }
    };
    Ok(AgentDescription {
        file: name,
        sha256: sha256_hex(&bytes),
        bytes: bytes.len(),
        inputs: outline.inputs,
        outputs: outline.outputs,
        operators: outline.operators,
        compiled,
    })
}

/// Compiles a model for an environment, to play as in a study: one decision for every few ticks, the greatest value or
/// a draw at a temperature, with the action mask or without. Returns the name under which it plays, and its bytes.
///
/// # Errors
/// The file is not a model, or it does not play the environment.
pub fn compile_file(
    file: &Path,
    spec: &Spec,
    choice: ActionChoice,
) -> anyhow::Result<(String, Vec<u8>)> {
    let network = onnx::read(&read(file)?, spec, choice);
    let network = network.with_context(|| file.display().to_string())?;
    let bytes = network.encode()?;
    let stem = file.file_name().unwrap_or_default().to_string_lossy();
    Ok((policy::policy_name(&stem, &sha256_hex(&bytes)), bytes))
}

/// Names of the scripts that a study can name as AI partners.
pub const SCRIPTS: [&str; 3] = policy::NAMES;

/// Checks that an environment opens with these parameters.
///
/// # Errors
/// It does not; the reason says why.
pub fn check_env(env: &str, params: &str) -> anyhow::Result<()> {
    open(env, params).map(drop)
}

/// Checks that a script can play an environment.
///
/// # Errors
/// There is no such script, or it cannot play the environment.
pub fn check_script(name: &str, env: &str, params: &str) -> anyhow::Result<()> {
    let world = open(env, params)?;
    let script = policy::by_name(name, world.spec());
    script
        .map(drop)
        .with_context(|| format!("the script `{name}` cannot play `{env}`"))
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

fn open(env: &str, params: &str) -> anyhow::Result<Box<dyn env_core::World>> {
    let world = Source::find(env)?.open(params);
    world.map_err(|error| anyhow::anyhow!("{env}: {error}"))
}

/// Opens the environment that plays the rules in these parameters.
fn open_game(env: &str, params: &str) -> anyhow::Result<Box<dyn env_core::World>> {
    let own = match params {
        "" => Map::new(),
        text => match serde_json::from_str(text) {
            Ok(Value::Object(own)) => own,
            _ => return open(env, params),
        },
    };
    let Played { env, params } = find_played(env, own)?;
    open(&env, &Value::Object(params).to_string())
}

/// Adds the rules of an original to parameters as JSON.
///
/// # Errors
/// The parameters are no JSON object.
pub fn add_rules(params: &str, rules: Option<&str>) -> anyhow::Result<String> {
    let Some(rules) = rules else {
        return Ok(params.to_owned());
    };
    let params = if params.is_empty() { "{}" } else { params };
    let mut all: Map<String, Value> = serde_json::from_str(params)
        .context("--params: write a JSON object, such as '{\"layout\": \"cramped_room\"}'")?;
    all.insert("rules".into(), rules.into());
    Ok(Value::Object(all).to_string())
}

fn compile(
    bytes: &[u8],
    world: &dyn env_core::World,
    is_masked: bool,
) -> anyhow::Result<(Network, Vec<u8>)> {
    let choice = ActionChoice {
        is_masked,
        ..ActionChoice::default()
    };
    let network = onnx::read(bytes, world.spec(), choice)?;
    let encoded = network.encode()?;
    Ok((network, encoded))
}

impl fmt::Display for AgentDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} ({} bytes, sha256 {})",
            self.file, self.bytes, self.sha256
        )?;
        for (name, shape) in &self.inputs {
            writeln!(f, "  input      {name} {shape:?}")?;
        }
        for name in &self.outputs {
            writeln!(f, "  output     {name}")?;
        }
        let operators = self
            .operators
            .iter()
            .map(|(op, count)| format!("{op} {count}"));
        write!(
            f,
            "  operators  {}",
            operators.collect::<Vec<_>>().join(", ")
        )?;
        let Some(compiled) = &self.compiled else {
            return Ok(());
        };
        let CompiledDescription {
            env,
            observation,
            bytes,
            observed,
            actions,
            remembered,
            multiplications,
            ..
        } = compiled;
        write!(
            f,
            "\n\nIt plays {env}: {observed} values of the observation ({}), {actions} actions, {remembered} values remembered\n  \
             a page downloads {bytes} bytes; a decision takes {multiplications} multiplications",
            observation.join(", ")
        )?;
        match compiled.is_masked {
            true => write!(f, "\n  it chooses by the action mask"),
            false => Ok(()),
        }
    }
}
