//! The source of an environment that a person names: this program, the file of a grid world, or a module.

use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use env_core::contract::ParamError;
use env_core::envs::grid::GridFile;
use env_core::envs::{self, NativeEnvironment, Visitor};
use env_core::guest::{ModuleFacts, Sprite};
use env_core::{Environment as _, World};
use module::{Code, ModuleLimits};
use serde_json::{Map, Value};
use study::{Problem, WorldFile};

/// The environment that plays grid worlds in files.
const GRID: &str = GridFile::ID;

/// The source of an environment.
pub(crate) enum Source {
    /// This program, by id.
    Native(String),
    /// A grid world in a file, with its parameters.
    World(WorldFile, Map<String, Value>),
    /// A module in a file.
    Module(Code),
}

impl Source {
    /// Finds the environment that a person named: an id, also with the version as a study names it, or a file.
    pub(crate) fn find(name: &str) -> anyhow::Result<Self> {
        if let Some((id, version)) = name
            .split_once('@')
            .filter(|(id, _)| envs::IDS.contains(id))
        {
            let found = envs::open(id, "")?.spec().version.clone();
            if found != version {
                bail!("version {version} of `{id}` is not here; this program has `{id}@{found}`");
            }
            return Ok(Self::Native(id.to_owned()));
        }
        if envs::IDS.contains(&name) {
            return Ok(Self::Native(name.to_owned()));
        }
        let path = Path::new(name);
        if !path.is_file() {
            let ids = envs::IDS.join(", ");
            if path.extension().is_some() && !name.contains('@') {
                bail!(
                    "there is no file {name}; build the module first, or name an environment: {ids}"
                );
            }
            let id = name.split('@').next().unwrap_or(name);
            let near = nearest(id).map(|id| format!("; did you mean `{id}`?"));
            bail!(
                "there is no environment `{name}`{} There is: {ids}, or any module by its file, such as my_env.wasm",
                near.as_deref().unwrap_or(".")
            );
        }
        if path
            .extension()
            .is_some_and(|ending| ending == "yaml" || ending == "yml")
        {
            let read = WorldFile::open(path);
            let (file, params) = read.map_err(|problems| anyhow!(lines(&problems)))?;
            return Ok(Self::World(file, params));
        }
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
        let code =
            Code::compile(&bytes, ModuleLimits::default()).with_context(|| name.to_owned())?;
        Ok(Self::Module(code))
    }

    pub(crate) fn open(&self, params: &str) -> Result<Box<dyn World>, String> {
        match self {
            Self::Native(id) => match envs::open(id, params) {
                Ok(world) => Ok(world),
                Err(error) => Err(error.to_string()),
            },
            Self::World(file, own) => match envs::open(GRID, &over(own, params)) {
                Ok(world) => Ok(world),
                Err(error) => Err(told(file, &error)),
            },
            Self::Module(code) => match code.open(params) {
                Ok(world) => Ok(Box::new(world)),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    /// The facts of the environment that a person named so.
    pub(super) fn facts_of(&self, name: &str, params: &str) -> anyhow::Result<ModuleFacts> {
        let facts = self.facts(params);
        match self {
            // What is wrong with a grid world names its file.
            Self::World(..) => facts,
            Self::Native(_) | Self::Module(_) => facts.with_context(|| name.to_owned()),
        }
    }

    fn facts(&self, params: &str) -> anyhow::Result<ModuleFacts> {
        Ok(match self {
            Self::Native(id) => envs::visit(id, params, Ask)??,
            Self::World(file, own) => envs::visit(GRID, &over(own, params), Ask)
                .map_err(|error| anyhow!(told(file, &error)))??,
            Self::Module(code) => code.open(params)?.facts().clone(),
        })
    }
}

/// The parameters of a file with others over them; the environment refuses anything that is not a JSON object.
fn over(own: &Map<String, Value>, params: &str) -> String {
    let mut all = own.clone();
    match serde_json::from_str(params) {
        Ok(Value::Object(params)) => all.extend(params),
        _ if params.is_empty() => {}
        _ => return params.to_owned(),
    }
    Value::Object(all).to_string()
}

/// Returns a refusal with its place in the file.
fn told(file: &WorldFile, error: &ParamError) -> String {
    file.make_problem(&error.field, &error.reason).to_string()
}

fn lines(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Asks an environment of this program for the description that a module would give.
struct Ask;

impl Visitor for Ask {
    type Output = serde_json::Result<ModuleFacts>;

    fn visit<E: NativeEnvironment>(self, env: E) -> Self::Output {
        let sprite = |sprite: &env_core::draw::Sprite| Sprite {
            name: sprite.name.into(),
            svg: sprite.svg.into(),
        };
        Ok(ModuleFacts {
            spec: env.spec(),
            params_schema: serde_json::from_str(E::params_schema())?,
            sprites: E::sprites().iter().map(sprite).collect(),
        })
    }
}

/// The id that a mistyped one is meant to be: most letters in common, at least half.
fn nearest(name: &str) -> Option<&'static str> {
    let shared = |id: &str| {
        let mut rest: Vec<char> = id.chars().collect();
        let found = name.chars().filter(|letter| {
            let at = rest.iter().position(|other| other == letter);
            at.map(|at| rest.remove(at)).is_some()
        });
        2 * found.count() * 100 / (name.chars().count() + id.chars().count()).max(1)
    };
    let best = envs::IDS.iter().copied().max_by_key(|id| shared(id))?;
    (shared(best) >= 60).then_some(best)
}
