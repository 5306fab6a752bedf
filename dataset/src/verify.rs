//! Verification of a data folder: every episode is simulated again and compared with its digests, its
//! end, its module and the database.
//!
//! The folder is only read, also while a server writes to it.

mod clips;
mod display;
mod frames;
mod hosted;
mod inputs;
mod ledger;
mod notes;
mod order;
mod people;
mod record;
mod verdict;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use archive::{ReplayError, Replica, ReplicaError, replay};
use protocol::EnvWay;
use protocol::hash::sha256_hex;
use protocol::log::{self, Log};
use serde::Serialize;
use store::{KnownLogs, LedgerState, LogState, data_folder, reason_name};

use crate::progress::Progress;
use notes::OwnInputs;
use people::{EpisodePeople, check_people};

pub use clips::VerifiedClip;
pub use inputs::ShortSeat;
pub(crate) use inputs::list_short_seats;
pub use notes::FaultyNotes;
pub(crate) use notes::list_faulty_keys;
pub use order::{DivergedPage, Equivocation};
pub(crate) use record::{check_copy, check_record};
pub use verdict::EpisodeVerdict;

/// The result of verifying a data folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Every episode file, by name.
    pub episodes: Vec<Verified>,
    /// Every clip of AI partners.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clips: Vec<VerifiedClip>,
    /// Episodes that the database knows with an end, and that have no file.
    pub missing: Vec<String>,
    /// True if there are episodes and no database: nobody can know whether episodes are missing, or what the payments
    /// are.
    pub lacks_database: bool,
    /// The rows of the database that decide payments and were changed after they were stored: a sentence for each.
    pub altered: Vec<String>,
    /// Ended episodes whose logs the ledger does not have: an older program wrote their ends.
    pub not_in_ledger: usize,
    /// The end of the ledger of payments; `None` while it is empty.
    pub ledger: Option<LedgerEnd>,
    /// The hash of every entry of it.
    #[serde(skip)]
    hashes: Vec<String>,
}

/// Numbers of episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EpisodeCounts {
    /// All episodes, including missing ones.
    pub episodes: usize,
    /// Those that gave the same when they were simulated again.
    pub verified: usize,
    /// Those of hosts whose world does not repeat itself: their file is their only record.
    pub recorded: usize,
}

/// The end of the ledger of payments, for researchers to note: a ledger that was shortened since has it no longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LedgerEnd {
    /// Number of entries.
    pub entries: usize,
    /// The hash over the last one and the one before, 64 hex digits.
    pub hash: String,
}

/// The result of verifying one episode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Id.
    pub episode: String,
    /// Its file.
    pub path: PathBuf,
    /// Ticks simulated.
    pub ticks: u32,
    /// Score after them; in an episode that is only recorded, the one in its file. `None` if neither is known.
    pub score: Option<i64>,
    /// Digest after them, 16 hex digits.
    pub digest: String,
    /// The number of events of each kind.
    pub events: BTreeMap<String, u32>,
    /// The reason why it ended, by its file or else by the database; `None` while it runs.
    pub reason: Option<&'static str>,
    /// The number of hand-overs of seats.
    pub changes: usize,
    /// The pages that simulated something else than the replica, as the file names them.
    pub diverged: Vec<DivergedPage>,
    /// Contradictions between what people's pages sent and what was played, as the file names them.
    pub equivocations: Vec<Equivocation>,
    /// The seats whose people have not played to the end.
    pub short: Vec<ShortSeat>,
    /// The seats whose people withdrew: of theirs the confirmed actions alone are left, and nothing proves whose they were.
    pub withdrawn: Vec<u8>,
    /// The pages whose notes contradict the record: that speaks against their notes alone.
    pub faulty_notes: Vec<FaultyNotes>,
    /// Frames that pages showed, each rebuilt from the file.
    pub frames: u64,
    /// True if the file ends in the torn record of a crash.
    pub torn: bool,
    /// True if the ledger has the log as it is, so that nobody can change it without detection.
    pub in_ledger: bool,
    #[serde(skip)]
    log_state: LogState,
    /// The state of the module that was played.
    pub module: StoredModule,
    #[serde(skip)]
    people: EpisodePeople,
    /// Where the world was stepped: `page` or `host`.
    pub way: &'static str,
    /// The verdict, with the reason in `because` unless everything is equal.
    #[serde(flatten)]
    pub verdict: EpisodeVerdict,
}

/// The module of an episode in the data folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredModule {
    /// It is there, with the recorded hash.
    Present,
    /// It is not there.
    Missing,
    /// A file of its name has another hash.
    Altered,
    /// The episode names none: it was not played from a built front end.
    Unnamed,
}

impl VerifyReport {
    /// Tells if everything was verified and nothing differs.
    pub fn is_fine(&self) -> bool {
        self.missing.is_empty()
            && !self.lacks_database
            && self.altered.is_empty()
            && self.episodes.iter().all(Verified::is_fine)
            && self
                .clips
                .iter()
                .all(|clip| clip.verdict == EpisodeVerdict::Equal)
    }

    /// Counts its episodes by their verdicts.
    pub fn count(&self) -> EpisodeCounts {
        let fine = self.episodes.iter().filter(|episode| episode.is_fine());
        let recorded = fine.clone().filter(|episode| episode.is_recorded()).count();
        EpisodeCounts {
            episodes: self.episodes.len() + self.missing.len(),
            verified: fine.count() - recorded,
            recorded,
        }
    }

    /// Takes the ledger, and returns what it knows about logs.
    fn read_ledger(&mut self, state: LedgerState) -> KnownLogs {
        (self.altered, self.hashes) = (state.altered, state.hashes);
        let (entries, last) = (self.hashes.len(), self.hashes.last().cloned());
        self.ledger = last.map(|hash| LedgerEnd { entries, hash });
        state.logs
    }

    /// Requires that the ledger of payments has an entry with this hash, as an earlier report had it.
    pub fn require_hash(&mut self, noted: &str) {
        let mut hashes = self.hashes.iter();
        if !hashes.any(|hash| hash.eq_ignore_ascii_case(noted)) {
            self.altered.push(format!(
                "the ledger of payments has no entry with the hash {noted}; its end was cut off, or it was written anew"
            ));
        }
    }
}

impl Verified {
    /// Tells if it was verified and nothing differs.
    pub fn is_fine(&self) -> bool {
        self.follows_its_file()
            && matches!(self.module, StoredModule::Present | StoredModule::Unnamed)
    }

    /// Tells if nothing in its file speaks against it.
    fn follows_its_file(&self) -> bool {
        matches!(
            self.verdict,
            EpisodeVerdict::Equal | EpisodeVerdict::Recorded(_)
        )
    }

    fn is_recorded(&self) -> bool {
        matches!(self.verdict, EpisodeVerdict::Recorded(_))
    }
}

/// Simulates everything in a data folder again.
///
/// # Errors
/// The error of the disk or of the database; also if there is no data folder. Differences are in the [`VerifyReport`].
pub async fn verify_data(data: &Path) -> anyhow::Result<VerifyReport> {
    anyhow::ensure!(
        data_folder::is_there(data),
        "{} is no data folder of a server: it has neither episodes nor a database; name one with --data",
        data.display()
    );
    let mut known = store::episodes(data).await?;
    let files = archive::list_logs(data)?;
    let mut report = VerifyReport {
        lacks_database: !files.is_empty() && !store::has_database(data)?,
        ..VerifyReport::default()
    };
    let logs = report.read_ledger(store::read_ledger(data).await?);
    report.episodes = check_all(data, &files, &logs)?;
    report.clips = clips::check_clips(data)?;
    ledger::name_altered(data, &mut report.episodes).await?;
    known.iter().for_each(|known| compare(&mut report, known));
    let is_unentered =
        |found: &&Verified| found.reason.is_some() && found.log_state == LogState::Unentered;
    report.not_in_ledger = report.episodes.iter().filter(is_unentered).count();
    if !report.lacks_database {
        // Those that began meanwhile, too; some of the others may be erased by now.
        known.extend(store::episodes(data).await?);
        check_people(&mut report, &known, &store::read_withdrawn(data).await?);
    }
    Ok(report)
}

/// Holds the database against the file of an episode.
fn compare(report: &mut VerifyReport, known: &store::Episode) {
    let mut episodes = report.episodes.iter_mut();
    let (found, ending) = match (
        episodes.find(|found| found.episode == known.id),
        known.ending,
    ) {
        (Some(found), Some(ending)) => (found, ending),
        (None, Some(_)) => return report.missing.push(known.id.clone()),
        // If the file could not take the end, only the database has the reason.
        (Some(found), None) => {
            found.reason = found.reason.or(known.reason.map(reason_name));
            return;
        }
        (None, None) => return,
    };
    let in_database = (
        ending.ticks.0,
        Some(ending.score),
        format!("{:016x}", ending.digest),
        Some(reason_name(ending.reason)),
    );
    let in_file = (found.ticks, found.score, found.digest.clone(), found.reason);
    if found.follows_its_file() && in_database != in_file {
        let because =
            format!("the database has another end: {in_database:?}; the file has {in_file:?}");
        found.verdict = EpisodeVerdict::Differs(because);
    }
}

/// Checks every file, as many at a time as the machine has processors; the results are in the order of the files.
pub(crate) fn check_all(
    data: &Path,
    files: &[PathBuf],
    known: &KnownLogs,
) -> anyhow::Result<Vec<Verified>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let progress = Mutex::new(Progress::new(files.len()));
    let work = || {
        let mut found = Vec::new();
        let take = || next.fetch_add(1, Ordering::Relaxed);
        let rest = std::iter::repeat_with(take).map_while(|at| Some((at, files.get(at)?)));
        for (at, path) in rest {
            let checked = check(data, path.clone(), known);
            // Nobody waits for the rest of what failed.
            let checked = checked.inspect_err(|_| next.store(files.len(), Ordering::Relaxed))?;
            found.push((at, checked));
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.step("episodes verified");
        }
        anyhow::Ok(found)
    };
    let found = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.min(files.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(found) => found,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect::<anyhow::Result<Vec<Vec<_>>>>()
    })?;
    let mut found: Vec<(usize, Verified)> = found.into_iter().flatten().collect();
    found.sort_unstable_by_key(|(at, _)| *at);
    Ok(found.into_iter().map(|(_, found)| found).collect())
}

fn check(data: &Path, path: PathBuf, known: &KnownLogs) -> anyhow::Result<Verified> {
    let bytes = fs::read(&path)?;
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut found = Verified {
        episode: name,
        path,
        ticks: 0,
        score: None,
        digest: String::new(),
        events: BTreeMap::new(),
        reason: None,
        changes: 0,
        diverged: Vec::new(),
        equivocations: Vec::new(),
        short: Vec::new(),
        withdrawn: Vec::new(),
        faulty_notes: Vec::new(),
        frames: 0,
        torn: false,
        in_ledger: false,
        log_state: LogState::Unentered,
        module: StoredModule::Unnamed,
        people: EpisodePeople::default(),
        way: way_name(EnvWay::Module),
        verdict: EpisodeVerdict::Equal,
    };
    found.log_state = known.compare(&found.episode, &bytes);
    found.in_ledger = found.log_state == LogState::Same;
    match log::read_log(&bytes) {
        Ok(log) => found.simulate(data, &log, known)?,
        Err(error @ log::LogError::Version { .. }) => {
            found.verdict = EpisodeVerdict::Unverified(error.to_string())
        }
        Err(error) => found.verdict = EpisodeVerdict::Differs(error.to_string()),
    }
    Ok(found)
}

impl Verified {
    fn simulate(&mut self, data: &Path, log: &Log, known: &KnownLogs) -> anyhow::Result<()> {
        self.module = module(data, &log.header.module)?;
        self.torn = log.torn;
        self.way = way_name(log.header.way);
        self.people = EpisodePeople::new(log);
        let withdrawn = log.header.list_withdrawn_seats();
        self.withdrawn = withdrawn.into_iter().map(|seat| seat.0).collect();
        self.reason = log.ending.map(|ending| reason_name(ending.reason));
        self.ticks = log.through.0;
        let mut events = BTreeMap::new();
        let episodes = data.join("episodes");
        let replayed = replay(log, archive::open_stored(&episodes), |_, replica| {
            hosted::count_events(replica, &mut events);
        });
        self.events = events;
        match replayed {
            Ok(replica) => {
                let ending = replica.read_ending(protocol::control::EndReason::Technical);
                self.score = Some(ending.score);
                self.digest = format!("{:016x}", ending.digest);
                let stored = archive::open_stored(&episodes);
                self.verdict = match self.compare((log, known), &replica, stored.clone()) {
                    Ok(()) => hosted::compare_observations(log, stored),
                    Err(because) => EpisodeVerdict::Differs(because),
                };
            }
            Err(ReplayError::Replica(
                error @ ReplicaError::Environment(_)
                | error @ ReplicaError::Module { .. }
                | error @ ReplicaError::Version { .. }
                | error @ ReplicaError::Network { .. }
                | error @ ReplicaError::Policy { .. },
            )) => {
                self.verdict = EpisodeVerdict::Unverified(error.to_string());
            }
            Err(error) => {
                self.judge_difference(
                    (log, known),
                    error.to_string(),
                    archive::open_stored(&episodes),
                );
            }
        }
        if self.is_recorded() {
            self.take_record(log, archive::open_stored(&episodes));
        }
        Ok(())
    }

    /// Judges an episode that comes out otherwise. Whose choices its rows are does not depend on how its world comes out.
    fn judge_difference(
        &mut self,
        (log, known): (&Log, &KnownLogs),
        because: String,
        stored: impl Fn(&str) -> io::Result<Vec<u8>> + Send + Clone + 'static,
    ) {
        self.verdict = hosted::judge(log, because);
        if self.is_recorded()
            && let Ok(replica) = Replica::open(&log.header, stored.clone())
            && let Err(because) = self.compare((log, known), &replica, stored)
        {
            self.verdict = EpisodeVerdict::Differs(because);
        }
    }

    /// Takes the end and the events from the file: the world that was run again has others.
    fn take_record(
        &mut self,
        log: &Log,
        stored: impl Fn(&str) -> io::Result<Vec<u8>> + Send + Clone + 'static,
    ) {
        self.events = hosted::count_recorded_events(log, stored);
        self.score = log.ending.map(|ending| ending.score);
        let digest = log.ending.map(|ending| format!("{:016x}", ending.digest));
        self.digest = digest.unwrap_or_default();
    }

    /// Compares what the replay does not compare; returns the first fault.
    fn compare(
        &mut self,
        (log, known): (&Log, &KnownLogs),
        replica: &Replica,
        stored: impl Fn(&str) -> io::Result<Vec<u8>> + Send + 'static,
    ) -> Result<(), String> {
        record::check_name(&self.episode, log)?;
        record::check_version(log, known)?;
        self.changes = log.changes().count();
        self.short = inputs::list_short_seats(log);
        record::check_signatures(log, replica.spec())?;
        order::changes(log)?;
        if log.header.way == EnvWay::Host {
            return Ok(());
        }
        self.equivocations = order::find_equivocations(log)?;
        self.diverged = order::list_accused(log, replica, &self.equivocations)?;
        let screens = archive::Screens::new(log);
        let shown = screens.pages(stored).map_err(|error| error.to_string())?;
        let own = OwnInputs::new(log);
        let (named, excused) = (&self.diverged, &self.equivocations);
        (self.frames, self.faulty_notes) =
            frames::frames(log, replica, &own, shown, named, excused);
        self.faulty_notes.extend(notes::check_keys(log, &own));
        Ok(())
    }
}

/// The name of the way in tables and reports.
pub(crate) fn way_name(way: EnvWay) -> &'static str {
    match way {
        EnvWay::Module => "page",
        EnvWay::Host => "host",
    }
}

fn module(data: &Path, hash: &str) -> anyhow::Result<StoredModule> {
    if hash.is_empty() {
        return Ok(StoredModule::Unnamed);
    }
    // The name comes from a file: only a hash may become a path.
    if !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(StoredModule::Missing);
    }
    let path = data.join("modules").join(hash).with_extension("wasm");
    if !path.try_exists()? {
        return Ok(StoredModule::Missing);
    }
    Ok(if sha256_hex(&fs::read(path)?) == hash {
        StoredModule::Present
    } else {
        StoredModule::Altered
    })
}

#[cfg(test)]
mod tests;
