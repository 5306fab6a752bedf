//! Takes in the data of a server without a disk: changes with their times, and the logs of episodes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use anyhow::{Context as _, ensure};
use server_core::arbiter::Write;

use super::Persistence;
use crate::data_folder::DataDir;

impl Persistence {
    /// The pseudonyms of all participants, and the number of the next session.
    ///
    /// # Errors
    /// The database failed.
    pub async fn list_participants(&self) -> anyhow::Result<(Vec<String>, usize)> {
        let sessions = self.store.sessions().await?;
        let next = sessions.iter().map(|session| session.number + 1).max();
        let names = sessions.into_iter().map(|session| session.participant);
        Ok((names.collect(), next.unwrap_or(0)))
    }

    /// The participant's pseudonym of each recruiter's identifier.
    ///
    /// # Errors
    /// The database failed, or the key of the identifiers is missing.
    pub async fn list_identifiers(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let all = self.store.list_identifiers().await?.into_iter();
        let all = all.map(|known| (known.identity.participant, known.pseudonym));
        Ok(all.collect())
    }

    /// Takes in changes, each with its time, microseconds since the Unix epoch, and the log of each episode by its id.
    /// Sessions are numbered from `first` on. The store must be one that gets its time from its caller.
    ///
    /// # Errors
    /// The database failed, or the folder has another log of the same name.
    pub async fn import(
        &self,
        data: &DataDir,
        writes: Vec<(u64, Write)>,
        logs: &BTreeMap<String, Vec<u8>>,
        first: usize,
    ) -> anyhow::Result<()> {
        // Logs first: a withdrawal among the changes removes them again.
        for (episode, log) in logs {
            write_log(&archive::path(&data.episodes(), episode)?, log)?;
        }
        for (at_us, write) in writes {
            let write = match write {
                // Both are the server's own, which this folder has or will have.
                Write::Seed(_) | Write::NextEra(_) => continue,
                Write::NewSession {
                    number,
                    participant,
                    token,
                    link,
                    identity,
                    progress,
                    attendance,
                    payment,
                } => Write::NewSession {
                    number: first + number,
                    participant,
                    token,
                    link,
                    identity,
                    progress,
                    attendance,
                    payment,
                },
                other => other,
            };
            self.write_at(at_us, write).await?;
        }
        Ok(())
    }
}

/// Writes a log as a whole or not at all. The same one may be there already, from an import that was interrupted.
fn write_log(path: &Path, log: &[u8]) -> anyhow::Result<()> {
    match fs::read(path) {
        Ok(found) => {
            ensure!(
                found == log,
                "{} is another log of the same name; if an earlier import was interrupted, delete it, and import all files \
                 again",
                path.display()
            );
            return Ok(());
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    }
    let part = path.with_extension("part");
    let mut file = File::create(&part).with_context(|| format!("making {}", part.display()))?;
    file.write_all(log)?;
    file.sync_all()?;
    fs::rename(&part, path).with_context(|| format!("making {}", path.display()))
}
