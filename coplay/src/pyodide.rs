//! `coplay pyodide`: brings the Python that pages load onto this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use page_python::{FILES, NEWEST, Release};
use serde::Serialize;

/// The place where the project publishes the files of its releases.
const PUBLISHED: &str = "https://cdn.jsdelivr.net/pyodide";

/// A release on this machine, for people and scripts.
#[derive(Clone, Debug, Serialize)]
pub struct InstalledRelease {
    /// Version of Pyodide.
    pub version: String,
    /// The folder with its files.
    pub folder: PathBuf,
    /// SHA-256 of each file that pages load.
    pub files: std::collections::BTreeMap<String, String>,
}

impl From<Release> for InstalledRelease {
    fn from(release: Release) -> Self {
        Self {
            version: release.version().to_owned(),
            folder: release.folder().to_owned(),
            files: release.hashes().clone(),
        }
    }
}

/// Installs a release from a folder, or from the network, into a folder: the user's own, or a data folder.
///
/// # Errors
/// The files cannot be fetched, are not those of the release, or cannot be written.
pub fn install(from: Option<&Path>, data: Option<&Path>) -> anyhow::Result<InstalledRelease> {
    let own = page_python::user_folder;
    let folder = data.map(Path::to_owned).or_else(own);
    let folder = folder.context("there is no home folder; name a data folder: `--data DIR`")?;
    if let Some(from) = from {
        return Ok(page_python::install_release(from, &folder)?.into());
    }
    let fetched = tempfile::tempdir().context("making a folder for the files")?;
    fetch(fetched.path())?;
    Ok(page_python::install_release(fetched.path(), &folder)?.into())
}

/// The release that is used on this machine, if there is one.
pub fn find(data: Option<PathBuf>) -> Option<InstalledRelease> {
    data.into_iter().for_each(page_python::add_folder);
    page_python::find_release(None).map(InstalledRelease::from)
}

fn fetch(folder: &Path) -> anyhow::Result<()> {
    let (version, numpy) = NEWEST;
    for name in FILES.into_iter().chain([numpy]) {
        let address = format!("{PUBLISHED}/v{version}/full/{name}");
        eprintln!("fetching {address}");
        let fetched = Command::new("curl")
            .args([
                "--fail",
                "--location",
                "--silent",
                "--show-error",
                "--output",
            ])
            .arg(folder.join(name))
            .arg(&address)
            .status();
        if !fetched.is_ok_and(|status| status.success()) {
            bail!(
                "{address} cannot be fetched with `curl`. Fetch the files {}, {numpy} of Pyodide {version} on another \
                 machine, put them into one folder, and give that: `coplay pyodide install --from DIR`",
                FILES.join(", ")
            );
        }
    }
    Ok(())
}
