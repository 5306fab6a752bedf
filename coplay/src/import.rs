//! `coplay import`: the data that pages of a study without a server handed over, as a data folder.
//!
//! A journal has what a participant did. The server's part of the study is run with it once more, so everything in the
//! data folder was computed here; a page is believed in nothing but what its person did.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fmt, fs};

use anyhow::{Context as _, bail, ensure};
use catalog::{StartError, read_study};
use offline::OfflineServer;
use offline::bundle::RunnableStudy;
use offline::journal::{Journal, read_file};
use serde::{Deserialize, Serialize};
use server_core::arbiter::Write;
use signaling_server::assets::Assets;
use signaling_server::server::{env_stages, store_files};
use signaling_server::site::name_offline_program;
use store::data_folder::DataDir;
use store::persistence::Persistence;

use crate::cli::ImportArgs;

/// The file of a data folder that says which journals are in it.
const IMPORTS: &str = "imports.json";

/// The earliest time of a journal, microseconds since the Unix epoch: 14 July 2017.
const EARLIEST_US: u64 = 1_500_000_000_000_000;

/// The most by which the clock of a browser may be ahead of this one: ten years, microseconds.
const AHEAD_US: u64 = 10 * 365 * 86_400 * 1_000_000;

/// Number of entries of each journal that is in a data folder, by the pseudonym of its first participant.
type Imports = BTreeMap<String, usize>;

/// The result of an import.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ImportReport {
    /// Participants that are new in the data folder.
    pub participants: usize,
    /// Episodes that are new in it.
    pub episodes: usize,
    /// Participants that were in it already.
    pub already_there: usize,
    /// Files that were read.
    pub files: usize,
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = match self.already_there {
            0 => String::new(),
            known => format!("; {known} were there already"),
        };
        write!(
            f,
            "{} participants with {} episodes imported{known}",
            self.participants, self.episodes
        )
    }
}

/// Imports files into a data folder.
///
/// # Errors
/// The study has faults; a file is damaged, or of another study or version; the data folder cannot be written.
pub async fn import_files(args: &ImportArgs) -> Result<ImportReport, StartError> {
    let (study, facts) = read_study(&args.study).map_err(StartError::Study)?;
    let assets = args.dist.clone().map_or(Assets::Embedded, Assets::Folder);
    let program = name_offline_program(&assets).unwrap_or_default();
    let mut journals = Vec::new();
    for file in &args.files {
        let found = read_journals(file)?;
        for journal in found {
            check_journal(file, &journal, &study.hash, &program, args.any_version)?;
            check_times(&journal, now_us())
                .with_context(|| format!("{}: participants can change files", file.display()))?;
            journals.push(journal);
        }
    }
    let data = DataDir::open(&args.data).map_err(anyhow::Error::from)?;
    let modules = store_files(&study, &facts, &data, &assets)?;
    let stages = env_stages(&study, facts, &modules);
    let persistence = Persistence::open_for_import(&data, Arc::new(study.clone())).await?;
    let runnable = RunnableStudy { study, stages };
    let mut report = ImportReport {
        files: args.files.len(),
        ..ImportReport::default()
    };
    let result = import_journals(&runnable, journals, &data, &persistence, &mut report).await;
    persistence.close().await;
    result?;
    Ok(report)
}

fn read_journals(file: &Path) -> anyhow::Result<Vec<Journal>> {
    let bytes = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    read_file(&bytes).with_context(|| file.display().to_string())
}

fn check_journal(
    file: &Path,
    journal: &Journal,
    study_hash: &str,
    program: &str,
    any_version: bool,
) -> anyhow::Result<()> {
    let (file, start) = (file.display(), &journal.start);
    ensure!(
        start.study_hash == study_hash,
        "{file}: it is of the study {} {} with the hash {}, and the study folder has now another one ({study_hash}); name the \
         study folder as it was when the site was made",
        start.study,
        start.study_version,
        start.study_hash
    );
    ensure!(
        any_version || start.program == program,
        "{file}: its page was made by Coplay {}, and this is {program}; import it with the version that made the site, or \
         add --any-version and look at the result",
        start.program
    );
    Ok(())
}

/// Refuses times that no browser gives, as the server's part would be run until then.
fn check_times(journal: &Journal, now_us: u64) -> anyhow::Result<()> {
    let mut before_us = journal.start.begun_us;
    ensure!(
        before_us >= EARLIEST_US,
        "it begins before there was such a page; leave the file out"
    );
    for (number, entry) in journal.entries.iter().enumerate() {
        ensure!(
            entry.at_us >= before_us,
            "entry {number} is earlier than the one before; leave the file out"
        );
        before_us = entry.at_us;
    }
    ensure!(
        before_us <= now_us.saturating_add(AHEAD_US),
        "it ends more than ten years from now; leave the file out"
    );
    Ok(())
}

/// The time, microseconds since the Unix epoch.
fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_micros()).unwrap_or(u64::MAX)
}

async fn import_journals(
    runnable: &RunnableStudy,
    mut journals: Vec<Journal>,
    data: &DataDir,
    persistence: &Persistence,
    report: &mut ImportReport,
) -> anyhow::Result<()> {
    let mut imports = read_imports(data.path())?;
    let now_us = now_us();
    // Of two files of one participant, the later one has everything of the earlier one.
    journals.sort_by_key(|journal| std::cmp::Reverse(journal.entries.len()));
    let mut seen = BTreeSet::new();
    for journal in journals {
        if !seen.insert(journal.start.secret) {
            continue;
        }
        let mut server = OfflineServer::run(runnable.clone(), &journal, true);
        if let Some(end) = journal.find_lost_end() {
            server.handle_entry(&end);
        }
        server.advance(now_us);
        let kept = server.into_kept();
        let people = list_people(&kept.writes);
        let Some(name) = people.first().cloned() else {
            continue;
        };
        let (known, next) = persistence.list_participants().await?;
        if let Some(entries) = imports.get(&name) {
            ensure!(
                *entries >= journal.entries.len(),
                "participant {name} took part further after the data were imported; import all files into a new data folder"
            );
            report.already_there += people.len();
            continue;
        }
        if let Some(half) = people.iter().find(|name| known.contains(name)) {
            bail!(
                "an earlier import of participant {half} was interrupted; delete the data folder {}, and import all files again",
                data.path().display()
            );
        }
        report.participants += people.len();
        report.episodes += kept.logs.len();
        persistence
            .import(data, kept.writes, &kept.logs, next)
            .await?;
        imports.insert(name, journal.entries.len());
        write_imports(data.path(), &imports)?;
    }
    Ok(())
}

/// The participants who began a session.
fn list_people(writes: &[(u64, Write)]) -> Vec<String> {
    let names = writes.iter().filter_map(|(_, write)| match write {
        Write::NewSession { participant, .. } => Some(participant.clone()),
        _ => None,
    });
    names.collect()
}

fn read_imports(data: &Path) -> anyhow::Result<Imports> {
    let file = data.join(IMPORTS);
    match fs::read(&file) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is damaged; import into a new folder", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Imports::new()),
        Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
    }
}

/// Writes the file as a whole or not at all.
fn write_imports(data: &Path, imports: &Imports) -> anyhow::Result<()> {
    let (file, part) = (data.join(IMPORTS), data.join("imports.json.part"));
    fs::write(&part, serde_json::to_string_pretty(imports)?)?;
    fs::rename(&part, &file).with_context(|| format!("writing {}", file.display()))
}

#[cfg(test)]
mod tests {
    use offline::journal::{ConnNews, JournalEntry, JournalStart};

    use super::*;

    #[test]
    fn times_that_no_browser_gives_are_refused() {
        let now_us = 1_700_000_000_000_000;
        let journal = |begun_us: u64, times: &[u64]| Journal {
            start: JournalStart {
                program: String::new(),
                study: String::new(),
                study_version: String::new(),
                study_hash: String::new(),
                secret: [0; 32],
                begun_us,
            },
            entries: times
                .iter()
                .map(|at_us| JournalEntry {
                    at_us: *at_us,
                    conn: 1,
                    news: ConnNews::Opened,
                })
                .collect(),
        };
        let is_fine = |begun_us, times: &[u64]| check_times(&journal(begun_us, times), now_us);
        assert!(is_fine(now_us, &[now_us, now_us, now_us + 5]).is_ok());
        assert!(is_fine(now_us, &[]).is_ok());
        for (begun_us, times) in [
            (0, vec![]),
            (now_us, vec![now_us - 1]),
            (now_us, vec![now_us + 2, now_us + 1]),
            (now_us, vec![u64::MAX]),
            (u64::MAX, vec![]),
        ] {
            let told = is_fine(begun_us, &times).unwrap_err();
            assert!(told.to_string().contains("leave the file out"), "{told}");
        }
    }
}
