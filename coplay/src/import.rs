//! `coplay import`: the data that pages of a study without a server delivered, as a data folder.
//!
//! A journal has the actions of a participant. The server's part of the study is run with it again, so everything in
//! the data folder was computed here; the import trusts a page only about the actions of its person.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fmt, fs};

use anyhow::{Context as _, anyhow, bail, ensure};
use catalog::{StartError, read_study};
use offline::bundle::RunnableStudy;
use offline::journal::{Journal, JournalEntry, read_file};
use offline::{Kept, OfflineServer};
use serde::{Deserialize, Serialize};
use server_core::arbiter::Write;
use signaling_server::assets::Assets;
use signaling_server::site::name_offline_program;
use signaling_server::study_files::{env_stages, store_files};
use store::data_folder::{self, DataDir};
use store::persistence::Persistence;
use store::study_version;

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
    /// Journals that were left out beside others of the same file: they are of another study, or of an earlier version of
    /// the site.
    pub other_versions: usize,
    /// Files that were named.
    pub files: usize,
    /// Decisions that the imported data leave to a researcher.
    pub warnings: Vec<String>,
    /// Files that could not be imported, or not in full.
    pub faults: Vec<ImportFault>,
}

/// Something that could not be imported.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportFault {
    /// The file.
    pub file: String,
    /// Why, and what to do.
    pub fault: String,
}

impl ImportReport {
    /// Prints on the error output what a researcher must decide, and what could not be imported.
    pub fn tell_problems(&self) {
        for warning in &self.warnings {
            eprintln!("coplay: {warning}");
        }
        for ImportFault { file, fault } in &self.faults {
            eprintln!("coplay: {file}: {fault}");
        }
    }

    fn add_fault(&mut self, file: &Path, error: &anyhow::Error) {
        self.faults.push(ImportFault {
            file: file.display().to_string(),
            fault: format!("{error:#}"),
        });
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} participants with {} episodes imported",
            self.participants, self.episodes
        )?;
        if self.already_there > 0 {
            write!(f, "; {} were there already", self.already_there)?;
        }
        if self.other_versions > 0 {
            let journals = self.other_versions;
            write!(
                f,
                "; {journals} journals of other versions of the site left out"
            )?;
        }
        match self.faults.len() {
            0 => Ok(()),
            1 => write!(f, "; 1 file not imported in full"),
            faults => write!(f, "; {faults} files not imported in full"),
        }
    }
}

/// A journal, and the file that it comes from.
struct FoundJournal<'a> {
    file: &'a Path,
    journal: Journal,
}

/// The site whose journals are imported.
struct SiteVersion {
    study_hash: String,
    /// `None` if any will do.
    program: Option<String>,
}

/// Imports files into a data folder. What cannot be imported is in the report, and stops nothing else.
///
/// # Errors
/// The study has faults; the data folder cannot be read or written.
pub async fn import_files(args: &ImportArgs) -> Result<ImportReport, StartError> {
    let (study, facts) = read_study(&args.study).map_err(StartError::Study)?;
    let assets = args.dist.clone().map_or(Assets::Embedded, Assets::Folder);
    let program = name_offline_program(&assets).unwrap_or_default();
    let site = SiteVersion {
        study_hash: study.hash.clone(),
        program: (!args.any_version).then_some(program),
    };
    let mut report = ImportReport {
        files: args.files.len(),
        ..ImportReport::default()
    };
    let mut journals = Vec::new();
    for file in &args.files {
        match read_fitting(file, &site, &mut report) {
            Ok(found) => journals.extend(found),
            Err(error) => report.add_fault(file, &error),
        }
    }
    if journals.is_empty() {
        return Ok(report);
    }
    data_folder::refuse_rehearsal(&args.data).map_err(anyhow::Error::from)?;
    study_version::refuse_other(&study, &args.data)?;
    let data = DataDir::open(&args.data).map_err(anyhow::Error::from)?;
    let modules = store_files(&study, &facts, &data, &assets)?;
    let stages = env_stages(&study, facts, &modules);
    let persistence = Persistence::open_for_import(&data, Arc::new(study.clone())).await?;
    let runnable = RunnableStudy { study, stages };
    let import = Import::new(&runnable, &data, &persistence, &mut report).await;
    let result = match import {
        Ok(mut import) => import.take_all(journals).await,
        Err(error) => Err(error),
    };
    persistence.close().await;
    result?;
    Ok(report)
}

/// The journals of a file that are of the site. A browser may have others that were never handed over.
fn read_fitting<'a>(
    file: &'a Path,
    site: &SiteVersion,
    report: &mut ImportReport,
) -> anyhow::Result<Vec<FoundJournal<'a>>> {
    let bytes = fs::read(file).context("it cannot be read")?;
    let all = read_file(&bytes)?;
    let (mut fitting, mut first_misfit, mut misfits) = (Vec::new(), None, 0);
    for journal in all {
        match site.check_journal(&journal) {
            Ok(()) => fitting.push(FoundJournal { file, journal }),
            Err(error) => {
                first_misfit = first_misfit.or(Some(error));
                misfits += 1;
            }
        }
    }
    if let Some(error) = first_misfit.filter(|_| fitting.is_empty()) {
        return Err(error);
    }
    for found in &fitting {
        check_times(&found.journal, now_us()).context("participants can change files")?;
    }
    report.other_versions += misfits;
    Ok(fitting)
}

impl SiteVersion {
    fn check_journal(&self, journal: &Journal) -> anyhow::Result<()> {
        let (start, study_hash) = (&journal.start, &self.study_hash);
        ensure!(
            start.study_hash == *study_hash,
            "it is of the study {} {} with the hash {}, and the study folder has now another one ({study_hash}); name the \
             study folder as it was when the site was made",
            start.study,
            start.study_version,
            start.study_hash
        );
        if let Some(program) = self.program.as_ref().filter(|it| **it != start.program) {
            bail!(
                "its page was made by Coplay {}, and this is {program}; import it with the version that made the site, or \
                 add --any-version and look at the result",
                start.program
            );
        }
        Ok(())
    }
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

/// An import under way.
struct Import<'a> {
    runnable: &'a RunnableStudy,
    data: &'a DataDir,
    persistence: &'a Persistence,
    report: &'a mut ImportReport,
    imports: Imports,
    /// The participant of each recruiter's identifier in the data folder.
    owners: BTreeMap<String, String>,
    now_us: u64,
}

impl<'a> Import<'a> {
    async fn new(
        runnable: &'a RunnableStudy,
        data: &'a DataDir,
        persistence: &'a Persistence,
        report: &'a mut ImportReport,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            imports: read_imports(data.path())?,
            owners: persistence.list_identifiers().await?,
            now_us: now_us(),
            runnable,
            data,
            persistence,
            report,
        })
    }

    /// Imports journals, oldest first, so that the first of two people with one identifier has it.
    async fn take_all(&mut self, mut journals: Vec<FoundJournal<'_>>) -> anyhow::Result<()> {
        // If there are two files of one participant, the later one has everything of the earlier one.
        journals.sort_by_key(|found| std::cmp::Reverse(found.journal.entries.len()));
        let mut seen = BTreeSet::new();
        journals.retain(|found| seen.insert(found.journal.start.secret));
        journals.sort_by_key(|found| found.journal.start.begun_us);
        for found in journals {
            self.take(&found).await?;
        }
        Ok(())
    }

    async fn take(&mut self, found: &FoundJournal<'_>) -> anyhow::Result<()> {
        let journal = &found.journal;
        let kept = self.run(journal);
        let people = list_people(&kept.writes);
        let Some(name) = people.first().cloned() else {
            return Ok(());
        };
        let (known, next) = self.persistence.list_participants().await?;
        if let Some(entries) = self.imports.get(&name) {
            match journal.entries.get(..*entries) {
                Some(before) if !self.has_same_deeds(journal, before, &kept) => {
                    let error = anyhow!(
                        "participant {name} took part further after the data were imported; import all files into a new \
                         data folder"
                    );
                    self.report.add_fault(found.file, &error);
                }
                _ => self.report.already_there += people.len(),
            }
            return Ok(());
        }
        if let Some(half) = people.iter().find(|name| known.contains(name)) {
            bail!(
                "{}: an earlier import of participant {half} was interrupted; delete the data folder {}, and import all \
                 files again",
                found.file.display(),
                self.data.path().display()
            );
        }
        let logs = kept.logs;
        let writes = self.keep_one_owner(found.file, kept.writes).await?;
        let import = self.persistence.import(self.data, writes, &logs, next);
        import
            .await
            .with_context(|| found.file.display().to_string())?;
        self.report.participants += people.len();
        self.report.episodes += logs.len();
        self.imports.insert(name, journal.entries.len());
        write_imports(self.data.path(), &self.imports)
    }

    /// Runs the server's part of the study with a journal until now.
    fn run(&self, journal: &Journal) -> Kept {
        let mut server = OfflineServer::run(self.runnable.clone(), journal, true);
        if let Some(end) = journal.find_lost_end() {
            server.handle_entry(&end);
        }
        server.advance(self.now_us);
        server.into_kept()
    }

    /// True if the entries after the imported ones have changed nothing: a reload, or a page that was left open.
    fn has_same_deeds(&self, journal: &Journal, before: &[JournalEntry], kept: &Kept) -> bool {
        let imported = Journal {
            start: journal.start.clone(),
            entries: before.to_vec(),
        };
        before.len() == journal.entries.len() || self.run(&imported).has_same_deeds(kept)
    }

    /// Keeps a recruiter's identifier for only one participant. A participant with another one's identifier keeps all
    /// data, and the researcher is informed.
    async fn keep_one_owner(
        &mut self,
        file: &Path,
        mut writes: Vec<(u64, Write)>,
    ) -> anyhow::Result<Vec<(u64, Write)>> {
        let told = writes
            .iter()
            .filter_map(|(_, write)| read_identifier(write));
        let told: Vec<(String, String)> = told.collect();
        if told.iter().any(|(_, id)| self.owners.contains_key(id)) {
            // The data of its owner may be erased by now.
            self.owners = self.persistence.list_identifiers().await?;
        }
        for (name, id) in told {
            let owner = self.owners.entry(id).or_insert_with(|| name.clone());
            if *owner == name {
                continue;
            }
            let warning = format!(
                "{}: participant {name} came with the recruiter's identifier of participant {owner}, who took part before; \
                 {name} is imported without it. Decide which of the two counts.",
                file.display()
            );
            if !self.report.warnings.contains(&warning) {
                self.report.warnings.push(warning);
            }
            drop_identifiers(&mut writes, &name);
        }
        Ok(writes)
    }
}

/// The participant and the recruiter's identifier that a change stores.
fn read_identifier(write: &Write) -> Option<(String, String)> {
    let (participant, identity) = match write {
        Write::NewSession {
            participant,
            identity: Some(identity),
            ..
        }
        | Write::Identity {
            participant,
            identity,
        } => (participant, identity),
        _ => return None,
    };
    Some((participant.clone(), identity.participant.clone()))
}

/// Takes the recruiter's identifier of a participant out of changes.
fn drop_identifiers(writes: &mut Vec<(u64, Write)>, name: &str) {
    writes.retain_mut(|(_, write)| match write {
        Write::NewSession {
            participant,
            identity,
            ..
        } if participant == name => {
            *identity = None;
            true
        }
        Write::Identity { participant, .. } => participant != name,
        _ => true,
    });
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
    use offline::journal::{ConnNews, JournalStart};

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
