//! Environments in Python that participants' pages step.
//!
//! Such an environment is one file, as a module is: an archive with the researcher's code, the packages that it needs and
//! the lines that connect it to a page ([`Archive`]). Pages open it in Pyodide, which the server gives them. Natively the
//! same Pyodide runs under Node.js ([`open_world`]), so that server, checks and verification step what pages step.
//!
//! This crate must not know of studies, servers and databases.

#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that cannot go on ends")
)]

mod archive;
mod node;
mod release;
mod wheels;

use env_core::World;
use env_core::guest::{ModuleError, ModuleFacts};
use module::ModuleLimits;

pub use archive::{Archive, ArchiveError, Manifest, is_archive};
pub use node::{NodeWorld, open_world};
pub use release::ReleaseFile;
pub use release::{
    FILES, InstallError, NEWEST, NUMPY, Release, add_folder, find_release, install_release,
    user_folder,
};
pub use wheels::{Wheels, fetch_wheels};

/// The file of an environment, running: a module of WebAssembly, or an archive in Python.
pub struct OpenedFile {
    /// The world.
    pub world: Box<dyn World + Send>,
    /// The facts that it states about itself.
    pub facts: ModuleFacts,
    /// The version of the interface that it speaks.
    pub version: u32,
}

/// Opens the file of an environment with these parameters, a JSON object, or nothing for the defaults.
///
/// # Errors
/// [`ModuleError`], as [`module::load`] and [`open_world`] tell.
pub fn open_file(bytes: &[u8], params: &str) -> Result<OpenedFile, ModuleError> {
    if !is_archive(bytes) {
        let module = module::load(bytes, params, ModuleLimits::default())?;
        return Ok(OpenedFile {
            facts: module.facts().clone(),
            version: module.version(),
            world: Box::new(module),
        });
    }
    let world = open_world(bytes, params)?;
    Ok(OpenedFile {
        facts: world.facts().clone(),
        version: world.version(),
        world: Box::new(world),
    })
}
