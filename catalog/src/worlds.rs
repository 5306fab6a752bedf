//! Studies read against the environments, policies and models of this build.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use env_core::contract::ParamError;
use env_core::guest::Sprite;
use env_core::view::ViewFacts;
use env_core::{Spec, World, abi};
use module::ModuleError;
use protocol::EnvWay;
use study::stage::{CompiledModel, Env, Model, PythonWorld};
use study::{
    DraftStudy, EnvFacts, EnvFactsByStage, EnvFault, FactsRecorder, HostFacts, Problem,
    RecordedFacts, Study, StudyFolder,
};

use crate::{models, python};

/// Reads a study and checks it against the environments and AI partners of this program.
///
/// # Errors
/// Every [`Problem`].
pub fn read_study(dir: &Path) -> Result<(Study, EnvFactsByStage), Vec<Problem>> {
    DraftStudy::read(dir).check(&Build)
}

/// A study with all that it was read from.
#[derive(Clone, Debug)]
pub struct StudyRecord {
    /// The files of its folder that it names, by their path in it.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The facts of this build about its environments and models.
    pub facts: RecordedFacts,
}

/// Reads a study as [`read_study`] does, and records what it was read from.
///
/// # Errors
/// Every [`Problem`].
pub fn record_study(dir: &Path) -> Result<(Study, EnvFactsByStage, StudyRecord), Vec<Problem>> {
    let folder = StudyFolder::on_disk(dir);
    let recorder = FactsRecorder::new(&Build);
    let (study, playable) = DraftStudy::read_folder(&folder).check(&recorder)?;
    let files = folder.list_read().into_iter();
    let files = files.filter_map(|file| {
        let bytes = folder.read_file(&file).ok()?;
        Some((file, bytes))
    });
    let record = StudyRecord {
        files: files.collect(),
        facts: recorder.into_recorded(),
    };
    Ok((study, playable, record))
}

/// The environments, scripts and models of this build.
struct Build;

impl HostFacts for Build {
    fn prepare_env(&self, env: &mut Env) {
        python::prepare_env(env).ok();
    }

    fn env_facts(&self, env: &Env) -> Result<EnvFacts, EnvFault> {
        let opened = open(env)?;
        let spec = opened.world.spec();
        if spec.secret && env.env_way() == EnvWay::Module {
            let reason = "the environment keeps secrets from players, and every player's page would compute them: \
                          it cannot be played peer to peer; write `run: host` to have the server alone compute it";
            return Err(EnvFault::Module {
                reason: reason.into(),
            });
        }
        let actions = spec
            .actions
            .iter()
            .map(|action| action.name.clone())
            .collect();
        let page_facts = (env.env_way() == EnvWay::Host).then(|| page_facts(env, spec, &opened));
        Ok(EnvFacts {
            seats: spec.seats,
            tick_hz: spec.tick_hz,
            horizon: spec.horizon,
            actions,
            noop: spec.noop,
            is_old: opened.version < abi::VERSION,
            page_facts,
            is_secret: spec.secret,
        })
    }

    fn policies(&self) -> Vec<&str> {
        [&policy::NAMES[..], &policy::WAITING, &[policy::ENVIRONMENT]].concat()
    }

    fn policies_for(&self, env: &Env) -> Option<Vec<&str>> {
        let world = open_world(env).ok()?;
        let mut names = policy::list_names(world.spec());
        let brings_own = |python: &PythonWorld| python.world.contains_key("policy");
        if env.env_way() == EnvWay::Host && env.python.as_ref().is_some_and(brings_own) {
            names.push(policy::ENVIRONMENT);
        }
        Some(names)
    }

    fn directives(&self, policy: &str, env: &Env) -> Option<Vec<String>> {
        let world = open_world(env).ok()?;
        let spec = world.spec();
        let seats = 0..usize::from(spec.seats);
        let known = seats.flat_map(|seat| policy::directives(policy, spec, seat));
        let words: BTreeSet<String> = known.map(|known| known.word).collect();
        Some(words.into_iter().collect())
    }

    fn compile_model(
        &self,
        file: &str,
        model: &Model,
        env: &Env,
    ) -> Result<Option<(String, CompiledModel)>, String> {
        models::lower_model(file, model, env)
    }
}

/// Opens the world that an env stage plays.
///
/// # Errors
/// [`EnvFault`]: there is no such environment, or it refuses its configuration.
pub fn open_world(env: &Env) -> Result<Box<dyn World>, EnvFault> {
    open(env).map(|opened| opened.world)
}

/// A world that was opened.
struct OpenedWorld {
    world: Box<dyn World>,
    /// The version of the interface that it speaks.
    version: u32,
    /// The pictures that its file brings.
    sprites: Vec<Sprite>,
}

fn open(env: &Env) -> Result<OpenedWorld, EnvFault> {
    let refused = |error: ParamError| EnvFault::Config {
        field: error.field,
        reason: error.reason,
    };
    let is_ours = env_core::envs::IDS.contains(&env.env.as_str());
    if env.python.is_some() && env.module.is_none() {
        let reason = match python::prepare_env(&mut env.clone()) {
            Err(reason) => reason,
            Ok(()) => {
                "the environment did not open at first, and does now: check the study again".into()
            }
        };
        return Err(EnvFault::Python { reason });
    }
    let opened = match &env.module {
        Some(file) => open_module(env, file, is_ours)?,
        None if is_ours => {
            let world = env_core::envs::open(&env.env, &env.config.to_string());
            OpenedWorld {
                world: world.map_err(refused)?,
                version: abi::VERSION,
                sprites: Vec::new(),
            }
        }
        None => return Err(EnvFault::Unknown { known: known() }),
    };
    let spec = opened.world.spec();
    if spec.version != env.version {
        return Err(EnvFault::Version {
            found: spec.version.clone(),
        });
    }
    Ok(opened)
}

/// The facts of a hosted environment that pages get: what they need to show it, and no parameters.
fn page_facts(env: &Env, spec: &Spec, opened: &OpenedWorld) -> String {
    let facts = match &env.module {
        Some(_) => Some(ViewFacts::new(spec, opened.sprites.clone())),
        None => ViewFacts::of_native(&env.env, &env.config.to_string()).ok(),
    };
    // It was opened before; a world without pictures can still be shown.
    let facts = facts.unwrap_or_else(|| ViewFacts::new(spec, Vec::new()));
    facts.to_json()
}

/// The environments of this program, as a study names them.
fn known() -> Vec<String> {
    let open = |id: &&str| Some(env_core::envs::open(id, "").ok()?.spec().version.clone());
    env_core::envs::IDS
        .iter()
        .filter_map(|id| Some(format!("{id}@{}", open(id)?)))
        .collect()
}

/// Opens an environment of the study's own.
fn open_module(
    env: &Env,
    file: &study::ModuleFile,
    is_ours: bool,
) -> Result<OpenedWorld, EnvFault> {
    let unfit = |reason: String| match &env.python {
        Some(_) => EnvFault::Python { reason },
        None => EnvFault::Module { reason },
    };
    if is_ours {
        return Err(unfit(format!(
            "the program has an environment `{}` of its own; give the one in `{}` another id",
            env.env, file.file
        )));
    }
    let opened = page_python::open_file(&file.bytes, &env.config.to_string());
    let opened = opened.map_err(|error| match error {
        ModuleError::Params(text) => {
            let (field, reason) = text.split_once(": ").unwrap_or(("", &text));
            EnvFault::Config {
                field: if field == "params" { "" } else { field }.into(),
                reason: reason.into(),
            }
        }
        error => unfit(format!("`{}` cannot be played: {error}", file.file)),
    })?;
    let spec = opened.world.spec();
    if spec.id != env.env {
        let id = &spec.id;
        return Err(unfit(format!(
            "`{}` holds the environment `{id}`; write `env: {id}@{}`",
            file.file, spec.version
        )));
    }
    Ok(OpenedWorld {
        world: opened.world,
        version: opened.version,
        sprites: opened.facts.sprites,
    })
}
