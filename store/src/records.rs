//! Values that go into the store and come out of it.

use std::collections::BTreeSet;

use protocol::Era;
use protocol::control::{Answer, EndReason};
use protocol::log::Ending;
use serde::{Deserialize, Serialize};
use server_core::arbiter::{DepartureReason, DeskMessageRow, Identity, ModelCallRow};
use study::survey::{Mark, ShownOrder};

use crate::KnownLogs;

/// A use of data that are not for everybody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditEntry {
    /// ISO-8601 UTC.
    pub at: String,
    /// The command.
    pub command: String,
    /// Its action.
    pub action: String,
}

/// Something that a researcher did at the dashboard, as the audit trail has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervention {
    /// ISO-8601 UTC; empty before it is stored.
    #[serde(default)]
    pub at: String,
    /// The name of the researcher.
    pub by: String,
    /// The name of the order.
    pub order: String,
    /// Pseudonym of the person that it was about.
    pub participant: Option<String>,
    /// The new value.
    pub detail: String,
}

/// A participant link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantLink {
    /// [`token_hash`] of its token.
    pub token_hash: String,
    /// The participant who came by it.
    pub participant: Option<String>,
    /// The time at which it was issued, ISO-8601 UTC.
    pub created_at: String,
}

/// A session to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Its number among all sessions of the study, including forgotten ones, from 0.
    pub number: usize,
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
    /// The recruiter's identifier for the participant.
    pub identity: Option<Identity>,
    /// Its place in the study.
    pub place: StoredPosition,
}

/// The position of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredPosition {
    /// Its place in the study, JSON.
    pub position: String,
    /// Time with signs of life, microseconds.
    pub spent_us: u64,
    /// The time at which its participant was last seen, microseconds since the Unix epoch; 0 for never.
    pub seen_us: u64,
    /// The time of their last sign of life, microseconds since the Unix epoch; 0 for never.
    pub acted_us: u64,
    /// Its outcome and its pay, once it is over.
    pub payment: Option<study::Payment>,
}

/// A recruiter's identifier, with the session that it belongs to.
#[derive(Clone, PartialEq, Eq)]
pub struct Identifier {
    /// Pseudonym of the session.
    pub session: String,
    /// Pseudonym of its participant.
    pub pseudonym: String,
    /// The recruiter's identifier for the participant.
    pub identity: Identity,
}

/// The state of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PayState {
    /// It must be made.
    Due,
    /// It was made.
    Paid,
    /// There is nothing to pay.
    Skipped,
}

impl PayState {
    pub(super) const ALL: [(Self, &'static str); 3] = [
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
    /// The payment as it was computed.
    #[serde(flatten)]
    pub what: study::Payment,
    /// Its state.
    pub state: PayState,
    /// The time at which it was computed, ISO-8601 UTC.
    pub at: String,
    /// The time at which it was made, ISO-8601 UTC.
    pub paid_at: Option<String>,
}

/// The ledger of payments of a data folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerState {
    /// The rows that decide payments and were changed after they were stored: a sentence for each.
    pub altered: Vec<String>,
    /// The hash of every entry over itself and the one before, in their order; empty for an entry that is older than the
    /// ledger.
    pub hashes: Vec<String>,
    /// The logs of episodes, as far as they are known.
    pub logs: KnownLogs,
}

/// A session as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its number among all sessions of the study, including forgotten ones, from 0.
    pub number: usize,
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
    /// Time with signs of life, microseconds.
    pub spent_us: u64,
    /// The time at which its participant was last seen, microseconds since the Unix epoch; 0 for never.
    pub seen_us: u64,
    /// The time of their last sign of life, microseconds since the Unix epoch; 0 for never.
    pub acted_us: u64,
    /// The declared outcome, once it is over.
    pub outcome: Option<String>,
    /// ISO-8601 UTC.
    pub created_at: String,
    /// ISO-8601 UTC.
    pub ended_at: Option<String>,
    /// The time at which its recorded data were erased, ISO-8601 UTC.
    pub erased_at: Option<String>,
}

/// The answers of a participant at one visit of a stage.
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
    /// The marks of items that have a right answer.
    pub marks: Vec<Mark>,
    /// The orders that were drawn for the questions.
    pub shown: Vec<ShownOrder>,
    /// Time on each page of the stage, milliseconds.
    pub pages_ms: Vec<u32>,
}

/// The participants and groups that exports leave out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Withdrawn {
    /// Pseudonyms of those whose own part is left out.
    pub participants: BTreeSet<String>,
    /// Ids of the groups whose episodes are left out.
    pub groups: BTreeSet<String>,
}

/// The seat of somebody who withdrew, in an episode whose file still has data from their page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithdrawnSeat {
    /// Id of the episode.
    pub episode: String,
    /// Its file, relative to the data folder.
    pub path: String,
    /// Pseudonym of the participant.
    pub participant: String,
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
    /// Number of each participant's visit, among the visits of that participant.
    pub visits: Vec<u16>,
    /// The group's assignment, JSON.
    pub draw: String,
    /// The values of names at the stage, JSON.
    pub bindings: String,
}

/// A group that a lobby made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Id.
    pub id: String,
    /// Id of the lobby.
    pub stage: String,
    /// Its assignment, JSON.
    pub draw: String,
    /// Places in it, those of AI partners too.
    pub size: u8,
    /// True if an AI partner plays or played for somebody who is missing.
    pub has_ai: bool,
    /// Its people, by place.
    pub members: Vec<Member>,
    /// The visit at which its people write to each other in a chat stage, and since when, microseconds since the
    /// Unix epoch; `None` before the first one.
    pub chat: Option<(u16, u64)>,
    /// The visit for which it waited last, and until when at most, microseconds since the Unix epoch; `None` before the
    /// first wait.
    pub wait: Option<(u16, u64)>,
}

impl Group {
    /// Returns true if an AI partner played for one of its people; one that the lobby alone gave it does not count as such.
    pub fn is_replaced(&self) -> bool {
        let is_whole = self.members.len() >= usize::from(self.size);
        self.has_ai && (is_whole || self.members.iter().any(|member| member.gone.is_some()))
    }
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
    pub group_visit: u16,
    /// The number of messages that they had written before at this visit.
    pub turn: u32,
    /// Id of the episode that ran.
    pub episode: Option<String>,
    /// The tick that their page showed.
    pub tick: Option<u32>,
    /// The time at which they sent it, as their page says, microseconds since the Unix epoch.
    pub sent_us: u64,
    /// The time of its arrival, microseconds since the Unix epoch.
    pub at_us: u64,
    /// Its text.
    pub text: String,
    /// The name of the partner whose language model wrote it to the participant; empty if the participant wrote it.
    pub partner: String,
}

/// A request to a language model with where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    /// Study id.
    pub study: String,
    /// Version that the study file gives itself.
    pub study_version: String,
    /// Id of the stage.
    pub stage: String,
    /// Id of the group; `None` if its episode is erased.
    pub group: Option<String>,
    /// The request; the index of its stage is not known.
    pub row: ModelCallRow,
}

/// A message between a participant and the researchers, with where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeskMessage {
    /// Study id.
    pub study: String,
    /// Version that the study file gives itself.
    pub study_version: String,
    /// Id of the stage.
    pub stage: String,
    /// The message; the index of its stage is not known.
    pub row: DeskMessageRow,
}

/// A message with where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChatMessage {
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
    /// The time at which it began, microseconds since the Unix epoch.
    pub joined_us: u64,
    /// The time at which it ended; `None` while it lasts, or if the server died meanwhile.
    pub left_us: Option<u64>,
    /// The reason why it ended; `None` while it lasts.
    pub why: Option<String>,
    /// Id of the group that plays.
    pub group: Option<String>,
    /// The longest round trip between their page and another of the group, as last measured before an episode, microseconds.
    pub rtt_us: Option<u32>,
    /// The most packets that were lost between these, of a thousand.
    pub loss_permille: Option<u16>,
}

/// Somebody of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The place: index among the seats of people in every stage that the group plays, from 0.
    pub place: u8,
    /// Pseudonym.
    pub participant: String,
    /// The reason why they no longer play with the group.
    pub gone: Option<DepartureReason>,
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
    /// The group's assignment, JSON.
    pub draw: String,
    /// Number of the visit of the participant of each seat; empty if that is not known.
    pub visits: Vec<u16>,
    /// Pseudonym of the participant of each seat, up to the last seat of a person; empty for an AI partner.
    pub participants: Vec<String>,
    /// The values of names at the stage, JSON.
    pub bindings: String,
    /// ISO-8601 UTC.
    pub created_at: String,
    /// ISO-8601 UTC.
    pub ended_at: Option<String>,
    /// The reason why it ended; `None` while it runs.
    pub reason: Option<EndReason>,
    /// Its end; `None` while it runs, or if its replica could not say.
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
    /// True if it is right; `None` for an item without a right answer.
    pub correct: Option<bool>,
    /// True if it shows that the person did not read.
    pub flag: bool,
    /// The values of its choices or rows in the order shown, a list, JSON; `None` without a random order.
    pub shown: Option<String>,
    /// Time on the stage.
    pub elapsed_ms: u32,
    /// The time at which it was stored, ISO-8601 UTC.
    pub at: String,
}
