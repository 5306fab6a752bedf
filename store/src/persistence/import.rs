//! Takes in what a server without a disk has kept: changes with their times, and the logs of episodes.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;

use anyhow::Context as _;
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

    /// Takes in changes, each with the time at which it was made, microseconds since the Unix epoch, and the log of each
    /// episode by its id. Sessions are numbered from `first` on. The store has to be one that is told the time.
    ///
    /// # Errors
    /// The database failed, or the folder has a log of the same name.
    pub async fn import(
        &self,
        data: &DataDir,
        writes: Vec<(u64, Write)>,
        logs: &BTreeMap<String, Vec<u8>>,
        first: usize,
    ) -> anyhow::Result<()> {
        // Logs first: a withdrawal among the changes removes them again.
        for (episode, log) in logs {
            let path = archive::path(&data.episodes(), episode)?;
            let file = OpenOptions::new().write(true).create_new(true).open(&path);
            let mut file = file.with_context(|| format!("making {}", path.display()))?;
            file.write_all(log)?;
            file.sync_all()?;
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
