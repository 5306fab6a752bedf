//! The parts of a world in Python: the study's words, its files and its packages. It is stored under its hash, so that
//! an episode can be run again when the study has changed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use protocol::hash::sha256_hex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::file_set::write_file_set;
use crate::requirements::lock_requirements;
use crate::{
    HostCommand, HostFault, HostLimits, HostWorld, LOCK, ProcessHost, find_interpreter,
    install_requirements, write_python_host,
};

/// A world in Python, as it is stored: JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostSource {
    /// The world as the study names it, and as the host gets it.
    pub world: Value,
    /// The requirements file among `files`.
    pub requirements: Option<String>,
    /// The texts of the files that it needs, by their names in the study folder.
    pub files: BTreeMap<String, String>,
}

impl HostSource {
    /// Reads a stored source.
    ///
    /// # Errors
    /// [`HostFault::Refused`].
    pub fn parse(json: &[u8]) -> Result<Self, HostFault> {
        let refused = |error: serde_json::Error| {
            HostFault::Refused(format!("its stored source cannot be read: {error}"))
        };
        serde_json::from_slice(json).map_err(refused)
    }

    /// Adds the versions and hashes of all packages to the files, unless they are there: the same as at the first time
    /// in this folder.
    ///
    /// # Errors
    /// [`HostFault::Refused`]: there is no interpreter, or a package cannot be found.
    pub fn lock(&mut self, hosts: &Path, progress: &mut dyn FnMut(&str)) -> Result<(), HostFault> {
        let refused = |error: &dyn std::fmt::Display| HostFault::Refused(error.to_string());
        let Some(requirements) = &self.requirements else {
            return Ok(());
        };
        if self.files.contains_key(LOCK) {
            return Ok(());
        }
        let hosts = std::path::absolute(hosts).map_err(|error| refused(&error))?;
        let file = self.unpack(&hosts).map_err(|error| refused(&error))?;
        let interpreter = find_interpreter(None).map_err(|error| refused(&error))?;
        let lock = lock_requirements(&hosts, &file.join(requirements), &interpreter, progress);
        let lock = lock.map_err(|error| refused(&error))?;
        self.files.insert(LOCK.to_owned(), lock);
        Ok(())
    }

    /// Starts a process that steps the world; `hosts` is the folder of virtual environments and sources. Packages are
    /// installed the first time, and `progress` gets a sentence at each step. The limits that the world names replace
    /// the given ones.
    ///
    /// # Errors
    /// [`HostFault`]: there is no interpreter, a package cannot be installed, or the world cannot be loaded.
    pub fn open(
        &self,
        hosts: &Path,
        limits: HostLimits,
        progress: &mut dyn FnMut(&str),
    ) -> Result<ProcessHost, HostFault> {
        let refused = |error: &dyn std::fmt::Display| HostFault::Refused(error.to_string());
        let hosts = std::path::absolute(hosts).map_err(|error| refused(&error))?;
        let folder = self.unpack(&hosts).map_err(|error| refused(&error))?;
        let mut interpreter = find_interpreter(None).map_err(|error| refused(&error))?;
        if let Some(requirements) = &self.requirements {
            let file = folder.join(requirements);
            let installed = install_requirements(&hosts, &file, &interpreter, progress);
            interpreter = installed.map_err(|error| refused(&error))?.interpreter;
        }
        let files = write_python_host(&hosts).map_err(|error| refused(&error))?;
        let command = HostCommand::python(&interpreter, &files, &folder);
        let mut world = self.world.clone();
        let limits = limits.take_from(&mut world);
        ProcessHost::open(&command, &world, limits)
    }

    /// The same, for those who step any world.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_world(
        &self,
        hosts: &Path,
        limits: HostLimits,
        progress: &mut dyn FnMut(&str),
    ) -> Result<HostWorld, HostFault> {
        let host = self.open(hosts, limits, progress)?;
        Ok(HostWorld::new(Box::new(host)))
    }

    /// Writes the files into a separate folder, unless they are there.
    fn unpack(&self, hosts: &Path) -> io::Result<PathBuf> {
        let all = serde_json::to_string(&self.files).map_err(io::Error::other)?;
        let folder = hosts.join(format!("files-{}", &sha256_hex(all.as_bytes())[..16]));
        let is_plain = |name: &&String| Path::new(name).file_name() == Some(name.as_ref());
        if let Some(name) = self.files.keys().find(|name| !is_plain(name)) {
            return Err(io::Error::other(format!("`{name}` is no name of a file")));
        }
        let files = self.files.iter();
        write_file_set(
            &folder,
            files.map(|(name, text)| (Path::new(name), text.as_str())),
        )?;
        Ok(folder)
    }
}
