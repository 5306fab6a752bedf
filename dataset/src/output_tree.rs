//! A folder of files and folders that is there whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// A temporary folder beside the one that it becomes. It is removed unless it is published.
pub(crate) struct OutputTree {
    target: PathBuf,
    part: PathBuf,
}

impl OutputTree {
    /// Makes the temporary folder.
    ///
    /// # Errors
    /// The disk refuses, or there is something in the folder already.
    pub(crate) fn create(target: &Path) -> anyhow::Result<Self> {
        let target = std::path::absolute(target)?;
        anyhow::ensure!(
            !target.exists(),
            "{} is there already; name a new folder with --out, or remove it",
            target.display()
        );
        let part = part_of(&target)?;
        Ok(Self { target, part })
    }

    /// The folder to write into.
    pub(crate) fn folder(&self) -> &Path {
        &self.part
    }

    /// The folder that it becomes.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Gives a file or folder of it the name; the rest is removed.
    pub(crate) fn publish_part(self, name: &str) -> anyhow::Result<()> {
        let failed = || format!("cannot write {}", self.target.display());
        fs::rename(self.part.join(name), &self.target).with_context(failed)
    }

    /// Gives the folder its name.
    pub(crate) fn publish(self) -> anyhow::Result<()> {
        let failed = || format!("cannot write {}", self.target.display());
        fs::rename(&self.part, &self.target).with_context(failed)
    }
}

impl Drop for OutputTree {
    fn drop(&mut self) {
        // It is gone once it has its name; nothing can be done about a disk that refuses.
        let _ = fs::remove_dir_all(&self.part);
    }
}

/// Makes the temporary folder of a folder, empty.
pub(crate) fn part_of(target: &Path) -> anyhow::Result<PathBuf> {
    let named = target.parent().zip(target.file_name());
    let (parent, name) = named.with_context(|| format!("{} has no name", target.display()))?;
    let part = parent.join(format!(".{}.part", name.to_string_lossy()));
    let failed = || format!("cannot make the folder {}", part.display());
    if part.exists() {
        // Left by an export that was killed.
        fs::remove_dir_all(&part).with_context(failed)?;
    }
    fs::create_dir_all(&part).with_context(failed)?;
    Ok(part)
}
