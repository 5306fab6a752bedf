//! Erasure of one participant from a data folder that no server uses, and of the files that were withdrawn.
//!
//! The database comes first. Data that it marks as withdrawn are removed from the files, now or at the next start.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context as _;
use archive::{PreparedWithdrawal, Rewriting, WithdrawError, WithdrawnFile, prepare_withdrawal};
use serde::Serialize;
use study::Progress;

use crate::data_folder::DataDir;
use crate::{FILE, PayState, StoreError, StudyStore, WithdrawnSeat};

/// The result of an erasure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Erasure {
    /// Pseudonym of the participant. The session, its outcome and its payment stay under it.
    pub participant: String,
    /// The deleted episodes: nobody else is left in them, or the study erases those of whole groups.
    pub deleted_episodes: Vec<String>,
    /// The episodes that stay for the others: the participant's seat has its confirmed actions alone.
    pub withdrawn_seats: Vec<String>,
    /// Episodes without an end: the next start of the server ends them, and removes the participant from them.
    pub unfinished_episodes: Vec<String>,
    /// True if the session has no outcome yet: the next start of the server ends it with the outcome `withdrew`.
    pub is_open: bool,
    /// True if a payment was due, and now nobody can find its receiver.
    pub lost_payment: bool,
}

impl fmt::Display for Erasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |ids: &[String]| match ids {
            [] => "none".to_owned(),
            ids => ids.join(", "),
        };
        writeln!(f, "{} is erased.", self.participant)?;
        writeln!(f, "episodes deleted: {}", list(&self.deleted_episodes))?;
        writeln!(
            f,
            "episodes with a withdrawn seat: {}",
            list(&self.withdrawn_seats)
        )?;
        if !self.unfinished_episodes.is_empty() {
            writeln!(
                f,
                "episodes without an end, which the next start of the server ends and erases: {}",
                list(&self.unfinished_episodes)
            )?;
        }
        if self.is_open {
            writeln!(
                f,
                "The session is still open; the next start of the server ends it with the outcome `withdrew`."
            )?;
        }
        if self.lost_payment {
            writeln!(
                f,
                "A payment was due, but the recruiter's identifier is erased: nobody can pay it any more."
            )?;
        }
        write!(
            f,
            "Earlier exports, backups and published archives still have the data: delete or write them anew."
        )
    }
}

/// Erases the recorded data of a participant, by pseudonym or session. `unpaid` also erases somebody whose payment is
/// due or not computed yet.
///
/// # Errors
/// There is no such participant, a payment is due, or the disk or the database fails. A second run completes what an
/// interrupted one began.
pub async fn erase_participant(
    data: &DataDir,
    named: &str,
    unpaid: bool,
) -> anyhow::Result<Erasure> {
    let store = StudyStore::open_for_server(data)
        .await
        .context("the database cannot be opened")?;
    let erased = erase_from(&store, data.path(), named, unpaid).await;
    store.close().await;
    let erased = erased?;
    if let Some(lease) = data.lease() {
        let deleted = lease.delete_erased().await;
        deleted
            .context("the object store still has what was erased; run this again once it works")?;
    }
    let log = data.path().join(format!("{FILE}-wal"));
    let is_empty = fs::metadata(&log).map_or(true, |log| log.len() == 0);
    anyhow::ensure!(
        is_empty,
        "{} still has what was erased, because another program reads the database; end that program, and run this again",
        log.display()
    );
    Ok(erased)
}

async fn erase_from(
    store: &StudyStore,
    data: &Path,
    named: &str,
    unpaid: bool,
) -> anyhow::Result<Erasure> {
    let sessions = store.sessions().await?;
    let is_named = |name: &str| name.eq_ignore_ascii_case(named.trim());
    let session = sessions
        .into_iter()
        .find(|session| is_named(&session.participant) || is_named(&session.id));
    let session = session.with_context(|| {
        format!(
            "nobody is called `{named}` here; `coplay who` finds a participant by other identifiers"
        )
    })?;
    let participant = session.participant;
    let payments = store.list_payments().await?;
    let payment = payments.iter().find(|it| it.participant == participant);
    let is_due = payment.is_some_and(|payment| payment.state == PayState::Due);
    anyhow::ensure!(
        unpaid || !is_due,
        "the payment of {participant} is due, and cannot be made once the recruiter's identifier is erased; pay it first \
         (`coplay pay --mark-paid`), or add --unpaid"
    );
    anyhow::ensure!(
        unpaid || session.outcome.is_some(),
        "the session of {participant} is still open, so their pay is not known yet; let it end, or add --unpaid: the next \
         start of the server then ends it with the outcome `withdrew`"
    );
    let mut progress: Progress = serde_json::from_str(&session.position)
        .with_context(|| format!("the place of {participant} is damaged"))?;
    let receipt = match progress.receipt() {
        Some(receipt) => receipt.to_owned(),
        None => new_receipt()?,
    };
    progress.erase();
    progress.withdraw_given(&receipt);
    let position = serde_json::to_string(&progress).context("the place of a participant")?;
    let group = store.erases_groups().await?;
    store
        .record_withdrawal(&participant, &receipt, group)
        .await?;
    store.erase(&participant, &[]).await?;
    store.set_position(&participant, &position).await?;

    let seats = store.list_withdrawn_seats().await?;
    let deleted_episodes = erase_withdrawn_episodes(store, data).await?;
    let is_complete = withdraw_files(store, data, false).await?;
    anyhow::ensure!(
        is_complete,
        "not every episode could be rewritten; the log says which and why, and another run tries again"
    );
    remove_parts(data)?;
    let own = seats.into_iter().filter(|it| it.participant == participant);
    let left = own.filter(|it| !deleted_episodes.contains(&it.episode));
    let running = store.running_episodes().await?.into_iter();
    let running = running.filter(|episode| episode.participants.contains(&participant));
    let erasure = Erasure {
        withdrawn_seats: left.map(|it| it.episode).collect(),
        unfinished_episodes: running.map(|episode| episode.id).collect(),
        is_open: session.outcome.is_none(),
        lost_payment: is_due,
        deleted_episodes,
        participant,
    };
    let counts = [&erasure.deleted_episodes, &erasure.withdrawn_seats].map(Vec::len);
    let action = format!(
        "erased {}: {} episodes deleted, withdrawn from {}",
        erasure.participant, counts[0], counts[1]
    );
    store.append_audit("erase", &action).await?;
    store.wait_to_empty_log().await?;
    Ok(erasure)
}

fn new_receipt() -> anyhow::Result<String> {
    let mut number = [0; 4];
    getrandom::fill(&mut number)
        .map_err(|error| anyhow::anyhow!("no random numbers on this machine: {error}"))?;
    Ok(format!("W-{:08X}", u32::from_le_bytes(number)))
}

/// Removes what an interrupted write has left beside the files of episodes.
fn remove_parts(data: &Path) -> anyhow::Result<()> {
    let folder = data.join(archive::FOLDER);
    if !folder.try_exists()? {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "part")
        {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Erases the ended episodes from which everybody with data in them has withdrawn; returns their ids. `None` if a file
/// cannot be removed: the next start tries again.
pub(crate) async fn erase_withdrawn_episodes(
    store: &StudyStore,
    data: &Path,
) -> Result<Vec<String>, StoreError> {
    let paths = store.list_withdrawn_episodes().await?;
    if paths.is_empty() || !remove_files(data, &paths).await {
        return Ok(Vec::new());
    }
    let count = paths.len();
    tracing::info!(count, "episodes that were withdrawn are erased");
    store.forget_episodes(&paths).await?;
    let id = |path: &String| {
        let name = Path::new(path).file_stem().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    Ok(paths.iter().map(id).collect())
}

/// Removes the files of episodes; false if one is still there.
pub(crate) async fn remove_files(data: &Path, paths: &[String]) -> bool {
    for path in paths {
        match tokio::fs::remove_file(data.join(path)).await {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::error!(%error, path, "the file of an episode cannot be erased; the next start tries again");
                return false;
            }
            _ => {}
        }
    }
    true
}

/// Writes the log of an episode, as it is in the data folder now, into the database that several servers share.
async fn replace_shared_log(store: &StudyStore, data: &Path, path: &str) -> Result<(), StoreError> {
    let Some(logs) = store.shared_logs() else {
        return Ok(());
    };
    let bytes = tokio::fs::read(data.join(path)).await;
    logs.replace(path, &bytes.map_err(sqlx::Error::Io)?).await
}

/// Removes from the files of ended episodes what came from the pages of people who withdrew. Returns false if a file
/// still has some of it. `waits` leaves a file for later if the thread of its episode may still write to it.
pub(crate) async fn withdraw_files(
    store: &StudyStore,
    data: &Path,
    waits: bool,
) -> Result<bool, StoreError> {
    let mut is_complete = true;
    for seat in store.list_withdrawn_seats().await? {
        let path = data.join(&seat.path);
        let participant = seat.participant.clone();
        let prepare = move || prepare_withdrawal(&path, &participant, waits);
        let done = match run_blocking(prepare).await {
            Ok(PreparedWithdrawal::Ready(rewriting)) => {
                rewrite_file(store, data, &seat, rewriting).await?
            }
            Ok(PreparedWithdrawal::Settled(state)) => Ok(state),
            Err(error) => Err(error),
        };
        match done {
            Ok(WithdrawnFile::Done | WithdrawnFile::Missing) => {
                store.mark_withdrawn_seat(&seat).await?;
            }
            Ok(WithdrawnFile::Busy) => is_complete = false,
            Err(error) => {
                let episode = seat.episode;
                tracing::error!(%error, episode, "the file of an episode still has what somebody withdrew; the next start tries again");
                is_complete = false;
            }
        }
    }
    Ok(is_complete)
}

/// Replaces the file of an episode. The ledger has its new log first: after a crash it has the one before and this one.
async fn rewrite_file(
    store: &StudyStore,
    data: &Path,
    seat: &WithdrawnSeat,
    rewriting: Rewriting,
) -> Result<Result<WithdrawnFile, WithdrawError>, StoreError> {
    let (before, after) = (rewriting.bytes_before(), rewriting.bytes_after());
    store.enter_rewritten_log(seat, before, after).await?;
    if let Err(error) = run_blocking(move || rewriting.replace_file()).await {
        return Ok(Err(error.into()));
    }
    replace_shared_log(store, data, &seat.path).await?;
    Ok(Ok(WithdrawnFile::Done))
}

/// Does what waits for the disk beside everything else.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
