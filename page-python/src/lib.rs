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
mod open;
mod release;
mod wheels;

pub use archive::{Archive, ArchiveError, Manifest, is_archive};
pub use node::{NodeWorld, open_world};
pub use open::{OpenedFile, is_source, lock_source, open_file, open_host};
pub use release::ReleaseFile;
pub use release::{
    FILES, InstallError, NEWEST, NUMPY, Release, add_folder, find_release, install_release,
    user_folder,
};
pub use wheels::{Wheels, fetch_wheels};
