//! The file of an environment, of whichever kind: a module, an archive in Python, or the source of a world on a host.

use std::path::PathBuf;

use env_core::World;
use env_core::abi;
use env_core::guest::{ModuleError, ModuleFacts};
use env_host::{HostLimits, HostSource, HostWorld, ProcessHost};
use module::ModuleLimits;
use serde_json::{Map, Value};

use crate::archive::is_archive;
use crate::node::open_world;
use crate::release::working_folder;

/// The folder of virtual environments and sources, inside a folder for data.
const HOSTS: &str = "hosts";

/// The file of an environment, running.
pub struct OpenedFile {
    /// The world.
    pub world: Box<dyn World + Send>,
    /// The facts that it states about itself.
    pub facts: ModuleFacts,
    /// The version of the interface that it speaks.
    pub version: u32,
}

/// Checks whether the bytes begin as the stored source of a world on a host does.
pub fn is_source(bytes: &[u8]) -> bool {
    bytes.starts_with(b"{")
}

/// Opens the file of an environment with these parameters, a JSON object, or nothing for the defaults.
///
/// # Errors
/// [`ModuleError`], as [`module::load`] and [`open_world`] tell, or the fault of a host.
pub fn open_file(bytes: &[u8], params: &str) -> Result<OpenedFile, ModuleError> {
    if is_source(bytes) {
        return open_source(bytes, params);
    }
    if is_archive(bytes) {
        let world = open_world(bytes, params)?;
        return Ok(OpenedFile {
            facts: world.facts().clone(),
            version: world.version(),
            world: Box::new(world),
        });
    }
    let module = module::load(bytes, params, ModuleLimits::default())?;
    Ok(OpenedFile {
        facts: module.facts().clone(),
        version: module.version(),
        world: Box::new(module),
    })
}

/// Starts the process of a world on a host. Parameters are arguments of the function that makes the environment.
///
/// # Errors
/// [`ModuleError`]: the source or the parameters cannot be read, or the fault of the host.
pub fn open_host(bytes: &[u8], params: &str) -> Result<ProcessHost, ModuleError> {
    let mut source = HostSource::parse(bytes).map_err(|fault| unfit(&fault))?;
    let params: Map<String, Value> = match params {
        "" => Map::new(),
        params => serde_json::from_str(params)
            .map_err(|error| ModuleError::Params(format!("params: {error}")))?,
    };
    if let Some(world) = source.world.as_object_mut()
        && !params.is_empty()
    {
        let kwargs = world
            .entry("kwargs")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Some(kwargs) = kwargs.as_object_mut() {
            kwargs.extend(params);
        }
    }
    let opened = source.open(&hosts_folder()?, HostLimits::default(), &mut tell);
    opened.map_err(|fault| unfit(&fault))
}

/// Adds the versions of its packages to the source of a world on a host, unless they are there.
///
/// # Errors
/// [`ModuleError`]: a package cannot be found.
pub fn lock_source(source: &mut HostSource) -> Result<(), ModuleError> {
    let locked = source.lock(&hosts_folder()?, &mut tell);
    locked.map_err(|fault| unfit(&fault))
}

fn open_source(bytes: &[u8], params: &str) -> Result<OpenedFile, ModuleError> {
    let world = HostWorld::new(Box::new(open_host(bytes, params)?));
    let facts = world.facts();
    Ok(OpenedFile {
        facts: ModuleFacts {
            spec: facts.spec.clone(),
            params_schema: Value::Null,
            sprites: facts.sprites.clone(),
        },
        version: abi::VERSION,
        world: Box::new(world),
    })
}

fn hosts_folder() -> Result<PathBuf, ModuleError> {
    let folder = working_folder();
    let folder = folder.ok_or_else(|| unfit(&"there is no home folder; set COPLAY_HOME"))?;
    Ok(folder.join(HOSTS))
}

/// Tells a step of an installation.
fn tell(step: &str) {
    eprintln!("{step}");
}

fn unfit(what: &dyn std::fmt::Display) -> ModuleError {
    ModuleError::Unfit(what.to_string())
}
