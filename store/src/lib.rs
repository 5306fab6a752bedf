//! The data folder of a server. Beside episode files, it has links, sessions and their position in the study, groups,
//! episodes, answers. When a method has returned, its changes survive the loss of the process and of power.
//!
//! Sessions are named by the pseudonym of their participant. Tokens are stored as [`server_core::token::token_hash`] only.
//! The store must not know what a position in a study means, nor of sockets and episode files.

#![forbid(unsafe_code)]

pub mod backup;
pub mod beside;
pub mod data_folder;
mod database;
pub mod desk_keys;
pub mod erasure;
mod error;
pub mod identifier_key;
mod known_logs;
pub mod participant_links;
pub mod persistence;
mod records;
pub mod servers;
mod study_store;
pub mod study_version;
mod table_copy;

use std::path::Path;

use protocol::control::EndReason;
use protocol::log::WITHDRAWN;
use server_core::arbiter::{DepartureReason, WaitedFor};

pub use error::{DiskFault, StoreError};
pub use identifier_key::KeyError;
pub use known_logs::{KnownLogs, LogState};
pub use records::{
    Answers, AuditEntry, DeskMessage, Episode, Group, Identifier, Intervention, LedgerState,
    Member, Message, ModelCall, NewEpisode, NewSession, PageTime, ParticipantLink, PayState,
    Payment, Response, Session, StoredChatMessage, StoredPosition, Wait, Withdrawn, WithdrawnSeat,
};
pub use study_store::{FILE, StudyStore, has_database};

/// The participants and groups that exports leave out, read also while a server writes to the folder.
///
/// # Errors
/// [`StoreError`]
pub async fn read_withdrawn(data: &Path) -> Result<Withdrawn, StoreError> {
    let Some(store) = StudyStore::find(data).await? else {
        return Ok(Withdrawn::default());
    };
    let known = store.list_withdrawn().await;
    store.close().await;
    // The files name them no more.
    known.map(|mut known| {
        known.participants.insert(WITHDRAWN.into());
        known
    })
}

/// Returns the episodes in the database of a data folder, read also while a server writes to it; empty without a
/// database. Read its files after this: an end is in the file of its episode before it is in the database.
///
/// # Errors
/// [`StoreError`]
pub async fn episodes(data: &Path) -> Result<Vec<Episode>, StoreError> {
    let Some(store) = StudyStore::find(data).await? else {
        return Ok(Vec::new());
    };
    let known = store.episodes().await;
    store.close().await;
    known
}

/// The ledger of payments of a data folder, read also while a server writes to it; empty without a database.
///
/// # Errors
/// [`StoreError`]
pub async fn read_ledger(data: &Path) -> Result<LedgerState, StoreError> {
    let Some(store) = StudyStore::find(data).await? else {
        return Ok(LedgerState::default());
    };
    let state = store.read_ledger().await;
    store.close().await;
    state
}

const REASONS: [(EndReason, &str); 3] = [
    (EndReason::Played, "played"),
    (EndReason::PartnerLeft, "partner_left"),
    (EndReason::Technical, "technical"),
];

const GONE: [(DepartureReason, &str); 3] = [
    (DepartureReason::Left, "left"),
    (DepartureReason::Away, "away"),
    (DepartureReason::Late, "late"),
];

/// The name of why somebody is gone in tables.
pub fn gone_name(gone: DepartureReason) -> &'static str {
    GONE.iter()
        .find(|(known, _)| *known == gone)
        .map_or("", |(_, name)| name)
}

/// The name of why a wait ended in tables.
pub fn waited_for(why: WaitedFor) -> &'static str {
    match why {
        WaitedFor::Matched => "matched",
        WaitedFor::Ai => "ai",
        WaitedFor::TimedOut => "timed_out",
        WaitedFor::GaveUp => "gave_up",
        WaitedFor::Closed => "closed",
        WaitedFor::Left => "left",
        WaitedFor::NotReady => "not_ready",
    }
}

/// The name of a reason in tables.
pub fn reason_name(reason: EndReason) -> &'static str {
    REASONS
        .iter()
        .find(|(known, _)| *known == reason)
        .map_or("", |(_, name)| name)
}
