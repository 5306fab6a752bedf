//! The file of an environment, opened: a module anywhere, and natively also an environment in Python.

use env_core::World;
use env_core::guest::{ModuleError, Sprite};

/// A world, with the pictures of its file.
type OpenedFile = (Box<dyn World + Send>, Vec<Sprite>);

/// Opens the file of an environment with these parameters.
///
/// # Errors
/// The fault of the file or the parameters.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn open_file(bytes: &[u8], params: &str) -> Result<OpenedFile, ModuleError> {
    let opened = page_python::open_file(bytes, params)?;
    Ok((opened.world, opened.facts.sprites))
}

/// Opens the file of an environment with these parameters. In a browser it is a module: no process runs there.
///
/// # Errors
/// The fault of the file or the parameters.
#[cfg(target_arch = "wasm32")]
pub(super) fn open_file(bytes: &[u8], params: &str) -> Result<OpenedFile, ModuleError> {
    let module = module::load(bytes, params, module::ModuleLimits::default())?;
    let sprites = module.facts().sprites.clone();
    Ok((Box::new(module), sprites))
}
