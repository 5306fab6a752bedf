//! Environments in Python that pages step: their archives.

use page_python::{Archive, find_release, open_world};
use protocol::hash::sha256_hex;
use serde_json::Value;
use study::stage::{Env, ModuleFile};

/// Makes the archive of an environment in Python, opens it, and completes its stage: the archive and its version.
///
/// # Errors
/// A sentence for the researcher; the stage stays as it is.
pub(crate) fn prepare_page(env: &mut Env) -> Result<(), String> {
    let Some(python) = &env.python else {
        return Ok(());
    };
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
    let world = Value::Object(python.world.clone());
    let mut archive = Archive::new(world, &release, needs_numpy);
    for file in &python.files {
        archive.add_source(&file.file, &file.bytes);
    }
    for (name, bytes) in &wheels.files {
        archive
            .add_wheel(name, bytes)
            .map_err(|error| error.to_string())?;
    }
    let bytes = archive.pack().map_err(|error| error.to_string())?;
    let opened = open_world(&bytes, "").map_err(|error| error.to_string())?;
    let spec = env_core::World::spec(&opened);
    (env.env, env.version) = (spec.id.clone(), spec.version.clone());
    env.module = Some(ModuleFile {
        file: format!("{}.zip", spec.id),
        sha256: sha256_hex(&bytes),
        bytes,
    });
    Ok(())
}

fn imports_numpy(source: &[u8]) -> bool {
    let source = String::from_utf8_lossy(source);
    let mut lines = source.lines().map(str::trim_start);
    lines.any(|line| line.starts_with("import numpy") || line.starts_with("from numpy"))
}
