//! `coplay env check` of an environment in Python: its file, or one of Gymnasium or PettingZoo.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use env_host::{
    HostCommand, HostLimits, HostReport, ProcessHost, Way, check_host, find_interpreter,
    install_requirements, write_python_host,
};
use serde_json::{Map, Value};
use study::stage::{PythonFile, PythonWorld};

use crate::cli::PythonArgs;

/// The folder of virtual environments and host files, below the data folder.
const FOLDER: &str = "hosts";

/// Tells whether a name on the command line means an environment in Python.
pub fn is_python(name: &str) -> bool {
    let (path, _) = name.rsplit_once(':').unwrap_or((name, ""));
    name.ends_with(".py")
        || path.ends_with(".py")
        || name.starts_with("gymnasium:")
        || name.starts_with("pettingzoo:")
}

/// Starts the environment, plays it at random, and reports for each way into a study whether it works.
///
/// # Errors
/// The parameters are not a JSON object, there is no interpreter, or its packages cannot be installed.
pub fn check(name: &str, params: &str, args: &PythonArgs, seed: u64) -> anyhow::Result<HostReport> {
    let (mut world, folder) = world(name, params)?;
    let limits = HostLimits::default().take_from(&mut world);
    let folder = std::path::absolute(folder)?;
    let scratch = tempfile::tempdir()?;
    // Only what took long to install is kept for the next time.
    let below = match args.requirements {
        Some(_) => args.data.join(FOLDER),
        None => scratch.path().join(FOLDER),
    };
    let mut interpreter = find_interpreter(args.python.as_deref())?;
    if let Some(requirements) = &args.requirements {
        let mut progress = |sentence: &str| eprintln!("{sentence}");
        let installed = install_requirements(&below, requirements, &interpreter, &mut progress)?;
        interpreter = installed.interpreter;
    }
    let files = write_python_host(&std::path::absolute(&below)?)
        .with_context(|| format!("cannot write below {}", below.display()))?;
    let command = HostCommand::python(&interpreter, &files, &folder);
    let mut open = || ProcessHost::open(&command, &world, limits);
    let mut report = check_host(&mut open, args.steps as usize, seed);
    if report.ways.page.ok
        && let Err(why) = check_page(world, &folder, args)
    {
        report.ways.page = Way { ok: false, why };
    }
    Ok(report)
}

/// Tries the environment in the Python of pages.
fn check_page(world: Value, folder: &Path, args: &PythonArgs) -> Result<(), String> {
    let Value::Object(world) = world else {
        return Err("it is named by no block".to_owned());
    };
    let read = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>(PythonFile::new(name.into_owned(), bytes))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "py"));
    paths.sort();
    let files = paths
        .iter()
        .map(|path| read(path))
        .collect::<Result<_, _>>()?;
    let requirements = args.requirements.as_deref().map(read).transpose()?;
    catalog::python::check_page(&PythonWorld {
        world,
        files,
        requirements,
        lock: None,
    })
}

/// The world as a study names it, and the folder that its paths are from.
fn world(name: &str, params: &str) -> anyhow::Result<(Value, PathBuf)> {
    let mut world = match params {
        "" => Map::new(),
        text => match serde_json::from_str(text) {
            Ok(Value::Object(map)) => map,
            _ => bail!("--params: expected a JSON object, such as '{{\"tick_hz\": 20}}'"),
        },
    };
    let mut folder = PathBuf::from(".");
    let (way, name) = match name.split_once(':') {
        Some((way @ ("gymnasium" | "pettingzoo"), name)) => (way, name.to_owned()),
        _ => {
            let path = Path::new(name);
            let above = path.parent().filter(|above| *above != Path::new(""));
            folder = above.unwrap_or(Path::new(".")).to_owned();
            let file = path
                .file_name()
                .context("name a file, such as my_game.py")?;
            ("python", file.to_string_lossy().into_owned())
        }
    };
    world.insert(way.to_owned(), name.into());
    Ok((world.into(), folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_names_of_python_are_known() {
        for name in [
            "my_game.py",
            "games/my_game.py:make",
            "gymnasium:CartPole-v1",
            "pettingzoo:classic/chess_v6",
        ] {
            assert!(is_python(name), "{name}");
        }
        for name in [
            "overcooked",
            "my_env.wasm",
            "my_world.yaml",
            "overcooked@2.0.0",
        ] {
            assert!(!is_python(name), "{name}");
        }
    }

    #[test]
    fn the_world_is_named_as_in_a_study() {
        let (value, folder) = world("games/tag.py:Tag", "{\"tick_hz\":20}").unwrap();
        assert_eq!(
            value,
            serde_json::json!({"python": "tag.py:Tag", "tick_hz": 20})
        );
        assert_eq!(folder, Path::new("games"));
        let (value, _) = world("gymnasium:ALE/Pong-v5", "").unwrap();
        assert_eq!(value, serde_json::json!({"gymnasium": "ALE/Pong-v5"}));
        assert!(
            world("tag.py", "[]")
                .unwrap_err()
                .to_string()
                .contains("a JSON object")
        );
    }
}
