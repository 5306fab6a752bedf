//! Environments in Python: the archive that pages open, or the source that a host starts.

use std::collections::BTreeMap;

use env_core::{World, conformance};
use env_host::{HostFault, HostLimits, HostSource, ProcessHost, WorldReport, play_host};
use page_python::{Archive, find_release, open_file};
use protocol::hash::sha256_hex;
use serde_json::Value;
use study::stage::{Env, ModuleFile, PythonWorld, RunOn};

/// Makes the file of an environment in Python, opens it, and completes its stage: the file, its id and its version.
///
/// # Errors
/// A sentence for the researcher; the stage stays as it is.
pub(crate) fn prepare_env(env: &mut Env) -> Result<(), String> {
    let Some(python) = &env.python else {
        return Ok(());
    };
    let (ending, bytes) = match env.run {
        RunOn::Page => ("zip", pack_archive(python)?),
        RunOn::Host => ("json", write_source(python)?),
    };
    let opened = open_file(&bytes, "").map_err(|error| error.to_string())?;
    let spec = opened.world.spec();
    (env.env, env.version) = (spec.id.clone(), spec.version.clone());
    env.module = Some(ModuleFile {
        file: format!("{}.{ending}", spec.id),
        sha256: sha256_hex(&bytes),
        bytes,
    });
    Ok(())
}

fn write_source(python: &PythonWorld) -> Result<Vec<u8>, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let files = python.files.iter().chain(&python.requirements);
    let files = files.chain(&python.lock);
    let files: BTreeMap<String, String> = files
        .map(|file| (file.file.clone(), text(&file.bytes)))
        .collect();
    let mut source = HostSource {
        world: Value::Object(python.world.clone()),
        requirements: python.requirements.as_ref().map(|file| file.file.clone()),
        files,
    };
    // The record is to name the versions also where the study does not.
    page_python::lock_source(&mut source).map_err(|error| error.to_string())?;
    serde_json::to_vec(&source).map_err(|error| error.to_string())
}

/// Steps of the episode that the laws are looked at in.
const CHECKED_STEPS: u64 = 150;

/// Plays an environment at random in the Python of pages, and checks that it keeps the laws that rollback relies on.
///
/// # Errors
/// A sentence for the researcher: it cannot be opened, or the first difference and its place.
pub fn check_page(python: &PythonWorld) -> Result<(), String> {
    let mut short = python.clone();
    let asked = short.world.get("horizon").and_then(Value::as_u64);
    let horizon = asked.unwrap_or(CHECKED_STEPS).min(CHECKED_STEPS);
    short.world.insert("horizon".to_owned(), horizon.into());
    let bytes = pack_archive(&short)?;
    let opened = open_file(&bytes, "").map_err(|error| error.to_string())?;
    let sprites = opened.facts.sprites.len();
    let mut open = || match open_file(&bytes, "") {
        Ok(opened) => Ok(opened.world as Box<dyn World>),
        Err(error) => Err(error.to_string()),
    };
    let report = conformance::check_world(&mut open, sprites, &[1], &mut |_| ());
    let Some(found) = report.findings.first() else {
        return Ok(());
    };
    Err(format!(
        "pages cannot step this environment, because the law that {} is broken after {} steps ({}). An environment with a \
         state outside of itself (a variable of its module, the generators of `random` and `numpy.random`, the time) \
         breaks it; let the server step it: `run: host`",
        found.law, found.step, found.what
    ))
}

/// Steps of the random play on a host.
const HOST_STEPS: usize = 60;

/// Plays an environment on a host at random with these parameters, twice, and reports what it showed.
///
/// # Errors
/// A sentence for the researcher: it cannot be opened, or failed.
pub fn check_host(file: &ModuleFile, params: &str) -> Result<WorldReport, String> {
    let mut open = || -> Result<ProcessHost, HostFault> {
        let opened = page_python::open_host(&file.bytes, params);
        opened.map_err(|error| HostFault::Refused(error.to_string()))
    };
    let report = play_host(&mut open, HOST_STEPS, 1);
    report.map_err(|fault| format!("the environment fails when it is played at random: {fault}"))
}

fn pack_archive(python: &PythonWorld) -> Result<Vec<u8>, String> {
    let release = find_release(None).ok_or(
        "pages need Pyodide to step an environment in Python, and it is not installed: `coplay pyodide install` \
         installs it. Or let the server step the environment: `run: host`",
    )?;
    let requirements = match &python.requirements {
        Some(file) => String::from_utf8_lossy(&file.bytes).into_owned(),
        None => String::new(),
    };
    let wheels = page_python::fetch_wheels(&requirements)?;
    let needs_numpy =
        wheels.needs_numpy || python.files.iter().any(|file| imports_numpy(&file.bytes));
    let mut world = Value::Object(python.world.clone());
    // They are those of a process.
    HostLimits::default().take_from(&mut world);
    let mut archive = Archive::new(world, &release, needs_numpy);
    for file in &python.files {
        archive.add_source(&file.file, &file.bytes);
    }
    for (name, bytes) in &wheels.files {
        archive
            .add_wheel(name, bytes)
            .map_err(|error| error.to_string())?;
    }
    archive.pack().map_err(|error| error.to_string())
}

fn imports_numpy(source: &[u8]) -> bool {
    let source = String::from_utf8_lossy(source);
    let mut lines = source.lines().map(str::trim_start);
    lines.any(|line| line.starts_with("import numpy") || line.starts_with("from numpy"))
}
