//! What the server remembers beside episode files: links, sessions and their place in the study, groups,
//! episodes, answers. Everything that a method has returned from survives the loss of the process and of power.
//!
//! Sessions are named by the pseudonym of their participant. Tokens are stored as [`token_hash`] only.
//! The store must not know what a position in a study means, nor of sockets and episode files.

mod sqlite;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use async_trait::async_trait;
use protocol::Era;
use protocol::control::{Answer, EndReason};
use protocol::log::Ending;
use serde::Serialize;
use study::survey::Mark;

use crate::assets::sha256_hex;
use crate::hub::{Gone, Identity, WaitedFor};

pub use sqlite::{FILE, SqliteStore};

/// What is stored of a token: its SHA-256, lower-case hex.
pub fn token_hash(token: &str) -> String {
    sha256_hex(token.as_bytes())
}

/// A participant link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// [`token_hash`] of its token.
    pub token_hash: String,
    /// The participant who came by it.
    pub participant: Option<String>,
    /// When it was issued, ISO-8601 UTC.
    pub created_at: String,
}

/// A session to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Pseudonym, such as `P-7K3Q`.
    pub participant: String,
    /// Secret that brings a page back to it.
    pub token: String,
    /// Token of the participant link through which it came.
    pub link: Option<String>,
    /// Study id.
    pub study: String,
    /// Version that the study file gives itself.
    pub study_version: String,
    /// SHA-256 of the canonical study, lower-case hex.
    pub study_hash: String,
    /// Whom the recruiter calls how.
    pub identity: Option<Identity>,
    /// Its place in the study.
    pub place: Place,
}

/// Where a session stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its place in the study, JSON.
    pub position: String,
    /// Time of the visit until its participant was last seen, microseconds.
    pub spent_us: u64,
    /// When that was, microseconds since the Unix epoch; 0 for never.
    pub seen_us: u64,
    /// How it ended, and what it is paid, once it is over.
    pub payment: Option<study::Payment>,
}

/// Whom a provider calls how.
#[derive(Clone, PartialEq, Eq)]
pub struct Identifier {
    /// Pseudonym of the session.
    pub session: String,
    /// Pseudonym of its participant.
    pub pseudonym: String,
    /// Whom the recruiter calls how.
    pub identity: Identity,
}

/// Whether a payment was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PayState {
    /// It is to be made.
    Due,
    /// It was made.
    Paid,
    /// There is nothing to pay.
    Skipped,
}

impl PayState {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Due, "due"),
        (Self::Paid, "paid"),
        (Self::Skipped, "skipped"),
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// A payment as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Payment {
    /// Pseudonym of the session.
    pub session: String,
    /// Pseudonym of the participant.
    pub participant: String,
    /// What is paid.
    #[serde(flatten)]
    pub what: study::Payment,
    /// Whether it was made.
    pub state: PayState,
    /// When it was computed, ISO-8601 UTC.
    pub at: String,
    /// When it was made, ISO-8601 UTC.
    pub paid_at: Option<String>,
}

/// A session as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its own pseudonym, for exports: `S-` and 16 hex digits.
    pub id: String,
    /// Pseudonym of the participant.
    pub participant: String,
    /// [`token_hash`] of its token.
    pub token_hash: String,
    /// [`token_hash`] of the link through which it came.
    pub link_hash: Option<String>,
    /// Id of the study that its position belongs to.
    pub study: String,
    /// Version that the study gives itself.
    pub study_version: String,
    /// SHA-256 of that study in canonical form.
    pub study_hash: String,
    /// Its place in the study, JSON.
    pub position: String,
    /// Time of the visit until its participant was last seen, microseconds.
    pub spent_us: u64,
    /// When that was, microseconds since the Unix epoch; 0 for never.
    pub seen_us: u64,
    /// The declared outcome, once it is over.
    pub outcome: Option<String>,
    /// ISO-8601 UTC.
    pub created_at: String,
    /// ISO-8601 UTC.
    pub ended_at: Option<String>,
    /// When what was recorded of it was erased, ISO-8601 UTC.
    pub erased_at: Option<String>,
}

/// What a participant gave to a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    /// Id of the stage.
    pub stage: String,
    /// Its index in the timeline.
    pub stage_index: u16,
    /// Number of the visit among those of the participant.
    pub visit: u16,
    /// The answers.
    pub answers: Vec<Answer>,
    /// What became of items that have a right answer.
    pub marks: Vec<Mark>,
    /// Time on each page of the stage, milliseconds.
    pub pages_ms: Vec<u32>,
}

/// Whose episodes are left out of what is exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Withdrawn {
    /// Pseudonyms of those whose own part is left out.
    pub participants: BTreeSet<String>,
    /// Ids of the groups whose episodes are left out.
    pub groups: BTreeSet<String>,
}

/// Time on a page of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageTime {
    /// Study id.
    pub study: String,
    /// Version that the study file gives itself.
    pub study_version: String,
    /// Pseudonym of the participant.
    pub participant: String,
    /// Pseudonym of the session.
    pub session: String,
    /// Id of the stage.
    pub stage: String,
    /// Its index in the timeline.
    pub stage_index: u16,
    /// Number of the visit among those of the participant.
    pub visit: u16,
    /// The page, from 0.
    pub page: u16,
    /// Time on it, milliseconds.
    pub ms: u32,
}

/// An episode to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEpisode {
    /// Id.
    pub id: String,
    /// Era.
    pub era: Era,
    /// Id of the group.
    pub group: String,
    /// Id of the stage.
    pub stage: String,
    /// Its file, relative to the data folder.
    pub path: String,
    /// Pseudonym of the participant of each seat; empty for an AI partner.
    pub participants: Vec<String>,
    /// Number of the visit of each of them, among those of the participant.
    pub visits: Vec<u16>,
    /// What was drawn for the group, JSON.
    pub draw: String,
    /// What names stood for at the stage, JSON.
    pub bindings: String,
}

/// A group that a lobby made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Id.
    pub id: String,
    /// Id of the lobby.
    pub stage: String,
    /// What was drawn for it, JSON.
    pub draw: String,
    /// Places in it, those of AI partners too.
    pub size: u8,
    /// Whether an AI partner plays or played for somebody who is missing.
    pub has_ai: bool,
    /// Its people, by place.
    pub members: Vec<Member>,
    /// The visit at which its people write to each other in a stage of its own, and since when, microseconds since the
    /// Unix epoch; none before the first one.
    pub talk: Option<(u16, u64)>,
}

/// Something that somebody wrote to their group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Id of the group.
    pub group: String,
    /// Its place in the order of the group's messages, from 0; not all need be there.
    pub number: u32,
    /// Pseudonym of who wrote it.
    pub participant: String,
    /// Their place in the group.
    pub place: u8,
    /// Id of the stage.
    pub stage: String,
    /// Number of the visit among those of the participant.
    pub visit: u16,
    /// Number of the visit among those that the group makes together.
    pub round: u16,
    /// How many messages they had written before at this visit.
    pub turn: u32,
    /// Id of the episode that ran.
    pub episode: Option<String>,
    /// The tick that their page showed.
    pub tick: Option<u32>,
    /// When they sent it, as their page says, microseconds since the Unix epoch.
    pub sent_us: u64,
    /// When it came, microseconds since the Unix epoch.
    pub at_us: u64,
    /// What it says.
    pub text: String,
}

/// A message with where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Study id.
    pub study: String,
    /// Version that the study file gives itself.
    pub study_version: String,
    /// The seat of who wrote it, in the episode that ran.
    pub seat: Option<u8>,
    /// The message.
    pub message: Message,
}

/// A wait in a lobby.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Pseudonym.
    pub participant: String,
    /// Id of the lobby.
    pub stage: String,
    /// Number of the visit among those of the participant.
    pub visit: u16,
    /// When it began, microseconds since the Unix epoch.
    pub joined_us: u64,
    /// When it ended; none while it lasts, or if the server died meanwhile.
    pub left_us: Option<u64>,
    /// Why it ended; none while it lasts.
    pub why: Option<String>,
    /// Id of the group that plays.
    pub group: Option<String>,
}

/// Somebody of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The place: the how many-th of the seats of people it is in every stage that the group plays, from 0.
    pub place: u8,
    /// Pseudonym.
    pub participant: String,
    /// Why they play no more with the group.
    pub gone: Option<Gone>,
}

/// An episode as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    /// Id.
    pub id: String,
    /// Era.
    pub era: Era,
    /// Id of the group.
    pub group: String,
    /// Id of the stage.
    pub stage: String,
    /// Its file, relative to the data folder.
    pub path: String,
    /// Id of the study of its people, and the version that it gives itself.
    pub study: Option<(String, String)>,
    /// What was drawn for the group, JSON.
    pub draw: String,
    /// Number of the visit of the participant of each seat; empty if that is not known.
    pub visits: Vec<u16>,
    /// What names stood for at the stage, JSON.
    pub bindings: String,
    /// ISO-8601 UTC.
    pub created_at: String,
    /// ISO-8601 UTC.
    pub ended_at: Option<String>,
    /// Why it ended; none while it runs.
    pub reason: Option<EndReason>,
    /// How it ended; none while it runs, or if its replica could not say.
    pub ending: Option<Ending>,
}

/// An answer with where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Study id.
    pub study: String,
    /// Version that the study file gives itself.
    pub study_version: String,
    /// Pseudonym of the participant.
    pub participant: String,
    /// Pseudonym of the session.
    pub session: String,
    /// Id of the stage.
    pub stage: String,
    /// Its index in the timeline.
    pub stage_index: u16,
    /// Number of the visit among those of the participant.
    pub visit: u16,
    /// Name of the item.
    pub item: String,
    /// The value, JSON.
    pub value: String,
    /// Whether it is right; none if nothing is.
    pub correct: Option<bool>,
    /// Whether it says that the person did not read.
    pub flag: bool,
    /// Time on the stage.
    pub elapsed_ms: u32,
    /// When it was stored, ISO-8601 UTC.
    pub at: String,
}

/// Why the store did not do something. Nothing of it is then stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database failed.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    /// The data folder was written by a newer program.
    #[error("the data folder has version {found}; this program knows versions up to {known}")]
    Newer {
        /// Version found.
        found: i64,
        /// The last known one.
        known: usize,
    },
    /// There is no session or episode of this name.
    #[error("there is no {0} of this name")]
    Unknown(&'static str),
    /// Somebody else has marked a payment meanwhile.
    #[error("a payment was marked by another run meanwhile")]
    Marked,
}

/// Durable memory. A method returns once what it wrote is on the disk.
#[async_trait]
pub trait Store: Send + Sync {
    /// Makes a participant link; one that is there stays as it is.
    async fn issue_link(&self, token: &str) -> Result<(), StoreError>;
    /// All participant links, oldest first.
    async fn links(&self) -> Result<Vec<Link>, StoreError>;

    /// Makes a session and its participant.
    async fn create_session(&self, new: &NewSession) -> Result<(), StoreError>;
    /// Gives a session another token; the one before is then unknown.
    async fn set_token(&self, participant: &str, token: &str) -> Result<(), StoreError>;
    /// All sessions, oldest first.
    async fn sessions(&self) -> Result<Vec<Session>, StoreError>;
    /// Moves a session to another place in the study, all of it or nothing: with the answers that brought it there, and
    /// with its outcome and payment if that is the last place. The first answer to an item, the first outcome and the
    /// first payment stand.
    async fn save_place(
        &self,
        participant: &str,
        place: &Place,
        answers: Option<&Answers>,
    ) -> Result<(), StoreError>;
    /// All payments, oldest session first.
    async fn payments(&self) -> Result<Vec<Payment>, StoreError>;
    /// Marks the payments of these sessions as made, all or none: none if one of them is not due. Gives how many.
    async fn mark_paid(&self, sessions: &[String]) -> Result<usize, StoreError>;
    /// Keeps whom a recruiter calls how; what was kept before is forgotten.
    async fn set_identity(&self, participant: &str, identity: &Identity) -> Result<(), StoreError>;
    /// Whom recruiters call how, oldest session first.
    async fn identifiers(&self) -> Result<Vec<Identifier>, StoreError>;

    /// The groups that participants were in, by pseudonym, oldest first.
    async fn groups_of_participants(&self) -> Result<BTreeMap<String, Vec<String>>, StoreError>;

    /// Keeps a study in canonical form under its hash; makes it the last one.
    async fn keep_study(&self, hash: &str, canonical: &str) -> Result<(), StoreError>;
    /// The studies in canonical form, the last one last.
    async fn studies(&self) -> Result<Vec<String>, StoreError>;

    /// Makes a group, or brings it up to date. Its people stay; who is gone stays gone.
    async fn save_group(&self, group: &Group) -> Result<(), StoreError>;
    /// Begins a wait, or ends the one that began at the same time.
    async fn save_wait(&self, wait: &Wait) -> Result<(), StoreError>;
    /// Ends the waits that a stop of the server has ended, nobody knows when.
    async fn interrupt_waits(&self) -> Result<(), StoreError>;
    /// All waits, oldest first.
    async fn waits(&self) -> Result<Vec<Wait>, StoreError>;
    /// Keeps a message.
    async fn save_message(&self, message: &Message) -> Result<(), StoreError>;
    /// All messages, those of the oldest group first, in the order of the group.
    async fn messages(&self) -> Result<Vec<Said>, StoreError>;
    /// All groups, oldest first.
    async fn groups(&self) -> Result<Vec<Group>, StoreError>;
    /// Makes a running episode, its group and the group's members; a group that is there stays as it is.
    async fn create_episode(&self, new: &NewEpisode) -> Result<(), StoreError>;
    /// Ends an episode; the first end stands.
    async fn end_episode(
        &self,
        id: &str,
        reason: EndReason,
        ending: Option<Ending>,
    ) -> Result<(), StoreError>;
    /// All episodes, oldest first.
    async fn episodes(&self) -> Result<Vec<Episode>, StoreError>;
    /// Episodes without an end, oldest first.
    async fn running_episodes(&self) -> Result<Vec<Episode>, StoreError>;
    /// Withdraws what was recorded of a participant: their answers and messages are gone, or all messages of their groups,
    /// and their episodes, or those of their groups, are marked. The first receipt stands.
    async fn withdraw(
        &self,
        participant: &str,
        receipt: &str,
        group: bool,
    ) -> Result<(), StoreError>;
    /// The files of those episodes of which everybody but this participant is erased already, relative to the data folder.
    async fn last_of(&self, participant: &str) -> Result<Vec<String>, StoreError>;
    /// Erases what was recorded of a participant: whom a recruiter calls how, answers, times and waits, and these episodes,
    /// whose files are gone. Their session stays with its outcome and payment.
    async fn erase(&self, participant: &str, episodes: &[String]) -> Result<(), StoreError>;
    /// Whose episodes are to be left out of what is exported: of those who withdrew, and of those who are erased.
    async fn withdrawn(&self) -> Result<Withdrawn, StoreError>;
    /// All answers, oldest session first, in the order of the study.
    async fn responses(&self) -> Result<Vec<Response>, StoreError>;
    /// Times on all pages, in the same order.
    async fn page_times(&self) -> Result<Vec<PageTime>, StoreError>;

    /// The era of the next episode; 0 before any was set.
    async fn next_era(&self) -> Result<Era, StoreError>;
    /// Sets the era of the next episode.
    async fn set_next_era(&self, era: Era) -> Result<(), StoreError>;
    /// What everything is drawn from; none before it was set.
    async fn seed(&self) -> Result<Option<u64>, StoreError>;
    /// Sets what everything is drawn from; the first one stands.
    async fn set_seed(&self, seed: u64) -> Result<(), StoreError>;
}

/// Whose episodes the database of a data folder wants left out, read also while a server writes to it.
///
/// # Errors
/// [`StoreError`]
pub async fn withdrawn(data: &Path) -> Result<Withdrawn, StoreError> {
    if !data.join(FILE).exists() {
        return Ok(Withdrawn::default());
    }
    let store = SqliteStore::read(data).await?;
    let known = store.withdrawn().await;
    store.close().await;
    known
}

/// The episodes that the database of a data folder knows, read also while a server writes to it; none if it has none.
/// Its files are to be read after this: an end is in the file of its episode before it is in the database.
///
/// # Errors
/// [`StoreError`]
pub async fn episodes(data: &Path) -> Result<Vec<Episode>, StoreError> {
    if !data.join(FILE).exists() {
        return Ok(Vec::new());
    }
    let store = SqliteStore::read(data).await?;
    let known = store.episodes().await;
    store.close().await;
    known
}

const REASONS: [(EndReason, &str); 3] = [
    (EndReason::Played, "played"),
    (EndReason::PartnerLeft, "partner_left"),
    (EndReason::Technical, "technical"),
];

const GONE: [(Gone, &str); 3] = [
    (Gone::Left, "left"),
    (Gone::Away, "away"),
    (Gone::Late, "late"),
];

/// The name of why somebody is gone in tables.
pub fn gone_name(gone: Gone) -> &'static str {
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
