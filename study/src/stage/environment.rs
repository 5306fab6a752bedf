//! The keys that name an environment, its file and its parameters.

use serde_json::{Map, Value};

use super::python::{self, PythonWorld};
use super::world::{self, WorldFile};
use crate::folder::Source;
use crate::read::Cursor;

/// The meaning of the key `env`.
pub(super) const ENV: &str = "The environment and its exact version. `{grid: my_world.yaml}` is a grid world without programming: a \
                   file of the study folder. `{python: my_game.py:make}`, `{gymnasium: CartPole-v1}` and `{pettingzoo: …}` are \
                   environments in Python ([hosts.md](study-file/hosts.md)).";

/// The meaning of the key `module`.
pub(super) const MODULE: &str = "The file of your own environment module in the study folder, at most 16 MiB. Check it with `coplay \
                      env check`. Its id must differ from the built-in environments. Participants' pages run it, and the \
                      server simulates it in an interpreter with limits \
                      ([environment-modules.md](environment-modules.md)).";

/// The meaning of the key `config`.
pub(super) const CONFIG: &str = "The parameters of the environment, including tick rate and horizon; the environment's page lists \
                      them. `{{ name }}` stands for the level of a factor or a value of `for_each`. With a grid world they \
                      replace parameters of its file.";

/// The environment of a stage.
pub(super) struct Environment {
    /// Its id and its version.
    pub(super) id: [String; 2],
    /// The file of a grid world, and the parameters in it.
    pub(super) world: Option<(WorldFile, Map<String, Value>)>,
    /// An environment in Python.
    pub(super) python: Option<PythonWorld>,
}

/// Returns whether a block names an environment in Python.
pub(super) fn is_python(place: &Cursor<'_>) -> bool {
    python::NAMES
        .iter()
        .any(|name| place.child_at(name).is_some())
}

/// Reads an environment. One in Python is described and read only where it `may_be_python`.
pub(super) fn environment_of(
    source: Source<'_>,
    place: &Cursor<'_>,
    may_be_python: bool,
) -> Option<Environment> {
    let is_python = may_be_python && is_python(place);
    let is_grid = place.is_block() && !is_python;
    let file = (place.may(is_grid)).then(|| world::read(source, place));
    let python = (may_be_python && place.may(is_python)).then(|| python::read(source, place));
    let named = (place.may(!place.is_block())).then(|| env_id(place));
    if let Some(named) = named {
        return Some(Environment {
            id: named?.into(),
            world: None,
            python: None,
        });
    }
    if let Some(python) = python {
        let python = python?;
        return Some(Environment {
            // Its version is known once somebody has opened it.
            id: [python.id(), String::new()],
            world: None,
            python: Some(python),
        });
    }
    Some(Environment {
        id: world::GRID.map(str::to_owned),
        world: Some(file.flatten()?),
        python: None,
    })
}

/// The parameters as they are written.
pub(super) fn read_config(place: &Cursor<'_>) -> Option<Value> {
    place.read_entries("the environment's parameters")?;
    Some(place.json())
}

/// Merges the parameters of a file with those of a stage, which have priority.
pub(super) fn merge_over(mut file: Map<String, Value>, config: Value) -> Value {
    if let Value::Object(config) = config {
        file.extend(config);
    }
    Value::Object(file)
}

fn env_id(place: &Cursor<'_>) -> Option<(String, String)> {
    let text = place.text(100)?;
    let split = text
        .split_once('@')
        .filter(|(id, version)| !id.is_empty() && is_version(version));
    if split.is_none() {
        place.report_problem(format!("`{text}` names no version; write `id@version` with three numbers, such as `overcooked@2.0.0`"));
    }
    split.map(|(id, version)| (id.to_owned(), version.to_owned()))
}

fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3
        && parts
            .iter()
            .all(|part| part.len() < 10 && part.parse::<u32>().is_ok())
}
