//! An environment in Python: its description in the study file, and the files of the study folder that make it.

use std::fmt;

use protocol::hash::sha256_hex;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::folder::{self, Source};
use crate::limits::MAX_WORLD;
use crate::read::{Cursor, Fields};

/// The keys that name an environment in Python; a block has exactly one of them.
pub(super) const NAMES: [&str; 3] = ["python", "gymnasium", "pettingzoo"];

/// The file beside the requirements that names the versions and hashes of all packages.
const LOCK: &str = "requirements.lock";

/// Source files of one environment, at most.
const MAX_FILES: usize = 100;

/// An environment in Python.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PythonWorld {
    /// Its description, for the host that opens it: `docs/host-protocol.md` has the keys.
    pub world: Map<String, Value>,
    /// The Python files of the study folder, in alphabetical order.
    pub files: Vec<PythonFile>,
    /// The packages that it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirements: Option<PythonFile>,
    /// Their versions and hashes: the file `requirements.lock` of the study folder, if it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<PythonFile>,
}

/// A file of the study folder.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct PythonFile {
    /// The file, relative to the study folder.
    pub file: String,
    /// SHA-256 of its bytes, lower-case hex.
    pub sha256: String,
    /// Its bytes.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

impl fmt::Debug for PythonFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.file, self.sha256)
    }
}

impl PythonFile {
    /// A file with its hash.
    pub fn new(file: String, bytes: Vec<u8>) -> Self {
        Self {
            sha256: sha256_hex(&bytes),
            file,
            bytes,
        }
    }
}

impl PythonWorld {
    /// The id of the environment: the name of its file, or of the registered environment.
    pub fn id(&self) -> String {
        let named = NAMES
            .iter()
            .find_map(|name| self.world.get(*name)?.as_str());
        let named = named.unwrap_or_default();
        let file = named.split(':').next().unwrap_or(named);
        let file = file.strip_suffix(".py").unwrap_or(named);
        file.rsplit('/').next().unwrap_or(file).to_owned()
    }
}

/// Reads the block of an environment in Python.
pub(super) fn read(source: Source<'_>, place: &Cursor<'_>) -> Option<PythonWorld> {
    let mut fields = place.fields("an environment in Python")?;
    let mut world = Map::new();
    let named = read_name(source, place, &mut fields, &mut world);
    read_keys(&mut fields, &mut world);
    let limits = read_limits(&mut fields);
    let doc = "The Python packages that the environment needs, one a line, as `pip` takes them. A file `requirements.lock` \
               in the study folder names their versions and hashes.";
    let requirements = fields.key("requirements", doc).maybe(|place| {
        let file = place.file("file with requirements")?;
        let bytes = folder::read_bytes(source.dir, &place, &file, MAX_WORLD, "requirements.txt")?;
        Some(PythonFile::new(file, bytes))
    });
    fields.done();
    if let Some(limits) = limits? {
        world.insert("limits".to_owned(), limits.into());
    }
    let requirements = requirements?;
    let lock =
        match requirements.is_some() && source.dir.list_names("").iter().any(|name| name == LOCK) {
            true => {
                let bytes = folder::read_bytes(source.dir, place, LOCK, MAX_WORLD, LOCK)?;
                Some(PythonFile::new(LOCK.to_owned(), bytes))
            }
            false => None,
        };
    // A function that chooses, draws or wraps may be in the study folder, too.
    let names_file = named? || Value::Object(world.clone()).to_string().contains(".py");
    let files = match names_file {
        true => python_files(source, place)?,
        false => Vec::new(),
    };
    Some(PythonWorld {
        world,
        files,
        requirements,
        lock,
    })
}

/// Reads the key that names the environment. Returns true if it is in the study folder.
fn read_name(
    source: Source<'_>,
    place: &Cursor<'_>,
    fields: &mut Fields<'_>,
    world: &mut Map<String, Value>,
) -> Option<bool> {
    let doc = "Of `python`, `gymnasium` and `pettingzoo`, the block has one. A function of a Python file of the study folder that makes the environment: `my_game.py:make`. It returns \
               an environment of Gymnasium or PettingZoo.";
    let python = fields.key("python", doc).maybe(|place| {
        let named = place.text(200)?;
        let file = named
            .split_once(".py:")
            .map_or(named.as_str(), |(stem, _)| stem);
        let file = format!("{}.py", file.strip_suffix(".py").unwrap_or(file));
        folder::read_bytes(source.dir, &place, &file, MAX_WORLD, "my_game.py")?;
        Some(named)
    });
    let doc = "The id of a registered Gymnasium environment, such as `CartPole-v1`.";
    let gymnasium = fields.key("gymnasium", doc).maybe(|place| place.text(200));
    let doc = "The module of a PettingZoo environment, such as `butterfly/cooperative_pong_v6`.";
    let pettingzoo = fields.key("pettingzoo", doc).maybe(|place| place.text(200));
    let named: Vec<(&str, String)> = NAMES
        .into_iter()
        .zip([python?, gymnasium?, pettingzoo?])
        .filter_map(|(key, named)| Some((key, named?)))
        .collect();
    let [(key, name)] = &named[..] else {
        if !place.may(false) {
            place.report_problem("name exactly one environment: `python: my_game.py:make`, `gymnasium: CartPole-v1` or `pettingzoo: classic/chess_v6`");
        }
        return None;
    };
    world.insert((*key).to_owned(), name.clone().into());
    Some(*key == "python")
}

/// Reads the keys that describe it further. The host that opens the environment checks them against it.
fn read_keys(fields: &mut Fields<'_>, world: &mut Map<String, Value>) {
    let keys = [
        (
            "kwargs",
            "Arguments of the function that makes the environment.",
        ),
        ("seats", "The number of seats, as a check."),
        (
            "action_names",
            "Names of the actions, in the order of the action space.",
        ),
        (
            "actions",
            "The actions that people have, by name, where the action space is not a list of actions.",
        ),
        ("noop", "The action that does nothing: its name or number."),
        (
            "keys",
            "The keyboard keys of an action: `{up: [ArrowUp, KeyW]}`. The others keep theirs.",
        ),
        (
            "tick_hz",
            "Ticks per second; 0 for turns. By default the environment's `render_fps`, or 10.",
        ),
        (
            "frame_skip",
            "Steps of the environment per tick, with the same action.",
        ),
        (
            "horizon",
            "Ticks after which an episode ends. By default the environment's own limit.",
        ),
        (
            "render",
            "How the picture is made: `rgb_array` by `render()`, `draw` by a method `draw(seat)`, or `auto`.",
        ),
        (
            "picture",
            "A function that makes the picture: `my_game.py:picture`.",
        ),
        (
            "wrappers",
            "Wrappers around the environment, from the inside out.",
        ),
        ("infos", "Names of infos that the record keeps."),
        (
            "policy",
            "A function that chooses the actions of AI partners with `policy: environment`: `my_game.py:choose`.",
        ),
        (
            "points",
            "Points of the score for a reward of 1. By default 1.",
        ),
        ("title", "The name of the environment for people."),
    ];
    for (key, doc) in keys {
        let value = fields.key(key, doc).maybe(|place| {
            let value = place.json();
            if key == "kwargs" && value.to_string().contains("{{") {
                place.report_problem(
                    "`{{ name }}` is replaced in `config` of the stage, which gives arguments too: move it there",
                );
                return None;
            }
            Some(value)
        });
        if let Some(Some(value)) = value {
            world.insert(key.to_owned(), value);
        }
    }
}

/// Reads the limits of the process that steps the environment on a host, with the names that the host gives them.
fn read_limits(fields: &mut Fields<'_>) -> Option<Option<Map<String, Value>>> {
    let doc = "Limits of the process that steps the environment, with `run: host`. An episode ends as `technical` beyond them.";
    fields.key("limits", doc).maybe(|place| {
        let mut limits = place.fields("limits")?;
        let doc = "The longest time for a step or a picture, milliseconds. By default 5000.";
        let step_ms = limits
            .key("step_ms", doc)
            .maybe(|place| place.read_whole(10..=600_000_u32, "milliseconds"));
        let doc = "The longest time to load the environment, seconds. By default 300.";
        let start_s = limits
            .key("start_s", doc)
            .maybe(|place| place.read_whole(1..=3_600_u32, "seconds"));
        let doc = "The most memory of the process, MiB; 0 for no limit. By default 4096.";
        let memory_mb = limits
            .key("memory_mb", doc)
            .maybe(|place| place.read_whole(0..=1_048_576_u32, "MiB"));
        limits.done();
        let named = [
            ("step_ms", step_ms?),
            ("start_s", start_s?),
            ("memory_mb", memory_mb?),
        ];
        let set = named
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        Some(
            set.map(|(name, value)| (name.to_owned(), value.into()))
                .collect(),
        )
    })
}

/// Lists the Python files of the study folder: the environment may import any of them.
fn python_files(source: Source<'_>, place: &Cursor<'_>) -> Option<Vec<PythonFile>> {
    let mut names = source.dir.list_names("");
    names.retain(|name| name.ends_with(".py"));
    if names.len() > MAX_FILES {
        place.report_problem(format!(
            "the study folder has {} Python files; at most {MAX_FILES} are taken",
            names.len()
        ));
        return None;
    }
    let read = |file: String| {
        let bytes = folder::read_bytes(source.dir, place, &file, MAX_WORLD, "my_game.py")?;
        Some(PythonFile::new(file, bytes))
    };
    names.into_iter().map(read).collect()
}
